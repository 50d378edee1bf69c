//! `postrider mail`: one's own mailbox at a shell.
//!
//! Whose mailbox it is, is settled once for all verbs; each verb asks the backend that keeps the mail and shows what it
//! says. What a verb means is decided there. What only our own office can do is refused by other backends, by its name.

pub mod ago;
mod check;
mod delivery;
mod filing;
mod lists;
mod messages;
mod queued;
mod receipt;
mod recipients;
mod sending;

use std::process::ExitCode;

use api::Actor;
use clap::{Args, Subcommand};
use mail::channels::SIGN;
use mail::error::shown;
use mail::provider::{Provider, ProviderDelivery};

use super::Cli;
use super::given::MessageBody;
use super::nudge::Notifier;
use crate::config::{Config, MailProvider};
use crate::identity::Acting;
use crate::logging;
use crate::mailbox::{self, Caller, Mailbox};
use crate::output::{self, text};
use crate::post_office::Refused;
pub use check::{NAME as CHECK, is_reminder_called};
use messages::each;
pub use receipt::{Sent, warn};
pub use recipients::Recipients;

const EXAMPLES: &str = "\
Whoever wants mail joins once, with 'postrider join NAME'. Ids are those that 'inbox' and 'all' show. Each recipient
of a message has a copy with an id of its own: you can look at the copies of others, and act on yours alone. Nothing is
destroyed: what is archived or deleted is hidden, and still shown by its id.

Examples:
  postrider mail send BlueLake -s 'Who takes the parser?' -m 'I would do the lexer.' --as GreenDog
  postrider mail inbox --as BlueLake
  postrider mail read 17
  postrider mail reply 17 -m 'I do.'
  git diff | postrider mail send BlueLake GreenDog -s 'Please review'
  postrider mail send BlueLake -s 'Which port?' -m 'For the tests.' --wait
  postrider mail check && postrider mail inbox";

/// What helps somebody who named a message that is not there.
const ALL: &str = "'postrider mail all' shows the ids that there are.";

/// Send, read and answer mail.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Mail {
    #[command(flatten)]
    acting: Acting,
    #[command(subcommand)]
    verb: Option<Verb>,
}

// The usage is written out: as clap writes it, what the environment sets looks required too.
#[derive(Subcommand, Debug)]
enum Verb {
    /// Send a message
    #[command(override_usage = "postrider mail send [OPTIONS] --subject <SUBJECT> [TO]...\n       \
                                postrider mail send [OPTIONS] <TO> <TEXT>")]
    Send(sending::Send),
    /// List unread mail, the newest last
    Inbox(lists::Inbox),
    /// List all open mail, read and unread, the newest last
    All(lists::Limit),
    /// Show messages and mark them read
    #[command(override_usage = "postrider mail read [OPTIONS] <ID>...", after_help = messages::READ_EXAMPLES)]
    Read(Ids),
    /// Show messages and change nothing
    #[command(override_usage = "postrider mail peek [OPTIONS] <ID>...")]
    Peek(Ids),
    /// Answer a message, in its thread
    #[command(override_usage = "postrider mail reply [OPTIONS] <ID>")]
    Reply(sending::Reply),
    /// Acknowledge messages, which also marks them read
    #[command(override_usage = "postrider mail ack [OPTIONS] <ID>...")]
    Ack(messages::Ack),
    /// Put messages away
    #[command(override_usage = "postrider mail archive [OPTIONS] <ID>...\n       \
                                postrider mail archive [OPTIONS] --from <NAME>", after_help = messages::ARCHIVE_EXAMPLES)]
    Archive(filing::Filing),
    /// Bring back archived messages
    #[command(override_usage = "postrider mail unarchive [OPTIONS] <ID>...", after_help = messages::UNARCHIVE_EXAMPLE)]
    Unarchive(Ids),
    /// Put messages away, the same as archive: nothing is destroyed
    #[command(override_usage = "postrider mail delete [OPTIONS] <ID>...")]
    Delete(filing::Filing),
    /// Mark messages read
    #[command(override_usage = "postrider mail mark-read [OPTIONS] <ID>...")]
    MarkRead(Ids),
    /// Mark messages unread
    #[command(override_usage = "postrider mail mark-unread [OPTIONS] <ID>...")]
    MarkUnread(Ids),
    /// Show a whole conversation, the oldest message first
    #[command(override_usage = "postrider mail thread [OPTIONS] <ID>")]
    Thread(messages::Thread),
    /// List what you sent, the newest last, and who read and acknowledged it
    Sent(lists::Outbox),
    /// Count open mail
    Count(lists::Count),
    /// Say whether there is unread mail: exit code 0 if so, 3 and no output if not
    Check(check::Check),
    /// Search the mail of the project
    #[command(override_usage = "postrider mail search [OPTIONS] <QUERY>...")]
    Search(lists::Search),
}

/// The messages that a verb is about.
#[derive(Args, Debug)]
struct Ids {
    /// The messages, as the inbox names them
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

impl Mail {
    /// Does what the verb says; exit code 1 when it is refused.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let Self { acting, verb } = self;
        let Some(verb) = verb else { return Ok(help()) };
        let who = verb.caller(&acting, &config);
        match verb {
            Verb::Check(check) if check.is_for_hook() => check.remind(who, acting, config),
            verb => verb.done(who?, &acting, config, as_json),
        }
    }

    /// Says what is wrong with the settings; a hook is told in a line and not stopped.
    pub fn run_without_settings(self, error: anyhow::Error) -> anyhow::Result<ExitCode> {
        match self.verb {
            Some(Verb::Check(check)) if check.is_for_hook() => {
                output::note(&text::unbroken(&format!("{}: {error:#}", check::NAME)));
                Ok(ExitCode::SUCCESS)
            }
            _ => Err(error),
        }
    }
}

impl Verb {
    /// Who acts.
    fn caller(&self, acting: &Acting, config: &Config) -> anyhow::Result<Caller> {
        match self.named() {
            Some(name) => Ok(Caller { name: name.to_owned(), token: acting.token() }),
            None => acting.who(config),
        }
    }

    /// Opens the mailbox and does what the verb says in it.
    fn done(mut self, who: Caller, acting: &Acting, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        if matches!((&self, config.mail_provider()), (Self::Send(_), Ok(MailProvider::Beads))) {
            // What a message replaces may not have been archived, which is told there.
            logging::start(&config)?;
        }
        let project = acting.project.key()?;
        // A text is written before the mailbox is opened: nobody holds it open while somebody thinks.
        let body = match &mut self {
            Self::Send(send) => Some(send.settle()?),
            Self::Reply(reply) => Some(reply.body.read()?),
            _ => None,
        };
        let verb = &self;
        let written = body.as_ref().map(MessageBody::text).unwrap_or_default();
        let notifier = Notifier::new(&config);
        let home = config.home.clone();
        let ended = mailbox::visit(config, project.clone(), Some(who.clone()), async |mailbox| {
            let visit = Visit { mailbox, project: &project, who: &who, acting, notifier: &notifier, as_json };
            verb.run(&visit, written).await
        });
        let ended = ended.or_else(|error| {
            let waiting = queued::Waiting { home: &home, project: &project, who: &who };
            waiting.instead_of(error, verb, written, as_json)
        });
        let ended = ended.map_err(|error| match (error.downcast::<Refused>(), verb) {
            (Ok(refused), Self::Send(send)) => send.advised(advised(refused, &who, acting)).into(),
            (Ok(refused), _) => advised(refused, &who, acting).into(),
            (Err(error), _) => error,
        });
        if let (Err(_), Some(body)) = (&ended, body) {
            body.keep();
        }
        ended
    }

    /// Who acts, if the verb itself says so.
    fn named(&self) -> Option<&str> {
        let named = match self {
            Self::Send(send) => &send.from,
            Self::Reply(reply) => &reply.from,
            Self::Inbox(inbox) => &inbox.name,
            Self::Count(count) => &count.name,
            Self::Check(check) => &check.name,
            _ => &None,
        };
        named.as_deref().filter(|name| !name.is_empty())
    }

    async fn run(&self, visit: &Visit<'_>, body: &str) -> anyhow::Result<ExitCode> {
        let provider = visit.provider();
        match self {
            Self::Send(send) => send.run(visit, body).await,
            Self::Reply(reply) => reply.run(visit, body).await,
            Self::Inbox(inbox) => inbox.run(visit).await,
            Self::All(limit) => lists::all(visit, limit).await,
            Self::Sent(outbox) => outbox.run(visit).await,
            Self::Count(count) => count.run(visit).await,
            Self::Check(check) => check.run(visit).await,
            Self::Search(search) => search.run(visit).await,
            Self::Read(Ids { ids }) => messages::read(visit, ids).await,
            Self::Peek(Ids { ids }) => messages::peek(visit, ids).await,
            Self::Thread(thread) => thread.run(visit).await,
            Self::Ack(ack) => ack.run(visit).await,
            Self::Archive(filing) => filing.run(visit, "archived", async |id| provider.archive(id).await).await,
            Self::Unarchive(Ids { ids }) => messages::unarchive(visit, ids).await,
            Self::Delete(filing) => filing.run(visit, "deleted", async |id| provider.delete(id).await).await,
            Self::MarkRead(Ids { ids }) => {
                each(visit, ids, "marked read", async |id| provider.mark_read(id).await).await
            }
            Self::MarkUnread(Ids { ids }) => {
                each(visit, ids, "marked unread", async |id| provider.mark_unread(id).await).await
            }
        }
    }
}

/// Somebody before an open mailbox.
struct Visit<'a> {
    mailbox: &'a Mailbox,
    project: &'a str,
    who: &'a Caller,
    acting: &'a Acting,
    notifier: &'a Notifier,
    as_json: bool,
}

impl Visit<'_> {
    fn provider(&self) -> &dyn Provider {
        self.mailbox.provider()
    }

    /// Who asks a verb of the office.
    fn actor(&self) -> Actor {
        let Caller { name, token } = self.who.clone();
        Actor { project_key: self.project.to_owned(), agent_name: name, registration_token: token }
    }

    /// A delivery that something is to be done with: only its recipient may.
    async fn own(&self, id: &str) -> Result<ProviderDelivery, Refused> {
        let delivery = self.provider().get(id).await?;
        if delivery.to == self.who.name {
            return Ok(delivery);
        }
        let id = shown(id);
        if delivery.to.starts_with(SIGN) {
            let message = format!("Message '{id}' was said in '{}' to nobody in particular", delivery.to);
            let hint = format!("Read it with: postrider channel read {}", delivery.to.trim_start_matches(SIGN));
            return Err(Refused::new("NOBODYS_MAIL", &message, &hint));
        }
        let message = format!("Message '{id}' was not sent to '{}'", shown(&self.who.name));
        Err(Refused::new("NOT_A_RECIPIENT", &message, "").in_our_words())
    }
}

/// Says what somebody at a terminal can do about a refusal.
pub fn advised(refused: Refused, who: &Caller, acting: &Acting) -> Refused {
    let name = shown(&who.name);
    match refused.code.as_str() {
        "AGENT_NOT_FOUND" if refused.message.contains(&format!("'{name}'")) => {
            let hint = format!("{}Join first with: postrider join {}", meant(&refused, "--as "), word(&name));
            refused.hinted(&hint)
        }
        "AGENT_NOT_FOUND" => {
            let hint = format!("{}Whoever is written to has to join first.", meant(&refused, ""));
            refused.hinted(&hint)
        }
        "PROJECT_NOT_FOUND" => {
            let folder = match acting.project.begins_with() {
                None => return acting.project.advised(refused),
                Some("") => String::new(),
                Some(path) => format!(" --project {}", word(path)),
            };
            let refused = acting.project.advised(refused);
            refused.advised(&format!("Or begin with: postrider join {}{folder}", word(&name)))
        }
        _ => refused,
    }
}

/// Shows what there is to do, to somebody who did not say. What the environment sets is no word of theirs.
fn help() -> ExitCode {
    output::note(&Cli::help_of("mail"));
    ExitCode::FAILURE
}

/// The names that may have been meant, as a question; empty if there are none.
fn meant(refused: &Refused, before: &str) -> String {
    let near: Vec<String> = refused.suggestions().into_iter().map(|name| format!("{before}{}", word(name))).collect();
    if near.is_empty() { String::new() } else { format!("Did you mean {}? ", near.join(" or ")) }
}

/// A name as a shell takes it.
fn word(name: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./".contains(letter);
    if name.chars().all(is_plain) { name.to_owned() } else { format!("'{}'", name.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_to_a_shell() {
        assert_eq!(word("BlueLake-2"), "BlueLake-2");
        assert_eq!(word("Blue Lake"), "'Blue Lake'");
        assert_eq!(word("it's; rm"), r"'it'\''s; rm'");
    }
}

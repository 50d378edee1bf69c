//! `postrider mail`: one's own mailbox at a shell.
//!
//! Whose mailbox it is, is settled once for all verbs; each verb asks the backend that keeps the mail and shows what it
//! says. What a verb means is decided there. What only our own office can do is refused by other backends, by its name.

pub mod ago;
mod following;
mod letter;
mod lists;
mod marking;
pub mod message_body;
mod read;
mod receipt;
mod sending;
mod waiting;

use std::process::ExitCode;

use clap::{Args, CommandFactory, Subcommand};
use mail::channels::SIGN;
use mail::error::shown;
use mail::provider::{Letter, Provider, ProviderError, ProviderRefusal};

use super::Cli;
use super::nudge::Notifier;
use crate::config::Config;
use crate::identity::Acting;
use crate::mailbox::{self, Mailbox, Who};
use crate::output;
use crate::post_office::Refused;

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
    #[command(override_usage = "postrider mail send [OPTIONS] --subject <SUBJECT> [TO]...")]
    Send(sending::Send),
    /// List unread mail, the newest last
    Inbox(lists::Inbox),
    /// List all open mail, read and unread, the newest last
    All(lists::Limit),
    /// Show messages and mark them read
    #[command(override_usage = "postrider mail read [OPTIONS] <ID>...", after_help = read::READ_EXAMPLES)]
    Read(Ids),
    /// Show messages and change nothing
    #[command(override_usage = "postrider mail peek [OPTIONS] <ID>...")]
    Peek(Ids),
    /// Answer a message, in its thread
    #[command(override_usage = "postrider mail reply [OPTIONS] <ID>")]
    Reply(sending::Reply),
    /// Acknowledge messages, which also marks them read
    #[command(override_usage = "postrider mail ack [OPTIONS] <ID>...")]
    Ack(marking::Ack),
    /// Put messages away
    #[command(override_usage = "postrider mail archive [OPTIONS] <ID>...", after_help = marking::ARCHIVE_EXAMPLES)]
    Archive(Ids),
    /// Put messages away, the same as archive: nothing is destroyed
    #[command(override_usage = "postrider mail delete [OPTIONS] <ID>...")]
    Delete(Ids),
    /// Mark messages read
    #[command(override_usage = "postrider mail mark-read [OPTIONS] <ID>...")]
    MarkRead(Ids),
    /// Mark messages unread
    #[command(override_usage = "postrider mail mark-unread [OPTIONS] <ID>...")]
    MarkUnread(Ids),
    /// Show a whole conversation, the oldest message first
    #[command(override_usage = "postrider mail thread [OPTIONS] <ID>")]
    Thread(read::Thread),
    /// List what you sent, the newest last, and who read and acknowledged it
    Sent(following::Outbox),
    /// Count open mail
    Count,
    /// Say whether there is unread mail: exit code 0 if so, 3 and no output if not
    #[command(after_help = lists::CHECK_EXAMPLES)]
    Check,
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
        let who = acting.who(&config)?;
        let project = acting.project.key()?;
        // A text is written before the mailbox is opened: nobody holds it open while somebody thinks.
        let body = match &verb {
            Verb::Send(send) => Some(send.checked()?.read()?),
            Verb::Reply(reply) => Some(reply.body.read()?),
            _ => None,
        };
        let written = body.as_ref();
        let notifier = Notifier::new(&config);
        let ended = mailbox::visit(config, project.clone(), Some(who.clone()), async |mailbox| {
            let visit = Visit { mailbox, project: &project, who: &who, acting: &acting, notifier: &notifier, as_json };
            let text = written.map(message_body::MessageBody::text).unwrap_or_default();
            verb.run(&visit, text).await.map_err(|error| verb.advised(visit.advised(error)))
        });
        if let (Err(_), Some(body)) = (&ended, body) {
            body.keep();
        }
        ended
    }
}

impl Verb {
    async fn run(&self, visit: &Visit<'_>, body: &str) -> anyhow::Result<ExitCode> {
        match self {
            Self::Send(send) => send.run(visit, body).await,
            Self::Reply(reply) => reply.run(visit, body).await,
            Self::Inbox(inbox) => inbox.run(visit).await,
            Self::All(limit) => lists::all(visit, limit).await,
            Self::Sent(outbox) => outbox.run(visit).await,
            Self::Count => lists::count(visit).await,
            Self::Check => lists::check(visit).await,
            Self::Search(search) => search.run(visit).await,
            Self::Read(Ids { ids }) => read::read(visit, ids).await,
            Self::Peek(Ids { ids }) => read::peek(visit, ids).await,
            Self::Thread(thread) => thread.run(visit).await,
            Self::Ack(ack) => ack.run(visit).await,
            Self::Archive(Ids { ids }) => marking::archive(visit, ids).await,
            Self::Delete(Ids { ids }) => marking::delete(visit, ids).await,
            Self::MarkRead(Ids { ids }) => marking::mark_read(visit, ids).await,
            Self::MarkUnread(Ids { ids }) => marking::mark_unread(visit, ids).await,
        }
    }
}

impl Verb {
    /// Says what the words of the command have to do with a refusal.
    fn advised(&self, error: anyhow::Error) -> anyhow::Error {
        match (self, error.downcast::<Refused>()) {
            (Self::Send(send), Ok(refused)) => send.advised(refused).into(),
            (_, Ok(refused)) => refused.into(),
            (_, Err(error)) => error,
        }
    }
}

/// Somebody before an open mailbox.
struct Visit<'a> {
    mailbox: &'a Mailbox,
    project: &'a str,
    who: &'a Who,
    acting: &'a Acting,
    notifier: &'a Notifier,
    as_json: bool,
}

impl Visit<'_> {
    fn provider(&self) -> &dyn Provider {
        self.mailbox.provider()
    }

    /// A letter that something is to be done with: only those who got one may.
    async fn own(&self, id: &str) -> Result<Letter, ProviderError> {
        let letter = self.provider().get(id).await?;
        if letter.to == self.who.name {
            return Ok(letter);
        }
        if letter.to.starts_with(SIGN) {
            let (id, channel) = (shown(id), letter.to.trim_start_matches(SIGN));
            let message = format!("Message '{id}' was said in '{}' to nobody in particular", letter.to);
            let hint = format!("Read it with: postrider channel read {channel}");
            return Err(ProviderError::Refused(ProviderRefusal {
                code: "NOBODYS_MAIL".to_owned(),
                message,
                hint,
                ..ProviderRefusal::default()
            }));
        }
        let message = format!("Message '{}' was not sent to '{}'", shown(id), shown(&self.who.name));
        let code = "NOT_A_RECIPIENT".to_owned();
        Err(ProviderError::Refused(ProviderRefusal { code, message, ..ProviderRefusal::default() }))
    }

    /// Says what somebody at a terminal can do about a refusal.
    fn advised(&self, error: anyhow::Error) -> anyhow::Error {
        match error.downcast::<Refused>() {
            Ok(refused) => self.advice(refused).into(),
            Err(error) => match error.downcast_ref::<ProviderError>() {
                Some(refused) => self.advice(Refused::of_provider(refused)).into(),
                None => error,
            },
        }
    }

    fn advice(&self, refused: Refused) -> Refused {
        let name = shown(&self.who.name);
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
                let refused = self.acting.project.advised(refused);
                match self.acting.project.begins_with() {
                    None => refused,
                    Some("") => refused.advised(&format!("Or begin with: postrider join {}", word(&name))),
                    Some(path) => {
                        let (name, path) = (word(&name), word(path));
                        refused.advised(&format!("Or begin with: postrider join {name} --project {path}"))
                    }
                }
            }
            _ => refused,
        }
    }
}

/// Shows what there is to do, to somebody who did not say. What the environment sets is no word of theirs.
fn help() -> ExitCode {
    let mut whole = Cli::command();
    whole.build();
    let mail = whole.find_subcommand_mut("mail").expect("this command is one of all commands");
    output::note(mail.render_help().to_string().trim_end());
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

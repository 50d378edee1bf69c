//! Sending and answering.
//!
//! Our own office takes one message for all recipients; other backends take a letter for each, and refuse what they do
//! not know. With `--wait` the answer is waited for and shown as `read` shows it.

use std::process::ExitCode;

use anyhow::bail;
use api::answers::{ProblemAnswer, SentAnswer, WarningAnswer};
use api::{ReplyMessage, SendMessage};
use clap::Args;
use mail::agents::EVERYONE;
use mail::channels::SIGN;
use mail::clock::{Clock, SystemClock};
use mail::mailboxes::CopyId;
use mail::messages::Importance;
use mail::provider::{Letter, ProviderError, Words};
use serde::Serialize;
use serde_json::{Value, json};

use super::super::given::recipient;
use super::following::{copy_to_value, state};
use super::letter::Seen;
use super::message_body::Body;
use super::waiting::Ended;
use super::{Visit, waiting};
use crate::output::{self, text};
use crate::post_office::Refused;

const SEND_EXAMPLES: &str = "\
Examples:
  postrider mail send BlueLake -s 'Who takes the parser?' -m 'I would do the lexer.'
  postrider mail send BlueLake GreenDog --cc RedFox -s 'The plan' < plan.md
  postrider mail send --all -s 'Freeze at noon' -m 'Please push before.' --ack --importance high
  postrider mail send BlueLake -s 'Which port?' -m 'For the tests.' --wait=300

With --wait an answer is printed and marked read; with --ack an acknowledgement ends the wait too. When neither comes in
time, the exit code is 1.";

const REPLY_EXAMPLES: &str = "\
Examples:
  postrider mail reply 17 -m 'I do.'
  postrider mail reply 17 --wait < question.md";

/// What happens once it is sent.
#[derive(Args, Debug)]
struct Afterwards {
    /// Nudge whoever gets it, unless they read it first; see 'postrider nudge --help'
    #[arg(long)]
    notify: bool,
    /// Wait for the answer, so many seconds [default: 60, at most 3600]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "60",
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    wait: Option<u64>,
}

/// Send a message.
#[derive(Args, Debug)]
#[command(after_help = SEND_EXAMPLES)]
pub struct Send {
    /// Who gets it
    #[arg(value_name = "TO", value_delimiter = ',', value_parser = recipient)]
    names: Vec<String>,
    /// Who gets it, the same as TO
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = recipient)]
    to: Vec<String>,
    /// Who gets a copy
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = recipient)]
    cc: Vec<String>,
    /// Everybody in the project gets it, except you
    #[arg(long, conflicts_with_all = ["names", "to", "cc"])]
    all: bool,
    /// The subject
    #[arg(short, long, value_name = "SUBJECT", allow_hyphen_values = true)]
    subject: String,
    #[command(flatten)]
    body: Body,
    /// Ask for an acknowledgement
    #[arg(long)]
    ack: bool,
    /// low, normal, high or urgent
    #[arg(long, value_name = "WORD", value_parser = Importance::NAMES, hide_possible_values = true)]
    importance: Option<String>,
    /// The conversation it belongs to [default: a new one, or that of the work it is about]
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Makes a repetition safe: what has the same key is sent once
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    afterwards: Afterwards,
}

/// Answer a message, in its thread.
#[derive(Args, Debug)]
#[command(after_help = REPLY_EXAMPLES)]
pub struct Reply {
    /// The message, as the inbox names it
    id: String,
    /// The subject [default: 'Re:' and that of the message]
    #[arg(short, long, value_name = "SUBJECT", allow_hyphen_values = true)]
    subject: Option<String>,
    /// Its text.
    #[command(flatten)]
    pub body: Body,
    /// Ask for an acknowledgement
    #[arg(long)]
    ack: bool,
    #[command(flatten)]
    afterwards: Afterwards,
}

/// What was sent: one message of our own office, or a letter for each recipient elsewhere.
pub struct Sent {
    /// The id of each; never empty.
    pub ids: Vec<String>,
    /// Who got it.
    pub to: Vec<String>,
    /// The conversation of each.
    pub threads: Vec<String>,
    /// When, RFC 3339.
    created_at: String,
    /// Whether the sender waits for an acknowledgement.
    pub wants_ack: bool,
    warnings: Vec<Warning>,
}

/// What its sender should think about, or what is wrong with it as a typed message.
#[derive(Serialize)]
struct Warning {
    #[serde(flatten)]
    fact: WarningAnswer,
    /// The field of a typed message that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

impl Send {
    /// What there is to write, if it is clear to whom.
    pub fn checked(&self) -> anyhow::Result<&Body> {
        if self.subject.trim().is_empty() {
            bail!("the subject is empty; say what it is about with -s SUBJECT");
        }
        if !self.all && self.recipients().is_empty() {
            bail!("nobody is named to send to; name them, as in 'postrider mail send BlueLake', or pass --all");
        }
        Ok(&self.body)
    }

    /// Sends it, and waits for the answer if that is wanted.
    pub async fn run(&self, visit: &Visit<'_>, body: &str) -> anyhow::Result<ExitCode> {
        let sent = match visit.mailbox.post_office() {
            Some(office) => office.ask(self.request(visit, body)).await?.into(),
            None => self.elsewhere(visit, body).await?,
        };
        sent.told(visit, &self.afterwards).await
    }

    /// The names that were given, each once.
    fn recipients(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.names.iter().chain(&self.to) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    fn request(&self, visit: &Visit<'_>, body: &str) -> SendMessage {
        SendMessage {
            project_key: visit.project.to_owned(),
            sender_name: visit.who.name.clone(),
            to: if self.all { vec![EVERYONE.to_owned()] } else { self.recipients() },
            cc: self.cc.clone(),
            subject: self.subject.clone(),
            body_md: body.to_owned(),
            thread_id: self.thread.clone(),
            importance: self.importance.clone(),
            ack_required: self.ack.then_some(true),
            idempotency_key: self.idempotency_key.clone(),
            registration_token: visit.who.token.clone(),
            ..SendMessage::default()
        }
    }

    async fn elsewhere(&self, visit: &Visit<'_>, body: &str) -> anyhow::Result<Sent> {
        if let Some(verb) = self.unknown_elsewhere() {
            return Err(ProviderError::Unsupported { verb }.into());
        }
        let mut letters = Vec::new();
        for name in self.recipients() {
            let words = Words { from: &visit.who.name, subject: &self.subject, body };
            match visit.provider().send(&name, words).await {
                Ok(letter) => letters.push(letter),
                Err(error) => {
                    if !letters.is_empty() {
                        output::note(&text::lines(&Sent::of_letters(&letters).receipt()));
                    }
                    return Err(error.into());
                }
            }
        }
        Ok(Sent::of_letters(&letters))
    }

    /// Says what was meant, where that is easy to guess.
    pub fn advised(&self, refused: Refused) -> Refused {
        if self.all && refused.code == "NO_RECIPIENTS" {
            return Refused::new(
                &refused.code,
                "Nobody else is in this project yet",
                "Others join with: postrider join NAME",
            );
        }
        let names = self.recipients();
        let unknown = names.iter().chain(&self.cc).find(|name| refused.message.contains(&format!("'{name}'")));
        match unknown.filter(|_| refused.code == "AGENT_NOT_FOUND") {
            Some(name) if self.afterwards.wait.is_some() && name.bytes().all(|byte| byte.is_ascii_digit()) => {
                refused.hinted(&format!("To wait so many seconds, write --wait={name}."))
            }
            _ => refused,
        }
    }

    /// What only our own office knows, if it was asked for.
    fn unknown_elsewhere(&self) -> Option<&'static str> {
        let asked = [
            ("send --all", self.all),
            ("send --cc", !self.cc.is_empty()),
            ("send --ack", self.ack),
            ("send --importance", self.importance.is_some()),
            ("send --thread", self.thread.is_some()),
            ("send --idempotency-key", self.idempotency_key.is_some()),
        ];
        asked.into_iter().find_map(|(verb, is_asked)| is_asked.then_some(verb))
    }
}

impl Reply {
    /// Sends the answer, and waits for one to it if that is wanted.
    pub async fn run(&self, visit: &Visit<'_>, body: &str) -> anyhow::Result<ExitCode> {
        let sent = match visit.mailbox.post_office() {
            Some(office) => office.ask(self.request(visit, body).await?).await?.into(),
            None => self.elsewhere(visit, body).await?,
        };
        sent.told(visit, &self.afterwards).await
    }

    async fn request(&self, visit: &Visit<'_>, body: &str) -> Result<ReplyMessage, ProviderError> {
        let copy = CopyId::parse(&self.id).ok_or_else(|| ProviderError::NotFound { id: self.id.clone() })?;
        if copy.place.is_some() {
            // The office answers messages: that there is no such copy, it cannot know.
            visit.provider().get(&self.id).await?;
        }
        Ok(ReplyMessage {
            project_key: visit.project.to_owned(),
            message_id: copy.message.0,
            sender_name: visit.who.name.clone(),
            body_md: body.to_owned(),
            subject: self.subject.clone(),
            ack_required: self.ack.then_some(true),
            registration_token: visit.who.token.clone(),
            ..ReplyMessage::default()
        })
    }

    async fn elsewhere(&self, visit: &Visit<'_>, body: &str) -> Result<Sent, ProviderError> {
        if self.ack {
            return Err(ProviderError::Unsupported { verb: "reply --ack" });
        }
        let subject = match &self.subject {
            Some(subject) => subject.clone(),
            None => answer_to(&visit.provider().get(&self.id).await?.subject),
        };
        let words = Words { from: &visit.who.name, subject: &subject, body };
        Ok(Sent::of_letters(&[visit.provider().reply(&self.id, words).await?]))
    }
}

/// The subject of an answer.
fn answer_to(subject: &str) -> String {
    let is_answer = subject.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("re:"));
    if is_answer { subject.to_owned() } else { format!("Re: {subject}") }
}

impl From<SentAnswer> for Sent {
    fn from(SentAnswer { message, warnings, problems, .. }: SentAnswer) -> Self {
        let problems = problems.into_iter().map(|ProblemAnswer { path, message }| {
            let fact = WarningAnswer { code: "MALFORMED_MESSAGE".into(), message, hint: "".into() };
            Warning { fact, path: Some(path) }
        });
        let warnings = warnings.into_iter().map(|fact| Warning { fact, path: None });
        Self {
            ids: vec![message.id.to_string()],
            to: message.to.into_iter().chain(message.cc).collect(),
            threads: vec![message.thread_id],
            created_at: message.created_ts.0.to_string(),
            wants_ack: message.ack_required,
            warnings: warnings.chain(problems).collect(),
        }
    }
}

impl Sent {
    fn of_letters(letters: &[Letter]) -> Self {
        Self {
            ids: letters.iter().map(|letter| letter.id.clone()).collect(),
            to: letters.iter().map(|letter| letter.to.clone()).collect(),
            threads: letters.iter().map(|letter| letter.thread.clone()).collect(),
            created_at: letters.first().map(|letter| letter.created_at.to_string()).unwrap_or_default(),
            wants_ack: false,
            warnings: Vec::new(),
        }
    }

    /// Tells what was sent, and the answer if that is waited for.
    async fn told(self, visit: &Visit<'_>, afterwards: &Afterwards) -> anyhow::Result<ExitCode> {
        if !visit.as_json {
            for Warning { fact, .. } in &self.warnings {
                let message = text::unbroken(&fact.message);
                let told = format!("Warning: {}. {}", message.trim_end_matches('.'), text::unbroken(&fact.hint));
                output::note(told.trim_end());
            }
        }
        if afterwards.notify {
            self.notify(visit);
        }
        let Some(seconds) = afterwards.wait else {
            output::answer(visit.as_json, &self.to_value(), || self.receipt());
            return Ok(ExitCode::SUCCESS);
        };
        if !visit.as_json {
            // The answer has standard output for itself.
            output::note(&self.receipt());
        }
        let ended = waiting::answer_to(visit, &self, seconds).await?;
        self.told_how(visit, ended, seconds).await
    }

    /// Tells how the wait for the answer ended.
    async fn told_how(&self, visit: &Visit<'_>, ended: Ended, seconds: u64) -> anyhow::Result<ExitCode> {
        let mut json = self.to_value();
        json["answer"] = Value::Null;
        match ended {
            Ended::Answered(answer) => {
                let id = answer.id.clone();
                let answer = Seen { letter: Letter { read: true, ..answer }, sent: None, is_own: true };
                json["answer"] = answer.to_value();
                if output::answered(visit.as_json, &json, || answer.whole(SystemClock.now())) {
                    visit.provider().read(&id).await?;
                }
            }
            Ended::Acknowledged(copy) => {
                json["acknowledged"] = copy_to_value(&copy);
                output::answer(visit.as_json, &json, || {
                    text::unbroken(&format!("{}: {}", copy.name, state(&copy, true)))
                });
            }
            Ended::Empty => {
                if visit.as_json {
                    output::answer(true, &json, String::new);
                } else {
                    output::note(&format!("No answer came within {seconds} s. One that comes later is in your inbox."));
                }
                return Ok(ExitCode::FAILURE);
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Nudges those who got it. The mail is sent, whatever becomes of that.
    fn notify(&self, visit: &Visit<'_>) {
        let agents: Vec<&String> = self.to.iter().filter(|name| !name.starts_with(SIGN)).collect();
        for (place, name) in agents.iter().enumerate() {
            let id = match self.ids.as_slice() {
                [id] if agents.len() > 1 => format!("{id}.{}", place + 1),
                ids => ids[place.min(ids.len() - 1)].clone(),
            };
            let missing = match visit.notifier.nudge(visit.project, name, &id) {
                Ok(true) => continue,
                Ok(false) => format!("the settings do not say how; add [nudge.{name}] to postrider.toml"),
                Err(error) => format!("{error:#}"),
            };
            output::note(&text::unbroken(&format!("{name} is not nudged: {missing}.")));
        }
    }

    fn to_value(&self) -> Value {
        let mut value = json!({
            "id": self.ids[0], "to": self.to, "thread_id": self.threads[0], "created_at": self.created_at,
            "warnings": self.warnings,
        });
        if self.ids.len() > 1 {
            value["ids"] = json!(self.ids);
        }
        value
    }

    /// What a person is told.
    fn receipt(&self) -> String {
        let noun = if self.ids.len() == 1 { "Message" } else { "Messages" };
        let verb = if self.ids.len() == 1 { "is" } else { "are" };
        let mut receipt = format!("{noun} {} {verb} sent to {}", self.ids.join(", "), self.to.join(", "));
        match self.threads.as_slice() {
            [thread] if !thread.is_empty() => receipt.push_str(&format!(", in thread '{thread}'.")),
            _ => receipt.push('.'),
        }
        if self.wants_ack {
            receipt.push_str(" It asks for an acknowledgement.");
        }
        text::unbroken(&receipt)
    }
}

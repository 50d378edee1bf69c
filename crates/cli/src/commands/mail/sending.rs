//! Sending and answering.
//!
//! Our own office takes one message for all recipients; other backends take a delivery for each, and refuse what they
//! do not know. A message has a subject, a text, or both; without a subject a text of several words may stand
//! behind the recipient, as in Gas City. What is told afterwards is in `receipt`.

use std::collections::HashSet;
use std::process::ExitCode;

use anyhow::bail;
use api::{Actor, ReplyMessage, SendMail, SendMessage};
use clap::Args;
use mail::agents::EVERYONE;
use mail::error::shown;
use mail::mailboxes::DeliveryId;
use mail::messages::{Importance, OpenKey, WhenOpen};
use mail::provider::{KeyedDelivery, ProviderError, Words};

use super::super::given::{Body, MessageBody, recipient, written};
use super::super::in_name::InName;
use super::Visit;
use super::receipt::Sent;
use crate::outbox::Operation;
use crate::output::{self, text};
use crate::post_office::{PostOffice, Refused};

const SEND_EXAMPLES: &str = "\
Examples:
  postrider mail send BlueLake -s 'Who takes the parser?' -m 'I would do the lexer.'
  postrider mail send BlueLake GreenDog --cc RedFox -s 'The plan' < plan.md
  postrider mail send --all -s 'Freeze at noon' -m 'Please push before.' --ack --importance high
  postrider mail send BlueLake -s 'Which port?' -m 'For the tests.' --wait=300
  postrider mail send BlueLake 'The build is green.'
  postrider mail send BlueLake -s 'The disk is full' --dedup disk-full

With --wait an answer is printed and marked read; with --ack an acknowledgement ends the wait too. When neither comes in
time, the exit code is 1. A key of --dedup and --supersede counts within the sender; what was archived is not open.";

const REPLY_EXAMPLES: &str = "\
Examples:
  postrider mail reply 17 -m 'I do.'
  postrider mail reply 17 --wait < question.md";

/// What happens once it is sent.
#[derive(Args, Debug)]
pub struct Afterwards {
    /// Nudge whoever gets it, unless they read it first; see 'postrider nudge --help'
    #[arg(long, visible_alias = "nudge")]
    pub notify: bool,
    /// Wait for the answer, so many seconds [default: 60, at most 3600]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "60",
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub wait: Option<u64>,
}

/// Send a message.
#[derive(Args, Debug)]
#[command(after_help = SEND_EXAMPLES)]
pub struct Send {
    /// Who gets it; without a subject, a text of several words may stand behind the name
    #[arg(value_name = "TO")]
    words: Vec<String>,
    /// Who gets it, the same as TO
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = recipient)]
    to: Vec<String>,
    /// Who gets a copy
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = recipient)]
    cc: Vec<String>,
    /// Everybody in the project gets it, except you
    #[arg(long, conflicts_with_all = ["to", "cc"])]
    all: bool,
    /// Who sends, the same as --as
    #[arg(long, value_name = "NAME")]
    pub from: Option<String>,
    /// The subject
    #[arg(short, long, value_name = "SUBJECT", allow_hyphen_values = true)]
    subject: Option<String>,
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
    /// Not sent while its recipients have one open that you sent with the same key
    #[arg(long, value_name = "KEY", conflicts_with_all = ["supersede", "idempotency_key"])]
    dedup: Option<String>,
    /// Archives the earlier ones that you sent its recipients with the same key
    #[arg(long, value_name = "KEY", conflicts_with = "idempotency_key")]
    supersede: Option<String>,
    #[command(flatten)]
    pub afterwards: Afterwards,
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
    /// Who answers, the same as --as
    #[arg(long, value_name = "NAME")]
    pub from: Option<String>,
    /// Ask for an acknowledgement
    #[arg(long)]
    ack: bool,
    #[command(flatten)]
    pub afterwards: Afterwards,
}

impl Send {
    /// Settles which words are names and which are text, and reads the text, if it is clear to whom.
    pub fn settle(&mut self) -> anyhow::Result<MessageBody> {
        let text = self.text_among_words()?;
        let mut seen = HashSet::new();
        let named: Result<Vec<String>, String> =
            self.words.iter().flat_map(|word| word.split(',')).map(recipient).collect();
        let named = named.map_err(anyhow::Error::msg)?.into_iter().chain(std::mem::take(&mut self.to));
        self.to = named.filter(|name| seen.insert(name.clone())).collect();
        if self.all && !self.to.is_empty() {
            bail!("--all is everybody, so that nobody is to be named beside it");
        }
        if !self.all && self.to.is_empty() {
            bail!("No recipient given. Name one, as in 'postrider mail send BlueLake', or pass --all.");
        }
        match (&self.subject, text) {
            (None, Some(text)) => written(Some(&text), "behind the name"),
            (None, None) if self.body.is_given() => self.body.read(),
            (None, None) => bail!("the subject is missing; say what it is about with -s SUBJECT"),
            (Some(subject), _) if subject.trim().is_empty() => {
                bail!("the subject is empty; say what it is about with -s SUBJECT")
            }
            (Some(_), _) => self.body.read_if_any(),
        }
    }

    /// The text that stands behind the recipient, where there is neither a subject nor a text with -m. A single word may be
    /// another recipient, which nothing tells from a text.
    fn text_among_words(&mut self) -> Result<Option<String>, Refused> {
        let names_somebody = self.all || !self.to.is_empty();
        let is_form = self.subject.is_none() && !self.body.is_given();
        let has_text = is_form && self.words.len() == if names_somebody { 1 } else { 2 };
        match self.words.pop_if(|_| has_text) {
            Some(word) if !word.is_empty() && !word.contains(char::is_whitespace) => {
                let message = format!("'{}' may be a recipient or the text", shown(&word));
                Err(Refused::new("INVALID_ARGUMENT", &message, "Put the text behind -m, or the subject behind -s."))
            }
            text => Ok(text),
        }
    }

    /// Sends it, and waits for the answer if that is wanted.
    pub async fn run(&self, visit: &Visit<'_>, body: &str) -> anyhow::Result<ExitCode> {
        if body.is_empty() && !visit.as_json {
            output::note("The message has no text, only its subject.");
        }
        let key = self.key().transpose().map_err(ProviderError::from)?;
        let sent = match visit.mailbox.post_office() {
            Some(office) => self.by_office(visit, office, key, body).await?,
            None => self.elsewhere(visit, key.as_ref(), body).await?,
        };
        sent.told(visit, &self.afterwards).await
    }

    async fn by_office(
        &self,
        visit: &Visit<'_>,
        office: &PostOffice,
        key: Option<OpenKey>,
        body: &str,
    ) -> Result<Sent, Refused> {
        if key.is_none() && self.subject.is_some() && !body.is_empty() {
            return Ok(office.ask(self.request(body).by(visit.actor())).await?.into());
        }
        let (key, replaces) = (key.map(|key| key.as_str().to_owned()), self.supersede.is_some());
        let request = SendMail { key, replaces, ..self.as_mail(body) };
        Ok(office.ask(request.by(visit.actor())).await?.into())
    }

    /// The message, whether or not it has a subject and a text.
    fn as_mail(&self, body: &str) -> SendMail {
        let SendMessage { to, cc, subject, body_md, thread_id, importance, ack_required, idempotency_key, .. } =
            self.request(body);
        let request = SendMail { to, cc, subject, body_md, thread_id, importance, ack_required, ..SendMail::default() };
        SendMail { idempotency_key, ..request }
    }

    /// What can wait in an outbox. Whether an earlier one is open only the office knows, at the moment when it is sent.
    pub fn operation(&self, actor: Actor, body: &str) -> Option<anyhow::Result<Operation>> {
        let is_plain = self.dedup.is_none() && self.supersede.is_none();
        is_plain.then(|| Operation::send(&self.as_mail(body).by(actor)))
    }

    /// The key of which the recipients have one message open.
    fn key(&self) -> Option<Result<OpenKey, mail::Error>> {
        let skip = self.dedup.as_deref().map(|key| OpenKey::new(key, WhenOpen::Skip));
        skip.or_else(|| self.supersede.as_deref().map(|key| OpenKey::new(key, WhenOpen::Replace)))
    }

    fn request(&self, body: &str) -> SendMessage {
        SendMessage {
            to: if self.all { vec![EVERYONE.to_owned()] } else { self.to.clone() },
            cc: self.cc.clone(),
            subject: self.subject.clone().unwrap_or_default(),
            body_md: body.to_owned(),
            thread_id: self.thread.clone(),
            importance: self.importance.clone(),
            ack_required: self.ack.then_some(true),
            idempotency_key: self.idempotency_key.clone(),
            ..SendMessage::default()
        }
    }

    async fn elsewhere(&self, visit: &Visit<'_>, key: Option<&OpenKey>, body: &str) -> anyhow::Result<Sent> {
        if let Some(verb) = self.unknown_elsewhere() {
            return Err(ProviderError::Unsupported { verb }.into());
        }
        let (mut deliveries, mut standing) = (Vec::new(), Vec::new());
        for name in &self.to {
            let words = Words { from: &visit.who.name, subject: self.subject.as_deref().unwrap_or_default(), body };
            let sent = match key {
                Some(key) => visit.provider().send_keyed(name, words, key).await,
                None => {
                    visit.provider().send(name, words).await.map(|delivery| KeyedDelivery { delivery, is_new: true })
                }
            };
            match sent {
                Ok(KeyedDelivery { delivery, is_new: true }) => deliveries.push(delivery),
                Ok(KeyedDelivery { delivery, is_new: false }) => standing.push(delivery),
                Err(error) => {
                    if !deliveries.is_empty() {
                        output::note(&text::lines(&Sent::of_deliveries(&deliveries).receipt()));
                    }
                    return Err(error.into());
                }
            }
        }
        if deliveries.is_empty() {
            return Ok(Sent::of_deliveries(&standing).still_open());
        }
        Ok(Sent::of_deliveries(&deliveries))
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
        let unknown = self.to.iter().chain(&self.cc).find(|name| refused.message.contains(&format!("'{name}'")));
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
        let named = DeliveryId::parse(&self.id).ok_or_else(|| ProviderError::NotFound { id: self.id.clone() })?;
        if named.place.is_some() {
            // The office answers messages: that there is no such delivery, it cannot know.
            visit.provider().get(&self.id).await?;
        }
        Ok(self.as_answer(named, body).by(visit.actor()))
    }

    fn as_answer(&self, to: DeliveryId, body: &str) -> ReplyMessage {
        ReplyMessage {
            message_id: to.message.0,
            body_md: body.to_owned(),
            subject: self.subject.clone(),
            ack_required: self.ack.then_some(true),
            ..ReplyMessage::default()
        }
    }

    /// What can wait in an outbox.
    pub fn operation(&self, actor: Actor, body: &str) -> Option<anyhow::Result<Operation>> {
        Some(Operation::reply(&self.as_answer(DeliveryId::parse(&self.id)?, body).by(actor)))
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
        Ok(Sent::of_deliveries(&[visit.provider().reply(&self.id, words).await?]))
    }
}

/// The subject of an answer.
fn answer_to(subject: &str) -> String {
    let is_answer = subject.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("re:"));
    if is_answer { subject.to_owned() } else { format!("Re: {subject}") }
}

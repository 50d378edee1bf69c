//! What is told of a message that was sent: the receipt, and the answer if that is waited for.
//!
//! An answer is a message that answers the one that was sent, else one in its thread from somebody who got it. An
//! acknowledgement that was asked for ends the wait too. Our office wakes us when mail arrives; acknowledgements, and other
//! backends, are asked for once a second.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use api::answers::{FilesAnswer, MessageAnswer, ProblemAnswer, RecipientAnswer, SentAnswer, WarningAnswer};
use api::{FetchInbox, SentMailAnswer};
use mail::channels::SIGN;
use mail::clock::{Clock, SystemClock};
use mail::provider::ProviderDelivery;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::super::in_name::InName;
use super::delivery::Seen;
use super::lists::{recipient_to_value, state};
use super::recipients::Recipients;
use super::sending::Afterwards;
use super::{Visit, lists};
use crate::output::{self, text};
use crate::post_office::{PostOffice, Refused, resource};

/// How late a look is at most that no wake-up brought about.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How often a backend is asked that does not wake us.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// How many of the newest messages in the thread are looked at.
const LOOKED_AT: u32 = 100;

/// What was sent: one message of our own office, or a delivery for each recipient elsewhere.
pub struct Sent {
    /// The id of each; never empty.
    pub ids: Vec<String>,
    /// Who got it.
    pub to: Vec<String>,
    /// The conversation of each.
    pub threads: Vec<String>,
    /// When, RFC 3339.
    created_at: String,
    /// Whether it was sent now, and not open under its key before.
    is_new: bool,
    /// Whether the sender waits for an acknowledgement.
    pub wants_ack: bool,
    /// What its sender should think about.
    warnings: Vec<WarningAnswer>,
    /// What is wrong with it as a typed message.
    problems: Vec<ProblemAnswer>,
    /// What became of the files that it asks for.
    reservation: Option<FilesAnswer>,
    /// What is known of those who got it.
    recipients: Recipients,
}

impl From<SentAnswer> for Sent {
    fn from(sent: SentAnswer) -> Self {
        let recipients = Recipients::from(&sent);
        let SentAnswer { message, warnings, reservation, .. } = sent;
        Self {
            recipients,
            ids: vec![message.id.to_string()],
            to: message.to.into_iter().chain(message.cc).collect(),
            threads: vec![message.thread_id],
            created_at: message.created_ts.0.to_string(),
            is_new: true,
            wants_ack: message.ack_required,
            warnings,
            problems: message.problems,
            reservation,
        }
    }
}

impl From<SentMailAnswer> for Sent {
    fn from(SentMailAnswer { is_new, sent }: SentMailAnswer) -> Self {
        Self { is_new, ..sent.into() }
    }
}

impl Sent {
    pub fn of_deliveries(deliveries: &[ProviderDelivery]) -> Self {
        Self {
            ids: deliveries.iter().map(|delivery| delivery.id.clone()).collect(),
            to: deliveries.iter().map(|delivery| delivery.to.clone()).collect(),
            threads: deliveries.iter().map(|delivery| delivery.thread.clone()).collect(),
            created_at: deliveries.first().map(|delivery| delivery.created_at.to_string()).unwrap_or_default(),
            is_new: true,
            wants_ack: false,
            warnings: Vec::new(),
            problems: Vec::new(),
            reservation: None,
            recipients: Recipients::default(),
        }
    }

    /// The same, if nothing was sent, for this is open.
    pub fn still_open(self) -> Self {
        Self { is_new: false, ..self }
    }

    /// Tells what was sent.
    pub fn answer(&self, as_json: bool) -> ExitCode {
        if !as_json {
            warn(&self.warnings, &self.problems);
        }
        output::answer(as_json, &self.to_value(), || self.receipt())
    }

    /// Tells what was sent, and the answer if that is waited for.
    pub(super) async fn told(self, visit: &Visit<'_>, afterwards: &Afterwards) -> anyhow::Result<ExitCode> {
        if !visit.as_json {
            warn(&self.warnings, &self.problems);
        }
        if afterwards.notify && self.is_new {
            self.notify(visit);
        }
        let Some(seconds) = afterwards.wait else {
            return Ok(output::answer(visit.as_json, &self.to_value(), || self.receipt()));
        };
        if !visit.as_json {
            // The answer has standard output for itself.
            output::note(&self.receipt());
        }
        let mut json = self.to_value();
        json["answer"] = Value::Null;
        match answer_to(visit, &self, seconds).await? {
            Some(Arrived::Answer(id)) => {
                let answer = visit.provider().get(&id).await?;
                let answer = Seen { delivery: ProviderDelivery { read: true, ..answer }, sent: None, is_own: true };
                json["answer"] = answer.to_value();
                if output::answered(visit.as_json, &json, || answer.whole(SystemClock.now())) {
                    visit.provider().read(&id).await?;
                }
            }
            Some(Arrived::Acknowledgement(recipient)) => {
                json["acknowledged"] = recipient_to_value(&recipient);
                output::answer(visit.as_json, &json, || {
                    text::unbroken(&format!("{}: {}", recipient.name, state(&recipient, true)))
                });
            }
            None => {
                let nothing = format!("No answer came within {seconds} s. One that comes later is in your inbox.");
                output::answer_or(visit.as_json, Some(&nothing), &json, String::new);
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
        let problems = self.problems.iter().map(|ProblemAnswer { path, message }| {
            json!({ "code": "MALFORMED_MESSAGE", "message": message, "hint": "", "path": path })
        });
        let warnings: Vec<Value> = self.warnings.iter().map(|warning| json!(warning)).chain(problems).collect();
        let mut value = json!({
            "id": self.ids[0], "to": self.to, "thread_id": self.threads[0], "created_at": self.created_at,
            "warnings": warnings,
        });
        if self.ids.len() > 1 {
            value["ids"] = json!(self.ids);
        }
        if !self.is_new {
            value["sent"] = json!(false);
        }
        if let Some(reservation) = &self.reservation {
            value["reservation"] = json!(reservation);
        }
        if let Value::Object(value) = &mut value {
            value.extend(self.recipients.members());
        }
        value
    }

    /// What a person is told.
    pub fn receipt(&self) -> String {
        let noun = if self.ids.len() == 1 { "Message" } else { "Messages" };
        let verb = if self.ids.len() == 1 { "is" } else { "are" };
        if !self.is_new {
            let receipt = format!("Nothing was sent: with this key, {} {verb} still open.", self.ids.join(", "));
            return text::unbroken(&receipt);
        }
        let mut receipt = format!("{noun} {} {verb} sent to {}", self.ids.join(", "), self.to.join(", "));
        match self.threads.as_slice() {
            [thread] if !thread.is_empty() => receipt.push_str(&format!(", in thread '{thread}'.")),
            _ => receipt.push('.'),
        }
        if self.wants_ack {
            receipt.push_str(" It asks for an acknowledgement.");
        }
        let reservation = self.reservation.iter().map(|reservation| text::unbroken(&reservation.message));
        let receipt = std::iter::once(text::unbroken(&receipt)).chain(reservation);
        receipt.chain(self.recipients.lines(SystemClock.now())).collect::<Vec<_>>().join("\n")
    }
}

/// Tells the sender of a message what it should think about, and what is wrong with it as a typed message.
pub fn warn(warnings: &[WarningAnswer], problems: &[ProblemAnswer]) {
    let warnings = warnings.iter().map(|warning| (&warning.message, &*warning.hint));
    for (fact, hint) in warnings.chain(problems.iter().map(|problem| (&problem.message, ""))) {
        let (fact, hint) = (text::unbroken(fact), text::unbroken(hint));
        output::note(format!("Warning: {}. {hint}", fact.trim_end_matches('.')).trim_end());
    }
}

/// What was waited for.
enum Arrived {
    /// The id of the delivery.
    Answer(String),
    Acknowledgement(RecipientAnswer),
}

/// Waits for the answer; none if nothing comes in time.
async fn answer_to(visit: &Visit<'_>, sent: &Sent, seconds: u64) -> anyhow::Result<Option<Arrived>> {
    let wait = async {
        match visit.mailbox.post_office() {
            Some(office) => woken(visit, office, sent).await,
            None => asked(visit, sent).await,
        }
    };
    timeout(Duration::from_secs(seconds), wait).await.ok().transpose()
}

/// The answer, looked for whenever mail arrives.
async fn woken(visit: &Visit<'_>, office: &PostOffice, sent: &Sent) -> anyhow::Result<Arrived> {
    let keys = [("project", Some(visit.project)), ("registration_token", visit.who.token.as_deref())];
    let watch = office.watch([resource("inbox", &visit.who.name, &keys)]);
    let request = FetchInbox {
        thread_id: Some(sent.threads[0].clone()),
        include_bodies: Some(false),
        limit: Some(LOOKED_AT),
        ..FetchInbox::default()
    };
    let request = request.by(visit.actor());
    let message_id: i64 = sent.ids[0].parse().context("the office named what was sent by no number")?;
    loop {
        let looked = async {
            if let Some(id) = answer_among(&office.ask(request.clone()).await?, message_id, &sent.to) {
                return Ok(Some(Arrived::Answer(id.to_string())));
            }
            let recipient = if sent.wants_ack { acknowledged(visit, office, message_id).await? } else { None };
            Ok(recipient.map(Arrived::Acknowledgement))
        };
        match looked.await {
            Ok(Some(arrived)) => return Ok(arrived),
            Ok(None) => {}
            // A server that is being started again comes back.
            Err(refused) if Refused::is_passing(&refused) => {}
            Err(refused) => return Err(refused.into()),
        }
        let pause = if sent.wants_ack { ASK_AGAIN } else { LOOK_AGAIN };
        let _ = timeout(pause, watch.changed()).await;
    }
}

/// The first delivery that was acknowledged.
async fn acknowledged(
    visit: &Visit<'_>,
    office: &PostOffice,
    message_id: i64,
) -> Result<Option<RecipientAnswer>, Refused> {
    let recipients = lists::sent(visit, office, message_id).await?.recipients;
    Ok(recipients.into_iter().filter(|recipient| recipient.ack_ts.is_some()).min_by_key(|recipient| recipient.ack_ts))
}

/// The answer to message `sent`, in an inbox that has the newest first: the first that answers it, else the first that
/// came after it from one of the recipients.
fn answer_among(inbox: &[MessageAnswer], sent: i64, recipients: &[String]) -> Option<i64> {
    let later = || inbox.iter().rev().filter(|message| message.id > sent);
    let answer = later().find(|message| message.reply_to == Some(sent));
    answer.or_else(|| later().find(|message| recipients.contains(&message.from))).map(|message| message.id)
}

/// The answer, asked for again and again.
async fn asked(visit: &Visit<'_>, sent: &Sent) -> anyhow::Result<Arrived> {
    loop {
        let next = Instant::now() + ASK_AGAIN;
        for (id, thread) in sent.ids.iter().zip(&sent.threads) {
            let thread = if thread.is_empty() { id } else { thread };
            let deliveries = visit.provider().thread(thread).await?;
            if let Some(answer) = delivery_among(&deliveries, id, &visit.who.name) {
                return Ok(Arrived::Answer(answer.to_owned()));
            }
        }
        sleep(next.saturating_duration_since(Instant::now())).await;
    }
}

/// The answer to delivery `sent` in its thread, which has the oldest first.
fn delivery_among<'a>(thread: &'a [ProviderDelivery], sent: &str, me: &str) -> Option<&'a str> {
    let at = thread.iter().position(|delivery| delivery.id == sent);
    let to = at.map(|at| thread[at].to.as_str());
    let later =
        || thread[at.map_or(0, |at| at + 1)..].iter().filter(|delivery| delivery.id != sent && delivery.to == me);
    let answer = later().find(|delivery| delivery.reply_to.as_deref() == Some(sent));
    answer.or_else(|| later().find(|delivery| Some(delivery.from.as_str()) == to)).map(|delivery| delivery.id.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn received(id: i64, from: &str, reply_to: Option<i64>) -> MessageAnswer {
        let message = json!({
            "id": id, "from": from, "to": [], "subject": "", "created_ts": "2026-01-11T16:33:15Z", "importance": "normal",
            "ack_required": false, "kind": null, "thread_id": "t", "reply_to": reply_to,
        });
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn what_answers_is_the_answer_and_else_what_a_recipient_says_later() {
        let to = ["BlueLake".to_owned(), "RedFox".to_owned()];
        let old = received(16, "BlueLake", Some(17));
        let stranger = received(18, "GreenDog", None);
        let aside = received(19, "RedFox", Some(3));
        let answer = received(20, "BlueLake", Some(17));
        let late = received(21, "BlueLake", Some(17));
        assert_eq!(answer_among(&[late, answer, aside, stranger, old], 17, &to), Some(20));
        let aside = [received(20, "RedFox", None), received(19, "RedFox", Some(3)), received(18, "GreenDog", None)];
        assert_eq!(answer_among(&aside, 17, &to), Some(19), "the first of them");
        assert_eq!(answer_among(&aside[2..], 17, &to), None);
        assert_eq!(answer_among(&[received(17, "BlueLake", None)], 17, &to), None, "what was sent is no answer");
    }

    fn delivery(id: &str, from: &str, to: &str, reply_to: Option<&str>) -> ProviderDelivery {
        ProviderDelivery {
            is_human: false,
            id: id.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            subject: String::new(),
            body: String::new(),
            created_at: jiff::Timestamp::UNIX_EPOCH,
            read: false,
            thread: "t".to_owned(),
            reply_to: reply_to.map(str::to_owned),
            priority: None,
            cc: Vec::new(),
            awaits_ack: false,
            addressed: Vec::new(),
            archived: false,
            problems: Vec::new(),
        }
    }

    #[test]
    fn elsewhere_the_answer_is_a_delivery_to_me_in_the_thread() {
        let thread = [
            delivery("a", "Blue", "Me", None),
            delivery("b", "Me", "Blue", None),
            delivery("c", "Blue", "Red", Some("b")),
            delivery("d", "Blue", "Me", None),
            delivery("e", "Red", "Me", Some("b")),
        ];
        assert_eq!(delivery_among(&thread, "b", "Me"), Some("e"));
        assert_eq!(delivery_among(&thread[..4], "b", "Me"), Some("d"));
        assert_eq!(delivery_among(&thread[..3], "b", "Me"), None, "what came before and what others got is no answer");
        assert_eq!(delivery_among(&thread[4..], "b", "Me"), Some("e"), "a backend may not show what was sent");
    }
}

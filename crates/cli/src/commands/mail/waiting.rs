//! Waiting for the answer to what was sent.
//!
//! An answer is a message that answers the one that was sent, else one in its thread from somebody who got it. An
//! acknowledgement that was asked for ends the wait too. Our office rings when mail arrives; acknowledgements, and other
//! backends, are asked for once a second. Nothing is marked here.

use std::time::Duration;

use anyhow::Context;
use api::FetchInbox;
use api::answers::{CopyAnswer, MessageAnswer};
use mail::provider::Letter;
use tokio::time::{Instant, sleep, timeout};

use super::receipt::Sent;
use super::{Visit, following};
use crate::post_office::{PostOffice, Refused, resource};

/// How late a look is at most that no ring brought about.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How often a backend is asked that does not ring.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// How many of the newest messages in the thread are looked at.
const LOOKED_AT: u32 = 100;

/// How the wait ended.
pub enum Ended {
    /// With an answer.
    Answered(Letter),
    /// With an acknowledgement.
    Acknowledged(CopyAnswer),
    /// With nothing in time.
    Empty,
}

/// Waits for the answer.
pub async fn answer_to(visit: &Visit<'_>, sent: &Sent, seconds: u64) -> anyhow::Result<Ended> {
    let waited = match visit.mailbox.post_office() {
        Some(office) => timeout(Duration::from_secs(seconds), rung(visit, office, sent)).await,
        None => timeout(Duration::from_secs(seconds), asked(visit, sent)).await,
    };
    let Ok(found) = waited else { return Ok(Ended::Empty) };
    Ok(match found? {
        Arrived::Answer(id) => Ended::Answered(visit.provider().get(&id).await?),
        Arrived::Acknowledgement(copy) => Ended::Acknowledged(copy),
    })
}

/// What was waited for.
enum Arrived {
    /// The id of an answer.
    Answer(String),
    Acknowledgement(CopyAnswer),
}

/// The answer, looked for whenever mail arrives.
async fn rung(visit: &Visit<'_>, office: &PostOffice, sent: &Sent) -> anyhow::Result<Arrived> {
    let keys = [("project", Some(visit.project)), ("registration_token", visit.who.token.as_deref())];
    let watch = office.watch(&resource("inbox", &visit.who.name, &keys));
    let request = FetchInbox {
        project_key: visit.project.to_owned(),
        agent_name: visit.who.name.clone(),
        thread_id: Some(sent.threads[0].clone()),
        include_bodies: Some(false),
        limit: Some(LOOKED_AT),
        registration_token: visit.who.token.clone(),
        ..FetchInbox::default()
    };
    let message_id: i64 = sent.ids[0].parse().context("the office named what was sent by no number")?;
    loop {
        match office.ask(request.clone()).await {
            Ok(inbox) => {
                if let Some(id) = answer_among(&inbox, message_id, &sent.to) {
                    return Ok(Arrived::Answer(id.to_string()));
                }
                if sent.wants_ack
                    && let Some(copy) = acknowledged(visit, office, message_id).await?
                {
                    return Ok(Arrived::Acknowledgement(copy));
                }
            }
            // A server that is being started again comes back.
            Err(refused) if refused.is_passing() => {}
            Err(refused) => return Err(refused.into()),
        }
        let pause = if sent.wants_ack { ASK_AGAIN } else { LOOK_AGAIN };
        let _ = timeout(pause, watch.changed()).await;
    }
}

/// The first copy that was acknowledged.
async fn acknowledged(visit: &Visit<'_>, office: &PostOffice, message_id: i64) -> Result<Option<CopyAnswer>, Refused> {
    let copies = following::sent(visit, office, message_id).await?.recipients;
    Ok(copies.into_iter().filter(|copy| copy.ack_ts.is_some()).min_by_key(|copy| copy.ack_ts))
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
            let letters = visit.provider().thread(thread).await?;
            if let Some(answer) = letter_among(&letters, id, &visit.who.name) {
                return Ok(Arrived::Answer(answer.to_owned()));
            }
        }
        sleep(next.saturating_duration_since(Instant::now())).await;
    }
}

/// The answer to letter `sent` in its thread, which has the oldest first.
fn letter_among<'a>(thread: &'a [Letter], sent: &str, me: &str) -> Option<&'a str> {
    let at = thread.iter().position(|letter| letter.id == sent);
    let to = at.map(|at| thread[at].to.as_str());
    let later = || thread[at.map_or(0, |at| at + 1)..].iter().filter(|letter| letter.id != sent && letter.to == me);
    let answer = later().find(|letter| letter.reply_to.as_deref() == Some(sent));
    answer.or_else(|| later().find(|letter| Some(letter.from.as_str()) == to)).map(|letter| letter.id.as_str())
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

    fn letter(id: &str, from: &str, to: &str, reply_to: Option<&str>) -> Letter {
        Letter {
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
        }
    }

    #[test]
    fn elsewhere_the_answer_is_a_letter_to_me_in_the_thread() {
        let thread = [
            letter("a", "Blue", "Me", None),
            letter("b", "Me", "Blue", None),
            letter("c", "Blue", "Red", Some("b")),
            letter("d", "Blue", "Me", None),
            letter("e", "Red", "Me", Some("b")),
        ];
        assert_eq!(letter_among(&thread, "b", "Me"), Some("e"));
        assert_eq!(letter_among(&thread[..4], "b", "Me"), Some("d"));
        assert_eq!(letter_among(&thread[..3], "b", "Me"), None, "what came before and what others got is no answer");
        assert_eq!(letter_among(&thread[4..], "b", "Me"), Some("e"), "a backend may not show what was sent");
    }
}

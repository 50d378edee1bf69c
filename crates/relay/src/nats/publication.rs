//! What the NATS server is told of an event: on which subject, under which id, in which words.
//!
//! A message in a channel is the document that stands in folders; everything else is a small JSON object. What is too large
//! for the server is announced, and says where the rest is.

use async_nats::{HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;
use mail::announcements::Announcement;
use mail::channels::{NATS, OfficeMark, Post, SIGN};
use mail::clock::rfc3339;
use mail::events::{Event, EventKind};
use mail::ids::{AgentId, MessageId};
use mail::messages::{Message, Role};
use mail::presence::Source;
use mail::projects::Project;
use mail::{Store, Stored};
use serde_json::{Value, json};

use super::announcement;
use super::subjects::{Subjects, Topic};

/// The header by which the server knows what it has been sent before.
const ID: &str = "Nats-Msg-Id";
/// The header with what happened, such as `message.sent`.
pub(super) const EVENT: &str = "Postrider-Event";
/// The header with the office that says so.
pub(super) const OFFICE: &str = "Postrider-Office";
/// Whose subject an event stands on that nobody did.
const NOBODY: &str = "postrider";

/// One thing that is said to the server.
pub(super) struct Publication {
    pub(super) subject: String,
    pub(super) headers: HeaderMap,
    pub(super) payload: Bytes,
}

/// Writes the publications of one project.
pub(super) struct EventWriter<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) project: &'a Project,
    pub(super) office: &'a str,
    pub(super) subjects: &'a Subjects,
    /// The largest publication that the server takes, with headers.
    pub(super) largest: usize,
}

impl EventWriter<'_> {
    /// What is to be said of an event, in this order. Nothing, if it tells of what came from the server, or of a blind
    /// copy: whoever listens would learn of it.
    pub(super) async fn publications(&self, event: &Event) -> Stored<Vec<Publication>> {
        let agent = match event.agent {
            Some(agent) => self.name_of(agent).await?,
            None => None,
        };
        let name = agent.as_deref().unwrap_or(NOBODY);
        match event.kind {
            EventKind::MessageSent => self.message_sent(event).await,
            EventKind::PresenceChanged => self.presence(event, name).await,
            EventKind::AgentRegistered | EventKind::AgentRenamed => {
                Ok(vec![self.plain(event, Topic::Presence(name), "agent_id", agent.as_deref())])
            }
            EventKind::AgentRetired => self.agent_retired(event, agent.as_deref()).await,
            EventKind::ReservationGranted | EventKind::ReservationReleased => {
                Ok(vec![self.plain(event, Topic::Reservation(name), "lease_id", agent.as_deref())])
            }
            _ if self.is_blind_copy(event, name).await? => Ok(Vec::new()),
            _ => Ok(vec![self.plain(event, Topic::Mail(name), "message_id", agent.as_deref())]),
        }
    }

    async fn message_sent(&self, event: &Event) -> Stored<Vec<Publication>> {
        let id = MessageId(event.reference);
        if let Some(post) = self.store.post(id).await? {
            return Ok(if post.message.door == NATS { Vec::new() } else { vec![self.post(event, &post)] });
        }
        let Some(message) = self.store.message(self.project.id, id).await? else { return Ok(Vec::new()) };
        let mut deliveries = self.store.deliveries(id).await?;
        deliveries.retain(|delivery| delivery.role != Role::Bcc);
        let whole = self.message_event(event, &message);
        let numbered =
            deliveries.iter().enumerate().map(|(index, delivery)| (self.delivery_id(event, index), delivery));
        let budget = self.budget(event, &self.delivery_id(event, deliveries.len()));
        let payload = match whole.to_string() {
            text if text.len() <= budget => text,
            _ => announcement::of_message(whole, self.office, &self.resource(id), budget),
        };
        let payload = Bytes::from(payload);
        Ok(numbered
            .map(|(id, delivery)| self.publication(event, Topic::Mail(&delivery.recipient), &id, payload.clone()))
            .collect())
    }

    /// What is said in a channel, under the id that every office gives it.
    fn post(&self, event: &Event, post: &Post) -> Publication {
        let said = post.said(self.office, &post.external_id);
        let named = |name: &str| format!("{}:{}:{name}", self.project.slug, post.channel);
        let mark = OfficeMark::of(&said).map(|mark| mark.key());
        let id = mark.as_ref().map_or_else(|| named(&post.external_id), |key| format!("{}:{key}", self.project.slug));
        let (text, topic) = (said.to_json(), Topic::Channel(&post.channel));
        if text.len() <= self.budget(event, &id) {
            return self.publication(event, topic, &id, text);
        }
        let whole = Announcement {
            office: self.office.to_owned(),
            id: post.external_id.clone(),
            key: mark.unwrap_or_else(|| post.external_id.clone()),
            resource: self.resource(post.message.id),
        };
        let id = named(&whole.name());
        let called: Vec<String> = [&post.message.to[..], &post.message.cc[..]].concat();
        let called: Vec<String> = called.into_iter().filter(|name| !name.starts_with(SIGN)).collect();
        let stub = announcement::of_post(said, &whole, &called, self.budget(event, &id));
        self.publication(event, topic, &id, stub)
    }

    fn message_event(&self, event: &Event, message: &Message) -> Value {
        let mut payload = json!({
            "event": event.kind.as_str(),
            "project": self.project.human_key,
            "seq": event.seq,
            "at": rfc3339(event.at),
            "message": {
                "id": message.id.0,
                "from": message.from,
                "to": message.to,
                "cc": message.cc,
                "subject": message.subject,
                "body_md": message.body,
                "thread_id": message.thread,
                "reply_to": message.reply_to.map(|id| id.0),
                "importance": message.importance.as_str(),
                "ack_required": message.ack_required,
                "kind": message.kind.map(|kind| kind.as_str()),
                "work_id": message.work_id,
                "created_ts": rfc3339(message.created_at),
            },
        });
        if message.is_by_human() {
            payload["message"]["vouched"] = message.vouched.as_str().into();
        }
        payload
    }

    /// An event that is told by the number of what it happened to.
    fn plain(&self, event: &Event, topic: Topic<'_>, number: &str, agent: Option<&str>) -> Publication {
        let document = json!({
            "event": event.kind.as_str(),
            "project": self.project.human_key,
            "seq": event.seq,
            "at": rfc3339(event.at),
            "agent": agent,
            number: event.reference,
        });
        self.publication(event, topic, &self.delivery_id(event, 0), document.to_string())
    }

    /// That an agent is retired, on its own subject; `by` is who did it.
    async fn agent_retired(&self, event: &Event, by: Option<&str>) -> Stored<Vec<Publication>> {
        let name = self.name_of(AgentId(event.reference)).await?;
        let topic = Topic::Presence(name.as_deref().unwrap_or(NOBODY));
        Ok(vec![self.plain(event, topic, "agent_id", by)])
    }

    /// How an agent stands now, as it would stand in a file.
    async fn presence(&self, event: &Event, name: &str) -> Stored<Vec<Publication>> {
        let known = self.store.presence(AgentId(event.reference)).await?;
        let Some(known) = known.filter(|known| known.source != Source::Nats) else { return Ok(Vec::new()) };
        let said = known.heartbeat(name).to_json();
        let id = match known.source {
            // Every office that reads the folder says the same.
            Source::File => format!("{}:presence:{}", self.project.slug, blake3::hash(said.as_bytes()).to_hex()),
            _ => self.delivery_id(event, 0),
        };
        Ok(vec![self.publication(event, Topic::Presence(name), &id, said)])
    }

    /// Whether an event tells what somebody did with a blind copy.
    async fn is_blind_copy(&self, event: &Event, name: &str) -> Stored<bool> {
        let deliveries = self.store.deliveries(MessageId(event.reference)).await?;
        Ok(deliveries.iter().any(|delivery| delivery.role == Role::Bcc && delivery.recipient == name))
    }

    fn publication(&self, event: &Event, topic: Topic<'_>, id: &str, payload: impl Into<Bytes>) -> Publication {
        let subject = self.subjects.of(&self.project.slug, topic);
        Publication { subject, headers: self.headers(event, id), payload: payload.into() }
    }

    fn headers(&self, event: &Event, id: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ID, id);
        headers.insert(EVENT, event.kind.as_str());
        headers.insert(OFFICE, self.office);
        headers.insert("Postrider-Seq", event.seq.to_string());
        headers.insert("Postrider-Project", self.project.slug.as_str());
        headers
    }

    /// How many bytes are left beside the headers.
    fn budget(&self, event: &Event, id: &str) -> usize {
        const FRAME: usize = "NATS/1.0\r\n\r\n".len();
        const AROUND: usize = ": \r\n".len();
        let length = |(name, values): (&HeaderName, &Vec<HeaderValue>)| -> usize {
            let name: &str = name.as_ref();
            values.iter().map(|value| name.len() + value.as_str().len() + AROUND).sum()
        };
        let headers: usize = self.headers(event, id).iter().map(length).sum();
        self.largest.saturating_sub(FRAME + headers)
    }

    /// The id of what is said to one of several recipients.
    ///
    /// The time is part of it: an office that was put back in time gives its numbers again, to other events.
    fn delivery_id(&self, event: &Event, index: usize) -> String {
        let (slug, office, seq, at) = (&self.project.slug, self.office, event.seq, event.at.as_microsecond());
        let place = if index == 0 { String::new() } else { format!(".{}", index + 1) };
        format!("{slug}:{office}:{seq}{place}:{at}")
    }

    /// Where the whole of a message is to be read in this office.
    fn resource(&self, id: MessageId) -> String {
        let project =
            percent_encoding::utf8_percent_encode(&self.project.human_key, percent_encoding::NON_ALPHANUMERIC);
        format!("resource://message/{id}?project={project}")
    }

    async fn name_of(&self, agent: AgentId) -> Stored<Option<String>> {
        let found = self.store.agents(self.project.id, Some(AgentId(agent.0 - 1)), 1).await?.pop();
        Ok(found.filter(|found| found.id == agent).map(|found| found.name))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mail::Office;
    use mail::clock::SystemClock;
    use mail::events::EventStore;
    use mail::messages::Importance;
    use mail::office::{Chance, Claim, Draft, Rules};
    use store::{Options, Sqlite};

    use super::*;
    use crate::wake::WakeUps;

    struct Dice;

    impl Chance for Dice {
        fn token(&self) -> String {
            "0".repeat(64)
        }

        fn seed(&self) -> u64 {
            7
        }
    }

    #[tokio::test]
    async fn what_a_person_does_is_told_as_such() {
        let home = tempfile::tempdir().unwrap();
        let store = Arc::new(Sqlite::open(&home.path().join("mail.db"), &Options::default()).unwrap());
        let (wake, chance) = (Arc::new(WakeUps::new()), Arc::new(Dice));
        let office = Office::new(store.clone(), Arc::new(SystemClock), wake, chance, Rules::default());
        let project = office.ensure_project("/p").await.unwrap();
        office.ensure_mailbox("/p", "bob").await.unwrap();
        office.welcome_person("/p", "Anna").await.unwrap();
        let draft = Draft {
            project_key: "/p",
            from: Claim::of("Anna"),
            to: vec!["bob".to_owned()],
            cc: Vec::new(),
            bcc: Vec::new(),
            subject: "Stop",
            body: "",
            thread: None,
            importance: Importance::Normal,
            ack_required: None,
            idempotency_key: None,
            open_key: None,
            strict: false,
            door: "page",
        };
        let id = office.for_person().send(draft).await.unwrap().message.id;
        office.archive_for("/p", "Anna", "bob", id, false).await.unwrap();
        office.archive_for("/p", "Anna", "bob", id, true).await.unwrap();
        office.retire("/p", "Anna", "bob").await.unwrap();
        let subjects = Subjects::under("t").unwrap();
        let writer =
            EventWriter { store: &*store, project: &project, office: "o", subjects: &subjects, largest: 1 << 20 };
        let mut told = Vec::new();
        for event in store.events(project.id, 0, 100).await.unwrap() {
            for publication in writer.publications(&event).await.unwrap() {
                let payload: Value = serde_json::from_slice(&publication.payload).unwrap();
                told.push((event.kind.as_str(), publication.subject, payload));
            }
        }
        told.retain(|(kind, ..)| !matches!(*kind, "agent.registered" | "presence.changed"));
        let subjects: Vec<_> = told.iter().map(|(kind, subject, _)| (*kind, subject.as_str())).collect();
        let expected = [
            ("message.sent", "t.p.mail.bob"),
            ("message.archived", "t.p.mail.Anna"),
            ("message.restored", "t.p.mail.Anna"),
            ("agent.retired", "t.p.presence.bob"),
        ];
        assert_eq!(subjects, expected);
        assert_eq!(told[0].2["message"]["vouched"], "human");
        assert_eq!((&told[3].2["agent"], &told[3].2["agent_id"]), (&json!("Anna"), &json!(1)));
    }
}

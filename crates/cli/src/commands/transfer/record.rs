//! One message as a line of JSON.

use anyhow::{Context, bail, ensure};
use formats::{Kind, Problem};
use jiff::Timestamp;
use mail::agents::AgentName;
use mail::channels::{ChannelName, NewPost, Origin};
use mail::error::{rfc3339, shown};
use mail::ids::{MessageId, ProjectId};
use mail::messages::{Delivery, DeliveryState, Importance, Message, Role, Vouched};
use mail::projects::ProjectKey;
use mail::transfer::Record;
use serde::{Deserialize, Serialize};

/// A message with its deliveries.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportLine {
    id: i64,
    project: String,
    project_slug: String,
    from: String,
    to: Vec<String>,
    cc: Vec<String>,
    subject: String,
    body_md: String,
    created_ts: String,
    thread_id: String,
    reply_to: Option<i64>,
    importance: String,
    ack_required: bool,
    kind: Option<String>,
    work_id: Option<String>,
    door: String,
    vouched: String,
    /// What was wrong with it as a message in JSON.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    problems: Vec<ProblemLine>,
    deliveries: Vec<DeliveryLine>,
    /// Only of what was said in a channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    post: Option<PostLine>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProblemLine {
    path: String,
    found: Option<String>,
    wanted: String,
}

/// What makes a message a post.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PostLine {
    channel: String,
    keys: Vec<String>,
    external_id: Option<String>,
    cited_as: Option<String>,
    /// The name of what it answers, where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answers: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    mode: String,
    hops: u32,
    sent_ts: Option<String>,
    document: Option<String>,
    /// The office that first said it, and the number of its event there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeliveryLine {
    name: String,
    role: String,
    shown_ts: Option<String>,
    read_ts: Option<String>,
    ack_ts: Option<String>,
    ack_body: String,
    archived_ts: Option<String>,
}

impl From<Record> for ExportLine {
    fn from(Record { human_key, slug, message, deliveries, post }: Record) -> Self {
        Self {
            id: message.id.0,
            project: human_key,
            project_slug: slug,
            from: message.from,
            to: message.to,
            cc: message.cc,
            subject: message.subject,
            body_md: message.body,
            created_ts: rfc3339(message.created_at),
            thread_id: message.thread,
            reply_to: message.reply_to.map(|id| id.0),
            importance: message.importance.as_str().to_owned(),
            ack_required: message.ack_required,
            kind: message.kind.map(|kind| kind.as_str().to_owned()),
            work_id: message.work_id,
            door: message.door,
            vouched: message.vouched.as_str().to_owned(),
            problems: message.problems.into_iter().map(ProblemLine::from).collect(),
            deliveries: deliveries.into_iter().map(DeliveryLine::from).collect(),
            post: post.map(PostLine::from),
        }
    }
}

impl From<Problem> for ProblemLine {
    fn from(Problem { path, found, wanted }: Problem) -> Self {
        Self { path, found, wanted }
    }
}

impl From<ProblemLine> for Problem {
    fn from(ProblemLine { path, found, wanted }: ProblemLine) -> Self {
        Self { path, found, wanted }
    }
}

impl From<NewPost> for PostLine {
    fn from(post: NewPost) -> Self {
        Self {
            channel: post.channel.as_str().to_owned(),
            keys: post.keys,
            external_id: post.external_id,
            cited_as: post.cited_as,
            answers: post.answers,
            kind: post.kind,
            mode: post.mode,
            hops: post.hops,
            sent_ts: post.sent_at.map(rfc3339),
            document: post.document,
            origin: post.origin.as_ref().map(ToString::to_string),
        }
    }
}

impl From<Delivery> for DeliveryLine {
    fn from(Delivery { recipient, role, state }: Delivery) -> Self {
        Self {
            name: recipient,
            role: role.as_str().to_owned(),
            shown_ts: state.shown_at.map(rfc3339),
            read_ts: state.read_at.map(rfc3339),
            ack_ts: state.acked_at.map(rfc3339),
            ack_body: state.ack_note,
            archived_ts: state.archived_at.map(rfc3339),
        }
    }
}

impl TryFrom<ExportLine> for Record {
    type Error = anyhow::Error;

    fn try_from(line: ExportLine) -> anyhow::Result<Self> {
        if line.id < 1 {
            bail!("id '{}' is not a message's", line.id);
        }
        let kind = line.kind.as_deref().map(|word| known("kind", word, Kind::parse(word))).transpose()?;
        let vouched = Vouched::parse(&line.vouched);
        check_thread(&line.thread_id)?;
        let texts = [("subject", &line.subject), ("body_md", &line.body_md), ("door", &line.door)];
        for (what, text) in texts.into_iter().chain(line.work_id.iter().map(|id| ("work_id", id))) {
            check_text(what, text)?;
        }
        let post = line.post.map(NewPost::try_from).transpose()?;
        let message = Message {
            id: MessageId(line.id),
            // Projects go by their names here; the store knows the number.
            project: ProjectId(0),
            from: name(&line.from)?,
            to: recipients(&line.to, post.as_ref())?,
            cc: line.cc.iter().map(|one| name(one)).collect::<anyhow::Result<_>>()?,
            subject: line.subject,
            body: line.body_md,
            thread: line.thread_id,
            reply_to: line.reply_to.map(MessageId),
            importance: known("importance", &line.importance, Importance::parse(&line.importance))?,
            ack_required: line.ack_required,
            kind,
            work_id: line.work_id,
            door: line.door,
            vouched: known("vouched", &line.vouched, vouched)?,
            created_at: time(&line.created_ts)?,
            problems: line.problems.into_iter().map(Problem::from).collect(),
        };
        let deliveries = line.deliveries.into_iter().map(Delivery::try_from).collect::<anyhow::Result<_>>()?;
        let human_key = ProjectKey::parse_path(&line.project)?.as_str().to_owned();
        Ok(Self { human_key, slug: line.project_slug, message, deliveries, post })
    }
}

impl TryFrom<PostLine> for NewPost {
    type Error = anyhow::Error;

    fn try_from(line: PostLine) -> anyhow::Result<Self> {
        let names = [
            ("external_id", &line.external_id),
            ("cited_as", &line.cited_as),
            ("answers", &line.answers),
            ("document", &line.document),
        ];
        let texts = names.into_iter().filter_map(|(what, text)| Some((what, text.as_deref()?)));
        let keys = line.keys.iter().map(|key| ("keys", key.as_str()));
        for (what, text) in texts.chain(keys).chain([("type", &*line.kind), ("mode", &*line.mode)]) {
            check_text(what, text)?;
        }
        let origin = line.origin.as_deref();
        let read = |text| {
            Origin::parse(text).with_context(|| format!("origin '{}' is not an office and a number", shown(text)))
        };
        Ok(Self {
            channel: ChannelName::parse(&line.channel)?,
            keys: line.keys,
            external_id: line.external_id,
            cited_as: line.cited_as,
            answers: line.answers,
            kind: line.kind,
            mode: line.mode,
            hops: line.hops,
            sent_at: line.sent_ts.as_deref().map(time).transpose()?,
            document: line.document,
            origin: origin.map(read).transpose()?,
        })
    }
}

impl TryFrom<DeliveryLine> for Delivery {
    type Error = anyhow::Error;

    fn try_from(line: DeliveryLine) -> anyhow::Result<Self> {
        let role = Role::parse(&line.role);
        check_text("ack_body", &line.ack_body)?;
        Ok(Self {
            recipient: name(&line.name)?,
            role: known("role", &line.role, role)?,
            state: DeliveryState {
                shown_at: line.shown_ts.as_deref().map(time).transpose()?,
                read_at: line.read_ts.as_deref().map(time).transpose()?,
                acked_at: line.ack_ts.as_deref().map(time).transpose()?,
                ack_note: line.ack_body,
                archived_at: line.archived_ts.as_deref().map(time).transpose()?,
            },
        })
    }
}

/// Whom a message is written to: of a post its channel first, then agents.
fn recipients(names: &[String], post: Option<&NewPost>) -> anyhow::Result<Vec<String>> {
    let channel = post.map(|post| post.channel.signed());
    let agents = match (&channel, names.split_first()) {
        (Some(channel), Some((first, agents))) if first == channel => agents,
        (Some(channel), _) => bail!("'to' does not begin with the channel '{channel}'"),
        (None, _) => names,
    };
    let named = agents.iter().map(|one| name(one)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(channel.into_iter().chain(named).collect())
}

/// A name that an agent may have. Only such a name was ever given out, so that mail that was exported has no other.
fn name(text: &str) -> anyhow::Result<String> {
    Ok(AgentName::parse(text)?.as_str().to_owned())
}

/// What a word was read as, if it is one of those that there are.
fn known<T>(what: &str, word: &str, read: Option<T>) -> anyhow::Result<T> {
    read.with_context(|| format!("{what} '{word}' is not known"))
}

fn check_thread(text: &str) -> anyhow::Result<()> {
    ensure!(!text.is_empty(), "thread_id is empty");
    ensure!(!text.contains(char::is_control), "thread_id '{}' has a control character", shown(text));
    Ok(())
}

fn check_text(what: &str, text: &str) -> anyhow::Result<()> {
    ensure!(!text.contains('\0'), "{what} '{}' has a NUL character", shown(text));
    Ok(())
}

fn time(text: &str) -> anyhow::Result<Timestamp> {
    text.parse().with_context(|| format!("'{text}' is not a time"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn line() -> Value {
        let delivery = json!({ "name": "bob", "role": "to", "shown_ts": null, "read_ts": null, "ack_ts": null,
            "ack_body": "", "archived_ts": null });
        json!({ "id": 1, "project": "/data/app", "project_slug": "data-app", "from": "alice", "to": ["bob"], "cc": [],
            "subject": "Hello", "body_md": "Tab\t, bell \u{7} and line\n", "created_ts": "2026-01-11T16:00:00Z",
            "thread_id": "1", "reply_to": null, "importance": "normal", "ack_required": false, "kind": null,
            "work_id": null, "door": "mcp", "vouched": "claimed", "deliveries": [delivery] })
    }

    fn read(line: Value) -> anyhow::Result<Record> {
        serde_json::from_value::<ExportLine>(line)?.try_into()
    }

    #[test]
    fn a_line_that_was_exported_is_read_back() {
        let record = read(line()).unwrap();
        assert_eq!(serde_json::to_value(ExportLine::from(record.clone())).unwrap()["body_md"], line()["body_md"]);
        assert_eq!((record.human_key.as_str(), record.message.from.as_str()), ("/data/app", "alice"));
    }

    #[test]
    fn a_post_that_was_exported_is_read_back() {
        let mut line = line();
        line["to"] = json!(["#dev", "bob"]);
        line["post"] = json!({ "channel": "dev", "keys": ["msg-1"], "external_id": "msg-1", "cited_as": null,
            "answers": "msg-0", "type": "chat", "mode": "watcher", "hops": 2, "sent_ts": "2026-01-11T16:00:00.000000Z",
            "document": "{}", "origin": "0123abcd:7" });
        let record = read(line.clone()).unwrap();
        assert_eq!(record.message.to, ["#dev", "bob"]);
        assert_eq!(record.post.as_ref().unwrap().channel.as_str(), "dev");
        assert_eq!(serde_json::to_value(ExportLine::from(record.clone())).unwrap()["post"], line["post"]);
        for (place, value, told) in [
            ("/to", json!(["bob"]), "'to' does not begin with the channel '#dev'"),
            ("/to/1", json!("#ops"), "Invalid agent name: '#ops'"),
            ("/post/channel", json!("../x"), "Invalid channel: '../x'"),
            ("/post/keys/0", json!("a\0"), "keys 'a\u{fffd}' has a NUL character"),
            ("/post/document", json!("\0"), "document"),
            ("/post/sent_ts", json!("then"), "'then' is not a time"),
            ("/post/origin", json!("a\0:7"), "origin 'a\u{fffd}:7' is not an office and a number"),
            ("/post/origin", json!("0123abcd"), "origin '0123abcd' is not an office and a number"),
        ] {
            let mut line = line.clone();
            *line.pointer_mut(place).unwrap() = value;
            let error = read(line).map(|record| record.message.id).unwrap_err().to_string();
            assert!(error.contains(told), "{place}: {error}");
        }
    }

    #[test]
    fn what_no_door_would_have_let_in_is_refused_with_the_value() {
        for (place, value, told) in [
            ("/from", json!("a\nb"), "Invalid agent name: 'a\u{fffd}b'"),
            ("/from", json!("all"), "Invalid agent name: 'all'"),
            ("/to/0", json!("x".repeat(129)), "at most 128 characters"),
            ("/cc", json!([""]), "Invalid agent name"),
            ("/deliveries/0/name", json!("#general"), "Invalid agent name: '#general'"),
            ("/deliveries/0/ack_body", json!("a\0"), "ack_body 'a\u{fffd}' has a NUL character"),
            ("/project", json!("data/app"), "Invalid project_key: 'data/app'"),
            ("/project", json!("/a/../b"), "Invalid project_key"),
            ("/subject", json!("a\0b"), "subject 'a\u{fffd}b' has a NUL character"),
            ("/body_md", json!("\0"), "body_md"),
            ("/work_id", json!("\0"), "work_id"),
            ("/door", json!("\0"), "door"),
            ("/thread_id", json!("a\tb"), "thread_id 'a\u{fffd}b' has a control character"),
            ("/thread_id", json!(""), "thread_id is empty"),
        ] {
            let mut line = line();
            *line.pointer_mut(place).unwrap() = value;
            let error = read(line).map(|record| record.message.id).unwrap_err().to_string();
            assert!(error.contains(told), "{place}: {error}");
        }
    }
}

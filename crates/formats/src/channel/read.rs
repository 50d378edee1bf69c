//! Reading a document: what it says, what is wrong with it, and what to do about that.
//!
//! A file may be met while it is being written, and anybody may write one. So nothing here fails: a document that ends
//! too early is to be looked at again, one that lacks what every message needs is passed over, and all else is used.

use serde_json::{Map, Value};

use super::file_name::LONGEST_FILE_NAME;
use super::write::METADATA;
use super::{ChannelMessage, ERROR_REPORT, FileName, LONGEST_NAME, Mode, Type, is_name};
use crate::json::{MOST_VALUES, holds_too_many_values};
use crate::time::read_time;
use crate::{Problem, mention};

/// How much a message may matter.
const IMPORTANCE: [&str; 4] = ["low", "normal", "high", "urgent"];

crate::named! {
    /// What to do with a document.
    pub enum Verdict {
        /// Use it.
        Ok = "ok",
        /// Use it, and log what is odd about it.
        Warn = "warn",
        /// Pass it over, and log why.
        Skip = "skip",
        /// Look again later: it may still be being written.
        Retry = "retry",
    }
}

/// Where a document was found, as far as that is known; it should say the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// The name of its file, without the folders.
    pub file: Option<&'a str>,
    /// The channel in whose folder or on whose subject it was.
    pub channel: Option<&'a str>,
}

/// What reading a document came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// What to do with it.
    pub verdict: Verdict,
    /// What it says; there exactly if it can be used.
    pub message: Option<ChannelMessage>,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
    /// What could be read of a document that cannot be used.
    remains: Remains,
}

/// The parts of a document by which one tells whom it is for.
#[derive(Clone, Debug, Default, PartialEq)]
struct Remains {
    from: Option<String>,
    to: Option<String>,
    text: Option<String>,
}

impl Reading {
    /// Whether the document calls this agent, even if it cannot be used; `None` if it does not say whom it is for.
    pub fn is_for(&self, agent: &str) -> Option<bool> {
        let (to, text) = match &self.message {
            Some(message) => (&message.to, &message.text),
            None => (self.remains.to.as_ref()?, self.remains.text.as_ref()?),
        };
        Some(mention::is_for(agent, to, text))
    }

    /// Whether this agent wrote it.
    pub fn is_from(&self, agent: &str) -> bool {
        let from = self.message.as_ref().map(|message| &message.from).or(self.remains.from.as_ref());
        !agent.is_empty() && from.is_some_and(|from| from == agent)
    }

    /// Whether this agent should answer: it can be used, calls the agent, and is not its own.
    pub fn wants_answer_of(&self, agent: &str) -> bool {
        self.message.is_some() && self.is_for(agent) == Some(true) && !self.is_from(agent)
    }
}

/// Reads a document that was found in that place.
pub fn read(bytes: &[u8], place: Place<'_>) -> Reading {
    let mut reader = Reader::default();
    let name = place.file.and_then(|file| reader.file_name(file));
    let (mut verdict, mut message, mut remains) = (Verdict::Skip, None, Remains::default());
    match object(bytes).map(|fields| reader.message(fields)) {
        Ok(Ok(said)) => {
            reader.doubt(&said, place, name.as_ref());
            verdict = if reader.problems.is_empty() { Verdict::Ok } else { Verdict::Warn };
            message = Some(said);
        }
        Ok(Err(left)) => remains = left,
        Err((wrong, problem)) => {
            reader.problems.push(problem);
            // What is named like no message is none, whatever is written into it yet.
            verdict = if reader.is_unusable { Verdict::Skip } else { wrong };
        }
    }
    Reading { verdict, message, problems: reader.problems, remains }
}

/// What a document says, wherever it was found; `None` if it cannot be used.
pub fn read_value(text: &str) -> Option<ChannelMessage> {
    read(text.as_bytes(), Place::default()).message
}

/// The object that a document is, or what it is instead.
fn object(bytes: &[u8]) -> Result<Fields, (Verdict, Problem)> {
    const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];
    let wrong = |verdict, found: &str, wanted: &str| Err((verdict, Problem::wrong("", found.trim(), wanted)));
    // A file that was made longer before it was filled ends with zeros.
    if bytes.ends_with(b"\0") {
        return wrong(Verdict::Retry, "text that ends with zeros", "a whole JSON object");
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            return wrong(Verdict::Retry, "text that ends within a character", "a whole JSON object");
        }
        Err(_) => return wrong(Verdict::Skip, "bytes that are not UTF-8", "UTF-8 text"),
    };
    // Nobody sees one, so whoever wrote it wonders what is wrong.
    if text.starts_with('\u{feff}') {
        return wrong(Verdict::Skip, "text that begins with a byte order mark", "UTF-8 text without one");
    }
    let begun = text.trim_start_matches(BLANKS);
    if !begun.is_empty() && !begun.starts_with('{') {
        return wrong(Verdict::Skip, text, "a JSON object");
    }
    if holds_too_many_values(text) {
        return wrong(Verdict::Skip, text, &format!("a JSON object of at most {MOST_VALUES} values"));
    }
    serde_json::from_str(text).or_else(|error| {
        let verdict = if error.is_eof() { Verdict::Retry } else { Verdict::Skip };
        wrong(verdict, text, &format!("a JSON object ({error})"))
    })
}

/// Whether a value is of the sort that a field wants.
type Check = fn(&Value) -> bool;
type Fields = Map<String, Value>;

/// Takes a document apart, and notes what is wrong with it.
#[derive(Default)]
struct Reader {
    problems: Vec<Problem>,
    is_unusable: bool,
}

impl Reader {
    /// Notes why the document cannot be used.
    fn refuse(&mut self, problem: Problem) {
        self.problems.push(problem);
        self.is_unusable = true;
    }

    fn file_name(&mut self, file: &str) -> Option<FileName> {
        let name = FileName::parse(file);
        if name.is_none() {
            self.refuse(Problem::wrong("file", file, FileName::FORM));
        }
        name
    }

    fn message(&mut self, mut fields: Fields) -> Result<ChannelMessage, Remains> {
        let id = self.name(&mut fields, "id", LONGEST_FILE_NAME);
        let timestamp = self.timestamp(&mut fields);
        let session_id = self.name(&mut fields, "session_id", LONGEST_NAME);
        let from = self.name(&mut fields, "from", LONGEST_NAME);
        let to = self.name(&mut fields, "to", LONGEST_NAME);
        let kind = self.name(&mut fields, "type", LONGEST_NAME);
        let content = self.required(&mut fields, "content", "an object", Value::is_object);
        let is_there = content.is_some();
        let mut content = if let Some(Value::Object(content)) = content { content } else { Map::new() };
        let text = if is_there { self.text(&mut content, "content.text") } else { None };
        let code = self.optional(&mut content, "content.code", "text", Value::is_string);
        let artifacts = self.optional(&mut content, "content.artifacts", "a list", Value::is_array);
        let metadata = self.metadata(&mut fields);
        if self.is_unusable {
            return Err(Remains { from, to, text });
        }
        if !content.is_empty() {
            fields.insert("content".to_owned(), Value::Object(content));
        }
        // Whatever lacks a part was refused.
        Ok(ChannelMessage {
            id: id.unwrap_or_default(),
            timestamp: timestamp.unwrap_or_default(),
            session_id: session_id.unwrap_or_default(),
            from: from.unwrap_or_default(),
            to: to.unwrap_or_default(),
            kind: kind.unwrap_or_default(),
            text: text.unwrap_or_default(),
            code: code.and_then(|code| code.as_str().map(str::to_owned)),
            artifacts: if let Some(Value::Array(list)) = artifacts { list } else { Vec::new() },
            metadata,
            extra: fields,
        })
    }

    /// What has to be there, and of that sort.
    fn required(&mut self, fields: &mut Fields, path: &str, wanted: &str, is_right: Check) -> Option<Value> {
        let value = fields.remove(last_name(path));
        match &value {
            Some(value) if is_right(value) => {}
            Some(other) => self.refuse(Problem::wrong(path, &shown(other), wanted)),
            None => self.refuse(Problem::missing(path, wanted)),
        }
        value.filter(is_right)
    }

    fn text(&mut self, fields: &mut Fields, path: &str) -> Option<String> {
        let text = self.required(fields, path, "text", Value::is_string)?;
        if let Value::String(text) = text { Some(text) } else { None }
    }

    /// A name that has to be there. One that cannot be used is handed on all the same.
    fn name(&mut self, fields: &mut Fields, field: &str, longest: usize) -> Option<String> {
        let name = self.text(fields, field)?;
        if !is_name(&name, longest) {
            let wanted = format!("1 to {longest} characters, none of them a control character");
            self.refuse(Problem::wrong(field, &name, wanted));
        }
        Some(name)
    }

    fn timestamp(&mut self, fields: &mut Fields) -> Option<jiff::Timestamp> {
        let text = self.text(fields, "timestamp")?;
        let time = read_time(&text);
        let wrong = || Problem::wrong("timestamp", &text, "a time such as 2026-01-11T16:33:15.123Z");
        match time {
            None => self.refuse(wrong()),
            Some((_, has_zone)) if !has_zone => self.problems.push(wrong()),
            Some(_) => {}
        }
        time.map(|(time, _)| time)
    }

    /// What need not be there, and is left out if it is of a wrong type.
    fn optional(&mut self, fields: &mut Fields, path: &str, wanted: &str, is_right: Check) -> Option<Value> {
        let value = fields.remove(last_name(path)).filter(|value| !value.is_null())?;
        if !is_right(&value) {
            self.problems.push(Problem::wrong(path, &shown(&value), wanted));
            return None;
        }
        Some(value)
    }

    /// What stands beside the message. A part that the format defines is left out if it is of a wrong type; what mailboxes
    /// cannot use stays, because others may have a meaning for it.
    fn metadata(&mut self, fields: &mut Fields) -> Fields {
        let given = self.optional(fields, "metadata", "an object", Value::is_object);
        let Some(Value::Object(mut metadata)) = given else { return Map::new() };
        let is_importance = |value: &Value| value.as_str().is_some_and(|word| IMPORTANCE.contains(&word));
        let parts: [(&str, &str, Check); 6] = [
            ("mode", "text", Value::is_string),
            ("turn", "text", Value::is_string),
            ("in_reply_to", "text", Value::is_string),
            ("importance", &IMPORTANCE.join(", "), is_importance),
            ("ack_required", "true or false", Value::is_boolean),
            ("thread_id", "text", Value::is_string),
        ];
        for (field, wanted, is_right) in parts {
            if let Some(wrong) = metadata.get(field).filter(|value| !value.is_null() && !is_right(value)) {
                self.problems.push(Problem::wrong(format!("metadata.{field}"), &shown(wrong), wanted));
                if METADATA.contains(&field) {
                    metadata.remove(field);
                }
            }
        }
        metadata
    }

    /// Notes what is odd about a message that can be used: a type or a mode that is not known, and where it says something
    /// else than the place in which it was found.
    fn doubt(&mut self, message: &ChannelMessage, place: Place<'_>, name: Option<&FileName>) {
        if Type::parse(&message.kind).is_none() && message.kind != ERROR_REPORT {
            self.problems.push(Problem::wrong("type", &message.kind, Type::NAMES.join(", ")));
        }
        if let Some(mode) = message.metadata_text("mode").filter(|mode| Mode::parse(mode).is_none()) {
            self.problems.push(Problem::wrong("metadata.mode", mode, Mode::NAMES.join(", ")));
        }
        let mut compare = |path: &str, found: &str, wanted: &str, whose: &str| {
            if found != wanted {
                self.problems.push(Problem::wrong(path, found, format!("'{wanted}', as {whose} says")));
            }
        };
        if let Some(name) = name {
            let second = |time: jiff::Timestamp| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            compare("id", &message.id, &name.stem(), "the file's name");
            compare("timestamp", &second(message.timestamp), &second(name.time), "the file's name");
            compare("from", &message.from, &name.agent, "the file's name");
        }
        if let Some(channel) = place.channel {
            compare("session_id", &message.session_id, channel, "the channel's name");
        }
    }
}

fn last_name(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// A value, for people.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests;

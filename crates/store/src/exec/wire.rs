//! Deliveries as scripts print them: written as the contract says, read as leniently as can be done without guessing.
//!
//! An empty list may be `[]`, `null` or nothing at all; ids may be numbers; a time without a zone is UTC; what is
//! missing is empty. A delivery without an id, or with a time that is none, fails the whole answer: it could not be
//! acted on, or would be shown in a wrong place. Deliveries of one time are set apart in a list, so such a delivery may
//! say a later time there than by itself.

use jiff::Timestamp;
use mail::messages::Vouched;
use mail::provider::{Count, ProviderDelivery, Words};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::times;

/// What `send` and `reply` get on their standard input.
pub fn input(words: Words<'_>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Input<'a> {
        from: &'a str,
        subject: &'a str,
        body: &'a str,
    }
    let Words { from, subject, body } = words;
    serde_json::to_vec(&Input { from, subject, body }).expect("three strings can be written as JSON")
}

/// Reads one delivery.
pub fn delivery(answer: &[u8]) -> Result<ProviderDelivery, String> {
    Printed::delivery(from_json(answer)?)
}

/// Reads a list of deliveries, and puts the oldest first.
pub fn deliveries(answer: &[u8]) -> Result<Vec<ProviderDelivery>, String> {
    if answer.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    let printed: Option<Vec<Printed>> = from_json(answer)?;
    let deliveries = printed.unwrap_or_default().into_iter().map(Printed::delivery);
    let mut deliveries = deliveries.collect::<Result<Vec<ProviderDelivery>, String>>()?;
    // Stable, so that deliveries of the same second stay as the script had them.
    deliveries.sort_by_key(|delivery| delivery.created_at);
    times::set_apart(&mut deliveries);
    Ok(deliveries)
}

/// Reads how much mail there is.
pub fn count(answer: &[u8]) -> Result<Count, String> {
    #[derive(Deserialize)]
    struct PrintedCount {
        total: usize,
        unread: usize,
    }
    let PrintedCount { total, unread } = from_json(answer)?;
    Ok(Count { total, unread })
}

fn from_json<'a, T: Deserialize<'a>>(answer: &'a [u8]) -> Result<T, String> {
    if answer.trim_ascii().is_empty() {
        return Err("nothing was printed".to_owned());
    }
    serde_json::from_slice(answer).map_err(|problem| problem.to_string())
}

/// A delivery as it was printed. Every field may be `null`.
#[derive(Deserialize)]
struct Printed {
    id: Option<Value>,
    from: Option<String>,
    vouched: Option<String>,
    to: Option<String>,
    subject: Option<String>,
    body: Option<String>,
    created_at: Option<String>,
    read: Option<bool>,
    thread_id: Option<Value>,
    reply_to: Option<Value>,
    priority: Option<i64>,
    cc: Option<Vec<String>>,
}

impl Printed {
    fn delivery(self) -> Result<ProviderDelivery, String> {
        let id = id_text("id", self.id)?.ok_or("a letter has no 'id'")?;
        if id.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(format!("the id '{id}' has white space in it"));
        }
        Ok(ProviderDelivery {
            created_at: self.created_at.as_deref().map_or(Ok(Timestamp::UNIX_EPOCH), time)?,
            thread: id_text("thread_id", self.thread_id)?.unwrap_or_default(),
            reply_to: id_text("reply_to", self.reply_to)?,
            id,
            from: self.from.unwrap_or_default(),
            is_human: self.vouched.as_deref() == Some(Vouched::Human.as_str()),
            to: self.to.unwrap_or_default(),
            subject: self.subject.unwrap_or_default(),
            body: self.body.unwrap_or_default(),
            read: self.read.unwrap_or_default(),
            priority: self.priority,
            cc: self.cc.unwrap_or_default(),
            // Scripts know no acknowledgements.
            ..ProviderDelivery::default()
        })
    }
}

/// An id as text; `None` when it is empty. A fraction is refused, because its digits may not be those that were printed.
fn id_text(field: &str, value: Option<Value>) -> Result<Option<String>, String> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text).filter(|text| !text.is_empty())),
        Some(Value::Number(number)) if number.is_i64() || number.is_u64() => Ok(Some(number.to_string())),
        Some(other) => Err(format!("'{field}' is '{other}', wanted: a string")),
    }
}

/// Reads a time. An empty one is as good as none: the oldest there is.
fn time(text: &str) -> Result<Timestamp, String> {
    if text.is_empty() {
        return Ok(Timestamp::UNIX_EPOCH);
    }
    times::read(text).ok_or_else(|| format!("'created_at' is '{text}', wanted: a time like '2026-01-11T16:33:15Z'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Timestamp {
        time.parse().unwrap()
    }

    #[test]
    fn a_complete_delivery_is_read_as_it_is() {
        let printed = br#"{"id":"gc-7","from":"alice","to":"bob","subject":"s","body":"b","read":true,"rig":"x",
            "created_at":"2026-01-11T17:33:15.5+01:00","thread_id":"t","reply_to":"gc-6","priority":2,"cc":["carol"],
            "vouched":"human"}"#;
        let expected = ProviderDelivery {
            id: "gc-7".to_owned(),
            from: "alice".to_owned(),
            is_human: true,
            to: "bob".to_owned(),
            subject: "s".to_owned(),
            body: "b".to_owned(),
            created_at: at("2026-01-11T16:33:15.5Z"),
            read: true,
            thread: "t".to_owned(),
            reply_to: Some("gc-6".to_owned()),
            priority: Some(2),
            cc: vec!["carol".to_owned()],
            awaits_ack: false,
            addressed: Vec::new(),
            archived: false,
            problems: Vec::new(),
        };
        assert_eq!(delivery(printed), Ok(expected));
    }

    #[test]
    fn what_is_missing_or_null_is_empty() {
        for printed in [r#"{"id":"7"}"#, r#"{"id":"7","from":null,"cc":null,"reply_to":"","created_at":""}"#] {
            let delivery = delivery(printed.as_bytes()).unwrap();
            assert_eq!((delivery.from.as_str(), delivery.thread.as_str(), delivery.reply_to), ("", "", None));
            assert_eq!((delivery.created_at, delivery.read, delivery.priority), (Timestamp::UNIX_EPOCH, false, None));
        }
    }

    #[test]
    fn numeric_ids_keep_their_digits() {
        let printed = br#"{"id":18446744073709551615,"thread_id":-1,"reply_to":9007199254740993}"#;
        let delivery = delivery(printed).unwrap();
        assert_eq!((delivery.id.as_str(), delivery.thread.as_str()), ("18446744073709551615", "-1"));
        assert_eq!(delivery.reply_to.as_deref(), Some("9007199254740993"));
    }

    #[test]
    fn an_id_that_nobody_could_name_is_refused() {
        for id in ["1.5", "1e3", "18446744073709551616", "true", "[]", "{}", "null", r#""""#, r#""a b""#, r#""a\nb""#] {
            let printed = format!(r#"{{"id":{id}}}"#);
            assert!(delivery(printed.as_bytes()).is_err(), "{id}");
        }
        assert!(delivery(b"{}").is_err());
    }

    #[test]
    fn a_time_that_is_none_is_told() {
        assert_eq!(time("2026-01-11 16:33:15"), Ok(at("2026-01-11T16:33:15Z")));
        for text in ["yesterday", "2026-13-01T00:00:00", "1736613195"] {
            assert!(time(text).unwrap_err().contains(text));
        }
    }

    #[test]
    fn no_deliveries_can_be_said_in_many_ways() {
        for answer in ["", " \n", "[]", "null\n", " [ ] "] {
            assert_eq!(deliveries(answer.as_bytes()), Ok(Vec::new()), "'{answer}'");
        }
        for answer in ["", "null", "[]", "nothing"] {
            assert!(delivery(answer.as_bytes()).is_err() && count(answer.as_bytes()).is_err(), "'{answer}'");
        }
    }

    #[test]
    fn a_list_is_put_in_order_and_deliveries_of_one_time_stay_as_they_were_a_moment_apart() {
        let printed = br#"[{"id":"d","created_at":"2026-01-02"},{"id":"a","created_at":"2026-01-01"},
            {"id":"b","created_at":"2026-01-01"},{"id":"c","created_at":"2026-01-01"}]"#;
        let deliveries = deliveries(printed).unwrap();
        let told: Vec<_> = deliveries.iter().map(|delivery| (delivery.id.as_str(), delivery.created_at)).collect();
        let expected = [
            ("a", at("2026-01-01T00:00:00Z")),
            ("b", at("2026-01-01T00:00:00.000001Z")),
            ("c", at("2026-01-01T00:00:00.000002Z")),
            ("d", at("2026-01-02T00:00:00Z")),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn one_bad_delivery_fails_the_list() {
        for bad in [r#"{"body":"no id"}"#, r#"{"id":"1","created_at":"soon"}"#, "7", r#"{"id":"1""#] {
            assert!(deliveries(format!(r#"[{{"id":"1"}},{bad}]"#).as_bytes()).is_err(), "{bad}");
        }
    }
}

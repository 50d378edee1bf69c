//! A line of JSON that carries a message and its circumstances.
//!
//! Only the known members are kept, and those as text, so that a hostile line takes no more memory than its own length.
//! Of two members with one name the last one counts. What the message says is not read here.

use std::fmt;

use formats::Problem;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What a line holds.
pub enum Parcel<'t> {
    /// Nothing, said in so many words.
    Null,
    /// A message.
    Members(Members<'t>),
}

/// The members of a line that mean something.
#[derive(Default)]
pub struct Members<'t> {
    values: [Option<&'t RawValue>; NAMES.len()],
}

const NAMES: [&str; 5] = ["subject", "body", "timestamp", "ack_required", "acked"];
/// What the body is called in mail that was fetched.
const BODY_OF_MAIL: &str = "body_md";

impl<'t> Parcel<'t> {
    /// Reads a line, or says what stands there instead.
    pub fn read(line: &'t str) -> Result<Self, Problem> {
        serde_json::from_str(line).map_err(|error| {
            // That it is JSON but no object needs no further words.
            let wanted = if error.is_data() { "a JSON object".to_owned() } else { format!("a JSON object ({error})") };
            Problem::wrong("", line.trim(), wanted)
        })
    }
}

impl<'t> Members<'t> {
    /// A member as it is written; `None` if it is not there or `null`.
    pub fn written(&self, name: &str) -> Option<&'t str> {
        let place = place_of(name)?;
        self.values[place].map(RawValue::get).filter(|written| *written != "null")
    }

    /// A text; empty if it is not there.
    pub fn text(&self, name: &str) -> Result<String, Problem> {
        self.written(name).map_or_else(
            || Ok(String::new()),
            |written| text(written).ok_or_else(|| Problem::wrong(name, written, "text")),
        )
    }

    /// A yes or a no; no if it is not there.
    pub fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.written(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(Problem::wrong(name, other, "true or false")),
        }
    }
}

fn place_of(name: &str) -> Option<usize> {
    let name = if name == BODY_OF_MAIL { "body" } else { name };
    NAMES.iter().position(|known| *known == name)
}

/// The text that is written as JSON, if it is one.
pub fn text(written: &str) -> Option<String> {
    // A list of millions would be read in full before it turned out to be no text.
    if written.starts_with('"') { serde_json::from_str(written).ok() } else { None }
}

impl<'de> Deserialize<'de> for Parcel<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Opener)
    }
}

struct Opener;

impl<'de> Visitor<'de> for Opener {
    type Value = Parcel<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Parcel::Null)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Members::default();
        while let Some(name) = map.next_key::<String>()? {
            match place_of(&name) {
                Some(place) => members.values[place] = Some(map.next_value()?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Parcel::Members(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(line: &str) -> Members<'_> {
        match Parcel::read(line) {
            Ok(Parcel::Members(members)) => members,
            Ok(Parcel::Null) => panic!("null"),
            Err(problem) => panic!("{problem}"),
        }
    }

    fn problem(line: &str) -> String {
        Parcel::read(line).err().unwrap_or_else(|| panic!("{line} was read")).to_string()
    }

    #[test]
    fn a_line_that_is_no_object_is_told_with_what_was_found() {
        assert!(matches!(Parcel::read(" null "), Ok(Parcel::Null)));
        for other in ["[1]", "1", "true", "\"x\"", "-0.5"] {
            assert_eq!(problem(other), format!("found '{other}', wanted a JSON object"));
        }
        assert!(problem("").contains("found ''") && problem("  ").contains("EOF"));
        assert!(problem("{\"subject\":").contains("line 1 column 11") && problem("{}{}").contains("trailing"));
    }

    #[test]
    fn members_that_are_not_known_are_nobodys_business() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let line = format!(r#"{{"x":{deep},"subject":"a","\u0073ubject":"b","body":null}}"#);
        let members = members(&line);
        assert_eq!((members.text("subject").unwrap().as_str(), members.text("body").unwrap().as_str()), ("b", ""));
        assert_eq!(members.text("timestamp").unwrap(), "");
    }

    #[test]
    fn mail_that_was_fetched_has_its_body_under_another_name() {
        assert_eq!(members(r#"{"subject":"a","body_md":"b"}"#).text("body").unwrap(), "b");
        assert_eq!(members(r#"{"body_md":"b","body":"c"}"#).text("body").unwrap(), "c");
        assert_eq!(members(r#"{"body":"c","body_md":"b"}"#).text("body").unwrap(), "b");
    }

    #[test]
    fn a_member_of_a_wrong_type_is_told_with_what_stands_there() {
        let members = members(r#"{"subject":[1, 2],"body":"\ud800","ack_required":1,"acked":true}"#);
        assert_eq!(members.text("subject").unwrap_err(), Problem::wrong("subject", "[1, 2]", "text"));
        assert_eq!(members.text("body").unwrap_err(), Problem::wrong("body", r#""\ud800""#, "text"));
        assert_eq!(members.flag("ack_required").unwrap_err(), Problem::wrong("ack_required", "1", "true or false"));
        assert_eq!(members.flag("acked"), Ok(true));
    }
}

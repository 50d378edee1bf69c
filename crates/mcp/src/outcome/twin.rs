//! Writes a value as JSON and, in the same pass, as JSON within a JSON string.
//!
//! Every answer goes out in both forms. While a value is being written it is known which bytes are quotes and which are
//! text that was found clean; looking for them again afterwards cost more than writing them twice. What writes is
//! compiled once, here; only the order of the fields is compiled for each type of answer. Deliberately absent: keys that
//! are no text, and JSON that is passed on as it is.

mod shapes;

use serde::Serialize;
use serde_json::Error;

/// The JSON of `value`, and what stands between the quotes when that JSON is itself a JSON string.
pub(super) fn write(value: &impl Serialize) -> Result<(Vec<u8>, Vec<u8>), Error> {
    // Most answers fit; one that does not grows in few steps.
    let mut twin = Twin { plain: Vec::with_capacity(8 * 1024), escaped: Vec::with_capacity(10 * 1024) };
    value.serialize(&mut twin)?;
    Ok((twin.plain, twin.escaped))
}

/// Both texts, as far as they are written.
struct Twin {
    plain: Vec<u8>,
    escaped: Vec<u8>,
}

impl Twin {
    /// Bytes that mean the same in both.
    fn both(&mut self, bytes: &[u8]) {
        self.plain.extend_from_slice(bytes);
        self.escaped.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &str) {
        self.plain.push(b'"');
        self.escaped.extend_from_slice(b"\\\"");
        let mut rest = text.as_bytes();
        loop {
            let (clean, behind) = rest.split_at(clean_length(rest));
            self.both(clean);
            let Some((&special, behind)) = behind.split_first() else { break };
            self.special(special);
            rest = behind;
        }
        self.plain.push(b'"');
        self.escaped.extend_from_slice(b"\\\"");
    }

    /// A character that JSON does not show as it is.
    fn special(&mut self, byte: u8) {
        let short = match byte {
            b'"' => {
                self.plain.extend_from_slice(b"\\\"");
                return self.escaped.extend_from_slice(b"\\\\\\\"");
            }
            b'\\' => {
                self.plain.extend_from_slice(b"\\\\");
                return self.escaped.extend_from_slice(b"\\\\\\\\");
            }
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            _ => b'u',
        };
        self.plain.push(b'\\');
        self.escaped.extend_from_slice(b"\\\\");
        self.both(&[short]);
        if short == b'u' {
            let digit = |half: u8| b"0123456789abcdef"[usize::from(half)];
            self.both(&[b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
        }
    }

    /// The name of a member, and what stands before and behind it. It is a name of our own, so nothing in it is looked at.
    fn key(&mut self, is_first: bool, key: &'static str) {
        debug_assert_eq!(clean_length(key.as_bytes()), key.len(), "'{key}' needs no escape");
        self.element(is_first);
        for (text, quote) in [(&mut self.plain, "\""), (&mut self.escaped, "\\\"")] {
            text.extend_from_slice(quote.as_bytes());
            text.extend_from_slice(key.as_bytes());
            text.extend_from_slice(quote.as_bytes());
            text.push(b':');
        }
    }

    fn element(&mut self, is_first: bool) {
        if !is_first {
            self.both(b",");
        }
    }

    /// What `write` puts in has neither quotes nor backslashes.
    fn number(&mut self, write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Result<(), Error> {
        let start = self.plain.len();
        write(&mut self.plain).map_err(Error::io)?;
        self.escaped.extend_from_slice(&self.plain[start..]);
        Ok(())
    }
}

/// How many bytes of a text stand in JSON as they are. Sixteen at a time are looked at: with vectors, where there are any.
fn clean_length(bytes: &[u8]) -> usize {
    let is_special = |byte: &u8| (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\');
    let is_clean = |some: &&[u8]| !some.iter().fold(false, |found, byte| found | is_special(byte));
    let clean = 16 * bytes.chunks_exact(16).take_while(is_clean).count();
    let rest = &bytes[clean..];
    clean + rest.iter().position(is_special).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[\\\\\"\n\t\u{0}-\u{1f}a-z]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..6).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn both_forms_say_what_serde_would_say(value in any_value()) {
            let (plain, escaped) = write(&value).unwrap();
            let text = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(std::str::from_utf8(&plain).unwrap(), &text);
            let quoted = format!("\"{}\"", std::str::from_utf8(&escaped).unwrap());
            prop_assert_eq!(quoted, serde_json::to_string(&text).unwrap());
        }
    }

    #[derive(serde::Serialize)]
    enum Any {
        Nothing,
        One(Option<char>),
        Two(u8, f32),
        Named { key: Vec<(i16, ())>, none: Option<bool> },
    }

    #[derive(serde::Serialize)]
    struct Whole<'a> {
        all: [Any; 6],
        #[serde(flatten)]
        more: BTreeMap<&'a str, f64>,
        #[serde(flatten)]
        inner: Inner,
    }

    #[derive(serde::Serialize)]
    struct Inner {
        bytes: &'static [u8],
        long: &'static str,
        empty: [(); 0],
    }

    #[test]
    fn every_shape_of_an_answer_is_written_as_serde_would() {
        let named = Any::Named { key: vec![(-1, ()), (7, ())], none: None };
        let value = Whole {
            all: [Any::Nothing, Any::One(Some('"')), Any::One(None), Any::Two(9, f32::NAN), Any::Two(9, 0.1), named],
            more: [("ü \u{1}", 0.1), ("last", f64::INFINITY)].into(),
            inner: Inner {
                bytes: b"ab",
                long: "sixteen letters and then a \" and so on, \u{7f} \u{8} \u{c} too",
                empty: [],
            },
        };
        let (plain, escaped) = write(&value).unwrap();
        let text = serde_json::to_string(&value).unwrap();
        assert_eq!(std::str::from_utf8(&plain).unwrap(), text);
        let quoted = format!("\"{}\"", std::str::from_utf8(&escaped).unwrap());
        assert_eq!(quoted, serde_json::to_string(&text).unwrap());
    }

    #[test]
    fn a_key_that_is_no_text_is_an_error_and_no_broken_json() {
        assert!(write(&BTreeMap::from([(1, 2)])).is_err());
        assert!(write(&BTreeMap::from([(Some("a"), 2)])).is_ok());
    }
}

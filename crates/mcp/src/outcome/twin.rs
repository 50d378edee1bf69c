//! Writes a value as JSON and, in the same pass, as JSON within a JSON string.
//!
//! Every answer goes out in both forms. While a value is being written it is known which bytes are quotes and which are
//! text that was found clean; looking for them again afterwards cost more than writing them twice.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter};

/// The JSON of `value`, and what stands between the quotes when that JSON is itself a JSON string.
pub(super) fn write(value: &impl Serialize) -> serde_json::Result<(Vec<u8>, Vec<u8>)> {
    // Most answers fit; one that does not grows in few steps.
    let (mut plain, mut escaped) = (Vec::with_capacity(8 * 1024), Vec::with_capacity(10 * 1024));
    value.serialize(&mut Serializer::with_formatter(&mut plain, Twin { escaped: &mut escaped }))?;
    Ok((plain, escaped))
}

struct Twin<'a> {
    escaped: &'a mut Vec<u8>,
}

impl Twin<'_> {
    /// Bytes that mean the same in both.
    fn both<W: ?Sized + Write>(&mut self, plain: &mut W, bytes: &[u8]) -> io::Result<()> {
        self.escaped.extend_from_slice(bytes);
        plain.write_all(bytes)
    }

    fn quote<W: ?Sized + Write>(&mut self, plain: &mut W) -> io::Result<()> {
        self.escaped.extend_from_slice(b"\\\"");
        plain.write_all(b"\"")
    }

    fn comma_unless<W: ?Sized + Write>(&mut self, first: bool, plain: &mut W) -> io::Result<()> {
        if first { Ok(()) } else { self.both(plain, b",") }
    }
}

/// Values whose JSON has neither quotes nor backslashes.
macro_rules! clean {
    ($($method:ident: $type:ty),+ $(,)?) => {$(
        fn $method<W: ?Sized + Write>(&mut self, plain: &mut W, value: $type) -> io::Result<()> {
            let start = self.escaped.len();
            CompactFormatter.$method(&mut *self.escaped, value)?;
            plain.write_all(&self.escaped[start..])
        }
    )+};
}

impl Formatter for Twin<'_> {
    clean! {
        write_bool: bool,
        write_i8: i8, write_i16: i16, write_i32: i32, write_i64: i64, write_i128: i128,
        write_u8: u8, write_u16: u16, write_u32: u32, write_u64: u64, write_u128: u128,
        write_f32: f32, write_f64: f64,
        write_number_str: &str,
        write_string_fragment: &str,
    }

    fn write_null<W: ?Sized + Write>(&mut self, plain: &mut W) -> io::Result<()> {
        self.both(plain, b"null")
    }

    fn begin_string<W: ?Sized + Write>(&mut self, plain: &mut W) -> io::Result<()> {
        self.quote(plain)
    }

    fn end_string<W: ?Sized + Write>(&mut self, plain: &mut W) -> io::Result<()> {
        self.quote(plain)
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, plain: &mut W, escape: CharEscape) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(6);
        CompactFormatter.write_char_escape(&mut bytes, escape)?;
        plain.write_all(&bytes)?;
        for byte in bytes {
            if matches!(byte, b'\\' | b'"') {
                self.escaped.push(b'\\');
            }
            self.escaped.push(byte);
        }
        Ok(())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, plain: &mut W) -> io::Result<()> {
        self.both(plain, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, plain: &mut W) -> io::Result<()> {
        self.both(plain, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, plain: &mut W, first: bool) -> io::Result<()> {
        self.comma_unless(first, plain)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, plain: &mut W) -> io::Result<()> {
        self.both(plain, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, plain: &mut W) -> io::Result<()> {
        self.both(plain, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, plain: &mut W, first: bool) -> io::Result<()> {
        self.comma_unless(first, plain)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, plain: &mut W) -> io::Result<()> {
        self.both(plain, b":")
    }

    fn write_raw_fragment<W: ?Sized + Write>(&mut self, plain: &mut W, fragment: &str) -> io::Result<()> {
        let mut quoted = String::new();
        crate::wire::push_text(&mut quoted, fragment);
        self.escaped.extend_from_slice(&quoted.as_bytes()[1..quoted.len() - 1]);
        plain.write_all(fragment.as_bytes())
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn json_that_is_passed_on_as_it_is_stays_one_value() {
        let raw = serde_json::value::RawValue::from_string(r#"{"a": "b\n"}"#.to_owned()).unwrap();
        let (plain, escaped) = write(&raw).unwrap();
        assert_eq!(plain, br#"{"a": "b\n"}"#);
        assert_eq!(escaped, br#"{\"a\": \"b\\n\"}"#);
    }
}

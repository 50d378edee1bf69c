//! The members of a JSON object that a command knows, unread.
//!
//! Only these are kept, and those as text, so that a hostile object takes no more memory than its own length. Of two members
//! with one name the last one counts, as for most readers. What a member says is for the command.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Members as they are written, by the names under which a command knows them.
pub(super) type RawMembers<'t> = BTreeMap<&'static str, &'t RawValue>;

/// Reads the members of an object that `known` has a name for.
pub(super) fn read<'t>(
    text: &'t str,
    known: impl Fn(&str) -> Option<&'static str>,
) -> serde_json::Result<RawMembers<'t>> {
    let mut source = serde_json::Deserializer::from_str(text);
    let members = source.deserialize_map(KnownMembers(known))?;
    source.end()?;
    Ok(members)
}

/// Text in which half of a character, such as `\ud83d` alone, is replaced and no error.
#[derive(Default)]
pub(super) struct LenientText(pub(super) String);

struct KnownMembers<F>(F);

impl<'de, F: Fn(&str) -> Option<&'static str>> Visitor<'de> for KnownMembers<F> {
    type Value = RawMembers<'de>;

    fn expecting(&self, told: &mut fmt::Formatter<'_>) -> fmt::Result {
        told.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut members = RawMembers::new();
        while let Some(LenientText(name)) = object.next_key()? {
            match (self.0)(&name) {
                Some(known) => drop(members.insert(known, object.next_value()?)),
                None => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        Ok(members)
    }
}

impl<'de> Deserialize<'de> for LenientText {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = LenientText;

            fn expecting(&self, told: &mut fmt::Formatter<'_>) -> fmt::Result {
                told.write_str("text")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<LenientText, E> {
                Ok(LenientText(String::from_utf8_lossy(bytes).into_owned()))
            }
        }
        source.deserialize_bytes(Bytes)
    }
}

//! The text of a city's file of beads: what is in it, and how it is changed.
//!
//! A value that is not changed is written back byte for byte: other programs keep things in it of which we know nothing.
//! An object in which something changed, as the whole file always is, has its names sorted and the layout between its
//! values dropped, for neither means anything. Nothing here touches a disk.

use std::collections::BTreeMap;

use jiff::Timestamp;
use mail::clock::rfc3339;
use mail::messages::OpenKey;
use mail::provider::{ProviderDelivery, ProviderError};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::bead::{Bead, CLOSED, MESSAGE, READ, READ_NOTE, labels_of, time_of};
use super::{failed, not_found};
use crate::times::just_after;

/// An object whose values are left as they were written.
type Fields = BTreeMap<String, Box<RawValue>>;

/// Everything in the file.
#[derive(Default)]
pub(super) struct Document {
    seq: u64,
    beads: Vec<Box<RawValue>>,
    others: Fields,
}

impl Document {
    /// Reads the file's text.
    pub fn parse(text: &[u8]) -> serde_json::Result<Self> {
        let mut others: Fields = serde_json::from_slice(text)?;
        let seq = others.remove("seq").map_or(Ok(0), |seq| serde_json::from_str(seq.get()))?;
        let beads = others.remove("beads").map(|beads| serde_json::from_str::<Option<_>>(beads.get())).transpose()?;
        Ok(Self { seq, beads: beads.flatten().unwrap_or_default(), others })
    }

    /// The file's text.
    pub fn to_text(&self) -> serde_json::Result<Vec<u8>> {
        let mut fields = self.others.clone();
        fields.insert("seq".to_owned(), to_raw_value(&self.seq)?);
        fields.insert("beads".to_owned(), to_raw_value(&self.beads)?);
        fields.entry("deps".to_owned()).or_insert(to_raw_value(&json!([]))?);
        serde_json::to_vec(&fields)
    }

    /// Every delivery.
    pub fn deliveries(&self) -> impl Iterator<Item = Bead> + '_ {
        self.values().filter_map(|bead| Bead::read(&bead))
    }

    /// Adds a delivery with the next number, and a time after that of every other bead.
    pub fn append(
        &mut self,
        delivery: ProviderDelivery,
        key: Option<&OpenKey>,
        now: Timestamp,
    ) -> serde_json::Result<ProviderDelivery> {
        let (mut last, mut created_at) = (self.seq, now);
        for bead in self.values() {
            let number = bead["id"].as_str().and_then(|id| id.strip_prefix("gc-")?.parse().ok());
            last = last.max(number.unwrap_or(0));
            created_at = created_at.max(just_after(time_of(&bead)));
        }
        self.seq = last.saturating_add(1);
        let id = format!("gc-{}", self.seq);
        let bead = json!({
            "id": id, "title": delivery.subject, "status": "open", "issue_type": MESSAGE, "from": delivery.from,
            "created_at": rfc3339(created_at), "updated_at": rfc3339(created_at), "assignee": delivery.to,
            "description": delivery.body, "labels": labels_of(&delivery, key),
        });
        self.beads.push(to_raw_value(&bead)?);
        Ok(ProviderDelivery { id, created_at, ..delivery })
    }

    /// Notes that the delivery was read, or was not.
    pub fn mark(&mut self, id: &str, read: bool, now: Timestamp) -> Result<(), ProviderError> {
        self.change(id, now, |fields| {
            let mut labels: Vec<Value> = field(fields, "labels")?.unwrap_or_default();
            labels.retain(|label| label != READ);
            labels.extend(read.then(|| json!(READ)));
            set(fields, "labels", &labels)?;
            let mut metadata: Fields = field(fields, "metadata")?.unwrap_or_default();
            if metadata.contains_key(READ_NOTE) {
                set(&mut metadata, READ_NOTE, &read.to_string())?;
                set(fields, "metadata", &metadata)?;
            }
            Ok(())
        })
    }

    /// Archives a delivery.
    pub fn close(&mut self, id: &str, now: Timestamp) -> Result<(), ProviderError> {
        self.change(id, now, |fields| set(fields, "status", CLOSED))
    }

    fn change(
        &mut self,
        id: &str,
        now: Timestamp,
        change: impl FnOnce(&mut Fields) -> serde_json::Result<()>,
    ) -> Result<(), ProviderError> {
        let is_it = |bead: Value| Bead::read(&bead).is_some_and(|bead| bead.delivery.id == id);
        let index = self.values().position(is_it).ok_or_else(|| not_found(id))?;
        let changed = || {
            let mut fields: Fields = serde_json::from_str(self.beads[index].get())?;
            change(&mut fields)?;
            set(&mut fields, "updated_at", &rfc3339(now))?;
            to_raw_value(&fields)
        };
        self.beads[index] = changed().map_err(unwritable)?;
        Ok(())
    }

    /// The beads, each read; one that cannot be read stands as `null`.
    fn values(&self) -> impl Iterator<Item = Value> + '_ {
        self.beads.iter().map(|bead| serde_json::from_str(bead.get()).unwrap_or_default())
    }
}

fn field<T: serde::de::DeserializeOwned>(fields: &Fields, name: &str) -> serde_json::Result<Option<T>> {
    fields.get(name).map_or(Ok(None), |value| serde_json::from_str(value.get()))
}

fn set(fields: &mut Fields, name: &str, value: &(impl Serialize + ?Sized)) -> serde_json::Result<()> {
    fields.insert(name.to_owned(), to_raw_value(value)?);
    Ok(())
}

/// A bead that cannot be written.
pub(super) fn unwritable(problem: serde_json::Error) -> ProviderError {
    failed(format!("a bead cannot be changed ({problem})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOREIGN: &str = r#"{"revisions":{"gc-4":12345678901234567890123}, "seq":4, "beads":[
        {"weight":1.10,"id":"gc-4","issue_type":"task","created_at":"2030-01-01T00:00:00+02:00"},
        {"id":"gc-9","issue_type":"message","ref":{"b":1,"a":[2.50]},"labels":["x","thread:t"],
         "metadata":{"n":1e2,"mail.read":"false"}}, "no bead at all"], "deps":[{"issue_id":"gc-4"}]}"#;

    fn delivery(document: &mut Document, now: &str) -> ProviderDelivery {
        let json = json!({ "id": "-", "issue_type": "message", "title": "Hello", "labels": ["thread:t"] });
        document.append(Bead::read(&json).unwrap().delivery, None, now.parse().unwrap()).unwrap()
    }

    fn text(document: &Document) -> String {
        String::from_utf8(document.to_text().unwrap()).unwrap()
    }

    #[test]
    fn what_is_not_ours_is_written_back_as_it_was() {
        let mut document = Document::parse(FOREIGN.as_bytes()).unwrap();
        delivery(&mut document, "2026-01-01T00:00:00Z");
        document.mark("gc-9", true, Timestamp::UNIX_EPOCH).unwrap();
        document.close("gc-9", Timestamp::UNIX_EPOCH).unwrap();
        let text = text(&document);
        for part in [
            r#""revisions":{"gc-4":12345678901234567890123}"#,
            r#"{"weight":1.10,"id":"gc-4","issue_type":"task","created_at":"2030-01-01T00:00:00+02:00"}"#,
            r#""ref":{"b":1,"a":[2.50]}"#,
            r#""labels":["x","thread:t","read"]"#,
            r#""metadata":{"mail.read":"true","n":1e2}"#,
            r#""status":"closed""#,
            r#""no bead at all""#,
            r#""deps":[{"issue_id":"gc-4"}]"#,
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn a_new_delivery_has_a_free_number_and_a_time_after_every_bead() {
        let mut document = Document::parse(FOREIGN.as_bytes()).unwrap();
        let first = delivery(&mut document, "2026-01-01T00:00:00Z");
        assert_eq!((first.id.as_str(), rfc3339(first.created_at).as_str()), ("gc-10", "2029-12-31T22:00:00.000001Z"));
        let second = delivery(&mut document, "2031-01-01T00:00:00.5Z");
        assert_eq!((second.id.as_str(), rfc3339(second.created_at).as_str()), ("gc-11", "2031-01-01T00:00:00.500000Z"));
        assert!(text(&document).contains(r#""seq":11"#));
    }

    #[test]
    fn a_bead_that_is_no_delivery_is_not_changed() {
        let mut document = Document::parse(FOREIGN.as_bytes()).unwrap();
        let before = text(&document);
        for refused in
            [document.close("gc-4", Timestamp::UNIX_EPOCH), document.mark("gc-4", true, Timestamp::UNIX_EPOCH)]
        {
            assert!(matches!(refused, Err(ProviderError::NotFound { .. })), "{refused:?}");
        }
        assert_eq!(text(&document), before);
    }

    #[test]
    fn a_store_without_beads_is_empty_and_another_text_is_none() {
        for empty in ["{}", r#"{"seq":0,"beads":null,"deps":null}"#] {
            assert_eq!(Document::parse(empty.as_bytes()).unwrap().deliveries().count(), 0);
        }
        for broken in ["", "[]", "{\"beads\":", r#"{"seq":"x"}"#, r#"{"beads":{}}"#] {
            assert!(Document::parse(broken.as_bytes()).is_err(), "{broken}");
        }
    }
}

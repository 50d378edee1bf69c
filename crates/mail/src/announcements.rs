//! Announcements: what stands in a channel for a post that was too large for the way it came by.
//!
//! It is a message of its own, under a name of its own: with the beginning of the post's text, and a reference to the whole.
//! Where the whole is known it says nothing new. How large is too large is not decided here.

use formats::channel::{ChannelMessage, FileName};

use crate::channels::digest;

/// The fields of `metadata` in which the reference stands.
const RESOURCE: &str = "reference";
const OFFICE: &str = "reference_office";
const ID: &str = "reference_id";
const KEY: &str = "reference_key";
const DIGEST: &str = "reference_digest";

/// Where the whole of a post is that was only announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The post office that has it and says so.
    pub office: String,
    /// Its name in the channel.
    pub id: String,
    /// The key under which it is taken in wherever it comes.
    pub key: String,
    /// Where it is read in that office.
    pub resource: String,
}

impl Announcement {
    /// What a message announces, if it was made for that. Programs copy metadata from what they answer.
    pub fn of(said: &ChannelMessage) -> Option<Self> {
        let text = |field: &str| said.metadata_text(field).map(str::to_owned);
        let found = Self { office: text(OFFICE)?, id: text(ID)?, key: text(KEY)?, resource: text(RESOURCE)? };
        (text(DIGEST)? == found.digest(said)).then_some(found)
    }

    /// Makes a message the announcement. What it says must not change afterwards.
    pub fn put_on(&self, said: &mut ChannelMessage) {
        let digest = self.digest(said);
        let fields = [RESOURCE, OFFICE, ID, KEY, DIGEST];
        for (field, text) in fields.into_iter().zip([&self.resource, &self.office, &self.id, &self.key, &digest]) {
            said.set_metadata_text(field, Some(text));
        }
    }

    /// The name of the announcement, which is not that of the post: a folder may come to hold both.
    pub fn name(&self) -> String {
        let hash = blake3::hash(self.key.as_bytes()).to_hex();
        let Some(name) = FileName::parse(&format!("{}.json", self.id)) else { return self.id.clone() };
        let is_other = |hex4: &&str| **hex4 != name.hex4;
        let hex4 = [&hash[..4], &hash[4..8]].into_iter().find(is_other).unwrap_or("0000");
        FileName { hex4: hex4.to_owned(), ..name }.stem()
    }

    fn digest(&self, said: &ChannelMessage) -> String {
        let time = said.timestamp.as_millisecond().to_string();
        let parts = [&self.office, &self.id, &self.key, &said.session_id, &said.from, &time, &said.text];
        digest(parts.map(String::as_str)).to_hex().chars().take(16).collect()
    }
}

#[cfg(test)]
mod tests {
    use formats::channel::read_value;

    use super::*;

    fn announced() -> Announcement {
        Announcement {
            office: "0123456789abcdef".to_owned(),
            id: "msg-20260111-163315-qc-1-4c78".to_owned(),
            key: "0123456789abcdef:17:fedcba9876543210".to_owned(),
            resource: "resource://message/17?project=%2Fdata%2Fapp".to_owned(),
        }
    }

    fn said(text: &str) -> ChannelMessage {
        ChannelMessage {
            id: announced().name(),
            timestamp: "2026-01-11T16:33:15.123Z".parse().unwrap(),
            session_id: "dev".to_owned(),
            from: "qc-1".to_owned(),
            to: "all".to_owned(),
            kind: "chat".to_owned(),
            text: text.to_owned(),
            ..ChannelMessage::default()
        }
    }

    #[test]
    fn an_announcement_is_read_back_and_an_answer_that_copied_it_is_none() {
        let mut stub = said("The beginning");
        announced().put_on(&mut stub);
        let stub = read_value(&stub.to_json()).unwrap();
        assert_eq!(Announcement::of(&stub), Some(announced()));
        let answer = ChannelMessage { text: "Thank you".to_owned(), ..stub.clone() };
        assert_eq!(Announcement::of(&answer), None);
        let mut foreign = said("See the reference");
        foreign.set_metadata_text(RESOURCE, Some("resource://message/17"));
        assert_eq!(Announcement::of(&foreign), None);
    }

    #[test]
    fn an_announcement_has_a_name_of_its_own_that_is_always_the_same() {
        let name = announced().name();
        assert!(FileName::parse(&format!("{name}.json")).is_some_and(|name| name.agent == "qc-1"), "{name}");
        assert_eq!((name == announced().id, &name), (false, &announced().name()));
        let taken = Announcement { id: name.clone(), ..announced() };
        assert_ne!(taken.name(), name);
    }
}

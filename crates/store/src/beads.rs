//! Deliveries as beads: mail that a city keeps among its work, where its other programs read and write it as well.
//!
//! A delivery is a bead of type `message`. Its thread, what it answers and whether it was read are labels; archiving
//! it closes the bead. Two keepers hold beads: the `file` of a city, and the `bd` `program`. What both share is here:
//! the verbs, what a thread is, and the order of lists. Beads that are no messages are never shown nor changed. There
//! are no agents and no registration: a recipient is any text.
//!
//! Lists are in the order of their times. Where others wrote several deliveries with one time, they follow by the
//! number in their id, and a list sets them a microsecond apart, because callers sort by time. So such a delivery may
//! say a later time in a list than by itself; ours have times of their own and say the same everywhere.
//!
//! No length of a text is refused here: the city's own programs keep any, and whoever reads a text to send it bounds it.

mod bead;
mod document;
mod file;
mod program;

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use mail::Error;
use mail::error::shown;
use mail::messages::OpenKey;
use mail::provider::{KeyedDelivery, Provider, ProviderDelivery, ProviderError, Words};

use crate::times::set_apart;
use bead::{Bead, BeadFilter};

/// A provider that keeps deliveries as beads.
pub struct Beads {
    keeper: Box<dyn Keeper>,
}

/// Where beads are kept. Ids of beads that are no messages are not found.
#[async_trait]
trait Keeper: Send + Sync {
    /// Keeps a new open delivery, and returns it with the id and the time that it got.
    async fn create(&self, delivery: ProviderDelivery) -> Result<ProviderDelivery, ProviderError>;

    /// The same under a key, with whatever the key asks for, while nobody else sends under one.
    async fn create_keyed(&self, delivery: ProviderDelivery, key: &OpenKey) -> Result<KeyedDelivery, ProviderError>;

    /// One delivery, archived or not.
    async fn get(&self, id: &str) -> Result<Bead, ProviderError>;

    /// The deliveries that are wanted, in any order.
    async fn list(&self, wanted: BeadFilter<'_>) -> Result<Vec<Bead>, ProviderError>;

    /// Notes that the delivery was read, or was not.
    async fn mark(&self, bead: &Bead, read: bool) -> Result<(), ProviderError>;

    /// Archives a delivery; a second time is [`ProviderError::AlreadyArchived`].
    async fn close(&self, id: &str) -> Result<(), ProviderError>;
}

impl Beads {
    /// The beads in the file of the city in that folder.
    pub fn file(city: &Path) -> Self {
        Self { keeper: Box::new(file::FileKeeper::of(city)) }
    }

    /// The beads that the program `bd` keeps for that folder.
    pub fn program(program: PathBuf, folder: PathBuf) -> Self {
        Self { keeper: Box::new(program::Program::new(program, folder)) }
    }

    /// The beads of the city in that folder, however it keeps them; `None` if it is no city.
    ///
    /// A city whose beads `bd` keeps has a `.gc` folder too, so the folder alone tells nothing.
    pub fn of_city(city: &Path) -> Option<Self> {
        if city.join(".gc/beads.json").exists() {
            Some(Self::file(city))
        } else if city.join(".beads").is_dir() {
            Some(Self::program(PathBuf::from("bd"), city.to_owned()))
        } else {
            city.join(".gc").is_dir().then(|| Self::file(city))
        }
    }

    async fn set_read(&self, id: &str, read: bool) -> Result<ProviderDelivery, ProviderError> {
        let bead = self.keeper.get(id).await?;
        if bead.delivery.read != read {
            self.keeper.mark(&bead, read).await?;
        }
        Ok(ProviderDelivery { read, ..bead.delivery })
    }

    async fn find(&self, id: &str) -> Result<Option<Bead>, ProviderError> {
        match self.keeper.get(id).await {
            Ok(bead) => Ok(Some(bead)),
            Err(ProviderError::NotFound { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }
}

#[async_trait]
impl Provider for Beads {
    async fn send(&self, to: &str, words: Words<'_>) -> Result<ProviderDelivery, ProviderError> {
        self.keeper.create(new_delivery(to, words, new_thread()?, None)?).await
    }

    async fn send_keyed(&self, to: &str, words: Words<'_>, key: &OpenKey) -> Result<KeyedDelivery, ProviderError> {
        self.keeper.create_keyed(new_delivery(to, words, new_thread()?, None)?, key).await
    }

    async fn reply(&self, id: &str, words: Words<'_>) -> Result<ProviderDelivery, ProviderError> {
        let parent = self.keeper.get(id).await?.delivery;
        if parent.from.is_empty() {
            let wanted = "a letter that names its sender".to_owned();
            return Err(Error::Invalid { what: "message to answer", value: shown(id), wanted }.into());
        }
        self.keeper.create(new_delivery(&parent.from, words, parent.thread, Some(parent.id))?).await
    }

    async fn inbox(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        let mut deliveries = self.all(recipient).await?;
        deliveries.retain(|delivery| !delivery.read);
        Ok(deliveries)
    }

    async fn all(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        Ok(oldest_first(self.keeper.list(BeadFilter::OpenFor(recipient)).await?))
    }

    async fn thread(&self, id: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        let named = self.find(id).await?;
        let thread = named.as_ref().map_or_else(|| id.to_owned(), |bead| bead.delivery.thread.clone());
        let mut beads = self.keeper.list(BeadFilter::Thread(&thread)).await?;
        // A delivery that somebody wrote without a thread begins one under its own id, and no label tells that.
        let is_first = |bead: &Bead| bead.delivery.id == thread;
        let has_answer = beads.iter().any(|bead| bead.delivery.reply_to.as_deref() == Some(&thread));
        if !beads.iter().any(is_first) {
            match named.filter(is_first) {
                Some(first) => beads.push(first),
                None if has_answer => beads.extend(self.find(&thread).await?),
                None => {}
            }
        }
        Ok(oldest_first(beads))
    }

    async fn get(&self, id: &str) -> Result<ProviderDelivery, ProviderError> {
        Ok(self.keeper.get(id).await?.delivery)
    }

    async fn read(&self, id: &str) -> Result<ProviderDelivery, ProviderError> {
        self.set_read(id, true).await
    }

    async fn mark_read(&self, id: &str) -> Result<(), ProviderError> {
        self.set_read(id, true).await.map(drop)
    }

    async fn mark_unread(&self, id: &str) -> Result<(), ProviderError> {
        self.set_read(id, false).await.map(drop)
    }

    async fn archive(&self, id: &str) -> Result<(), ProviderError> {
        self.keeper.close(id).await
    }
}

/// A delivery that the keeper gives an id and a time.
fn new_delivery(
    to: &str,
    words: Words<'_>,
    thread: String,
    reply_to: Option<String>,
) -> Result<ProviderDelivery, ProviderError> {
    check(to, words)?;
    let Words { from, subject, body } = words;
    let [from, to, subject, body] = [from, to, subject, body].map(str::to_owned);
    Ok(ProviderDelivery { from, to, subject, body, thread, reply_to, ..ProviderDelivery::default() })
}

fn check(to: &str, words: Words<'_>) -> Result<(), Error> {
    if to.is_empty() {
        return Err(Error::NoRecipients);
    }
    if words.from.is_empty() {
        // Nobody could answer it.
        return Err(Error::Invalid { what: "sender", value: String::new(), wanted: "a name".to_owned() });
    }
    for (what, text) in [("recipient", to), ("sender", words.from), ("subject", words.subject), ("body", words.body)] {
        if text.contains('\0') {
            let wanted = "text without NUL characters".to_owned();
            return Err(Error::Invalid { what, value: shown(text), wanted });
        }
    }
    Ok(())
}

/// The id of a thread that nobody else has, in the form that cities know.
fn new_thread() -> Result<String, ProviderError> {
    let mut bytes = [0; 6];
    getrandom::fill(&mut bytes).map_err(|cause| failed(format!("no random numbers ({cause})")))?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("thread-{hex}"))
}

fn oldest_first(mut beads: Vec<Bead>) -> Vec<ProviderDelivery> {
    beads.sort_by_cached_key(|bead| (bead.delivery.created_at, number_of(&bead.delivery.id), bead.delivery.id.clone()));
    let mut deliveries: Vec<ProviderDelivery> = beads.into_iter().map(|bead| bead.delivery).collect();
    set_apart(&mut deliveries);
    deliveries
}

/// The number at the end of an id such as `gc-12`.
fn number_of(id: &str) -> Option<u64> {
    id.rsplit('-').next()?.parse().ok()
}

fn failed(cause: String) -> ProviderError {
    ProviderError::Failed { cause }
}

fn not_found(id: &str) -> ProviderError {
    ProviderError::NotFound { id: id.to_owned() }
}

fn already_archived(id: &str) -> ProviderError {
    ProviderError::AlreadyArchived { id: id.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bead(id: &str, created_at: &str) -> Bead {
        Bead::read(&json!({ "id": id, "issue_type": "message", "created_at": created_at })).unwrap()
    }

    #[test]
    fn deliveries_of_one_second_follow_by_number_and_their_times_rise() {
        let second = "2026-03-04T10:00:00Z";
        let beads = vec![bead("gc-10", second), bead("gc-9", second), bead("gc-2", "2026-03-04T10:00:00.000001Z")];
        let deliveries = oldest_first(beads);
        let ids: Vec<&str> = deliveries.iter().map(|delivery| delivery.id.as_str()).collect();
        assert_eq!(ids, ["gc-9", "gc-10", "gc-2"]);
        assert!(deliveries.is_sorted_by(|one, next| one.created_at < next.created_at));
    }

    #[tokio::test]
    async fn a_delivery_that_names_nobody_or_holds_a_nul_is_refused_before_it_is_tried() {
        let city = tempfile::tempdir().unwrap();
        let beads = Beads::file(city.path());
        let words = Words { from: "alice", subject: "s", body: "b" };
        for (to, words, code) in [
            ("", words, "NO_RECIPIENTS"),
            ("bob", Words { subject: "a\0b", ..words }, "INVALID_ARGUMENT"),
            ("bob", Words { from: "", ..words }, "INVALID_ARGUMENT"),
        ] {
            assert_eq!(beads.send(to, words).await.unwrap_err().code(), code);
        }
        assert!(!city.path().join(".gc").exists());
    }
}

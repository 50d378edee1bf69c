//! The promises of every provider, each written once and run on every backend.
//!
//! A promise is a `pub async fn` whose name says it; to write it is to have it run. A backend's tests call
//! `testing::provider_suite!` with a function that makes a provider without deliveries. What backends of ours promise
//! beyond it of archived mail is in [`kept`].

// Each function is a test: its name is its documentation, and it may panic.
#![allow(missing_docs, clippy::unwrap_used)]

mod archived;
#[cfg(test)]
mod fake;
pub mod kept;

use std::collections::HashSet;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::{Count, Provider, ProviderDelivery, ProviderError, Words};
pub use archived::*;

/// A provider as the promises get it: some of them use it from several tasks at once.
pub type Shared = Arc<dyn Provider>;

/// Names that are harder to carry than `bob`. The promises write to them and from them.
pub const UNUSUAL_NAMES: [&str; 6] =
    ["city/rig/mayor", "Ada Lovelace", "-dash", "--help", "信使 🦀", "o'neil, \"the\" $HOME"];

const HELLO: Words<'static> = Words { from: "alice", subject: "Hello", body: "How are you?" };

async fn sent(provider: &Shared, to: &str) -> ProviderDelivery {
    provider.send(to, HELLO).await.unwrap()
}

fn not_found<T: std::fmt::Debug>(answer: Result<T, ProviderError>) {
    assert!(matches!(answer, Err(ProviderError::NotFound { .. })), "{answer:?}");
}

fn ids(deliveries: &[ProviderDelivery]) -> Vec<&str> {
    deliveries.iter().map(|delivery| delivery.id.as_str()).collect()
}

pub async fn a_delivery_is_sent_unread_with_an_id_and_a_thread_of_its_own(provider: &Shared) {
    let (one, other) = (sent(provider, "bob").await, sent(provider, "bob").await);
    assert_eq!((one.from.as_str(), one.to.as_str()), ("alice", "bob"));
    assert_eq!((one.subject.as_str(), one.body.as_str()), ("Hello", "How are you?"));
    assert!(!one.read && one.reply_to.is_none());
    assert!(one.id != other.id && one.thread != other.thread && !one.thread.is_empty());
    assert!(!one.id.is_empty() && !one.id.contains(char::is_whitespace), "'{}'", one.id);
    assert_eq!(provider.get(&one.id).await.unwrap(), one);
}

pub async fn text_of_any_script_and_length_is_kept(provider: &Shared) {
    let long = "x".repeat(1 << 20);
    for (subject, body) in [("", ""), ("Grüße, 漢字 🦀", "a\n\tb \"c\" \\ 'd'\n"), ("long", long.as_str())] {
        let delivery = provider.send("bob", Words { from: "alice", subject, body }).await.unwrap();
        let kept = provider.get(&delivery.id).await.unwrap();
        assert_eq!((kept.subject.as_str(), kept.body.as_str()), (subject, body));
    }
}

pub async fn subjects_and_bodies_that_look_like_options_are_kept(provider: &Shared) {
    let long = "é".repeat(600);
    for subject in ["-", "--help", "-m x", "@file", " spaced ", "two\nlines", long.as_str()] {
        let delivery = provider.send("bob", Words { from: "alice", subject, body: subject }).await.unwrap();
        assert_eq!((delivery.subject.as_str(), delivery.body.as_str()), (subject, subject));
        assert_eq!(provider.get(&delivery.id).await.unwrap(), delivery);
    }
}

pub async fn names_of_any_script_have_mailboxes(provider: &Shared) {
    for (index, to) in UNUSUAL_NAMES.into_iter().enumerate() {
        let from = UNUSUAL_NAMES[(index + 1) % UNUSUAL_NAMES.len()];
        let delivery = provider.send(to, Words { from, ..HELLO }).await.unwrap();
        assert_eq!((delivery.from.as_str(), delivery.to.as_str()), (from, to));
        assert_eq!(ids(&provider.inbox(to).await.unwrap()), [delivery.id.as_str()]);
        let reply = provider.reply(&delivery.id, Words { from: to, ..HELLO }).await.unwrap();
        assert_eq!((reply.from.as_str(), reply.to.as_str()), (to, from));
        for id in [delivery.id, reply.id] {
            provider.archive(&id).await.unwrap();
        }
    }
}

pub async fn an_inbox_holds_what_is_unread_oldest_first(provider: &Shared) {
    let (first, second) = (sent(provider, "bob").await, sent(provider, "bob").await);
    sent(provider, "carol").await;
    for deliveries in [provider.inbox("bob").await.unwrap(), provider.check("bob").await.unwrap()] {
        assert_eq!(ids(&deliveries), [first.id.as_str(), second.id.as_str()]);
    }
}

pub async fn an_empty_recipient_asks_for_everybodys_mail(provider: &Shared) {
    let (one, other) = (sent(provider, "bob").await, sent(provider, "carol").await);
    let all = [one.id.as_str(), other.id.as_str()];
    assert_eq!(ids(&provider.inbox("").await.unwrap()), all);
    assert_eq!(ids(&provider.all("").await.unwrap()), all);
    assert_eq!(provider.count("").await.unwrap(), Count { total: 2, unread: 2 });
}

pub async fn looking_changes_nothing(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    provider.get(&delivery.id).await.unwrap();
    provider.check("bob").await.unwrap();
    provider.all("bob").await.unwrap();
    provider.thread(&delivery.thread).await.unwrap();
    assert_eq!(provider.inbox("bob").await.unwrap(), [delivery]);
}

pub async fn reading_leaves_the_inbox_and_nothing_else(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    for _ in 0..2 {
        assert!(provider.read(&delivery.id).await.unwrap().read, "twice is fine");
    }
    assert_eq!(provider.inbox("bob").await.unwrap(), []);
    assert_eq!(ids(&provider.all("bob").await.unwrap()), [delivery.id.as_str()]);
    assert!(provider.get(&delivery.id).await.unwrap().read);
}

pub async fn marking_unread_brings_a_delivery_back(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    for _ in 0..2 {
        provider.mark_read(&delivery.id).await.unwrap();
    }
    assert_eq!(provider.inbox("bob").await.unwrap(), []);
    for _ in 0..2 {
        provider.mark_unread(&delivery.id).await.unwrap();
    }
    assert_eq!(provider.inbox("bob").await.unwrap(), [delivery]);
}

pub async fn marking_what_is_unread_unread_changes_nothing(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    provider.mark_unread(&delivery.id).await.unwrap();
    assert_eq!(provider.get(&delivery.id).await.unwrap(), delivery);
    assert_eq!(provider.inbox("bob").await.unwrap(), [delivery]);
}

pub async fn a_reply_goes_to_the_sender_in_the_thread(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    let words = Words { from: "bob", subject: "As I like", body: "Well." };
    let reply = provider.reply(&delivery.id, words).await.unwrap();
    assert_eq!((reply.from.as_str(), reply.to.as_str()), ("bob", "alice"));
    assert_eq!((reply.subject.as_str(), &reply.thread), ("As I like", &delivery.thread));
    assert_eq!(reply.reply_to.as_deref(), Some(delivery.id.as_str()));
    assert_eq!(ids(&provider.inbox("alice").await.unwrap()), [reply.id.as_str()]);
}

pub async fn a_reply_is_new_mail_of_its_recipient_alone(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    provider.read(&delivery.id).await.unwrap();
    let reply = provider.reply(&delivery.id, Words { from: "bob", ..HELLO }).await.unwrap();
    assert!(!reply.read && reply.id != delivery.id);
    assert_eq!(provider.count("alice").await.unwrap(), Count { total: 1, unread: 1 });
    assert_eq!(provider.count("bob").await.unwrap(), Count { total: 1, unread: 0 });
}

pub async fn a_reply_changes_nothing_of_what_it_answers_but_that_it_may_count_as_read(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    provider.reply(&delivery.id, Words { from: "bob", ..HELLO }).await.unwrap();
    let answered = provider.get(&delivery.id).await.unwrap();
    assert_eq!(ProviderDelivery { read: delivery.read, ..answered.clone() }, delivery);
    assert_eq!(provider.all("bob").await.unwrap(), [answered], "it stays open");
}

pub async fn a_reply_keeps_an_empty_subject(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    let reply = provider.reply(&delivery.id, Words { from: "bob", subject: "", body: "Well." }).await.unwrap();
    assert_eq!([reply.subject, provider.get(&reply.id).await.unwrap().subject], ["", ""]);
}

pub async fn a_thread_is_found_by_any_delivery_in_it(provider: &Shared) {
    let first = sent(provider, "bob").await;
    let second = provider.reply(&first.id, Words { from: "bob", ..HELLO }).await.unwrap();
    sent(provider, "bob").await;
    for id in [&first.thread, &first.id, &second.id] {
        let thread = provider.thread(id).await.unwrap();
        assert_eq!(ids(&thread), [first.id.as_str(), second.id.as_str()], "by '{id}'");
    }
}

pub async fn a_reply_to_a_reply_stays_in_the_thread(provider: &Shared) {
    let first = sent(provider, "bob").await;
    let second = provider.reply(&first.id, Words { from: "bob", ..HELLO }).await.unwrap();
    let third = provider.reply(&second.id, HELLO).await.unwrap();
    assert_eq!((third.to.as_str(), third.reply_to.as_deref()), ("bob", Some(second.id.as_str())));
    let all = [first, second, third];
    for delivery in &all {
        assert_eq!(delivery.thread, all[0].thread);
        let thread = provider.thread(&delivery.id).await.unwrap();
        // What was answered may count as read.
        let same =
            thread.iter().zip(&all).all(|(found, sent)| ProviderDelivery { read: sent.read, ..found.clone() } == *sent);
        assert!(same && thread.len() == all.len(), "{thread:?}");
    }
}

pub async fn an_unknown_thread_is_empty(provider: &Shared) {
    sent(provider, "bob").await;
    assert_eq!(provider.thread("no-such-thread").await.unwrap(), []);
}

pub async fn an_unknown_id_is_not_found(provider: &Shared) {
    for gone in ["no-such-letter", "--help", "two words", ""] {
        not_found(provider.get(gone).await);
        not_found(provider.read(gone).await);
        not_found(provider.mark_read(gone).await);
        not_found(provider.mark_unread(gone).await);
        not_found(provider.archive(gone).await);
        not_found(provider.delete(gone).await);
        not_found(provider.reply(gone, HELLO).await);
        assert_eq!(provider.thread(gone).await.unwrap(), []);
    }
}

pub async fn somebody_unknown_has_no_mail(provider: &Shared) {
    for _ in ["nobody has mail", "somebody else has"] {
        for deliveries in [provider.inbox("nobody").await, provider.check("nobody").await, provider.all("nobody").await]
        {
            assert_eq!(deliveries.unwrap(), []);
        }
        assert_eq!(provider.count("nobody").await.unwrap(), Count::default());
        sent(provider, "bob").await;
    }
}

pub async fn what_is_open_is_counted(provider: &Shared) {
    let deliveries = [sent(provider, "bob").await, sent(provider, "bob").await, sent(provider, "bob").await];
    provider.read(&deliveries[0].id).await.unwrap();
    provider.archive(&deliveries[1].id).await.unwrap();
    assert_eq!(provider.count("bob").await.unwrap(), Count { total: 2, unread: 1 });
}

pub async fn times_rise_from_delivery_to_delivery(provider: &Shared) {
    let mut last = sent(provider, "bob").await.created_at;
    for _ in 0..5 {
        let next = sent(provider, "bob").await.created_at;
        assert!(next > last, "{next} is not after {last}");
        last = next;
    }
}

pub async fn times_rise_within_a_thread(provider: &Shared) {
    let mut all = vec![sent(provider, "bob").await.id];
    for _ in 0..4 {
        all.push(provider.reply(&all[0], Words { from: "bob", ..HELLO }).await.unwrap().id);
    }
    let thread = provider.thread(&all[0]).await.unwrap();
    assert_eq!(ids(&thread), all);
    assert!(thread.is_sorted_by(|one, next| one.created_at < next.created_at), "times rise strictly");
}

pub async fn lists_are_in_the_order_of_their_times(provider: &Shared) {
    let mut all = Vec::new();
    for to in ["carol", "bob", "alice", "bob", "carol"] {
        all.push(sent(provider, to).await);
    }
    let listed = provider.all("").await.unwrap();
    assert_eq!(ids(&listed), ids(&all));
    assert!(listed.is_sorted_by(|one, next| one.created_at < next.created_at), "times rise strictly");
}

pub async fn a_list_tells_a_delivery_as_it_is(provider: &Shared) {
    let (first, second) = (sent(provider, "bob").await, sent(provider, "bob").await);
    provider.reply(&first.id, Words { from: "bob", ..HELLO }).await.unwrap();
    provider.archive(&first.id).await.unwrap();
    provider.mark_read(&second.id).await.unwrap();
    let lists = [provider.all("").await, provider.inbox("").await, provider.thread(&first.id).await];
    for delivery in lists.into_iter().flat_map(Result::unwrap) {
        assert_eq!(provider.get(&delivery.id).await.unwrap(), delivery);
    }
}

pub async fn twelve_who_write_at_once_lose_nothing(provider: &Shared) {
    let mut writers = JoinSet::new();
    for writer in 0..12 {
        let provider = provider.clone();
        writers.spawn(async move {
            let (from, mut ids) = (format!("writer-{writer}"), Vec::new());
            for _ in 0..5 {
                let words = Words { from: &from, ..HELLO };
                ids.push(provider.send("bob", words).await.unwrap().id);
            }
            ids
        });
    }
    let written: HashSet<String> = writers.join_all().await.into_iter().flatten().collect();
    assert_eq!(written.len(), 60, "every id is another");
    let kept: HashSet<String> = provider.all("bob").await.unwrap().into_iter().map(|delivery| delivery.id).collect();
    assert_eq!(kept, written);
}

#[cfg(test)]
mod tests {
    // The macro says `mail`, as everybody else does.
    extern crate self as mail;

    use super::super::hiding::Hiding;
    use super::fake::Fake;
    use super::*;

    async fn fake() -> (Shared, ()) {
        (Arc::new(Hiding(Fake::default())), ())
    }

    testing::provider_suite!(fake);

    mod kept {
        use super::*;

        async fn fake() -> (Shared, ()) {
            (Arc::new(Fake::default()), ())
        }

        testing::kept_suite!(fake);
    }
}

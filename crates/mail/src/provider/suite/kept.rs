//! What backends of ours promise of mail that was archived, beyond `suite`: it is kept, and found by its id.
//!
//! Doors for people show it, and callers of the exec protocol do not find it. A backend's tests call
//! `testing::kept_suite!`.

use super::{HELLO, Shared, ids, sent};
use crate::provider::{Count, ProviderDelivery, Words};

pub async fn what_was_archived_or_deleted_is_never_gone(provider: &Shared) {
    let (archived, deleted) = (sent(provider, "bob").await, sent(provider, "bob").await);
    provider.archive(&archived.id).await.unwrap();
    provider.delete(&deleted.id).await.unwrap();
    for delivery in [archived, deleted] {
        assert_eq!(provider.get(&delivery.id).await.unwrap().body, delivery.body);
    }
}

pub async fn what_was_archived_is_marked_and_never_comes_back(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    provider.read(&delivery.id).await.unwrap();
    provider.archive(&delivery.id).await.unwrap();
    for _ in 0..2 {
        provider.mark_unread(&delivery.id).await.unwrap();
    }
    assert!(!provider.get(&delivery.id).await.unwrap().read);
    for recipient in ["bob", ""] {
        assert_eq!(provider.count(recipient).await.unwrap(), Count::default());
        assert_eq!(provider.check(recipient).await.unwrap(), []);
    }
    provider.mark_read(&delivery.id).await.unwrap();
    assert_eq!(provider.all("bob").await.unwrap(), []);
}

pub async fn what_was_archived_can_be_read(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    provider.archive(&delivery.id).await.unwrap();
    let read = provider.read(&delivery.id).await.unwrap();
    // Not every backend says that it is archived.
    let delivery = ProviderDelivery { archived: read.archived, ..delivery };
    assert_eq!(read, ProviderDelivery { read: true, ..delivery.clone() });
    assert_eq!(provider.get(&delivery.id).await.unwrap(), read);
    assert_eq!(provider.all("bob").await.unwrap(), []);
    provider.mark_unread(&delivery.id).await.unwrap();
    assert_eq!(provider.get(&delivery.id).await.unwrap(), delivery);
}

pub async fn what_was_archived_can_be_answered_and_stays_archived(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    provider.archive(&delivery.id).await.unwrap();
    let reply = provider.reply(&delivery.id, Words { from: "bob", ..HELLO }).await.unwrap();
    assert_eq!(reply.thread, delivery.thread);
    assert_eq!(provider.inbox("alice").await.unwrap(), [reply]);
    assert_eq!(provider.all("bob").await.unwrap(), []);
}

pub async fn a_thread_shows_what_was_archived(provider: &Shared) {
    let first = sent(provider, "bob").await;
    let second = provider.reply(&first.id, Words { from: "bob", ..HELLO }).await.unwrap();
    sent(provider, "bob").await;
    provider.archive(&first.id).await.unwrap();
    for id in [&first.thread, &first.id, &second.id] {
        let thread = provider.thread(id).await.unwrap();
        assert_eq!(ids(&thread), [first.id.as_str(), second.id.as_str()], "by '{id}'");
    }
}

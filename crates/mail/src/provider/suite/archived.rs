//! What every provider promises of mail that was archived: it is in no list, and whoever names it does not find it.

use super::{HELLO, Shared, ids, not_found, sent};
use crate::provider::{Count, ProviderError, Words};

/// The id of a delivery that was sent to bob and archived.
async fn archived(provider: &Shared) -> String {
    let delivery = sent(provider, "bob").await;
    provider.archive(&delivery.id).await.unwrap();
    delivery.id
}

pub async fn what_was_archived_is_in_no_list(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    provider.archive(&delivery.id).await.unwrap();
    for deliveries in [provider.inbox("bob").await, provider.check("bob").await, provider.all("bob").await] {
        assert_eq!(deliveries.unwrap(), []);
    }
    assert_eq!(provider.count("bob").await.unwrap(), Count::default());
}

pub async fn what_was_archived_is_not_got(provider: &Shared) {
    let id = archived(provider).await;
    not_found(provider.get(&id).await);
}

pub async fn what_was_archived_is_not_read(provider: &Shared) {
    let id = archived(provider).await;
    not_found(provider.read(&id).await);
}

pub async fn what_was_archived_is_not_answered(provider: &Shared) {
    let id = archived(provider).await;
    not_found(provider.reply(&id, Words { from: "bob", ..HELLO }).await);
    assert_eq!(provider.all("").await.unwrap(), []);
}

pub async fn what_was_archived_is_not_marked_read(provider: &Shared) {
    let id = archived(provider).await;
    not_found(provider.mark_read(&id).await);
}

pub async fn what_was_archived_is_not_marked_unread(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    provider.read(&delivery.id).await.unwrap();
    provider.archive(&delivery.id).await.unwrap();
    not_found(provider.mark_unread(&delivery.id).await);
    assert_eq!(provider.check("bob").await.unwrap(), [], "nothing brings it back");
}

pub async fn a_thread_omits_what_was_archived(provider: &Shared) {
    let first = sent(provider, "bob").await;
    let second = provider.reply(&first.id, Words { from: "bob", ..HELLO }).await.unwrap();
    provider.archive(&first.id).await.unwrap();
    for id in [&first.thread, &second.id] {
        assert_eq!(provider.thread(id).await.unwrap(), std::slice::from_ref(&second), "by '{id}'");
    }
    provider.archive(&second.id).await.unwrap();
    for id in [&first.thread, &first.id, &second.id] {
        assert_eq!(provider.thread(id).await.unwrap(), [], "by '{id}'");
    }
}

pub async fn what_was_deleted_is_not_found_either(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    provider.delete(&delivery.id).await.unwrap();
    not_found(provider.get(&delivery.id).await);
    not_found(provider.read(&delivery.id).await);
    not_found(provider.reply(&delivery.id, HELLO).await);
    not_found(provider.mark_read(&delivery.id).await);
    not_found(provider.mark_unread(&delivery.id).await);
    assert_eq!(provider.thread(&delivery.thread).await.unwrap(), []);
}

pub async fn what_was_archived_is_archived_whatever_was_tried_since(provider: &Shared) {
    let id = archived(provider).await;
    not_found(provider.mark_unread(&id).await);
    not_found(provider.read(&id).await);
    let again = provider.archive(&id).await;
    assert!(matches!(again, Err(ProviderError::AlreadyArchived { .. })), "{again:?}");
    assert_eq!(provider.count("").await.unwrap(), Count::default());
}

pub async fn an_answer_outlives_what_it_answers(provider: &Shared) {
    let first = sent(provider, "bob").await;
    let reply = provider.reply(&first.id, Words { from: "bob", ..HELLO }).await.unwrap();
    provider.archive(&first.id).await.unwrap();
    assert_eq!(provider.get(&reply.id).await.unwrap(), reply);
    let next = provider.reply(&reply.id, HELLO).await.unwrap();
    assert_eq!((&next.thread, next.reply_to.as_ref()), (&first.thread, Some(&reply.id)));
}

pub async fn archiving_one_leaves_the_others(provider: &Shared) {
    let deliveries = [sent(provider, "bob").await, sent(provider, "bob").await, sent(provider, "carol").await];
    provider.archive(&deliveries[0].id).await.unwrap();
    assert_eq!(ids(&provider.all("").await.unwrap()), ids(&deliveries[1..]));
    assert_eq!(provider.get(&deliveries[1].id).await.unwrap(), deliveries[1]);
}

pub async fn what_was_read_can_be_archived(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    provider.read(&delivery.id).await.unwrap();
    provider.archive(&delivery.id).await.unwrap();
    assert_eq!(provider.all("bob").await.unwrap(), []);
}

pub async fn archiving_twice_is_an_error_of_its_own(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    provider.archive(&delivery.id).await.unwrap();
    for again in [provider.archive(&delivery.id).await, provider.delete(&delivery.id).await] {
        assert!(matches!(again, Err(ProviderError::AlreadyArchived { .. })), "{again:?}");
    }
}

pub async fn deleting_is_archiving(provider: &Shared) {
    let delivery = sent(provider, "bob").await;
    provider.delete(&delivery.id).await.unwrap();
    assert_eq!(provider.all("bob").await.unwrap(), []);
    let again = provider.archive(&delivery.id).await;
    assert!(matches!(again, Err(ProviderError::AlreadyArchived { .. })), "{again:?}");
}

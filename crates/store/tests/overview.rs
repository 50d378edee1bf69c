//! All mail at a glance, as the post office tells it over a real store.

use mail::Error;
use mail::messages::Importance;
use mail::office::{Claim, Draft, ListingRequest};

use crate::shop::PROJECT;
use crate::talk::{talking, to};

fn request<'a>() -> ListingRequest<'a> {
    ListingRequest {
        project_key: None,
        agent: None,
        unread_only: false,
        ack_due_only: false,
        urgent_only: false,
        archived_only: false,
        kind: None,
        before: None,
        limit: 10,
    }
}

#[tokio::test]
async fn mail_of_all_projects_is_listed_together_newest_first() {
    let shop = talking().await;
    let bank = "/projects/bank";
    shop.office.ensure_project(bank).await.unwrap();
    for name in ["claude", "codex", "banker"] {
        shop.office.ensure_mailbox(bank, name).await.unwrap();
    }
    let mut sent = Vec::new();
    for (project_key, name) in [(PROJECT, "codex"), (bank, "codex"), (PROJECT, "gemini"), (bank, "banker")] {
        let urgent = Draft { project_key, importance: Importance::Urgent, ..to(&[name], "claude") };
        sent.push(shop.office.send(urgent).await.unwrap().message.id);
    }
    let listed = async |request: ListingRequest<'_>| {
        let listed = shop.office.listing(request).await.unwrap();
        listed.into_iter().map(|(project, listed)| (project.human_key, listed.message.id)).collect::<Vec<_>>()
    };
    let line = |path: &str, place: usize| (path.to_owned(), sent[place]);
    let all = [line(bank, 3), line(PROJECT, 2), line(bank, 1), line(PROJECT, 0)];
    assert_eq!(listed(request()).await, all);
    assert_eq!(listed(ListingRequest { limit: 3, ..request() }).await, all[..3]);
    assert_eq!(listed(ListingRequest { before: Some(sent[3]), limit: 2, ..request() }).await, all[1..3]);
    assert_eq!(listed(ListingRequest { agent: Some("codex"), ..request() }).await, [all[2].clone(), all[3].clone()]);
    assert_eq!(
        listed(ListingRequest { project_key: Some("projects-bank"), urgent_only: true, ..request() }).await.len(),
        2
    );
    assert_eq!(listed(ListingRequest { agent: Some("nobody"), ..request() }).await, []);
    let unknown =
        shop.office.listing(ListingRequest { project_key: Some(bank), agent: Some("gemini"), ..request() }).await;
    assert!(matches!(unknown, Err(Error::UnknownAgent { another: true, .. })), "{unknown:?}");
    shop.office.mark_read(bank, Claim::of("codex"), sent[1]).await.unwrap();
    let unread = ListingRequest { agent: Some("codex"), unread_only: true, ..request() };
    assert_eq!(listed(unread).await, [all[3].clone()]);
}

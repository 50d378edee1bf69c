//! All mail at a glance, as the post office tells it over a real store.

use mail::Error;
use mail::messages::Importance;
use mail::office::{Claim, Draft};
use mail::overview::Listing;

use crate::shop::PROJECT;
use crate::talk::{talking, to};

fn newest() -> Listing {
    Listing { limit: 10, ..Listing::default() }
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
    let listed = async |project: Option<&str>, agent: Option<&str>, wanted: Listing| {
        let listed = shop.office.listing(project, agent, &wanted).await.unwrap();
        listed.into_iter().map(|(project, listed)| (project.human_key, listed.message.id)).collect::<Vec<_>>()
    };
    let line = |path: &str, place: usize| (path.to_owned(), sent[place]);
    let all = [line(bank, 3), line(PROJECT, 2), line(bank, 1), line(PROJECT, 0)];
    assert_eq!(listed(None, None, newest()).await, all);
    assert_eq!(listed(None, None, Listing { limit: 3, ..newest() }).await, all[..3]);
    assert_eq!(listed(None, None, Listing { before: Some(sent[3]), limit: 2, ..newest() }).await, all[1..3]);
    assert_eq!(listed(None, Some("codex"), newest()).await, [all[2].clone(), all[3].clone()]);
    assert_eq!(listed(Some("projects-bank"), None, Listing { urgent_only: true, ..newest() }).await.len(), 2);
    assert_eq!(listed(None, Some("nobody"), newest()).await, []);
    let unknown = shop.office.listing(Some(bank), Some("gemini"), &newest()).await;
    assert!(matches!(unknown, Err(Error::UnknownAgent { another: true, .. })), "{unknown:?}");
    shop.office.mark_read(bank, Claim::of("codex"), sent[1]).await.unwrap();
    let unread = Listing { unread_only: true, ..newest() };
    assert_eq!(listed(None, Some("codex"), unread).await, [all[3].clone()]);
}

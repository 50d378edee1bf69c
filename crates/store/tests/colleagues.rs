//! How recipients stand, who could be asked instead, and who is a colleague, through the office.

use mail::office::Claim;
use mail::standing::Standing;

use crate::addresses::{BANK, join, reply, send, town};
use crate::shop::PROJECT;

#[tokio::test]
async fn a_send_tells_how_those_stand_who_are_not_awake_and_who_is() {
    let shop = town().await;
    let awake = send(&shop, "alice", &["bob"]).await.unwrap();
    assert_eq!(awake.standing, [], "who is awake is worth no word");
    shop.office.leave(PROJECT, Claim::of("bob")).await.unwrap();
    join(&shop.office, PROJECT, "codex-2", "codex-cli").await;
    let sent = send(&shop, "alice", &["bob", "agent-0", "codex-2"]).await.unwrap();
    let told: Vec<_> =
        sent.standing.iter().map(|one| (one.name.as_str(), one.standing, one.instead.as_deref())).collect();
    let expected = [("bob", Standing::Asleep, Some("codex-2")), ("agent-0", Standing::NeverSeen, Some("codex-2"))];
    assert_eq!(told, expected);
    let answer = reply(&shop, PROJECT, "bob", awake.message.id).await.unwrap();
    assert_eq!(answer.standing, [], "alice is awake");
    shop.clock.advance_seconds(301);
    let alone = send(&shop, "alice", &["codex-2"]).await.unwrap();
    assert_eq!((alone.standing[0].standing, alone.standing[0].instead.clone()), (Standing::Asleep, None));
}

#[tokio::test]
async fn who_could_be_asked_instead_in_another_project_is_named_so_that_mail_reaches_it() {
    let shop = town().await;
    shop.office.leave(BANK, Claim::of("bob")).await.unwrap();
    let sent = send(&shop, "alice", &["bob@projects-bank"]).await.unwrap();
    assert_eq!(sent.standing[0].instead.as_deref(), Some("carol@projects-bank"));
    shop.office.welcome_person(BANK, "Anna").await.unwrap();
    shop.office.retire(BANK, "Anna", "bob").await.unwrap();
    let refused = send(&shop, "alice", &["bob@projects-bank"]).await.unwrap_err();
    assert_eq!(refused.near(), ["carol@projects-bank"]);
}

#[tokio::test]
async fn mail_to_a_retired_agent_is_refused_and_names_who_is_awake() {
    let shop = town().await;
    join(&shop.office, PROJECT, "codex-2", "codex-cli").await;
    shop.office.welcome_person(PROJECT, "Anna").await.unwrap();
    shop.office.retire(PROJECT, "Anna", "bob").await.unwrap();
    for name in ["bob", "bob@projects-shop"] {
        let refused = send(&shop, "alice", &[name]).await.unwrap_err();
        assert_eq!((refused.code(), refused.near()), ("AGENT_RETIRED", &["codex-2".to_owned()][..]), "{name}");
    }
}

#[tokio::test]
async fn colleagues_are_the_others_who_are_there_the_best_first() {
    let shop = town().await;
    send(&shop, "alice", &["role:reviewer", "person"]).await.unwrap();
    join(&shop.office, PROJECT, "codex-2", "codex-cli").await;
    shop.office.leave(PROJECT, Claim::of("bob")).await.unwrap();
    let colleagues = shop.office.colleagues(PROJECT, Some("alice"), 8).await.unwrap();
    let told: Vec<_> = colleagues.iter().map(|one| (one.agent.name.as_str(), one.standing)).collect();
    let expected = [
        ("codex-2", Standing::Awake),
        ("bob", Standing::Asleep),
        ("agent-0", Standing::NeverSeen),
        ("agent-1", Standing::NeverSeen),
        ("person", Standing::NeverSeen),
    ];
    assert_eq!(told, expected);
    assert_eq!(shop.office.colleagues(PROJECT, None, 1).await.unwrap().len(), 1);
}

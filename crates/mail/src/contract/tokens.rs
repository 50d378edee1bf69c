//! What every store promises of tokens that are made worth nothing.

use super::Shared;
use super::fixtures::{at, introduce, named, team, team_at};
use crate::agents::{Profile, Revoked, Taking, TokenHash};
use crate::ids::{AgentId, ProjectId};

const NEW: &str = "the new one";

async fn give(store: &Shared, project: ProjectId, name: &str, tokens: &[&str]) {
    for token in tokens {
        let hash = Some(TokenHash::of(token));
        introduce(store, project, name, &Profile::default(), hash, at("16:00:00")).await;
    }
}

fn hashes(tokens: &[&str]) -> Vec<TokenHash> {
    tokens.iter().map(|token| TokenHash::of(token)).collect()
}

pub async fn tokens_that_are_named_are_worth_nothing_and_the_others_stay(store: &Shared) {
    let team = team(store).await;
    give(store, team.id(), "alice", &["a", "b", "c"]).await;
    let which = hashes(&["b", "never given"]);
    let revoked = store.revoke_tokens(team.agent("alice"), Some(&which), TokenHash::of(NEW), at("16:01:00")).await;
    assert_eq!(revoked.unwrap(), Revoked { revoked: 1, left: 2, is_replaced: false });
    assert_eq!(store.token_hashes(team.agent("alice")).await.unwrap(), hashes(&["c", "a"]));
}

pub async fn when_no_token_would_be_left_there_is_a_new_one(store: &Shared) {
    let team = team(store).await;
    for which in [None, Some(hashes(&["a", "b"]))] {
        give(store, team.id(), "bob", &["a", "b"]).await;
        store
            .revoke_tokens(team.agent("bob"), Some(&hashes(&[NEW])), TokenHash::of(NEW), at("16:01:00"))
            .await
            .unwrap();
        let revoked =
            store.revoke_tokens(team.agent("bob"), which.as_deref(), TokenHash::of(NEW), at("16:01:00")).await.unwrap();
        assert_eq!(revoked, Revoked { revoked: 2, left: 1, is_replaced: true });
        assert_eq!(store.token_hashes(team.agent("bob")).await.unwrap(), hashes(&[NEW]));
    }
    let (name, profile) = (named("bob"), Profile::default());
    let taken = store.register(team.id(), &name, &profile, None, Taking::NewOrTokenless, at("16:02:00")).await.unwrap();
    assert_eq!(taken, None, "the name is nobody else's");
}

pub async fn revoking_concerns_one_agent_alone(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    for project in [shop.id(), bank.id()] {
        give(store, project, "alice", &["a"]).await;
    }
    give(store, shop.id(), "bob", &["a"]).await;
    store.revoke_tokens(shop.agent("alice"), None, TokenHash::of(NEW), at("16:01:00")).await.unwrap();
    assert_eq!(store.token_hashes(shop.agent("bob")).await.unwrap(), hashes(&["a"]));
    assert_eq!(store.token_hashes(bank.agent("alice")).await.unwrap(), hashes(&["a"]));
    let nobody = store.revoke_tokens(AgentId(i64::MAX), None, TokenHash::of(NEW), at("16:01:00")).await.unwrap();
    assert_eq!(nobody, Revoked { revoked: 0, left: 0, is_replaced: false });
}

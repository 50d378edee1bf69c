//! What every store promises of projects.

use std::collections::HashSet;

use tokio::task::JoinSet;

use super::Shared;
use super::fixtures::{PLENTY, at};
use crate::projects::{Alias, LONGEST_ALIAS, LONGEST_KEY, Project, ProjectKey, slug_of, slug_with_hash};

pub async fn ensuring_makes_a_project_named_after_its_path(store: &Shared) {
    let made = store.ensure_project("/data/My Shop", at("16:00:00.000001")).await.unwrap();
    assert_eq!(made.human_key, "/data/My Shop");
    assert_eq!(made.slug, "data-my-shop");
    assert_eq!(made.created_at, at("16:00:00.000001"));
    assert_eq!(store.projects(None, PLENTY).await.unwrap(), [made]);
}

pub async fn ensuring_again_changes_nothing(store: &Shared) {
    let first = store.ensure_project("/data/shop", at("16:00:00")).await.unwrap();
    let again = store.ensure_project("/data/shop", at("17:00:00")).await.unwrap();
    assert_eq!(again, first);
    assert_eq!(store.projects(None, PLENTY).await.unwrap(), [first]);
}

pub async fn a_taken_slug_gets_the_hash_of_its_own_path(store: &Shared) {
    let plain = store.ensure_project("/a/b", at("16:00:00")).await.unwrap();
    assert_eq!(plain.slug, "a-b");
    for path in ["/a_b", "/A/B"] {
        let clashing = store.ensure_project(path, at("16:00:01")).await.unwrap();
        assert_eq!(clashing.slug, slug_with_hash(path));
        assert_eq!(store.ensure_project(path, at("16:00:02")).await.unwrap(), clashing);
    }
    assert_eq!(store.ensure_project("/a/b", at("16:00:03")).await.unwrap(), plain);
}

pub async fn a_project_is_found_by_its_path(store: &Shared) {
    let made = store.ensure_project("/data/shop", at("16:00:00")).await.unwrap();
    assert_eq!(store.project(&path("/data/shop")).await.unwrap(), Some(made));
    for other in ["/data/Shop", "/data", "data-shop"] {
        assert_eq!(store.project(&path(other)).await.unwrap(), None, "{other}");
    }
}

pub async fn a_project_is_found_by_its_slug(store: &Shared) {
    let plain = store.ensure_project("/data/shop", at("16:00:00")).await.unwrap();
    let hashed = store.ensure_project("/data_shop", at("16:00:00")).await.unwrap();
    assert_eq!(store.project(&slug("data-shop")).await.unwrap(), Some(plain));
    assert_eq!(store.project(&slug(&hashed.slug)).await.unwrap(), Some(hashed));
    for other in ["data", "Data-Shop", "/data/shop"] {
        assert_eq!(store.project(&slug(other)).await.unwrap(), None, "{other}");
    }
}

pub async fn looking_for_a_project_does_not_make_it(store: &Shared) {
    assert_eq!(store.project(&path("/data/shop")).await.unwrap(), None);
    assert_eq!(store.projects(None, PLENTY).await.unwrap(), []);
}

pub async fn projects_are_listed_in_the_order_they_were_made(store: &Shared) {
    let mut made = Vec::new();
    // Times fall and names are out of order, so that neither can stand in for the order of making.
    for (path, time) in [("/m", "16:00:02"), ("/z", "16:00:01"), ("/a", "16:00:00")] {
        made.push(store.ensure_project(path, at(time)).await.unwrap());
    }
    assert!(made.is_sorted_by(|one, next| one.id < next.id));
    assert_eq!(store.projects(None, PLENTY).await.unwrap(), made);
}

pub async fn pages_of_projects_meet_without_gap_or_repeat(store: &Shared) {
    let mut made = Vec::new();
    for number in 0..5 {
        made.push(store.ensure_project(&format!("/p/{number}"), at("16:00:00")).await.unwrap());
    }
    assert_eq!(store.projects(None, 2).await.unwrap(), made[..2]);
    assert_eq!(store.projects(Some(made[1].id), 2).await.unwrap(), made[2..4]);
    assert_eq!(store.projects(Some(made[3].id), 2).await.unwrap(), made[4..]);
    assert_eq!(store.projects(Some(made[4].id), 2).await.unwrap(), []);
    assert_eq!(store.projects(None, 0).await.unwrap(), []);
}

pub async fn a_path_of_any_script_is_kept_as_given(store: &Shared) {
    for text in ["/Größe/Ärger", "/漢字/かな", "/it's \"100%\" \\ fine", "/"] {
        let made = store.ensure_project(text, at("16:00:00")).await.unwrap();
        assert_eq!((made.human_key.as_str(), made.slug.as_str()), (text, slug_of(text).as_str()));
        assert_eq!(store.project(&path(text)).await.unwrap().as_ref(), Some(&made));
        assert_eq!(store.project(&slug(&made.slug)).await.unwrap(), Some(made));
    }
}

/// Random letters, because an index that only holds short keys may hold long ones that compress well.
pub async fn the_longest_path_is_kept_and_found(store: &Shared) {
    let mut long = String::from("/");
    for number in 0u32.. {
        long.push_str(blake3::hash(&number.to_le_bytes()).to_hex().as_str());
        if long.len() > LONGEST_KEY {
            break;
        }
    }
    long.truncate(LONGEST_KEY);
    let made = store.ensure_project(&long, at("16:00:00")).await.unwrap();
    assert_eq!(made.human_key, long);
    assert_eq!(store.project(&path(&long)).await.unwrap().as_ref(), Some(&made));
    assert_eq!(store.project(&slug(&slug_of(&long))).await.unwrap(), Some(made));
}

pub async fn ensuring_one_path_at_once_makes_one_project(store: &Shared) {
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        tasks.spawn(async move { store.ensure_project("/data/shop", at("16:00:00")).await.unwrap().id });
    }
    let made: HashSet<_> = tasks.join_all().await.into_iter().collect();
    assert_eq!(made.len(), 1);
    assert_eq!(store.projects(None, PLENTY).await.unwrap().len(), 1);
}

pub async fn ensuring_clashing_paths_at_once_gives_each_its_own_slug(store: &Shared) {
    let mut tasks = JoinSet::new();
    for path in ["/a/b", "/a_b", "/a.b", "/a b", "/A/b", "/a//b", "/a:b", "/a+b"] {
        let store = store.clone();
        tasks.spawn(async move { store.ensure_project(path, at("16:00:00")).await.unwrap() });
    }
    let made = tasks.join_all().await;
    let slugs: HashSet<_> = made.iter().map(|project| &project.slug).collect();
    assert_eq!(slugs.len(), made.len());
    let plain = made.iter().filter(|project| project.slug == slug_of(&project.human_key)).count();
    assert_eq!(plain, 1, "one path came first");
    assert!(made.iter().all(|project| project.slug == "a-b" || project.slug == slug_with_hash(&project.human_key)));
}

pub async fn an_alias_means_its_project_and_makes_none(store: &Shared) {
    let shop = store.ensure_project("/data/shop", at("16:00:00")).await.unwrap();
    store.set_alias("/clones/shop", shop.id, at("16:01:00")).await.unwrap();
    assert_eq!(store.project(&path("/clones/shop")).await.unwrap().as_ref(), Some(&shop));
    assert_eq!(store.ensure_project("/clones/shop", at("16:02:00")).await.unwrap(), shop);
    assert_eq!(store.project(&path("/clones/shop/src")).await.unwrap(), None, "it is one path");
    assert_eq!(store.projects(None, PLENTY).await.unwrap(), [shop]);
}

pub async fn an_alias_hides_the_project_of_its_own_path_until_it_is_removed(store: &Shared) {
    let shop = store.ensure_project("/data/shop", at("16:00:00")).await.unwrap();
    let clone = store.ensure_project("/clones/shop", at("16:00:00")).await.unwrap();
    store.set_alias("/clones/shop", shop.id, at("16:01:00")).await.unwrap();
    assert_eq!(store.project(&path("/clones/shop")).await.unwrap().as_ref(), Some(&shop));
    assert_eq!(store.project(&slug(&clone.slug)).await.unwrap().as_ref(), Some(&clone));
    assert!(store.remove_alias("/clones/shop").await.unwrap());
    assert_eq!(store.project(&path("/clones/shop")).await.unwrap(), Some(clone));
    assert!(!store.remove_alias("/clones/shop").await.unwrap(), "it was removed before");
}

pub async fn aliases_are_listed_by_their_paths_and_named_anew(store: &Shared) {
    let shop = store.ensure_project("/data/shop", at("16:00:00")).await.unwrap();
    let bank = store.ensure_project("/data/bank", at("16:00:00")).await.unwrap();
    for text in ["/z", "/a", "/Ä b"] {
        store.set_alias(text, shop.id, at("16:01:00")).await.unwrap();
    }
    store.set_alias("/a", bank.id, at("16:02:00")).await.unwrap();
    let alias = |path: &str, project: &Project, time| Alias {
        path: path.to_owned(),
        project: project.clone(),
        created_at: at(time),
    };
    let expected = [alias("/a", &bank, "16:02:00"), alias("/z", &shop, "16:01:00"), alias("/Ä b", &shop, "16:01:00")];
    assert_eq!(store.aliases().await.unwrap(), expected);
}

pub async fn the_longest_alias_is_kept_and_found(store: &Shared) {
    let shop = store.ensure_project("/data/shop", at("16:00:00")).await.unwrap();
    let letters: String = (0..LONGEST_ALIAS).map(|at| char::from(b'a' + (at * 7 % 26) as u8)).collect();
    let long = format!("/{}", &letters[1..]);
    store.set_alias(&long, shop.id, at("16:01:00")).await.unwrap();
    assert_eq!(store.project(&path(&long)).await.unwrap(), Some(shop));
    assert!(store.remove_alias(&long).await.unwrap());
}

fn path(text: &str) -> ProjectKey {
    ProjectKey::Path(text.to_owned())
}

fn slug(text: &str) -> ProjectKey {
    ProjectKey::Slug(text.to_owned())
}

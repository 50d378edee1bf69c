//! Which project a key means, as the office finds it: what was made comes first, then the repository around a path.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use mail::office::{Identity, Registration, Rules};
use mail::projects::{KeyedBy, WorkTree, WorkTrees};
use mail::{Error, Office};

use crate::shop::{PROJECT, draft, office_over, shop};

/// Repositories by the folders in them, and how often somebody looked.
#[derive(Default)]
struct Disk {
    trees: Mutex<HashMap<&'static str, WorkTree>>,
    looks: AtomicUsize,
}

impl Disk {
    fn tree(&self, path: &'static str, [top, main, below]: [&str; 3], remote: Option<&str>) {
        let [top, main, below] = [top, main, below].map(str::to_owned);
        self.trees.lock().unwrap().insert(path, WorkTree { top, main, below, remote: remote.map(str::to_owned) });
    }

    fn looks(&self) -> usize {
        self.looks.swap(0, Ordering::Relaxed)
    }
}

#[async_trait]
impl WorkTrees for Disk {
    async fn around(&self, path: &str) -> Option<WorkTree> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        self.trees.lock().unwrap().get(path).cloned()
    }
}

/// An office that sees a disk with the repository `/app`, its worktree `/side` and its folder `/app/web`.
async fn seeing(rules: Rules) -> (crate::shop::Shop, Office, Arc<Disk>) {
    let shop = shop(rules).await;
    let disk = Arc::new(Disk::default());
    disk.tree("/app", ["/app", "/app", ""], None);
    disk.tree("/side", ["/side", "/app", ""], None);
    disk.tree("/app/web", ["/app", "/app", "web"], None);
    let office = (*shop.office).clone().seeing(disk.clone());
    (shop, office, disk)
}

async fn key_of(office: &Office, path: &str) -> String {
    office.ensure_project(path).await.unwrap().human_key
}

#[tokio::test]
async fn a_project_that_is_known_is_never_looked_for_on_the_disk() {
    let (_shop, office, disk) = seeing(Rules::default()).await;
    for _ in 0..3 {
        office.send(draft("agent-0", None)).await.unwrap();
        office.project(PROJECT).await.unwrap();
        office.project("projects-shop").await.unwrap();
    }
    assert_eq!(disk.looks(), 0);
    assert_eq!(key_of(&office, "/app").await, "/app");
    assert_eq!(disk.looks(), 1, "a new one is looked for once");
    for _ in 0..3 {
        assert_eq!(office.project("/app/web").await.unwrap().human_key, "/app");
    }
    assert_eq!(disk.looks(), 1, "and what was found is remembered");
}

#[tokio::test]
async fn every_folder_and_worktree_of_a_repository_is_its_project() {
    let (_shop, office, _disk) = seeing(Rules::default()).await;
    assert_eq!(key_of(&office, "/side").await, "/app");
    let named = office.ensure_named("/app/web").await.unwrap();
    let place = named.place.clone().unwrap();
    assert_eq!((place.top.as_str(), place.below.as_str()), ("/app", "web"));
    assert!(named.note().unwrap().contains("'/app/web' is in the repository '/app'"));
    assert_eq!(office.ensure_named("/app").await.unwrap().place, None);
    let registration = Registration { project_key: "/side", name: Some("Ann"), ..Registration::default() };
    assert_eq!(office.register(registration).await.unwrap().place.unwrap().key, "/side");
    assert_eq!(key_of(&office, "/elsewhere").await, "/elsewhere", "what nobody can see is taken as it is");
}

#[tokio::test]
async fn a_project_of_just_that_path_stays_what_it_is() {
    let (shop, office, disk) = seeing(Rules::default()).await;
    let blind = office_over(shop.store.clone(), shop.clock.clone());
    assert_eq!(key_of(&blind, "/app/web").await, "/app/web");
    assert_eq!(key_of(&office, "/app/web").await, "/app/web");
    assert_eq!(disk.looks(), 0);
}

#[tokio::test]
async fn a_remote_is_the_key_of_what_is_new_and_a_path_that_is_there_stays() {
    let rules = Rules { keyed_by: KeyedBy::Remote, ..Rules::default() };
    let (shop, office, disk) = seeing(rules).await;
    let url = "https://git.example/team/app";
    disk.tree("/one", ["/one", "/one", ""], Some(url));
    disk.tree("/two/src", ["/two", "/two", "src"], Some(url));
    assert_eq!(key_of(&office, "/one").await, url);
    let named = office.ensure_named("/two/src").await.unwrap();
    assert_eq!((named.project.human_key.as_str(), named.place.unwrap().below.as_str()), (url, "src"));
    let blind = office_over(shop.store.clone(), shop.clock.clone());
    key_of(&blind, "/three").await;
    disk.tree("/three/src", ["/three", "/three", "src"], Some(url));
    assert_eq!(key_of(&office, "/three/src").await, "/three");
    assert_eq!(key_of(&office, "/app").await, "/app", "it has no remote");
}

#[tokio::test]
async fn an_alias_counts_at_once_and_no_longer_than_it_is_there() {
    let (_shop, office, _disk) = seeing(Rules::default()).await;
    key_of(&office, "/app").await;
    let (project, before) = office.set_alias("/clone", "/app", false).await.unwrap();
    assert_eq!((project.human_key.as_str(), before), ("/app", None));
    assert_eq!(office.project("/clone").await.unwrap(), project);
    assert!(office.remove_alias("/clone").await.unwrap());
    assert_eq!(office.project("/clone").await.unwrap_err().code(), "PROJECT_NOT_FOUND");
    let refused = office.set_alias(PROJECT, "/app", false).await;
    assert!(refused.is_ok(), "nothing would be out of sight");
    office.remove_alias(PROJECT).await.unwrap();
    office.send(draft("agent-0", None)).await.unwrap();
    assert_eq!(office.set_alias(PROJECT, "/app", false).await.unwrap_err().code(), "PROJECT_HAS_MAIL");
    assert_eq!(office.set_alias(PROJECT, "/app", true).await.unwrap().1.unwrap().human_key, PROJECT);
    assert_eq!(office.project(PROJECT).await.unwrap().human_key, "/app");
    for wrong in ["app", "", "https://git.example/a", &"/x".repeat(600)] {
        assert_eq!(office.set_alias(wrong, "/app", true).await.unwrap_err().code(), wrong_code(wrong), "{wrong:.20}");
    }
    assert_eq!(office.set_alias("/app", "/app", true).await.unwrap_err().code(), "INVALID_ARGUMENT");
}

fn wrong_code(path: &str) -> &'static str {
    if path.starts_with('/') || path.starts_with("https:") { "INVALID_ARGUMENT" } else { "INVALID_PROJECT_KEY" }
}

#[tokio::test]
async fn where_names_are_proved_only_people_say_what_a_path_means() {
    let shop = shop(Rules { identity: Identity::Strict, ..Rules::default() }).await;
    shop.office.ensure_project("/data/evil").await.unwrap();
    let refused = shop.office.set_alias(PROJECT, "/data/evil", true).await;
    assert!(matches!(refused, Err(Error::ForPeople)), "{refused:?}");
    let person = shop.office.for_person();
    person.set_alias("/clone", PROJECT, false).await.unwrap();
    assert!(matches!(shop.office.remove_alias("/clone").await, Err(Error::ForPeople)));
    assert!(shop.office.for_terminal().remove_alias("/clone").await.unwrap());
}

//! What runs beside an office of our own: the bridges to the folders that its projects share with others.
//!
//! A server and a client that stays run them all the time. A command that ends soon has them do what is due: write what
//! it posted, take in what is there before it reads. Trouble with a folder is told and never fails a command, for what was
//! not done is done later.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use mail::{Office, Store};
use relay::feed::Backoff;
use relay::files::{Bridge, FilesError};
use relay::wake::Bells;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::config::Config;
use crate::output::{self, text};
use crate::wiring::Post;

/// How long a command waits for a folder. A disk on another machine may not answer at all; then it is left alone.
const LONGEST_ERRAND: Duration = Duration::from_secs(5);
const LEFT_ALONE: Duration = Duration::from_secs(30);

/// The bridges of an office.
pub struct Relays {
    office: Arc<Office>,
    store: Arc<dyn Store>,
    bells: Arc<Bells>,
    /// The projects, and the folder of each.
    folders: Vec<(String, PathBuf)>,
    /// The longest file that is read.
    longest: usize,
    /// Those that do what is due, once they were needed, by their projects.
    bridges: Mutex<BTreeMap<String, Bridge>>,
    /// What was told of their trouble, so that it is told once.
    told: std::sync::Mutex<HashSet<String>>,
    /// When a folder last did not answer in time.
    silent_at: std::sync::Mutex<Option<Instant>>,
}

impl Relays {
    /// The bridges that the settings ask for.
    pub fn new(config: &Config, post: &Post) -> Self {
        Self {
            office: post.office.clone(),
            store: post.engine.store(),
            bells: post.bells.clone(),
            folders: config.file.channels.clone().into_iter().collect(),
            longest: config.largest_request(),
            bridges: Mutex::default(),
            told: std::sync::Mutex::default(),
            silent_at: std::sync::Mutex::default(),
        }
    }

    /// Runs all of them until the office closes, or what is returned is dropped.
    pub fn run(&self) -> JoinSet<()> {
        let mut running = JoinSet::new();
        for (project, folder) in self.folders.clone() {
            let (office, store, bells) = (self.office.clone(), self.store.clone(), self.bells.clone());
            let longest = self.longest;
            running.spawn(async move {
                let mut backoff = Backoff::default();
                loop {
                    match Bridge::open(office.clone(), store.clone(), &project, &folder, longest).await {
                        Ok(bridge) => return bridge.run(bells).await,
                        Err(error) => tracing::warn!(project, %error, "cannot begin with a folder of channels"),
                    }
                    if timeout(backoff.failed(), bells.closed()).await.is_ok() {
                        return;
                    }
                }
            });
        }
        running
    }

    /// Takes in what is in the folders, and writes what is not.
    pub async fn settle(&self) {
        self.have_done(async |bridge| bridge.settle().await).await;
    }

    /// Writes what was posted into the folders.
    pub async fn write_out(&self) {
        self.have_done(async |bridge| bridge.write_out().await).await;
    }

    async fn have_done(&self, errand: impl AsyncFn(&mut Bridge) -> Result<(), FilesError>) {
        let silent_at = *self.silent_at.lock().unwrap_or_else(PoisonError::into_inner);
        if silent_at.is_some_and(|at| at.elapsed() < LEFT_ALONE) {
            return;
        }
        let done = timeout(LONGEST_ERRAND, async {
            let mut bridges = self.bridges.lock().await;
            self.open_all(&mut bridges).await;
            for bridge in bridges.values_mut() {
                if let Err(error) = errand(bridge).await {
                    self.tell(&error.to_string());
                }
            }
        });
        if done.await.is_err() {
            *self.silent_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            self.tell("a folder of channels takes too long");
        }
    }

    fn tell(&self, what: &str) {
        if self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(what.to_owned()) {
            let lines = text::lines(&format!("postrider: {what}; what is not done now is done later"));
            output::note(&lines);
        }
    }

    async fn open_all(&self, bridges: &mut BTreeMap<String, Bridge>) {
        for (project, folder) in &self.folders {
            if bridges.contains_key(project) {
                continue;
            }
            match Bridge::open(self.office.clone(), self.store.clone(), project, folder, self.longest).await {
                Ok(bridge) => _ = bridges.insert(project.clone(), bridge),
                Err(error) => self.tell(&format!("cannot begin with the folder '{}': {error}", folder.display())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_that_cannot_be_begun_with_is_told_of_and_stops_no_other() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("shared");
        std::fs::create_dir(&folder).unwrap();
        let config = Config { home: home.path().to_owned(), source: None, file: crate::config::File::default() };
        let mut relays = Relays::new(&config, &Post::open(&config).await.unwrap());
        relays.folders =
            vec![("no path".to_owned(), home.path().join("bad")), ("/data/app".to_owned(), folder.clone())];
        for _ in 0..2 {
            relays.settle().await;
        }
        assert!(folder.join("channels").is_dir());
        let told = relays.told.lock().unwrap();
        assert!(told.len() == 1 && told.iter().all(|what| what.contains("/bad'")), "{told:?}");
    }
}

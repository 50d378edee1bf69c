//! What runs beside an office of our own: the bridges to the folders that its projects share with others.
//!
//! A server and a client that stays run them all the time. A command that ends soon has them do what is due: write what
//! it posted, take in what is there before it reads. Trouble with a folder is told and never fails a command, for what was
//! not done is done later.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use relay::feed::Backoff;
use relay::files::{Bridge, FilesError};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::config::Config;
use crate::output::{self, text};
use crate::wiring::LocalOffice;

/// How long a command waits for a folder. A disk on another machine may not answer at all; then it is left alone.
const LONGEST_OPERATION: Duration = Duration::from_secs(5);
const LEFT_ALONE: Duration = Duration::from_secs(30);

/// The bridges of an office.
pub struct Relays {
    local: LocalOffice,
    /// The projects, and the folder of each.
    folders: Vec<(String, PathBuf)>,
    /// The longest file that is read.
    longest: usize,
    due: Mutex<Due>,
}

/// The bridges that do what is due.
#[derive(Default)]
struct Due {
    /// Those that were needed, by their projects.
    bridges: BTreeMap<String, Bridge>,
    /// What was told of their trouble, so that it is told once.
    told: HashSet<String>,
    /// When a folder last did not answer in time.
    silent_at: Option<Instant>,
}

impl Relays {
    /// The bridges that the settings ask for.
    pub fn new(config: &Config, local: &LocalOffice) -> Self {
        let folders = config.file.channels.clone().into_iter().collect();
        Self { local: local.clone(), folders, longest: config.largest_request(), due: Mutex::default() }
    }

    /// Runs all of them until the office closes, or what is returned is dropped.
    pub fn run(&self) -> JoinSet<()> {
        let mut running = JoinSet::new();
        for (project, folder) in self.folders.clone() {
            let (local, longest) = (self.local.clone(), self.longest);
            running.spawn(async move {
                let mut backoff = Backoff::default();
                loop {
                    match open(&local, &project, &folder, longest).await {
                        Ok(bridge) => return bridge.run(local.wake_ups).await,
                        Err(error) => tracing::warn!(project, %error, "cannot begin with a folder of channels"),
                    }
                    if timeout(backoff.failed(), local.wake_ups.closed()).await.is_ok() {
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

    async fn have_done(&self, operation: impl AsyncFn(&mut Bridge) -> Result<(), FilesError>) {
        let due = timeout(LONGEST_OPERATION, self.due.lock()).await;
        let Ok(mut due) = due.inspect_err(|_| tracing::warn!("channel folders are busy")) else { return };
        if due.silent_at.is_some_and(|at| at.elapsed() < LEFT_ALONE) {
            return;
        }
        let done = timeout(LONGEST_OPERATION, async {
            self.open_all(&mut due).await;
            let Due { bridges, told, .. } = &mut *due;
            for bridge in bridges.values_mut() {
                if let Err(error) = operation(bridge).await {
                    tell(told, error.to_string());
                }
            }
        });
        if done.await.is_err() {
            due.silent_at = Some(Instant::now());
            tell(&mut due.told, "a folder of channels takes too long".to_owned());
        }
    }

    async fn open_all(&self, due: &mut Due) {
        for (project, folder) in &self.folders {
            if due.bridges.contains_key(project) {
                continue;
            }
            match open(&self.local, project, folder, self.longest).await {
                Ok(bridge) => _ = due.bridges.insert(project.clone(), bridge),
                Err(error) => {
                    tell(&mut due.told, format!("cannot begin with the folder '{}': {error}", folder.display()));
                }
            }
        }
    }
}

async fn open(local: &LocalOffice, project: &str, folder: &Path, longest: usize) -> Result<Bridge, mail::Error> {
    Bridge::open(local.office.clone(), local.engine.store(), project, folder, longest).await
}

fn tell(told: &mut HashSet<String>, what: String) {
    if !told.contains(&what) {
        output::note(&text::lines(&format!("postrider: {what}; what is not done now is done later")));
        told.insert(what);
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
        let config =
            Config { home: home.path().to_owned(), source: None, file: crate::config::SettingsFile::default() };
        let mut relays = Relays::new(&config, &LocalOffice::open(&config).await.unwrap());
        relays.folders =
            vec![("no path".to_owned(), home.path().join("bad")), ("/data/app".to_owned(), folder.clone())];
        for _ in 0..2 {
            relays.settle().await;
        }
        assert!(folder.join("channels").is_dir());
        let told = &relays.due.lock().await.told;
        assert!(told.len() == 1 && told.iter().all(|what| what.contains("/bad'")), "{told:?}");
    }
}

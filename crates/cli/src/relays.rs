//! What runs beside an office of our own: the bridges to the folders that its projects share with others.
//!
//! A server and a client that stays run them all the time. A command that ends soon has them do what is due: write what
//! it posted, take in what is there before it reads. Trouble with a folder is logged and never fails a command, for what
//! was not done is done later.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mail::Office;
use relay::feed::Backoff;
use relay::files::{Bridge, FilesError};
use relay::wake::Bells;
use store::Sqlite;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::config::Config;
use crate::wiring::Post;

/// How long a command waits for a folder that it wants to read, and for one that it only writes to. A disk on another
/// machine may not answer at all.
const LONGEST_SETTLING: Duration = Duration::from_secs(30);
const LONGEST_WRITING: Duration = Duration::from_secs(5);

/// The bridges of an office.
pub struct Relays {
    office: Arc<Office>,
    store: Arc<Sqlite>,
    bells: Arc<Bells>,
    /// The projects, and the folder of each.
    folders: Vec<(String, PathBuf)>,
    /// The longest file that is read.
    longest: usize,
    /// Those that do what is due, once they were needed.
    bridges: Mutex<Vec<Bridge>>,
}

impl Relays {
    /// The bridges that the settings ask for.
    pub fn new(config: &Config, post: &Post) -> Self {
        Self {
            office: post.office.clone(),
            store: post.store.clone(),
            bells: post.bells.clone(),
            folders: config.file.channels.clone().into_iter().collect(),
            longest: config.largest_request(),
            bridges: Mutex::default(),
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
                    tokio::time::sleep(backoff.failed()).await;
                }
            });
        }
        running
    }

    /// Takes in what is in the folders, and writes what is not.
    pub async fn settle(&self) {
        self.have_done(LONGEST_SETTLING, async |bridge| bridge.settle().await).await;
    }

    /// Writes what was posted into the folders.
    pub async fn write_out(&self) {
        self.have_done(LONGEST_WRITING, async |bridge| bridge.write_out().await).await;
    }

    async fn have_done(&self, limit: Duration, errand: impl AsyncFn(&mut Bridge) -> Result<(), FilesError>) {
        let done = timeout(limit, async {
            let mut bridges = self.bridges.lock().await;
            self.open_all(&mut bridges).await;
            for bridge in bridges.iter_mut() {
                if let Err(error) = errand(bridge).await {
                    tracing::warn!(%error, "channels and their folder are not in step");
                }
            }
        });
        if done.await.is_err() {
            tracing::warn!("a folder of channels does not answer; what is left is done later");
        }
    }

    async fn open_all(&self, bridges: &mut Vec<Bridge>) {
        for (project, folder) in &self.folders[bridges.len().min(self.folders.len())..] {
            match Bridge::open(self.office.clone(), self.store.clone(), project, folder, self.longest).await {
                Ok(bridge) => bridges.push(bridge),
                Err(error) => return tracing::warn!(project, %error, "cannot begin with a folder of channels"),
            }
        }
    }
}

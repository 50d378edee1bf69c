//! Puts the parts together: store, clock, wake-ups, office.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use mail::Office;
use mail::StoreError;
use mail::clock::Clock;
use mail::office::{Chance, Rules};
use mail::projects::KeyedBy;
use relay::wake::WakeUps;
use store::{Engine, Location};

use crate::config::{By, Config, Identity, Secrets};
use crate::outbox;
use crate::post_office::OnDisk;

/// An office over a database of our own.
#[derive(Clone)]
pub struct LocalOffice {
    pub office: Arc<Office>,
    /// Its store.
    pub engine: Engine,
    pub wake_ups: Arc<WakeUps>,
}

impl LocalOffice {
    /// Opens the office over the database of this configuration, and makes it if there is none.
    ///
    /// Has to run inside a runtime: somebody has to listen for what other processes commit.
    pub async fn open(config: &Config) -> anyhow::Result<Self> {
        let engine = open_engine(&config.location()).await?;
        outbox::make_key(&config.home);
        let store = engine.store();
        let wake_ups = Arc::new(WakeUps::new());
        tokio::spawn(wake_ups.clone().follow(store.clone()));
        let usual = Rules::default();
        let rules = Rules {
            longest_body: config.longest_body(),
            identity: match config.file.identity.unwrap_or_default() {
                Identity::Claimed => mail::office::Identity::Claimed,
                Identity::Strict => mail::office::Identity::Strict,
            },
            secrets: match config.file.secrets.unwrap_or_default() {
                Secrets::Warn => mail::office::Secrets::Warn,
                Secrets::Refuse => mail::office::Secrets::Refuse,
            },
            help_overdue: config
                .file
                .help_overdue_minutes
                .map_or(usual.help_overdue, |minutes| Duration::from_secs(60 * u64::from(minutes))),
            keyed_by: match config.file.projects.by {
                By::Path => KeyedBy::Path,
                By::Remote => KeyedBy::Remote,
            },
            sessions: config.file.sessions.rules(),
            wake: config.file.wake.mail,
        };
        let trees = Arc::new(OnDisk(rules.keyed_by));
        let office = Office::new(store, engine.clock(), wake_ups.clone(), Arc::new(OsRandom), rules).seeing(trees);
        Ok(Self { office: Arc::new(office), engine, wake_ups })
    }

    /// Another office over the same mail and with the same rules, which goes by another clock.
    pub fn office_by(&self, clock: Arc<dyn Clock>) -> Office {
        let rules = self.office.rules().clone();
        Office::new(self.engine.store(), clock, self.wake_ups.clone(), Arc::new(OsRandom), rules)
    }
}

/// Opens a store for reading and writing.
pub async fn open_engine(location: &Location) -> anyhow::Result<Engine> {
    Engine::open(location).await.map_err(|error| {
        let next = match &error {
            // A cause of more than one sentence says already what to do.
            StoreError::Away { cause, .. } if !cause.ends_with('.') => {
                "; start the database, or correct the setting 'database', then try again"
            }
            _ => "",
        };
        anyhow!("cannot open '{location}': {error}{next}")
    })
}

/// Chance, from the operating system.
struct OsRandom;

impl Chance for OsRandom {
    fn token(&self) -> String {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).expect("the operating system has randomness");
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn seed(&self) -> u64 {
        getrandom::u64().expect("the operating system has randomness")
    }
}

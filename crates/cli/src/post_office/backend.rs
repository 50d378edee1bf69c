//! The post offices that a client's messages can go to, and how one is found.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use mcp::{Endpoint, StdioPeer};
use server::Metrics;
use store::ownership::{Owner, current_owner};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::join::Joined;
use super::message::ClientMessage;
use crate::client::Client;
use crate::config::{Config, endpoint_of};
use crate::local_socket;
use crate::nats;
use crate::relays::Relays;
use crate::sandbox;
use crate::wiring::LocalOffice;

/// How long a server that owns the database, and accepts no connection, is waited for: it may be starting or stopping.
const PATIENCE_WITH_SERVERS: Duration = Duration::from_millis(1500);
/// How long an owner is waited for that is no server: it may be putting another database in place of this one.
const PATIENCE_WITH_OTHERS: Duration = Duration::from_secs(10);
/// How soon an owner is looked at again, and how late at most.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(400);

/// A post office.
pub enum Backend {
    /// Served by another process.
    Joined(Box<Joined>),
    /// The database, opened by this process.
    Own(Box<Own>),
}

impl Backend {
    /// What the log calls it.
    pub fn name(&self) -> &str {
        match self {
            Self::Joined(joined) => joined.url(),
            Self::Own(_) => "the database itself",
        }
    }
}

/// An office of our own, for one client.
pub struct Own {
    endpoint: Endpoint,
    peer: StdioPeer,
    pub local: LocalOffice,
    /// What does what is due with the folders of channels.
    pub relays: Relays,
    /// What runs beside the office for as long as it is open. NATS does too, and notices by itself that the office closes.
    _running: JoinSet<()>,
}

impl Own {
    async fn open(config: &Config, outgoing: mpsc::Sender<String>, stays: bool) -> anyhow::Result<Self> {
        let local = LocalOffice::open(config).await?;
        let endpoint = server::endpoint(&local.office, &Arc::new(Metrics::default()), config.profile());
        let relays = Relays::new(config, &local);
        let mut running = JoinSet::new();
        if stays {
            nats::start(config, &local)?;
            running = relays.run();
        }
        Ok(Self { endpoint, peer: StdioPeer::new(outgoing), local, relays, _running: running })
    }

    /// The line that answers a message.
    pub async fn answer(&self, message: &ClientMessage) -> Option<String> {
        self.endpoint.line(&message.text, &self.peer).await
    }

    /// Answers a message of our own, with its notices to `notices` and not to the client.
    pub async fn answer_to(&self, message: &ClientMessage, notices: mpsc::Sender<String>) -> Option<String> {
        self.endpoint.line(&message.text, &StdioPeer::new(notices)).await
    }

    /// Ends the streams of notices, and answers whoever waits with what there is. Other requests are answered as before.
    pub fn close(&self) {
        self.endpoint.close();
        self.local.wake_ups.close();
    }
}

/// Where to look for an office.
pub struct Finder {
    pub(super) config: Config,
    /// The server elsewhere, if one is set. Its mail is not in our database, so nothing else will do.
    pub(super) url: Option<String>,
    token: Option<String>,
    /// How long an owner is waited for that is no server.
    patience: Duration,
    /// Whether whoever asks stays, so that an office of our own does all the time what is due from time to time.
    stays: bool,
}

impl Finder {
    /// What the settings say.
    pub fn new(config: Config) -> anyhow::Result<Self> {
        Ok(Self { url: config.url(), token: config.token()?, config, patience: PATIENCE_WITH_OTHERS, stays: false })
    }

    /// The same for a client that stays.
    pub fn staying(self) -> Self {
        Self { stays: true, ..self }
    }

    /// Finds the office that is there now. An office of our own says its notices to `outgoing`.
    pub async fn find(&self, outgoing: &mpsc::Sender<String>) -> anyhow::Result<Backend> {
        let server = match &self.url {
            Some(url) => Some(self.client(url)?),
            None => self.server().await?,
        };
        if let Some(client) = server {
            return Ok(Backend::Joined(Box::new(Joined::new(client))));
        }
        match Own::open(&self.config, outgoing.clone(), self.stays).await {
            Ok(own) => Ok(Backend::Own(Box::new(own))),
            Err(error) => Err(sandbox::of_home(&self.config).map_or_else(
                || {
                    let home = self.config.home.display();
                    error.context(format!("no server has the mail in '{home}', nor can it be opened"))
                },
                anyhow::Error::from,
            )),
        }
    }

    /// The server that owns the database. None if the database may be opened.
    async fn server(&self) -> anyhow::Result<Option<Client>> {
        let database = self.config.database();
        let (begun, mut pause) = (Instant::now(), FIRST_PAUSE);
        while let Some(owner) = current_owner(&database) {
            let client = self.client(&endpoint_of(&owner.address));
            match client.map(|client| client.through(local_socket::path(&self.config.home))) {
                Ok(client) => {
                    let Err(why) = client.try_reach().await else { return Ok(Some(client)) };
                    // Beside a server that does not listen we are safe too: the database knows several writers.
                    if self.is_kept_from(&client, &why)? || begun.elapsed() >= PATIENCE_WITH_SERVERS {
                        return Ok(None);
                    }
                }
                Err(_) if begun.elapsed() >= self.patience => {
                    let Owner { address, pid } = owner;
                    let home = self.config.home.display();
                    bail!("the mail in '{home}' is in use by process {pid} ('{address}'); try again when that is done")
                }
                // An owner that has only just begun has not said where it is.
                Err(_) => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Ok(None)
    }

    /// Whether a sandbox, which will not change its mind, keeps us from the server and not from the database. Refused if from both.
    fn is_kept_from(&self, server: &Client, why: &io::Error) -> anyhow::Result<bool> {
        let is_forbidden = sandbox::is_forbidden(why);
        let refused = match sandbox::unwritable(&self.config.home) {
            // One with a network of its own has nobody at the port; what it forbids is to write.
            Some(_) if !is_forbidden => sandbox::of_home(&self.config),
            Some(_) => sandbox::of_server(&self.config, server.url(), why),
            None => None,
        };
        refused.map_or(Ok(is_forbidden), |refused| Err(refused.into()))
    }

    fn client(&self, url: &str) -> anyhow::Result<Client> {
        Client::new(url, self.token.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use store::ownership::Ownership;

    use super::*;
    use crate::config::SettingsFile;

    fn finder(home: &tempfile::TempDir, patience: Duration) -> Finder {
        let config = Config { home: home.path().to_owned(), source: None, file: SettingsFile::default() };
        Finder { config, url: None, token: None, patience, stays: false }
    }

    #[tokio::test]
    async fn a_database_that_somebody_else_works_on_is_not_opened() {
        let home = tempfile::tempdir().unwrap();
        let finder = finder(&home, Duration::ZERO);
        let database = finder.config.database();
        for address in ["restore", ""] {
            let owned = Ownership::take(&database, address).unwrap();
            let (outgoing, _lines) = mpsc::channel(1);
            let refused = finder.find(&outgoing).await.err().expect("a refusal").to_string();
            assert!(refused.contains(&std::process::id().to_string()) && refused.contains(address), "{refused}");
            assert!(!database.exists());
            drop(owned);
        }
    }

    #[tokio::test]
    async fn a_database_is_opened_when_whoever_worked_on_it_is_done() {
        let home = tempfile::tempdir().unwrap();
        let finder = finder(&home, PATIENCE_WITH_OTHERS);
        let database = finder.config.database();
        let owned = Ownership::take(&database, "restore").unwrap();
        let (outgoing, _lines) = mpsc::channel(1);
        // Finding is polled first, so it has met the owner before the owner goes.
        let done = async {
            assert!(!database.exists());
            drop(owned);
        };
        let (found, ()) = tokio::join!(finder.find(&outgoing), done);
        let found = found.unwrap();
        assert!(matches!(found, Backend::Own(_)) && database.exists());
    }

    #[tokio::test]
    async fn a_server_that_says_where_it_is_later_is_joined() {
        let home = tempfile::tempdir().unwrap();
        let finder = finder(&home, PATIENCE_WITH_OTHERS);
        let owned = Ownership::take(&finder.config.database(), "").unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (outgoing, _lines) = mpsc::channel(1);
        let (found, ()) = tokio::join!(finder.find(&outgoing), async { owned.announce(&url).unwrap() });
        assert_eq!(found.unwrap().name(), format!("{url}/mcp"));
        assert!(!finder.config.database().exists());
    }
}

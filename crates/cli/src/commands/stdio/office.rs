//! The post offices that a client's messages can go to, and how one is found.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use mcp::{Endpoint, StdioPeer};
use server::{Metrics, Profile};
use store::Sqlite;
use store::ownership::current_owner;
use tokio::sync::mpsc;

use super::join::Joined;
use super::message::Message;
use crate::client::Client;
use crate::config::{Config, Tools, endpoint_of};
use crate::wiring::Post;

/// How long a server that owns the database, and accepts no connection, is waited for: it may be starting or stopping.
const PATIENCE: [Duration; 5] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
];

/// A post office.
pub enum Office {
    /// Served by another process.
    Joined(Joined),
    /// The database, opened by this process.
    Own(Own),
}

impl Office {
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
    post: Post,
}

impl Own {
    fn open(config: &Config, outgoing: mpsc::Sender<String>) -> anyhow::Result<Self> {
        let post = Post::open(config)?;
        let profile = match config.file.tools.unwrap_or_default() {
            Tools::Full => Profile::Full,
            Tools::Lean => Profile::Lean,
        };
        let endpoint = server::endpoint(&post.office, &Arc::new(Metrics::default()), profile);
        Ok(Self { endpoint, peer: StdioPeer::new(outgoing), post })
    }

    /// The line that answers a message.
    pub async fn answer(&self, message: &Message) -> Option<String> {
        self.endpoint.line(&message.text, &self.peer).await
    }

    /// Answers a message of our own, with its notices to `notices` and not to the client.
    pub async fn answer_to(&self, message: &Message, notices: mpsc::Sender<String>) -> Option<String> {
        self.endpoint.line(&message.text, &StdioPeer::new(notices)).await
    }

    /// Ends the streams of notices. Requests are answered as before.
    pub fn close(&self) {
        self.endpoint.close();
    }

    /// Where the mail is kept.
    pub fn store(&self) -> Arc<Sqlite> {
        self.post.store.clone()
    }
}

/// Where to look for an office.
pub struct Place {
    config: Config,
    url: Option<String>,
    token: Option<String>,
}

impl Place {
    /// What the settings say.
    pub fn new(config: Config) -> anyhow::Result<Self> {
        Ok(Self { url: config.url(), token: config.token()?, config })
    }

    /// The server elsewhere, if one is set. Its mail is not in our database, so nothing else will do.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// Finds the office that is there now. An office of our own says its notices to `outgoing`.
    pub async fn find(&self, outgoing: &mpsc::Sender<String>) -> anyhow::Result<Office> {
        if let Some(url) = &self.url {
            return Ok(Office::Joined(Joined::new(self.client(url)?)));
        }
        let database = self.config.database();
        for pause in PATIENCE {
            let Some(owner) = current_owner(&database) else { break };
            // An owner that has only just begun has not said where it is.
            if let Ok(client) = self.client(&endpoint_of(&owner.address))
                && client.is_reachable().await
            {
                return Ok(Office::Joined(Joined::new(client)));
            }
            tokio::time::sleep(pause).await;
        }
        // Beside a server that does not listen this is safe too: the database knows several writers.
        let own = Own::open(&self.config, outgoing.clone());
        let home = self.config.home.display();
        own.map(Office::Own).with_context(|| format!("no server has the mail in '{home}', nor can it be opened"))
    }

    fn client(&self, url: &str) -> anyhow::Result<Client> {
        Client::new(url, self.token.as_deref())
    }
}

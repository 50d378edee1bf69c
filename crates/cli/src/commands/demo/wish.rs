//! What an agent of the demo wants to reserve: gets, is refused, or stands in line for.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use mail::office::{Claim, ReserveAsk};
use mail::{Error, Office};
use serde::Deserialize;

use super::words::Words;

/// How long somebody stands in line: longer than anything is held.
const LONGEST_WAIT: Duration = Duration::from_secs(2 * 3600);

/// What an agent wants to reserve.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// How long ago it was asked for; of the play, now.
    #[serde(default)]
    pub ago: SignedDuration,
    /// Who wants it.
    who: String,
    /// The files.
    paths: Vec<String>,
    /// How many minutes from now it is held.
    minutes: i64,
    /// Whether others may hold it too, if they do not want it alone.
    #[serde(default)]
    shared: bool,
    /// What it is for.
    reason: String,
}

/// Somebody's place in line.
pub struct Place {
    project: String,
    wish: Wish,
}

impl Wish {
    /// Reserves it at once. A refusal is an error, as it is for anybody.
    pub async fn reserve(&self, office: &Office, project: &str, words: &Words) -> Result<(), Error> {
        self.ask(office, project, words, Duration::ZERO).await
    }

    /// Asks for what another has; an error if it was not refused.
    pub async fn be_refused(&self, office: &Office, project: &str, words: &Words) -> anyhow::Result<()> {
        match self.reserve(office, project, words).await {
            Err(Error::Reserved { .. }) => Ok(()),
            Err(error) => Err(error.into()),
            Ok(()) => anyhow::bail!("'{}' was free", self.paths.join("', '")),
        }
    }

    /// Holds it for longer.
    pub async fn renew(&self, office: &Office, project: &str, words: &Words) -> Result<(), Error> {
        let (who, paths) = (words.fill(&self.who), words.fill_all(&self.paths));
        office.renew(project, Claim::of(&who), Some(&paths), self.minutes * 60).await.map(drop)
    }

    /// The same wish of somebody who is in line for it.
    pub fn in_line(&self, project: &str, words: &Words) -> Place {
        let wish = Self {
            who: words.fill(&self.who),
            paths: words.fill_all(&self.paths),
            reason: words.fill(&self.reason),
            ..self.clone()
        };
        Place { project: project.to_owned(), wish }
    }

    async fn ask(&self, office: &Office, project: &str, words: &Words, wait: Duration) -> Result<(), Error> {
        let (who, paths, reason) = (words.fill(&self.who), words.fill_all(&self.paths), words.fill(&self.reason));
        let ask = ReserveAsk {
            project_key: project,
            agent: Claim::of(&who),
            paths: &paths,
            ttl_seconds: self.minutes * 60 + self.ago.as_secs(),
            exclusive: !self.shared,
            reason: &reason,
            wait,
        };
        office.reserve(ask).await.map(drop)
    }
}

impl Place {
    /// Stands in line until it has what it wants, or the office closes.
    pub async fn stand(self, office: Arc<Office>) {
        // Who closes the office sends home whoever waits, with a refusal.
        if let Err(error) = self.wish.ask(&office, &self.project, &Words::default(), LONGEST_WAIT).await
            && !office.wake().closing()
        {
            tracing::warn!(%error, "nobody stands in line");
        }
    }
}

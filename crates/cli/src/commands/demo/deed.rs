//! One thing that an agent of the demo does: the sample says how long ago, the play does it now.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use mail::office::{Claim, ReserveAsk, Sign};
use mail::{Error, Office};
use serde::Deserialize;

use super::letter::{Labels, Letter, Reaction};
use super::phrases::Phrases;

/// How long somebody stands in line: longer than anything is held.
const LONGEST_WAIT: Duration = Duration::from_secs(2 * 3600);
/// More reservations than there are at any time.
const MOST_RESERVATIONS: usize = 1_000;

/// What somebody does.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum Deed {
    /// Sends a message.
    Send(Box<Letter>),
    /// Reserves files.
    Reserve(Wish),
    /// Asks for files that another has, and is refused.
    Refused(Wish),
    /// Stands in line for files.
    Line(Wish),
    /// Goes on once somebody holds files.
    UntilHeld(Holding),
    /// Gives files back.
    Release(Holding),
    /// Says what one is at.
    Is(Stay),
}

/// What an agent wants to reserve.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wish {
    /// How long ago it was asked for.
    #[serde(default)]
    pub ago: SignedDuration,
    who: String,
    paths: Vec<String>,
    /// How many minutes from now it is held.
    minutes: i64,
    #[serde(default)]
    shared: bool,
    reason: String,
}

/// Who holds which files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Holding {
    who: String,
    paths: Vec<String>,
}

/// A time that an agent spends in one state.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stay {
    who: String,
    state: String,
    substate: Option<String>,
    channel: Option<String>,
    /// From how long ago.
    #[serde(default)]
    pub since: SignedDuration,
    /// Until how long ago.
    #[serde(default)]
    pub until: SignedDuration,
}

impl Deed {
    /// Does it, and says what others will do about it; nothing if it has to wait.
    pub(crate) async fn happen(
        &self,
        office: &Arc<Office>,
        project: &str,
        words: &Phrases,
        labels: &mut Labels,
    ) -> anyhow::Result<Option<Vec<Reaction>>> {
        match self {
            Self::Send(letter) => {
                let sent = letter.send(office, project, words, labels).await?;
                labels.extend(letter.label.clone().map(|label| (label, sent.message.id)));
                return Ok(Some(letter.reactions(project, &sent, words)));
            }
            Self::Reserve(wish) => wish.reserve(office, project, words, Duration::ZERO).await?,
            Self::Refused(wish) => match wish.reserve(office, project, words, Duration::ZERO).await {
                Err(Error::Reserved { .. }) => {}
                Err(error) => return Err(error.into()),
                Ok(()) => anyhow::bail!("'{}' was free", wish.paths.join("', '")),
            },
            Self::Line(wish) => {
                drop(tokio::spawn(wish.clone().stand(office.clone(), project.to_owned(), words.clone())));
            }
            Self::UntilHeld(Holding { who, paths }) => {
                let (who, paths) = (words.fill(who), words.fill_all(paths));
                let (_, held) = office.leases(project, None, MOST_RESERVATIONS).await?;
                let holds =
                    |path: &String| held.iter().any(|one| one.holder_name == who && one.pattern.as_str() == path);
                return Ok(paths.iter().all(holds).then(Vec::new));
            }
            Self::Release(Holding { who, paths }) => {
                office.release(project, Claim::of(&words.fill(who)), Some(&words.fill_all(paths))).await?;
            }
            Self::Is(stay) => {
                let (substate, channel) = (stay.substate.as_deref(), stay.channel.as_deref());
                let sign = Sign { state: &stay.state, substate, watcher_pid: None, channel };
                office.beat(project, Claim::of(&words.fill(&stay.who)), sign).await?;
            }
        }
        Ok(Some(Vec::new()))
    }
}

impl Wish {
    async fn reserve(&self, office: &Office, project: &str, words: &Phrases, wait: Duration) -> Result<(), Error> {
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

    /// Stands in line until it has what it wants, or the office closes.
    pub(crate) async fn stand(self, office: Arc<Office>, project: String, words: Phrases) {
        // Who closes the office sends home whoever waits, with a refusal.
        if let Err(error) = self.reserve(&office, &project, &words, LONGEST_WAIT).await
            && !office.wake().closing()
        {
            tracing::warn!(%error, "nobody stands in line");
        }
    }
}

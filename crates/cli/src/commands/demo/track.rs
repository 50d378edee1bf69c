//! A scene that is being played, step by step. What goes wrong ends it, and nothing else.

use std::sync::Arc;

use anyhow::bail;
use mail::Office;
use mail::office::{Claim, CopiesAsk, Sent, Sign};
use mail::presence::AWAKE;

use super::letter::{Labels, Reaction};
use super::script::{Holding, Scene, Step};
use super::words::Words;

/// How often a step that waits for something is tried before the scene is given up.
const MOST_TRIES: u32 = 300;
/// More mail than anybody finds who was away for some hours.
const MOST_MAIL: usize = 100;
/// More leases than there are at any time.
const MOST_LEASES: usize = 1_000;

/// A scene that is being played.
pub struct Track {
    scene: Scene,
    /// The next step.
    at: usize,
    words: Words,
    labels: Labels,
    tries: u32,
    /// Which topic it is played with, if it is.
    pub topic: Option<usize>,
}

/// What became of a step.
pub enum Stepped {
    /// It was done, and others will react to it.
    Did(Vec<Reaction>),
    /// It has to wait.
    Waits,
}

impl Track {
    /// Begins a scene.
    pub fn new(scene: Scene, words: Words, topic: Option<usize>) -> Self {
        Self { scene, at: 0, words, labels: Labels::new(), tries: 0, topic }
    }

    /// What the scene is called.
    pub fn name(&self) -> &str {
        &self.scene.name
    }

    /// Whether all of it was played.
    pub fn is_over(&self) -> bool {
        self.at >= self.scene.step.len()
    }

    /// Whether a worker is busy with it.
    pub fn keeps(&self, worker: &str) -> bool {
        self.words.get("worker") == worker || self.scene.cast.iter().any(|name| name == worker)
    }

    /// Ends it in the middle: what it is about does not stay reserved.
    pub async fn give_up(self, office: &Office) {
        let paths = ["path", "test"].map(|name| self.words.get(name).to_owned());
        for who in ["worker", "other"].map(|name| self.words.get(name)).into_iter().filter(|who| !who.is_empty()) {
            if let Err(error) = office.release(&self.scene.project, Claim::of(who), Some(&paths)).await {
                tracing::debug!(%error, "nothing is given back");
            }
        }
    }

    /// Plays the next step. `seed` tells its message from all others.
    pub async fn step(&mut self, office: &Arc<Office>, seed: u64) -> anyhow::Result<Stepped> {
        let Some(step) = self.scene.step.get(self.at).cloned() else { return Ok(Stepped::Did(Vec::new())) };
        let project = self.scene.project.clone();
        let words = self.words.clone().sent_at(office.now(), &seed.to_string());
        let mut reactions = Vec::new();
        match step {
            Step::Send(letter) => {
                let sent: Sent = letter.send(office, &project, &words, &self.labels).await?;
                self.labels.extend(letter.label.clone().map(|label| (label, sent.message.id)));
                reactions = letter.reactions(&project, &sent, &words);
            }
            Step::Reserve(wish) => wish.reserve(office, &project, &words).await?,
            Step::Refused(wish) => wish.be_refused(office, &project, &words).await?,
            Step::Line(wish) => drop(tokio::spawn(wish.in_line(&project, &words).stand(office.clone()))),
            Step::UntilHeld(holding) => {
                if !is_held(office, &project, &holding, &words).await? {
                    return self.wait();
                }
            }
            Step::Release(holding) => {
                let (who, paths) = (words.fill(&holding.who), words.fill_all(&holding.paths));
                office.release(&project, Claim::of(&who), Some(&paths)).await?;
            }
            Step::Renew(wish) => wish.renew(office, &project, &words).await?,
            Step::Is(at) => {
                let (who, at) = (words.fill(&at.who), words.fill(&at.at));
                let sign = Sign { state: AWAKE, substate: Some(&at), watcher_pid: None, channel: None };
                office.beat(&project, Claim::of(&who), sign).await?;
            }
            Step::Leave(one) => {
                office.leave(&project, Claim::of(&words.fill(&one.who))).await?;
            }
            Step::CatchUp(one) => catch_up(office, &project, &words.fill(&one.who)).await?,
        }
        self.at += 1;
        self.tries = 0;
        Ok(Stepped::Did(reactions))
    }

    fn wait(&mut self) -> anyhow::Result<Stepped> {
        self.tries += 1;
        if self.tries > MOST_TRIES {
            bail!("what it waits for does not come");
        }
        Ok(Stepped::Waits)
    }
}

async fn catch_up(office: &Office, project: &str, who: &str) -> anyhow::Result<()> {
    let agent = Claim::of(who);
    let ask = CopiesAsk { project_key: project, whose: Some(agent), unread_only: true, after: None, limit: MOST_MAIL };
    for copy in office.open_copies(ask).await? {
        match copy.message.ack_required {
            true => office.acknowledge(project, agent, copy.message.id, "Seen, I was away.").await?,
            false => office.mark_read(project, agent, copy.message.id).await?,
        };
    }
    Ok(())
}

async fn is_held(office: &Office, project: &str, holding: &Holding, words: &Words) -> anyhow::Result<bool> {
    let (who, paths) = (words.fill(&holding.who), words.fill_all(&holding.paths));
    let (_, leases) = office.leases(project, None, MOST_LEASES).await?;
    let holds = |path: &String| leases.iter().any(|lease| lease.holder_name == who && lease.pattern.as_str() == path);
    Ok(paths.iter().all(holds))
}

//! The play: agents that go on working, a step of somebody's every second or two, for two hours at most.
//!
//! Each worker plays one scene after the other: a piece of work, or talk beside it. Scenes and topics come in turn; every
//! work item has a number of its own. A step that fails ends its scene and no more: whoever looks at the demo may take part
//! in it, and need not know the script.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use api::{Ask, ListWork};
use mail::Office;
use mail::office::{Claim, Which};
use relay::wake::WakeUps;
use serde::Deserialize;
use tokio::time::timeout;
use toml::Table;

use super::members::{Answers, ProjectMembers, answer_strangers};
use super::sample::MAIN;
use super::step::{Labels, Phrases, Reaction, Step, words_at};
use crate::output;

/// How long the play lasts.
const LONGEST: Duration = Duration::from_secs(2 * 3600);
/// When so many messages wait that reading comes first.
const MOST_WAITING: usize = 8;
/// What the names of work items begin with, and the number of the first one that the play makes.
const WORK: &str = "ws-";
const FIRST_WORK: u32 = 41;
/// How many work items are looked at for the numbers that are taken.
const MOST_ITEMS: u32 = 10_000;

/// The files of the play, one behind the other.
const SCRIPT: &str = concat!(
    include_str!("play/topics.toml"),
    include_str!("play/scenes.toml"),
    include_str!("play/asides.toml"),
    include_str!("play/openings.toml"),
);

/// All scenes and topics.
#[derive(Deserialize)]
struct Script {
    /// Who does the work.
    workers: Vec<String>,
    /// What the work can be, each as words and what they stand for.
    topic: Vec<Phrases>,
    /// Scenes in which a worker, with another at hand, does a piece of work, or has something to say beside it.
    scene: Vec<Scene>,
    /// Scenes in which the first workers go on with what the sample left open.
    opening: Vec<Scene>,
}

/// A few steps that belong together.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scene {
    /// What it is called in the log.
    name: String,
    /// Where, if not in the main project.
    project: Option<String>,
    step: Vec<Table>,
}

/// A scene that is being played. There is one track for each worker.
struct Track {
    worker: usize,
    scene: Scene,
    /// The next step.
    at: usize,
    words: Phrases,
    labels: Labels,
}

pub(super) struct Play {
    office: Arc<Office>,
    members: ProjectMembers,
    script: Script,
    tracks: VecDeque<Track>,
    /// What is done with mail that was sent, by and by.
    reactions: VecDeque<Reaction>,
    answers: Answers,
    /// How many steps there were, and how many scenes began.
    steps: u64,
    begun: usize,
    next_work: u32,
    /// How many scenes did not go to their end.
    given_up: u64,
}

impl Script {
    fn read() -> anyhow::Result<Self> {
        toml::from_str(SCRIPT).context("the script of the play")
    }
}

impl Play {
    /// Gets ready to play in an office that holds the sample; `is_new` if nobody played there before.
    pub(super) async fn begin(office: Arc<Office>, members: ProjectMembers, is_new: bool) -> anyhow::Result<Self> {
        let request = ListWork { project_key: MAIN.to_owned(), limit: Some(MOST_ITEMS), ..ListWork::default() };
        let taken = request.ask(&office).await?.items;
        let numbers = taken.iter().filter_map(|item| item.work_id.strip_prefix(WORK)?.parse::<u32>().ok());
        let mut play = Self {
            next_work: numbers.max().map_or(FIRST_WORK, |highest| FIRST_WORK.max(highest + 1)),
            office,
            members,
            script: Script::read()?,
            tracks: VecDeque::new(),
            reactions: VecDeque::new(),
            answers: Answers::new(),
            steps: 0,
            begun: 0,
            given_up: 0,
        };
        for worker in 0..play.script.workers.len() {
            let mut track = play.next_scene(worker);
            if let Some(opening) = play.script.opening.get(worker).filter(|_| is_new) {
                track.scene = opening.clone();
            }
            play.tracks.push_back(track);
        }
        Ok(play)
    }

    /// Plays until the office closes, or it has lasted long enough.
    pub(super) async fn go_on(mut self, wake_ups: Arc<WakeUps>) {
        let begun = Instant::now();
        while begun.elapsed() < LONGEST {
            let pause = Duration::from_millis(800 + self.steps * 389 % 1100);
            if timeout(pause, wake_ups.closed()).await.is_ok() {
                return;
            }
            self.step().await;
        }
        output::note("The agents of the demo rest now; their mail can still be looked at. Ctrl-C ends the demo.");
    }

    /// Lets somebody do something, and answers whoever wrote meanwhile.
    async fn step(&mut self) {
        self.steps += 1;
        if let Err(error) = answer_strangers(&mut self.answers, &self.office, &self.members).await {
            self.complain("an answer", &error);
        }
        if (self.steps.is_multiple_of(2) || self.reactions.len() > MOST_WAITING)
            && let Some(reaction) = self.reactions.pop_front()
        {
            if let Err(error) = reaction.happen(&self.office).await {
                self.complain("a reading", &error.into());
            }
            return;
        }
        // Who played goes to the end, so that all come to it.
        let Some(track) = self.tracks.pop_front() else { return };
        let track = self.play(track).await;
        self.tracks.push_back(track);
    }

    /// Plays the next step of a track, and says how that goes on.
    async fn play(&mut self, mut track: Track) -> Track {
        let (project, labels) = (track.scene.project.as_deref().unwrap_or(MAIN), &mut track.labels);
        let mut words = words_at(self.office.now(), &format!("{} {}", self.begun, self.steps));
        words.extend(track.words.clone());
        let written = &track.scene.step[track.at];
        let taken = async { Step::read(written, project, &words, labels)?.happen(&self.office, project, labels).await };
        match taken.await {
            Ok(reactions) => {
                self.reactions.extend(reactions);
                track.at += 1;
            }
            Err(error) => {
                self.complain(&track.scene.name, &error);
                // What it is about does not stay reserved.
                let _ = self.office.release(project, Claim::of(&words["worker"]), Which::default()).await;
                track.at = track.scene.step.len();
            }
        }
        if track.at == track.scene.step.len() {
            return self.next_scene(track.worker);
        }
        track
    }

    fn complain(&mut self, what: &str, error: &anyhow::Error) {
        if !self.office.wake().closing() {
            self.given_up += 1;
            tracing::warn!(%error, "the demo goes on without {what}");
        }
    }

    /// The next scene of a track, with people, a topic, and what else changes from scene to scene.
    fn next_scene(&mut self, worker: usize) -> Track {
        let (turn, Script { workers, topic, scene, .. }) = (self.begun, &self.script);
        self.begun += 1;
        let other = (worker + 1 + turn % (workers.len() - 1)) % workers.len();
        let hash = blake3::hash(format!("{turn} {}", self.next_work).as_bytes()).to_hex();
        let mut words = topic[turn % topic.len()].clone();
        let chosen = [
            ("worker", workers[worker].clone()),
            ("other", workers[other].clone()),
            ("commit", hash[..7].to_owned()),
            ("work", format!("{WORK}{}", self.next_work)),
        ];
        words.extend(chosen.map(|(name, text)| (name.to_owned(), text)));
        self.next_work += 1;
        let scene = scene[turn % scene.len()].clone();
        Track { worker, scene, at: 0, words, labels: Labels::new() }
    }
}

#[cfg(test)]
mod tests;

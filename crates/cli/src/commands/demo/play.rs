//! The play: agents that go on working, a step of somebody's every second or two, for two hours at most.
//!
//! Each worker does one piece of work after the other, and one track is talk beside the work. Scenes and topics come in
//! turn; every work item has a number of its own. A step that fails ends its scene and no more: whoever looks at the demo
//! may take part in it, and need not know the script.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use mail::Office;
use mail::office::{Claim, WorkAsk};
use relay::wake::Bells;
use serde::Deserialize;
use tokio::time::timeout;

use super::answering::Answering;
use super::awake::Members;
use super::deed::Deed;
use super::letter::{Labels, Reaction};
use super::phrases::Phrases;
use super::sample::MAIN;
use crate::output;

/// How long the play lasts.
const LONGEST: Duration = Duration::from_secs(2 * 3600);
/// When so many messages wait that reading comes first.
const MOST_WAITING: usize = 8;
/// After how many steps the workers come back who are away in the sample.
const BACK_AFTER: u64 = 50;
/// What the names of work items begin with, and the number of the first one that the play makes.
const WORK: &str = "ws-";
const FIRST_WORK: u32 = 41;
/// How many work items are looked at for the numbers that are taken.
const MOST_ITEMS: usize = 10_000;

/// All scenes and topics.
#[derive(Deserialize)]
struct Script {
    /// Who does the work.
    workers: Vec<String>,
    /// Who has something to say beside the work.
    speakers: Vec<String>,
    /// What the work can be, each as words and what they stand for.
    topic: Vec<BTreeMap<String, String>>,
    /// Scenes in which a worker, with another at hand, does a piece of work.
    #[serde(skip)]
    scenes: Vec<Scene>,
    /// Scenes in which a worker goes on with what the sample left open.
    #[serde(skip)]
    openings: Vec<Scene>,
    /// Talk beside the work.
    #[serde(skip)]
    asides: Vec<Scene>,
}

/// A few steps that belong together.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scene {
    /// What it is called in the log.
    name: String,
    #[serde(default = "main_project")]
    project: String,
    /// Whose it is, of an opening.
    worker: Option<String>,
    step: Vec<Deed>,
}

/// A scene that is being played. There is one track for each worker, and one for talk.
struct Track {
    index: usize,
    scene: Scene,
    /// The next step.
    at: usize,
    words: Phrases,
    labels: Labels,
}

pub(crate) struct Play {
    office: Arc<Office>,
    script: Script,
    tracks: VecDeque<Track>,
    /// What is done with mail that was sent, by and by.
    reactions: VecDeque<Reaction>,
    answering: Answering,
    /// How many steps there were, and how many scenes began.
    steps: u64,
    begun: usize,
    next_work: u32,
    /// How many scenes did not go to their end.
    given_up: u64,
}

impl Script {
    /// Reads the files, which are part of the program.
    fn read() -> anyhow::Result<Self> {
        let scenes = |name: &str, text| -> anyhow::Result<Vec<Scene>> {
            let mut read: BTreeMap<String, Vec<Scene>> =
                toml::from_str(text).with_context(|| format!("the play's file '{name}'"))?;
            Ok(read.remove("scene").unwrap_or_default())
        };
        Ok(Self {
            scenes: scenes("scenes.toml", include_str!("play/scenes.toml"))?,
            openings: scenes("openings.toml", include_str!("play/openings.toml"))?,
            asides: scenes("asides.toml", include_str!("play/asides.toml"))?,
            ..toml::from_str(include_str!("play/topics.toml")).context("the play's file 'topics.toml'")?
        })
    }
}

impl Play {
    /// Gets ready to play in an office that holds the sample; `is_new` if nobody played there before.
    pub(crate) async fn begin(office: Arc<Office>, members: Members, is_new: bool) -> anyhow::Result<Self> {
        let ask = WorkAsk { project_key: MAIN, state: None, agent: None, before: None, limit: MOST_ITEMS };
        let taken = office.work(ask).await?.items;
        let numbers = taken.iter().filter_map(|item| item.id.strip_prefix(WORK)?.parse::<u32>().ok());
        let next_work = numbers.max().map_or(FIRST_WORK, |highest| FIRST_WORK.max(highest + 1));
        let answering = Answering::begin(&office, members).await?;
        let (tracks, reactions, script) = (VecDeque::new(), VecDeque::new(), Script::read()?);
        let mut play =
            Self { office, script, tracks, reactions, answering, steps: 0, begun: 0, next_work, given_up: 0 };
        for index in 0..=play.script.workers.len() {
            let mut track = play.next_scene(index);
            let worker = play.script.workers.get(index).filter(|_| is_new);
            let opening = play.script.openings.iter().find(|scene| worker.is_some() && scene.worker.as_ref() == worker);
            if let Some(opening) = opening {
                track.scene = opening.clone();
            }
            play.tracks.push_back(track);
        }
        Ok(play)
    }

    /// Plays until the bells are closed, or it has lasted long enough.
    pub(crate) async fn go_on(mut self, bells: Arc<Bells>) {
        let begun = Instant::now();
        while begun.elapsed() < LONGEST {
            let pause = Duration::from_millis(800 + self.steps * 389 % 1100);
            if timeout(pause, bells.closed()).await.is_ok() {
                return;
            }
            self.step().await;
        }
        output::note("The agents of the demo rest now; their mail can still be looked at. Ctrl-C ends the demo.");
    }

    /// Lets somebody do something, and answers whoever wrote meanwhile.
    async fn step(&mut self) {
        self.steps += 1;
        if let Err(error) = self.answering.look(&self.office).await {
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
        for _ in 0..self.tracks.len() {
            // Who played goes to the end, so that all come to it.
            let Some(track) = self.tracks.pop_front() else { return };
            let (track, is_done) = self.play(track).await;
            self.tracks.push_back(track);
            if is_done {
                return;
            }
        }
    }

    /// Plays the next step of a track; whether there was one that does not wait.
    async fn play(&mut self, mut track: Track) -> (Track, bool) {
        let is_away = (2..self.script.workers.len()).contains(&track.index) && self.steps < BACK_AFTER;
        let Some(step) = track.scene.step.get(track.at).filter(|_| !is_away) else { return (track, false) };
        let words = track.words.clone().sent_at(self.office.now(), &format!("{} {}", self.begun, self.steps));
        match step.happen(&self.office, &track.scene.project, &words, &mut track.labels).await {
            Ok(None) => return (track, false),
            Ok(Some(reactions)) => {
                self.reactions.extend(reactions);
                track.at += 1;
            }
            Err(error) => {
                self.complain(&track.scene.name, &error);
                // What it is about does not stay reserved.
                let _ = self.office.release(&track.scene.project, Claim::of(&words.fill("{{worker}}")), None).await;
                track.at = track.scene.step.len();
            }
        }
        if track.at == track.scene.step.len() {
            track = self.next_scene(track.index);
        }
        (track, true)
    }

    fn complain(&mut self, what: &str, error: &anyhow::Error) {
        if !self.office.wake().closing() {
            self.given_up += 1;
            tracing::warn!(%error, "the demo goes on without {what}");
        }
    }

    /// The next scene of a track, with people, a topic, and what else changes from scene to scene.
    fn next_scene(&mut self, index: usize) -> Track {
        let (turn, script) = (self.begun, &self.script);
        self.begun += 1;
        let is_work = index < script.workers.len();
        let (scenes, people) =
            if is_work { (&script.scenes, &script.workers) } else { (&script.asides, &script.speakers) };
        let first = if is_work { index } else { turn };
        let second = first + 1 + turn % (people.len() - 1);
        let pick = |list: &[String], index: usize| list[index % list.len()].clone();
        let hash = blake3::hash(format!("{turn} {}", self.next_work).as_bytes()).to_hex();
        let words = [
            ("worker", pick(people, first)),
            ("other", pick(people, second)),
            ("tests", (180 + turn % 60).to_string()),
            ("seconds", (41 + turn % 17).to_string()),
            ("context", (40 + turn % 30).to_string()),
            ("commit", hash[..7].to_owned()),
            ("commit2", hash[7..14].to_owned()),
            ("work", format!("{WORK}{}", self.next_work)),
        ];
        let topic = script.topic[turn % script.topic.len()].iter().map(|(name, text)| (name.as_str(), text.clone()));
        let words =
            words.into_iter().chain(topic).fold(Phrases::default(), |words, (name, text)| words.with(name, text));
        self.next_work += u32::from(is_work);
        let scene = scenes[turn % scenes.len()].clone();
        Track { index, scene, at: 0, words, labels: Labels::new() }
    }
}

fn main_project() -> String {
    MAIN.to_owned()
}

#[cfg(test)]
mod tests;

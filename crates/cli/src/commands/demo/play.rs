//! The play: agents that go on working, a step of somebody's every second or two, for two hours at most.
//!
//! A few pieces of work go on at a time, and something beside them. Which scene comes next, with whom and about what, is
//! drawn; every work item has a number of its own. A step that fails ends its scene and no more: whoever looks at the demo
//! may take part in it, and need not know the script.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mail::Office;
use mail::office::WorkAsk;
use relay::wake::Bells;
use tokio::time::timeout;

use super::answering::Answering;
use super::awake::Members;
use super::letter::Reaction;
use super::sample::MAIN;
use super::script::{Scene, Script};
use super::track::{Stepped, Track};
use super::words::Words;
use crate::output;

/// How long the play lasts.
const LONGEST: Duration = Duration::from_secs(2 * 3600);
/// The pause between two steps, in milliseconds.
const PAUSE: std::ops::Range<u64> = 800..1900;
/// How many scenes about work, and how many beside it, are played at a time.
const AT_WORK: usize = 3;
const ASIDE: usize = 1;
/// Of how many steps one is beside the work.
const ASIDE_EVERY: u64 = 5;
/// After how many steps of others a message is read, and when so many wait that reading comes first.
const READ_AFTER: u64 = 2;
const MOST_WAITING: usize = 8;
/// What the names of work items begin with, and the number of the first one that the play makes.
const WORK: &str = "ws-";
const FIRST_WORK: u32 = 41;
/// How many work items are looked at for the numbers that are taken.
const MOST_ITEMS: usize = 10_000;

/// The play.
pub struct Play {
    office: Arc<Office>,
    script: Script,
    dice: Dice,
    tracks: Vec<Track>,
    asides: Vec<Track>,
    /// What goes on with the sample, and was not played yet.
    openings: Vec<Scene>,
    once: VecDeque<Scene>,
    /// Who will do what with the mail it got, and from which step on.
    reactions: VecDeque<(u64, Reaction)>,
    answering: Answering,
    /// How many steps there were.
    steps: u64,
    next_work: u32,
    scenes_left: Vec<usize>,
    asides_left: Vec<usize>,
    topics_left: Vec<usize>,
    /// How many scenes did not go to their end.
    given_up: u64,
}

impl Play {
    /// Gets ready to play in an office that holds the sample; `is_new` if nobody played there before.
    pub async fn begin(office: Arc<Office>, members: Members, is_new: bool) -> anyhow::Result<Self> {
        let seed = getrandom::u64().expect("the operating system has randomness");
        Self::with_dice(office, members, is_new, seed).await
    }

    async fn with_dice(office: Arc<Office>, members: Members, is_new: bool, seed: u64) -> anyhow::Result<Self> {
        let script = Script::read()?;
        let openings = if is_new { script.openings.clone() } else { Vec::new() };
        let once = script.once.iter().cloned().collect();
        let ask = WorkAsk { project_key: MAIN, state: None, agent: None, before: None, limit: MOST_ITEMS };
        let taken = office.work(ask).await?.items;
        let numbers = taken.iter().filter_map(|item| item.id.strip_prefix(WORK)?.parse::<u32>().ok());
        let next_work = numbers.max().map_or(FIRST_WORK, |highest| FIRST_WORK.max(highest + 1));
        let answering = Answering::begin(&office, members).await?;
        Ok(Self {
            office,
            script,
            dice: Dice(seed | 1),
            tracks: Vec::new(),
            asides: Vec::new(),
            openings,
            once,
            reactions: VecDeque::new(),
            answering,
            steps: 0,
            next_work,
            scenes_left: Vec::new(),
            asides_left: Vec::new(),
            topics_left: Vec::new(),
            given_up: 0,
        })
    }

    /// Plays until the bells are closed, or it has lasted long enough.
    pub async fn go_on(mut self, bells: Arc<Bells>) {
        let begun = Instant::now();
        while begun.elapsed() < LONGEST {
            let pause = Duration::from_millis(PAUSE.start + self.dice.below(PAUSE.end - PAUSE.start));
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
        match self.answering.look(&self.office).await {
            Ok(works) => works.iter().for_each(|work| self.cue(work)),
            Err(error) => self.complain("an answer", &error),
        }
        let is_due = self.reactions.front().is_some_and(|(from, _)| *from <= self.steps);
        if is_due && (self.steps.is_multiple_of(2) || self.reactions.len() > MOST_WAITING) {
            return self.react().await;
        }
        self.cast_scenes();
        let is_aside = self.dice.below(ASIDE_EVERY) == 0;
        if !self.play_one(is_aside).await && !self.play_one(!is_aside).await {
            self.react().await;
        }
    }

    async fn react(&mut self) {
        let Some((_, reaction)) = self.reactions.pop_front() else { return };
        if let Err(error) = reaction.happen(&self.office).await {
            self.complain("a reading", &error.into());
        }
    }

    /// Plays a step of some scene; whether there was one that does not wait.
    async fn play_one(&mut self, is_aside: bool) -> bool {
        let tracks = if is_aside { &mut self.asides } else { &mut self.tracks };
        for _ in 0..tracks.len() {
            // Who played goes to the end, so that all come to it.
            let mut track = tracks.remove(0);
            match track.step(&self.office, self.dice.roll()).await {
                Ok(Stepped::Waits) => tracks.push(track),
                Ok(Stepped::Did(reactions)) => {
                    self.reactions.extend(reactions.into_iter().map(|one| (self.steps + READ_AFTER, one)));
                    if !track.is_over() {
                        tracks.push(track);
                    }
                    return true;
                }
                Err(error) => {
                    self.complain(track.name(), &error);
                    track.give_up(&self.office).await;
                    return true;
                }
            }
        }
        false
    }

    fn complain(&mut self, what: &str, error: &anyhow::Error) {
        if !self.office.wake().closing() {
            self.given_up += 1;
            tracing::warn!(%error, "the demo goes on without {what}");
        }
    }

    /// Lets the scene begin that waits for somebody to write about this work.
    fn cue(&mut self, work: &str) {
        for scene in self.openings.iter_mut().filter(|scene| scene.cue.as_deref() == Some(work)) {
            scene.cue = None;
        }
    }

    /// Sees to it that there is something to play.
    fn cast_scenes(&mut self) {
        while self.asides.len() < ASIDE {
            let aside = self.draw_aside();
            self.asides.push(aside);
        }
        while self.tracks.len() < AT_WORK {
            let ready = |scene: &Scene| scene.cue.is_none() && scene.after <= self.steps;
            if let Some(next) = self.openings.iter().position(ready) {
                let scene = self.openings.remove(next);
                self.tracks.push(Track::new(scene, Words::default(), None));
                continue;
            }
            let Some(words) = self.draw_workers() else { return };
            let topic = self.draw_topic();
            let scene = drawn(&mut self.dice, &mut self.scenes_left, self.script.scenes.len());
            let words = self.about(topic, words).with("work", format!("{WORK}{}", self.next_work));
            self.next_work += 1;
            self.tracks.push(Track::new(self.script.scenes[scene].clone(), words, Some(topic)));
        }
    }

    /// What happens beside the work: what is to be noticed once first, every other time.
    fn draw_aside(&mut self) -> Track {
        if self.dice.below(2) == 0
            && let Some(scene) = self.once.pop_front()
        {
            return Track::new(scene, Words::default(), None);
        }
        let aside = drawn(&mut self.dice, &mut self.asides_left, self.script.asides.len());
        let topic = self.draw_topic();
        let words = pair_of(&mut self.dice, &self.script.speakers, &self.script.speakers);
        let words = self.about(topic, words.unwrap_or_default());
        Track::new(self.script.asides[aside].clone(), words, Some(topic))
    }

    /// A worker who has nothing to do, and another.
    fn draw_workers(&mut self) -> Option<Words> {
        let is_coming = |name: &&String| self.openings.iter().any(|scene| scene.cast.contains(name));
        let there: Vec<String> = self.script.workers.iter().filter(|name| !is_coming(name)).cloned().collect();
        let is_busy = |name: &&String| self.tracks.iter().any(|track| track.keeps(name));
        let free: Vec<String> = there.iter().filter(|name| !is_busy(name)).cloned().collect();
        pair_of(&mut self.dice, &free, &there)
    }

    /// The words of a topic, and what changes from scene to scene.
    fn about(&mut self, topic: usize, words: Words) -> Words {
        let words = self.script.topics[topic].iter().fold(words, |words, (name, text)| words.with(name, text));
        let words = words.with("tests", (180 + self.dice.below(60)).to_string());
        let words = words.with("seconds", (41 + self.dice.below(17)).to_string());
        let words = words.with("context", (40 + self.dice.below(30)).to_string());
        let words = words.with("commit", self.dice.commit());
        words.with("commit2", self.dice.commit())
    }

    /// A topic that nobody is at.
    fn draw_topic(&mut self) -> usize {
        loop {
            let topic = drawn(&mut self.dice, &mut self.topics_left, self.script.topics.len());
            if self.tracks.iter().chain(&self.asides).all(|track| track.topic != Some(topic)) {
                return topic;
            }
        }
    }
}

/// One of `count` things, each once before any comes again.
fn drawn(dice: &mut Dice, left: &mut Vec<usize>, count: usize) -> usize {
    if left.is_empty() {
        left.extend(0..count);
    }
    left.swap_remove(dice.below(left.len() as u64) as usize)
}

/// One of `first` and another one of `second`, if there are two.
fn pair_of(dice: &mut Dice, first: &[String], second: &[String]) -> Option<Words> {
    let worker = first.get(dice.below(first.len() as u64) as usize)?;
    let others: Vec<&String> = second.iter().filter(|name| *name != worker).collect();
    let other = others.get(dice.below(others.len() as u64) as usize)?;
    Some(Words::default().with("worker", worker).with("other", *other))
}

/// Numbers that look like chance, always the same from the same beginning.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        // Marsaglia's xorshift.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound.max(1)
    }

    /// The short name of a commit.
    fn commit(&mut self) -> String {
        format!("{:07x}", self.roll() & 0xfff_ffff)
    }
}

#[cfg(test)]
mod tests;

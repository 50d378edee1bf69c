//! What the play is made of: scenes of a few steps each, and the topics that they are played with.
//!
//! The files of the folder `play` hold them. Every scene goes with every topic, so that little text makes much variety. A
//! step is one call of the office; who plays and what it is about stands there as words (`{{worker}}`, `{{title}}`).

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;

use super::letter::Letter;
use super::sample::MAIN;
use super::wish::Wish;

const SCENES: &str = include_str!("play/scenes.toml");
const OPENINGS: &str = include_str!("play/openings.toml");
const ASIDES: &str = include_str!("play/asides.toml");
const ONCE: &str = include_str!("play/once.toml");
const TOPICS: &str = include_str!("play/topics.toml");

/// All scenes and topics.
pub struct Script {
    /// Who can be given work.
    pub workers: Vec<String>,
    /// Who has something to say beside the work.
    pub speakers: Vec<String>,
    /// What the work can be, each as words and what they stand for.
    pub topics: Vec<BTreeMap<String, String>>,
    /// Scenes in which a worker, with another at hand, does a piece of work.
    pub scenes: Vec<Scene>,
    /// Scenes that go on with what the sample left open, each played once.
    pub openings: Vec<Scene>,
    /// Scenes beside the work: talk, and what happens elsewhere.
    pub asides: Vec<Scene>,
    /// Such as would be noticed if they came again, each played once.
    pub once: Vec<Scene>,
}

/// A few steps that belong together.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// What it is called in the log.
    pub name: String,
    /// Where it is played.
    #[serde(default = "main_project")]
    pub project: String,
    /// Workers of whom it speaks by name, and who do nothing else meanwhile.
    #[serde(default)]
    pub cast: Vec<String>,
    /// Before how many steps of the play it does not begin.
    #[serde(default)]
    pub after: u64,
    /// The work about which somebody who is no part of the demo has to write before it begins.
    pub cue: Option<String>,
    /// What happens, in this order.
    pub step: Vec<Step>,
}

/// One thing that somebody does.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Step {
    /// Sends a message.
    Send(Box<Letter>),
    /// Reserves files.
    Reserve(Wish),
    /// Asks for files that another has, and is refused.
    Refused(Wish),
    /// Stands in line for files.
    Line(Wish),
    /// Goes on when somebody holds a file.
    UntilHeld(Holding),
    /// Gives files back.
    Release(Holding),
    /// Holds files for longer.
    Renew(Wish),
    /// Says what one is at: `WORKING`, `IDLE`.
    Is(At),
    /// Goes.
    Leave(One),
    /// Reads all mail that came meanwhile, and acknowledges what asks for it.
    CatchUp(One),
}

/// Who holds a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holding {
    /// Who.
    pub who: String,
    /// What.
    pub paths: Vec<String>,
}

/// What somebody is at.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct At {
    /// Who.
    pub who: String,
    /// What it is at.
    pub at: String,
}

/// Somebody.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct One {
    /// Who.
    pub who: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenes {
    scene: Vec<Scene>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Topics {
    workers: Vec<String>,
    speakers: Vec<String>,
    topic: Vec<BTreeMap<String, String>>,
}

impl Script {
    /// Reads the files, which are part of the program.
    pub fn read() -> anyhow::Result<Self> {
        let scenes = |name: &str, text| -> anyhow::Result<Vec<Scene>> {
            let read: Scenes = toml::from_str(text).with_context(|| format!("the play's file '{name}'"))?;
            Ok(read.scene)
        };
        let Topics { workers, speakers, topic } = toml::from_str(TOPICS).context("the play's file 'topics.toml'")?;
        Ok(Self {
            workers,
            speakers,
            topics: topic,
            scenes: scenes("scenes.toml", SCENES)?,
            openings: scenes("openings.toml", OPENINGS)?,
            asides: scenes("asides.toml", ASIDES)?,
            once: scenes("once.toml", ONCE)?,
        })
    }
}

fn main_project() -> String {
    MAIN.to_owned()
}

#[cfg(test)]
mod tests;

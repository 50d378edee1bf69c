//! The sample: who is there, what was said in the last two days, and which files are reserved.
//!
//! The files of the folder `sample` tell it, as so and so long ago. A mailbox is filled through an office whose clock is
//! put to each moment in turn, so that whoever looks finds the mail of two days. Names, texts, threads and their order are
//! the same every time; what would have happened later than now, such as reading what was just sent, has not happened.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use mail::Office;
use mail::agents::Profile;
use mail::clock::{Clock, ManualClock};
use mail::office::{Claim, Registration, Sign};
use serde::Deserialize;

use super::awake::Members;
use super::letter::{Labels, Letter, Reaction};
use super::wish::{Place, Wish};
use super::words::Words;
use crate::wiring::Post;

/// The project in which most happens.
pub const MAIN: &str = "/demo/weather-station";
/// How far back the sample goes.
const TWO_DAYS: SignedDuration = SignedDuration::from_hours(48);
/// How often an agent that is awake says so, in seconds: often enough for nobody to think it silent.
const BEAT: i64 = 240;

const FILES: [(&str, &str); 12] = [
    ("weather-station.toml", include_str!("sample/weather-station.toml")),
    ("plan.toml", include_str!("sample/plan.toml")),
    ("ingest.toml", include_str!("sample/ingest.toml")),
    ("limits.toml", include_str!("sample/limits.toml")),
    ("export.toml", include_str!("sample/export.toml")),
    ("rollups.toml", include_str!("sample/rollups.toml")),
    ("schema.toml", include_str!("sample/schema.toml")),
    ("alerts.toml", include_str!("sample/alerts.toml")),
    ("release.toml", include_str!("sample/release.toml")),
    ("today.toml", include_str!("sample/today.toml")),
    ("channels.toml", include_str!("sample/channels.toml")),
    ("docs-site.toml", include_str!("sample/docs-site.toml")),
];

/// All that the mailbox is filled with.
pub struct Sample(Vec<Part>);

/// What one file tells.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    project: String,
    #[serde(default)]
    agent: Vec<Member>,
    #[serde(default)]
    letter: Vec<Letter>,
    #[serde(default)]
    lease: Vec<Wish>,
    #[serde(default)]
    refusal: Vec<Wish>,
    #[serde(default)]
    line: Vec<Wish>,
    #[serde(default)]
    presence: Vec<Stay>,
}

/// An agent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Member {
    ago: SignedDuration,
    name: String,
    program: String,
    model: String,
    task: String,
}

/// A time that an agent spent in one state.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stay {
    who: String,
    state: String,
    substate: Option<String>,
    channel: Option<String>,
    since: SignedDuration,
    #[serde(default)]
    until: SignedDuration,
}

impl Sample {
    /// Reads the files, which are part of the program.
    pub fn read() -> anyhow::Result<Self> {
        let read = |(name, text)| toml::from_str(text).with_context(|| format!("the sample's file '{name}'"));
        Ok(Self(FILES.into_iter().map(read).collect::<Result<_, _>>()?))
    }

    /// The projects.
    pub fn projects(&self) -> Vec<&str> {
        let mut projects: Vec<&str> = self.0.iter().map(|part| part.project.as_str()).collect();
        projects.dedup();
        projects
    }

    /// The agents.
    pub fn members(&self) -> Members {
        let of =
            |part: &Part| part.agent.iter().map(|one| (part.project.clone(), one.name.clone())).collect::<Vec<_>>();
        self.0.iter().flat_map(of).collect()
    }

    /// Who stands in line for what another holds.
    pub fn line(&self) -> Vec<Place> {
        let of = |part: &Part| {
            part.line.iter().map(|wish| wish.in_line(&part.project, &Words::default())).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of).collect()
    }

    /// Fills an empty office with all of it.
    pub async fn fill(&self, post: &Post) -> anyhow::Result<()> {
        let clock = Arc::new(ManualClock::at(Timestamp::now() - TWO_DAYS));
        let office = post.office_by(clock.clone());
        let mut agenda = Agenda::of(self);
        let mut labels = Labels::new();
        while let Some((at, project, happening)) = agenda.next() {
            let begun = clock.now();
            clock.advance_seconds(at - agenda.now);
            debug_assert!(clock.now() >= begun, "the agenda is in the order of time");
            agenda.now = at;
            match happening {
                Happening::Says(letter) => {
                    let words = Words::default().sent_at(clock.now(), &letter.body);
                    let sent = letter.send(&office, project, &words, &labels).await;
                    let sent = sent.with_context(|| format!("the sample's letter {:?}", letter.subject))?;
                    labels.extend(letter.label.clone().map(|label| (label, sent.message.id)));
                    agenda.react(project, letter.reactions(project, &sent, &words));
                }
                other => other.happen(&office, project).await?,
            }
        }
        Ok(())
    }
}

/// What happens at one moment.
enum Happening<'s> {
    Joins(&'s Member),
    Says(&'s Letter),
    Reacts(Reaction),
    Reserves(&'s Wish),
    IsRefused(&'s Wish),
    Is(&'s Stay),
}

impl Happening<'_> {
    async fn happen(self, office: &Office, project: &str) -> anyhow::Result<()> {
        let words = Words::default();
        match self {
            Self::Joins(member) => {
                let profile = Profile {
                    program: Some(member.program.clone()),
                    model: Some(member.model.clone()),
                    task_description: Some(member.task.clone()),
                };
                let name = Some(member.name.as_str());
                let registration =
                    Registration { project_key: project, make_project: true, name, profile, token: None };
                office.register(registration).await?;
            }
            Self::Says(_) => {}
            Self::Reacts(reaction) => reaction.happen(office).await?,
            Self::Reserves(wish) => wish.reserve(office, project, &words).await?,
            Self::IsRefused(wish) => wish.be_refused(office, project, &words).await?,
            Self::Is(stay) => {
                let sign = Sign {
                    state: &stay.state,
                    substate: stay.substate.as_deref(),
                    watcher_pid: None,
                    channel: stay.channel.as_deref(),
                };
                office.beat(project, Claim::of(&stay.who), sign).await?;
            }
        }
        Ok(())
    }
}

/// What is still to happen, in the order of time, counted in seconds from the beginning of the two days.
struct Agenda<'s> {
    now: i64,
    moments: BTreeMap<(i64, usize), (&'s str, Happening<'s>)>,
    /// How many moments there were so far: what is of one time happens in the order in which it is told.
    told: usize,
}

impl<'s> Agenda<'s> {
    fn of(sample: &'s Sample) -> Self {
        let mut agenda = Self { now: 0, moments: BTreeMap::new(), told: 0 };
        for part in &sample.0 {
            let project = part.project.as_str();
            for member in &part.agent {
                agenda.add(moment(member.ago), project, Happening::Joins(member));
            }
            for letter in &part.letter {
                agenda.add(moment(letter.ago), project, Happening::Says(letter));
            }
            for wish in &part.lease {
                agenda.add(moment(wish.ago), project, Happening::Reserves(wish));
            }
            for wish in &part.refusal {
                agenda.add(moment(wish.ago), project, Happening::IsRefused(wish));
            }
            for stay in &part.presence {
                let beats = (moment(stay.since)..=moment(stay.until)).step_by(BEAT as usize);
                beats.for_each(|at| agenda.add(at, project, Happening::Is(stay)));
            }
        }
        agenda
    }

    fn add(&mut self, at: i64, project: &'s str, happening: Happening<'s>) {
        self.told += 1;
        self.moments.insert((at, self.told), (project, happening));
    }

    fn react(&mut self, project: &'s str, reactions: Vec<Reaction>) {
        for reaction in reactions {
            let at = self.now + 60 * reaction.minutes_later();
            if at <= TWO_DAYS.as_secs() {
                self.add(at, project, Happening::Reacts(reaction));
            }
        }
    }

    fn next(&mut self) -> Option<(i64, &'s str, Happening<'s>)> {
        self.moments.pop_first().map(|((at, _), (project, happening))| (at, project, happening))
    }
}

/// When it was, so and so long ago.
fn moment(ago: SignedDuration) -> i64 {
    (TWO_DAYS - ago).as_secs()
}

#[cfg(test)]
mod tests;

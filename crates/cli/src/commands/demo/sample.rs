//! The sample: who is there, what was said in the last two days, and which files are reserved.
//!
//! The files of the folder `sample` tell it, as so and so long ago. A mailbox is filled through an office whose clock is
//! put to each moment in turn, so that whoever looks finds the mail of two days. Names, texts, threads and their order are
//! the same every time; what would have happened later than now, such as reading what was just sent, has not happened.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use mail::agents::Profile;
use mail::clock::{Clock, ManualClock};
use mail::office::Registration;
use serde::Deserialize;

use super::awake::Members;
use super::deed::{Deed, Stay, Wish};
use super::letter::{Labels, Letter, Reaction};
use super::phrases::Phrases;
use crate::wiring::Post;

/// The project in which most happens.
pub(crate) const MAIN: &str = "/demo/weather-station";
/// How far back the sample goes.
const TWO_DAYS: SignedDuration = SignedDuration::from_hours(48);
/// How often an agent that is awake says so, in seconds: often enough for nobody to think it silent.
const BEAT: usize = 240;

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
pub(crate) struct Sample(Vec<SampleProject>);

/// What one file tells.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SampleProject {
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

impl Sample {
    /// Reads the files, which are part of the program.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let read = |(name, text)| toml::from_str(text).with_context(|| format!("the sample's file '{name}'"));
        Ok(Self(FILES.into_iter().map(read).collect::<Result<_, _>>()?))
    }

    pub(crate) fn projects(&self) -> Vec<&str> {
        let mut projects: Vec<&str> = self.0.iter().map(|part| part.project.as_str()).collect();
        projects.dedup();
        projects
    }

    /// The agents.
    pub(crate) fn members(&self) -> Members {
        let of = |part: &SampleProject| {
            part.agent.iter().map(|one| (part.project.clone(), one.name.clone())).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of).collect()
    }

    /// Who stands in line for what another holds, and in which project.
    pub(crate) fn line(&self) -> impl Iterator<Item = (String, Wish)> {
        self.0.iter().flat_map(|part| part.line.iter().map(|wish| (part.project.clone(), wish.clone())))
    }

    /// Fills an empty office with all of it.
    pub(crate) async fn fill(&self, post: &Post) -> anyhow::Result<()> {
        let clock = Arc::new(ManualClock::at(Timestamp::now() - TWO_DAYS));
        let office = Arc::new(post.office_by(clock.clone()));
        let (mut agenda, mut labels, mut now) = (self.agenda(), Labels::new(), 0);
        let mut told = agenda.len();
        while let Some(((at, _), (project, moment))) = agenda.pop_first() {
            clock.advance_seconds(at - now);
            now = at;
            let reactions = match moment {
                Moment::Joins(member) => {
                    office.register(member.registration(project)).await?;
                    continue;
                }
                Moment::Reacts(reaction) => {
                    reaction.happen(&office).await?;
                    continue;
                }
                Moment::Does(deed) => {
                    let seed = if let Deed::Send(letter) = &deed { letter.body.as_str() } else { "" };
                    let words = Phrases::default().sent_at(clock.now(), seed);
                    let done = deed.happen(&office, project, &words, &mut labels).await;
                    done.with_context(|| format!("the sample's {deed:?}"))?.unwrap_or_default()
                }
            };
            for reaction in reactions {
                let at = now + 60 * reaction.minutes_later();
                if at <= TWO_DAYS.as_secs() {
                    told += 1;
                    agenda.insert((at, told), (project, Moment::Reacts(reaction)));
                }
            }
        }
        Ok(())
    }

    /// All that happens, in the order of time, in seconds from the beginning of the two days. What is of one time happens
    /// in the order in which it is told.
    fn agenda(&self) -> BTreeMap<(i64, usize), (&str, Moment<'_>)> {
        let mut agenda = Vec::new();
        for part in &self.0 {
            let mut add = |at: i64, moment| agenda.push((at, part.project.as_str(), moment));
            part.agent.iter().for_each(|member| add(moment(member.ago), Moment::Joins(member)));
            let letters = part.letter.iter().map(|letter| (letter.ago, Deed::Send(Box::new(letter.clone()))));
            let reserved = part.lease.iter().map(|wish| (wish.ago, Deed::Reserve(wish.clone())));
            let refused = part.refusal.iter().map(|wish| (wish.ago, Deed::Refused(wish.clone())));
            letters.chain(reserved).chain(refused).for_each(|(ago, deed)| add(moment(ago), Moment::Does(deed)));
            for stay in &part.presence {
                let beats = (moment(stay.since)..=moment(stay.until)).step_by(BEAT);
                beats.for_each(|at| add(at, Moment::Does(Deed::Is(stay.clone()))));
            }
        }
        agenda.into_iter().enumerate().map(|(told, (at, project, moment))| ((at, told), (project, moment))).collect()
    }
}

/// What happens at one moment.
enum Moment<'s> {
    Joins(&'s Member),
    Does(Deed),
    Reacts(Reaction),
}

impl Member {
    fn registration<'a>(&'a self, project_key: &'a str) -> Registration<'a> {
        let profile = Profile {
            program: Some(self.program.clone()),
            model: Some(self.model.clone()),
            task_description: Some(self.task.clone()),
        };
        Registration { project_key, make_project: true, name: Some(&self.name), profile, token: None }
    }
}

/// When it was, so and so long ago.
fn moment(ago: SignedDuration) -> i64 {
    (TWO_DAYS - ago).as_secs()
}

#[cfg(test)]
mod tests;

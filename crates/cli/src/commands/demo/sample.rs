//! The sample: who is there, what was said in the last two days, and which files are reserved.
//!
//! The files of the folder `sample` tell it, as so and so long ago. A mailbox is filled through an office whose clock is
//! put to each moment in turn, so that whoever looks finds the mail of two days. Names, texts, threads and their order are
//! the same every time. What was sent in the last minutes is not read yet.

use std::sync::Arc;

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use mail::Office;
use mail::clock::{Clock, ManualClock};
use serde::Deserialize;
use toml::{Table, Value};

use super::members::ProjectMembers;
use super::step::{Labels, Phrases, Step, words_at};
use crate::wiring::LocalOffice;

/// The project in which most happens.
pub(super) const MAIN: &str = "/demo/weather-station";
/// How far back the sample goes.
const TWO_DAYS: SignedDuration = SignedDuration::from_hours(48);
/// Messages that are younger are not read yet.
const NOT_YET_READ: SignedDuration = SignedDuration::from_mins(9);
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
pub(super) struct Sample(Vec<SampleFile>);

#[derive(Deserialize)]
struct SampleFile {
    project: String,
    step: Vec<Told>,
}

/// A step, and when it was taken.
#[derive(Deserialize)]
struct Told {
    /// How long ago. Without it, it goes on now: whoever stands in line.
    ago: Option<SignedDuration>,
    /// Until how long ago an agent was in a state.
    #[serde(default)]
    until: SignedDuration,
    #[serde(flatten)]
    step: Table,
}

impl Sample {
    /// Reads the files, which are part of the program.
    pub(super) fn read() -> anyhow::Result<Self> {
        let read = |(name, text)| toml::from_str(text).with_context(|| format!("the sample's file '{name}'"));
        Ok(Self(FILES.into_iter().map(read).collect::<Result<_, _>>()?))
    }

    /// The agents.
    pub(super) fn members(&self) -> ProjectMembers {
        let mut members = ProjectMembers::new();
        for (project, told) in self.steps().filter(|(_, told)| told.does("join")) {
            let name = told.step.get("name").and_then(Value::as_str).unwrap_or_default();
            members.entry(project.to_owned()).or_default().push(name.to_owned());
        }
        members
    }

    /// Lets those stand in line who wait for what another holds.
    pub(super) async fn stand_in_line(&self, office: &Arc<Office>) -> anyhow::Result<()> {
        for (project, told) in self.steps().filter(|(_, told)| told.ago.is_none()) {
            let step = Step::read(&told.step, project, &Phrases::new(), &Labels::new())?;
            step.happen(office, project, &mut Labels::new()).await?;
        }
        Ok(())
    }

    /// Fills an empty office with all of it.
    pub(super) async fn fill(&self, local: &LocalOffice) -> anyhow::Result<()> {
        let clock = Arc::new(ManualClock::at(Timestamp::now() - TWO_DAYS));
        let office = Arc::new(local.office_by(clock.clone()));
        let (mut labels, mut now) = (Labels::new(), 0);
        for (at, project, written) in self.agenda() {
            clock.advance_seconds(at - now);
            now = at;
            let step = Step::read(written, project, &words_at(clock.now(), &written.to_string()), &labels)?;
            let reactions = step.happen(&office, project, &mut labels).await;
            let reactions = reactions.with_context(|| format!("the sample's step {written}"))?;
            let is_read = now < second(NOT_YET_READ);
            for reaction in reactions.iter().filter(|_| is_read) {
                reaction.happen(&office).await?;
            }
        }
        Ok(())
    }

    /// All that happens, in the order of time, in seconds from the beginning of the two days. What is of one time happens
    /// in the order in which it is told.
    fn agenda(&self) -> Vec<(i64, &str, &Table)> {
        let moments = self.steps().filter_map(|(project, told)| {
            let ago = told.ago?;
            let last = if told.does("is") { told.until } else { ago };
            Some((second(ago)..=second(last)).step_by(BEAT).map(move |at| (at, project, &told.step)))
        });
        let mut moments: Vec<_> = moments.flatten().collect();
        moments.sort_by_key(|(at, ..)| *at);
        moments
    }

    fn steps(&self) -> impl Iterator<Item = (&str, &Told)> {
        self.0.iter().flat_map(|file| file.step.iter().map(|told| (file.project.as_str(), told)))
    }
}

impl Told {
    fn does(&self, what: &str) -> bool {
        self.step.get("do").and_then(Value::as_str) == Some(what)
    }
}

/// When it was, so and so long ago.
fn second(ago: SignedDuration) -> i64 {
    (TWO_DAYS - ago).as_secs()
}

#[cfg(test)]
mod tests;

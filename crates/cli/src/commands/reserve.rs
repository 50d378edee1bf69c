//! `postrider reserve`: reserves files at a shell, and waits for them if asked to.
//!
//! Whoever waits stands in line at the office and asks again before the place is lost. Ctrl-C leaves the line.

mod refusal;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use api::answers::ReservationAnswer;
use api::{Actor, FileReservationPaths, InLineAnswer, InTheWayAnswer, LeaveLine, StandInLine, Time};
use clap::Args;
use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use mail::reservations::{DEFAULT_TTL_SECONDS, TTL_SECONDS};
use serde_json::json;
use tokio::time::Instant;

use super::globs;
use super::in_name::InName;
use super::watch::amounts;
use crate::config::Config;
use crate::identity::Acting;
use crate::output::{self, Milestones, text};
use crate::post_office::{self, PostOffice, Refused};

/// How long the office waits until it says how it stands.
const SLICE: Duration = Duration::from_secs(10);
/// What a shell expects of a program that was interrupted.
const INTERRUPTED: u8 = 130;

const EXAMPLES: &str = "\
A path is relative to the current folder; a folder means all that is in it, and a glob has to stand in quotes. All of the
paths are reserved, or none. A reservation ends by itself. The hooks of agents and the guard of git keep others from files
that are reserved exclusively; a shared reservation only says that somebody reads along.

Examples:
  postrider reserve src/lexer.rs 'tests/lexer*' --exclusive --for 1h --reason bd-42
  postrider reserve src --exclusive --wait            stands in line until it is free
  postrider reserve src --exclusive --wait=5m && cargo fmt && postrider release src";

/// Reserve files, so that others keep out of them.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "postrider reserve [OPTIONS] <PATHS>...")]
pub struct Reserve {
    /// Files, folders or globs
    #[arg(required = true, value_name = "PATHS")]
    paths: Vec<String>,
    /// Nobody else may reserve any of them
    #[arg(long)]
    exclusive: bool,
    /// How long, from 1s to 7d [default: 10m]
    #[arg(long = "for", value_name = "TIME", value_parser = lasting)]
    lasting: Option<i64>,
    /// Stand in line while others hold them, for a time (seconds, or such as 5m) or without end
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "ever",
          value_parser = Patience::parse)]
    wait: Option<Patience>,
    /// What it is for; others see it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    #[command(flatten)]
    acting: Acting,
}

/// How long somebody stands in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Patience(Option<Duration>);

impl Patience {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "ever" {
            return Ok(Self(None));
        }
        let seconds = text.parse().ok().map(Duration::from_secs);
        let length = seconds.map_or_else(|| amounts::duration(text), Ok);
        length
            .map(|length| Self(Some(length)))
            .map_err(|_| format!("'{text}' is no time; write one such as 60, 90s or 5m"))
    }
}

/// Reads how long a reservation lasts, in seconds.
fn lasting(text: &str) -> Result<i64, String> {
    let wrong = || format!("'{text}' is no time from 1s to 7d; write one such as 90s, 30m, 1h or 2d");
    let length = amounts::duration(text).map_err(|_| wrong())?;
    let seconds = i64::try_from(length.as_secs()).map_err(|_| wrong())?;
    if length.subsec_nanos() == 0 && TTL_SECONDS.contains(&seconds) { Ok(seconds) } else { Err(wrong()) }
}

impl Reserve {
    /// Reserves, and prints what is held now; exit code 1 when others hold it.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let who = self.acting.who(&config)?;
        let here = std::env::current_dir().context("there is no current folder; go to one")?;
        let key = self.acting.project.key()?;
        let actor = Actor { project_key: key, agent_name: who.name, registration_token: who.token };
        let paths = globs::in_project(&actor.project_key, &here, &self.paths)?;
        let ended = match self.wait {
            None => {
                let request = FileReservationPaths {
                    paths,
                    ttl_seconds: Some(self.seconds()),
                    exclusive: Some(self.exclusive),
                    reason: self.reason.clone(),
                    ..FileReservationPaths::default()
                };
                self.acting.project.visit(config, async |post_office, _| {
                    let granted = post_office.ask(request.by(actor)).await?.granted;
                    Ok(told(&granted, as_json))
                })
            }
            Some(patience) => self.in_line(config, actor, paths, patience, as_json),
        };
        ended.or_else(|error| match error.downcast::<Refused>() {
            Ok(refused) if refused.code == mail::Error::RESERVED && !as_json => {
                output::note(&refusal::text(&refused, self.wait.is_some(), SystemClock.now()));
                Ok(ExitCode::FAILURE)
            }
            Ok(refused) => Err(self.advised(refused).into()),
            Err(error) => Err(error),
        })
    }

    fn seconds(&self) -> i64 {
        self.lasting.unwrap_or(DEFAULT_TTL_SECONDS)
    }

    fn advised(&self, refused: Refused) -> Refused {
        if refused.code == "PROJECT_NOT_FOUND" { self.acting.project.advised(refused) } else { refused }
    }

    /// Stands in line. The office is not closed by Ctrl-C before the line is left.
    fn in_line(
        &self,
        config: Config,
        actor: Actor,
        paths: Vec<String>,
        Patience(patience): Patience,
        as_json: bool,
    ) -> anyhow::Result<ExitCode> {
        let request = StandInLine {
            paths,
            ttl_seconds: Some(self.seconds()),
            exclusive: Some(self.exclusive),
            reason: self.reason.clone(),
            ..StandInLine::default()
        };
        post_office::run(async {
            let post_office = PostOffice::open(config.about(&actor.project_key)).await?;
            let until = patience.map(|length| Instant::now() + length);
            let ended = stand(&post_office, request.by(actor.clone()), &actor, until, as_json).await;
            post_office.close().await;
            ended
        })
    }
}

/// Asks until it is granted, the time is over, or somebody presses Ctrl-C.
async fn stand(
    post_office: &PostOffice,
    mut request: StandInLine,
    actor: &Actor,
    until: Option<Instant>,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let mut milestones = Milestones::new(as_json, String::new());
    // At first only the place is taken: whoever waits is told at once for whom.
    request.wait_seconds = Some(0);
    loop {
        let InLineAnswer { granted, ticket, conflicts } = tokio::select! {
            answered = post_office.ask(request.clone()) => answered?,
            pressed = tokio::signal::ctrl_c() => {
                pressed?;
                leave(post_office, actor, request.ticket).await;
                return Ok(ExitCode::from(INTERRUPTED));
            }
        };
        let Some(ticket) = ticket else { return Ok(told(&granted, as_json)) };
        request.ticket = Some(ticket);
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            leave(post_office, actor, request.ticket).await;
            return Err(refusal::of(&conflicts).into());
        }
        let waiting = waiting_for(&conflicts);
        milestones.tell(waiting.clone(), || format!("{waiting} Ctrl-C leaves the line."));
        let seconds = left.map_or(SLICE, |left| left.min(SLICE)).as_secs_f64().ceil();
        request.wait_seconds = Some(seconds as i64);
    }
}

/// Leaves the line. If that does not succeed, the place is lost by time.
async fn leave(post_office: &PostOffice, actor: &Actor, ticket: Option<i64>) {
    let Some(ticket) = ticket else { return };
    let request = LeaveLine { ticket, ..LeaveLine::default() };
    if let Err(refused) = post_office.ask(request.by(actor.clone())).await {
        tracing::debug!(%refused, "the line is left by time");
    }
}

/// Whom somebody in line waits for.
fn waiting_for(conflicts: &[InTheWayAnswer]) -> String {
    let held = conflicts.iter().map(|one| {
        let verb = if one.waiting { "who came earlier for" } else { "who holds" };
        format!("{} ({verb} {})", text::unbroken(&one.holder), text::unbroken(&one.held_path))
    });
    let mut held: Vec<String> = held.collect();
    held.dedup();
    format!("Waiting for {}.", held.join(", "))
}

fn told(granted: &[ReservationAnswer], as_json: bool) -> ExitCode {
    output::answer(as_json, &json!({ "granted": granted }), || said(granted, SystemClock.now()))
}

/// What is held now, for people.
fn said(granted: &[ReservationAnswer], now: Timestamp) -> String {
    let mut lines: Vec<String> = granted
        .iter()
        .map(|one| {
            let kind = if one.exclusive { "exclusively" } else { "shared" };
            let Time(end) = one.expires_ts;
            format!("Reserved {kind} until {}: {}", until(end, now), text::unbroken(&one.path_pattern))
        })
        .collect();
    if !granted.iter().any(|one| one.exclusive) {
        lines.push("Others may still reserve and write them; --exclusive keeps them out.".to_owned());
    }
    lines.join("\n")
}

/// An end, and how long it is until then.
pub fn until(end: Timestamp, now: Timestamp) -> String {
    format!("{} (in {})", end.strftime("%H:%M:%SZ"), length(end, now))
}

/// How long it is until an end, in a few letters. What has begun is still to be waited for.
pub fn length(end: Timestamp, now: Timestamp) -> String {
    let seconds = end.as_second().saturating_sub(now.as_second()).max(1);
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", (seconds + 59) / 60),
        7_200..172_800 => format!("{} h", (seconds + 3_599) / 3_600),
        _ => format!("{} days", (seconds + 86_399) / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_a_reservation_lasts_is_read_with_its_unit() {
        let read = |text: &str| lasting(text).ok();
        assert_eq!([read("90s"), read("30m"), read("1h"), read("7d")].map(Option::unwrap), [90, 1_800, 3_600, 604_800]);
        for wrong in ["", "10", "0s", "500ms", "8d", "1.5h", "-1h", "ever"] {
            assert!(lasting(wrong).unwrap_err().contains(&format!("'{wrong}'")), "{wrong}");
        }
    }

    #[test]
    fn how_long_somebody_waits_may_be_in_seconds() {
        assert_eq!(Patience::parse("60"), Ok(Patience(Some(Duration::from_secs(60)))));
        assert_eq!(Patience::parse("5m"), Ok(Patience(Some(Duration::from_secs(300)))));
        assert_eq!(Patience::parse("ever"), Ok(Patience(None)));
        assert!(Patience::parse("long").is_err());
    }

    #[test]
    fn how_long_it_is_until_an_end_is_never_too_little() {
        let now: Timestamp = "2026-01-11T16:30:00Z".parse().unwrap();
        let length = |end: &str| length(format!("2026-01-{end}Z").parse().unwrap(), now);
        let lengths = ["11T16:29:00", "11T16:31:59", "11T16:32:01", "11T18:30:01", "13T16:30:00"].map(length);
        assert_eq!(lengths, ["1 s", "119 s", "3 min", "3 h", "2 days"]);
    }
}

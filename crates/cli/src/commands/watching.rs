//! A table that stays: drawn again when something changed it, or when time did.
//!
//! The office wakes whoever watches when something may have changed. That somebody has waited too long for help, or was
//! silent for too long, comes without a wake-up, so there is a look now and then as well. What did not change is not
//! drawn again.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::output::{self, Screen, text};
use crate::post_office::{PostOffice, Refused};

/// How late a look is at most that no wake-up brought about.
const LOOK_AGAIN: Duration = Duration::from_secs(15);
/// What is said while there is no answer.
const SHOWN_AGAIN: &str = "The table is shown again as soon as there is an answer.";
/// How long after each other two looks are, however much mail there is.
const SHORTEST_PAUSE: Duration = Duration::from_millis(250);

/// A question whose answer is a table that can stay.
pub trait WatchedTable {
    /// The answer, as programs are shown it.
    type Answer: Serialize;

    /// Asks the office.
    async fn ask(&self, post_office: &PostOffice) -> Result<Self::Answer, Refused>;

    /// The address of what changes when the answer does.
    fn watched(&self) -> String;

    /// The answer for people.
    fn text(&self, answer: &Self::Answer, now: Timestamp, screen: &Screen) -> String;

    /// The part of an answer whose change counts, where one table is printed behind the other.
    fn compared(&self, answer: &Self::Answer) -> Value {
        json!(answer)
    }
}

/// Whether the table is shown once or stays.
#[derive(Args, Debug)]
pub struct Staying {
    /// Stay, and show the table again whenever it changes; Ctrl-C ends it
    #[arg(long)]
    pub watch: bool,
}

impl Staying {
    /// Shows the table.
    pub async fn show(
        &self,
        office: &PostOffice,
        question: &impl WatchedTable,
        as_json: bool,
    ) -> anyhow::Result<ExitCode> {
        if self.watch {
            let mut drawing = Drawing { question, as_json, drawn: None, complaint: Complaint::default() };
            return until_closed(drawing.go_on(office)).await;
        }
        let answer = question.ask(office).await?;
        // Only a table that stays in its place has to fit the height of the screen.
        let screen = Screen { height: None, ..Screen::of_stdout() };
        Ok(output::answer(as_json, &json!(answer), || question.text(&answer, SystemClock.now(), &screen)))
    }
}

/// Goes on with printing until Ctrl-C, or until nobody reads it any more.
pub async fn until_closed(printing: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<ExitCode> {
    let ended = tokio::select! {
        ended = printing => ended,
        pressed = tokio::signal::ctrl_c() => Ok(pressed?),
    };
    let is_closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    match ended {
        Err(error) if !error.downcast_ref().is_some_and(is_closed) => Err(error),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// What was complained of since the last look that succeeded.
#[derive(Debug, Default)]
pub struct Complaint(Option<String>);

impl Complaint {
    /// Tells that there is no answer now, once; `meanwhile` is what a person may expect.
    pub fn tell(&mut self, refused: Refused, meanwhile: &str) {
        if let Some(complaint) = self.unless_told(refused, meanwhile) {
            output::note(&text::lines(&format!("postrider: {complaint}")));
        }
    }

    /// Forgets it. Returns whether there was one.
    pub fn is_over(&mut self) -> bool {
        self.0.take().is_some()
    }

    /// What is to be complained of; none if that would say the same again.
    fn unless_told(&mut self, refused: Refused, meanwhile: &str) -> Option<String> {
        let complaint = refused.hinted(meanwhile).to_string();
        let is_new = self.0.as_ref() != Some(&complaint);
        is_new.then(|| self.0.insert(complaint).clone())
    }
}

/// The table as it was drawn last.
struct Drawing<'a, Q> {
    question: &'a Q,
    as_json: bool,
    /// In its place on a terminal the text, where every letter counts: ages go on, and windows change their size. Behind what
    /// was printed before only what changed.
    drawn: Option<Value>,
    complaint: Complaint,
}

impl<Q: WatchedTable> Drawing<'_, Q> {
    async fn go_on(&mut self, post_office: &PostOffice) -> anyhow::Result<()> {
        let mut answer = self.question.ask(post_office).await?;
        let watch = post_office.watch([self.question.watched()]);
        loop {
            let soonest = Instant::now() + SHORTEST_PAUSE;
            self.draw(&answer)?;
            answer = loop {
                let _ = tokio::time::timeout(LOOK_AGAIN, watch.changed()).await;
                sleep_until(soonest).await;
                match self.question.ask(post_office).await {
                    Ok(answer) => break answer,
                    // A server that is being started again comes back, and the table is still right.
                    Err(refused) if refused.is_passing() => self.complaint.tell(refused, SHOWN_AGAIN),
                    Err(refused) => return Err(refused.into()),
                }
            };
        }
    }

    fn draw(&mut self, answer: &Q::Answer) -> io::Result<()> {
        let screen = Screen::of_stdout();
        match self.next(answer, SystemClock.now(), &screen) {
            Some(text) if self.is_in_place(&screen) => output::print(&format!("{}{text}", output::CLEAR)),
            Some(text) => output::print(&text),
            None => Ok(()),
        }
    }

    /// What is to be drawn now; none if that would say the same again.
    fn next(&mut self, answer: &Q::Answer, now: Timestamp, screen: &Screen) -> Option<String> {
        let text = match self.as_json {
            true => text::json_line(&json!(answer)),
            false => self.question.text(answer, now, screen),
        };
        let is_in_place = self.is_in_place(screen);
        let covers_complaint = self.complaint.is_over() && is_in_place;
        let drawing = if is_in_place { json!(text) } else { self.question.compared(answer) };
        if self.drawn.as_ref() == Some(&drawing) && !covers_complaint {
            return None;
        }
        let is_first = self.drawn.replace(drawing).is_none();
        let stands_apart = !is_first && !is_in_place && !self.as_json;
        Some(if stands_apart { format!("\n{text}") } else { text })
    }

    fn is_in_place(&self, screen: &Screen) -> bool {
        screen.height.is_some() && !self.as_json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: Screen = Screen { width: 100, height: None, is_coloured: false };
    const TERMINAL: Screen = Screen { height: Some(24), ..PIPE };

    /// A table of one line: what is answered, and how many minutes ago it began.
    struct OneLine;

    impl WatchedTable for OneLine {
        type Answer = Value;

        async fn ask(&self, _: &PostOffice) -> Result<Value, Refused> {
            Err(Refused::unanswered())
        }

        fn watched(&self) -> String {
            String::new()
        }

        fn text(&self, answer: &Value, now: Timestamp, _: &Screen) -> String {
            let began: Timestamp = "2026-01-11T16:00:00Z".parse().unwrap();
            format!("{} {}m", answer["state"], (now.as_second() - began.as_second()) / 60)
        }

        fn compared(&self, answer: &Value) -> Value {
            answer["state"].clone()
        }
    }

    fn answer(state: &str) -> Value {
        json!({ "state": state, "seen": "whenever" })
    }

    fn new(as_json: bool) -> Drawing<'static, OneLine> {
        Drawing { question: &OneLine, as_json, drawn: None, complaint: Complaint::default() }
    }

    /// What is drawn, one look after the other.
    fn drawn(as_json: bool, screen: &Screen, looks: &[(Value, &str)]) -> Vec<Option<String>> {
        let mut drawing = new(as_json);
        looks.iter().map(|(answer, now)| drawing.next(answer, now.parse().unwrap(), screen)).collect()
    }

    #[test]
    fn where_text_goes_on_only_changes_are_printed() {
        let seen_again = json!({ "state": "asked", "seen": "again" });
        let looks = [
            (answer("asked"), "2026-01-11T16:05:00Z"),
            (seen_again, "2026-01-11T16:20:00Z"),
            (answer("overdue"), "2026-01-11T16:25:00Z"),
        ];
        let printed = drawn(false, &PIPE, &looks);
        let expected = [Some("\"asked\" 5m"), None, Some("\n\"overdue\" 25m")];
        assert_eq!(printed, expected.map(|text| text.map(str::to_owned)));
        let printed = drawn(true, &TERMINAL, &looks);
        assert_eq!(printed[1], None);
        let line: Value = serde_json::from_str(printed[2].as_ref().expect("a change")).unwrap();
        assert_eq!(line["state"], "overdue");
    }

    #[test]
    fn a_table_in_its_place_is_drawn_again_when_a_letter_changed() {
        let times = ["2026-01-11T16:05:00Z", "2026-01-11T16:05:59Z", "2026-01-11T16:06:00Z"];
        let drawn = drawn(false, &TERMINAL, &times.map(|now| (answer("asked"), now)));
        assert!(drawn[0].is_some() && drawn[1].is_none(), "{drawn:?}");
        assert_eq!(drawn[2].as_deref(), Some("\"asked\" 6m"));
    }

    #[test]
    fn a_server_that_is_gone_is_told_once_and_a_table_in_its_place_covers_that() {
        let gone = Refused::unanswered;
        let now = "2026-01-11T16:05:00Z".parse().unwrap();
        for (screen, is_covered) in [(TERMINAL, true), (PIPE, false)] {
            let mut drawing = new(false);
            assert!(drawing.next(&answer("asked"), now, &screen).is_some());
            let told = drawing.complaint.unless_told(gone(), SHOWN_AGAIN).expect("it is new");
            assert!(told.contains("as soon as there is an answer") && !told.contains("Try again"), "{told}");
            assert_eq!(drawing.complaint.unless_told(gone(), SHOWN_AGAIN), None, "it was told");
            assert_eq!(drawing.next(&answer("asked"), now, &screen).is_some(), is_covered);
            assert_eq!(drawing.next(&answer("asked"), now, &screen), None);
            assert!(drawing.complaint.unless_told(gone(), SHOWN_AGAIN).is_some(), "it came back, and is gone again");
        }
    }
}

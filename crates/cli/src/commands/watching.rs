//! A table that stays: drawn again when something changed it, or when time did.
//!
//! The office rings when there may be news. That somebody has waited too long for help, or was silent for too long, comes
//! without a ring, so there is a look now and then as well. What did not change is not drawn again.

use std::io;
use std::time::Duration;

use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::output::{self, Screen, text};
use crate::post_office::{PostOffice, Refused};

/// How late a look is at most that no ring brought about.
const LOOK_AGAIN: Duration = Duration::from_secs(15);
/// How long after each other two looks are, however much mail there is.
const SHORTEST_PAUSE: Duration = Duration::from_millis(250);

/// A question whose answer is a table that can stay.
pub trait Question {
    /// What the office answers, as programs are told it.
    type Answer: Serialize;

    /// Asks the office.
    async fn ask(&self, post_office: &PostOffice) -> Result<Self::Answer, Refused>;

    /// The address of what changes when the answer does.
    fn watched(&self) -> String;

    /// The answer for people.
    fn text(&self, answer: &Self::Answer, now: Timestamp, screen: &Screen) -> anyhow::Result<String>;

    /// What of an answer is news when it changed, where one table is printed behind the other.
    fn news(&self, answer: &Self::Answer) -> Value {
        json!(answer)
    }
}

/// Prints the table once.
pub async fn show(post_office: &PostOffice, question: &impl Question, as_json: bool) -> anyhow::Result<()> {
    let answer = question.ask(post_office).await?;
    // Only a table that stays in its place has to fit the height of the screen.
    let screen = Screen { height: None, ..Screen::of_stdout() };
    let text = question.text(&answer, SystemClock.now(), &screen)?;
    output::answer(as_json, &json!(answer), || text);
    Ok(())
}

/// Shows the table until Ctrl-C, or until nobody reads it any more.
pub async fn watch(post_office: &PostOffice, question: &impl Question, as_json: bool) -> anyhow::Result<()> {
    let mut drawing = Drawing { question, as_json, drawn: None, complaint: None };
    tokio::select! {
        ended = drawing.go_on(post_office) => ended,
        pressed = tokio::signal::ctrl_c() => Ok(pressed?),
    }
}

/// The table as it was drawn last.
struct Drawing<'a, Q> {
    question: &'a Q,
    as_json: bool,
    drawn: Option<Drawn>,
    /// What was complained of since the last look that succeeded.
    complaint: Option<String>,
}

/// What was drawn.
#[derive(PartialEq)]
enum Drawn {
    /// In its place on a terminal, where every letter counts: ages go on, and windows change their size.
    Text(String),
    /// Behind what was printed before, where only news counts.
    News(Value),
}

impl<Q: Question> Drawing<'_, Q> {
    async fn go_on(&mut self, post_office: &PostOffice) -> anyhow::Result<()> {
        let mut answer = self.question.ask(post_office).await?;
        let watch = post_office.watch(&self.question.watched());
        loop {
            let soonest = Instant::now() + SHORTEST_PAUSE;
            match self.draw(answer) {
                Ok(()) => {}
                Err(error) if is_closed(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
            answer = loop {
                let _ = tokio::time::timeout(LOOK_AGAIN, watch.changed()).await;
                sleep_until(soonest).await;
                match self.question.ask(post_office).await {
                    Ok(answer) => break answer,
                    // A server that is being started again comes back, and the table is still right.
                    Err(refused) if refused.is_passing() => self.complain(refused),
                    Err(refused) => return Err(refused.into()),
                }
            };
        }
    }

    fn draw(&mut self, answer: Q::Answer) -> anyhow::Result<()> {
        let screen = Screen::of_stdout();
        match self.next(answer, SystemClock.now(), &screen)? {
            Some(text) if self.is_in_place(&screen) => Ok(output::redraw(&text)?),
            Some(text) => Ok(output::print(&text)?),
            None => Ok(()),
        }
    }

    /// What is to be drawn now; none if that would say the same again.
    fn next(&mut self, answer: Q::Answer, now: Timestamp, screen: &Screen) -> anyhow::Result<Option<String>> {
        let text =
            if self.as_json { text::json_line(&json!(answer)) } else { self.question.text(&answer, now, screen)? };
        let is_in_place = self.is_in_place(screen);
        let covers_complaint = self.complaint.take().is_some() && is_in_place;
        let drawing = if is_in_place { Drawn::Text(text.clone()) } else { Drawn::News(self.question.news(&answer)) };
        if self.drawn.as_ref() == Some(&drawing) && !covers_complaint {
            return Ok(None);
        }
        let is_first = self.drawn.replace(drawing).is_none();
        let stands_apart = !is_first && !is_in_place && !self.as_json;
        Ok(Some(if stands_apart { format!("\n{text}") } else { text }))
    }

    fn is_in_place(&self, screen: &Screen) -> bool {
        screen.height.is_some() && !self.as_json
    }

    fn complain(&mut self, refused: Refused) {
        if let Some(complaint) = self.news_of(refused) {
            output::note(&text::lines(&format!("postrider: {complaint}")));
        }
    }

    /// What is to be complained of; none if that would say the same again.
    fn news_of(&mut self, refused: Refused) -> Option<String> {
        let complaint = refused.hinted("The table is shown again as soon as there is an answer.").to_string();
        let is_news = self.complaint.as_ref() != Some(&complaint);
        is_news.then(|| self.complaint.insert(complaint).clone())
    }
}

/// Whether nobody reads the table any more.
fn is_closed(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: Screen = Screen { width: 100, height: None, is_coloured: false };
    const TERMINAL: Screen = Screen { height: Some(24), ..PIPE };

    /// A table of one line: what is answered, and how many minutes ago it began.
    struct OneLine;

    impl Question for OneLine {
        type Answer = Value;

        async fn ask(&self, _: &PostOffice) -> Result<Value, Refused> {
            Err(Refused::unanswered())
        }

        fn watched(&self) -> String {
            String::new()
        }

        fn text(&self, answer: &Value, now: Timestamp, _: &Screen) -> anyhow::Result<String> {
            let began: Timestamp = "2026-01-11T16:00:00Z".parse()?;
            Ok(format!("{} {}m", answer["state"], (now.as_second() - began.as_second()) / 60))
        }

        fn news(&self, answer: &Value) -> Value {
            answer["state"].clone()
        }
    }

    fn answer(state: &str) -> Value {
        json!({ "state": state, "seen": "whenever" })
    }

    fn new(as_json: bool) -> Drawing<'static, OneLine> {
        Drawing { question: &OneLine, as_json, drawn: None, complaint: None }
    }

    /// What is drawn, one look after the other.
    fn drawn(as_json: bool, screen: &Screen, looks: &[(Value, &str)]) -> Vec<Option<String>> {
        let mut drawing = new(as_json);
        let mut look = |(answer, now): &(Value, &str)| drawing.next(answer.clone(), now.parse().unwrap(), screen);
        looks.iter().map(|at| look(at).unwrap()).collect()
    }

    #[test]
    fn where_text_goes_on_only_news_is_printed() {
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
        let line: Value = serde_json::from_str(printed[2].as_ref().expect("news")).unwrap();
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
            assert!(drawing.next(answer("asked"), now, &screen).unwrap().is_some());
            let told = drawing.news_of(gone()).expect("it is news");
            assert!(told.contains("as soon as there is an answer") && !told.contains("Try again"), "{told}");
            assert_eq!(drawing.news_of(gone()), None, "it is no news any more");
            assert_eq!(drawing.next(answer("asked"), now, &screen).unwrap().is_some(), is_covered);
            assert_eq!(drawing.next(answer("asked"), now, &screen).unwrap(), None);
            assert!(drawing.news_of(gone()).is_some(), "it came back, and is gone again");
        }
    }
}

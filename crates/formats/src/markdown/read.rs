//! Reading a coordination message.
//!
//! Reading is lenient: what a text does not have stays empty, and what cannot be read is left out. Everything that the
//! protocol asks for and the text does not give is told as a problem; whether that matters is for the caller.

mod values;

use super::body::{unwrapped, unwrapped_below};
use super::labels::{ACCEPTED_BEAD, BEAD, ISSUE};
use super::message::usable_id;
use super::normal::{plain, with_line_feeds};
use super::outline::{Outline, Wanted};
use super::subject::Subject;
use super::table::{Form, NEXT_STEPS, Place, Rule, SHORT_NEXT_STEPS, rules, wanted, wanted_within};
use super::{Field, Kind, Message, read_timestamp};
use crate::{Parsed, Problem};
use values::{optional, without_bead_line};

/// Reads a message. Its kind comes from the subject, everything else from the body, and the piece of work from either.
pub fn read(subject: &str, body: &str) -> Parsed<Message> {
    let head = Subject::read(subject);
    let body = unwrapped(body);
    match head.kind {
        // Help is a text as it is; the others have sections, which tell whether the text below its first line is whole.
        Some(Kind::HelpResponse) => Reader::new(Kind::HelpResponse, &body, head.id).message(),
        Some(kind) => Reader::new(kind, &unwrapped_below(&body), head.id).message(),
        None => Parsed { value: unknown(&body, &head), problems: vec![no_kind(subject, head.slip)] },
    }
}

fn no_kind(subject: &str, meant: Option<Kind>) -> Problem {
    let wanted = || Kind::written().map(Kind::as_str).join(" | ");
    match meant {
        _ if subject.trim().is_empty() => Problem::missing("subject", wanted()),
        Some(kind) => Problem::wrong("subject", subject, kind.as_str()),
        None => Problem::wrong("subject", subject, wanted()),
    }
}

fn unknown(body: &str, head: &Subject<'_>) -> Message {
    let body = Outline::read(body, Wanted { labels: vec![BEAD, ACCEPTED_BEAD, ISSUE], ..Wanted::default() });
    let named = body.value(BEAD).or_else(|| body.value(ACCEPTED_BEAD));
    let text = |text: &str| Field::Text(text.to_owned());
    // Below a misspelt kind nothing of the body is printed. What it names is the work all the same.
    let is_unprinted = head.slip.is_some() && head.id.is_none();
    let (bead_id, issue_id) = if is_unprinted { (None, named) } else { (named.or(head.id), None) };
    let issue_id = issue_id.or_else(|| issue_in(&body));
    Message::new(None).with("bead_id", bead_id.map(text)).with("issue_id", issue_id.map(text))
}

/// The issue that a body names. `Issue:` also opens many a sentence, and an id has no spaces.
fn issue_in<'t>(body: &Outline<'t>) -> Option<&'t str> {
    body.value(ISSUE).filter(|id| !id.contains(char::is_whitespace))
}

/// Reads the fields of one message, in the order in which the protocol lists them.
struct Reader<'t> {
    kind: Kind,
    text: &'t str,
    body: Outline<'t>,
    /// The sections whose labels are wanted.
    sections: Vec<(&'static str, Outline<'t>)>,
    /// Where the body names the bead, if it does.
    bead_label: Option<&'static str>,
    subject_id: Option<&'t str>,
    problems: Vec<Problem>,
}

impl<'t> Reader<'t> {
    fn new(kind: Kind, text: &'t str, subject_id: Option<&'t str>) -> Self {
        let body = Outline::read(text, wanted(kind));
        let mut sections: Vec<(&str, Outline<'t>)> = Vec::new();
        for (_, place, ..) in rules(kind) {
            if let Place::Within(name, _) = place
                && sections.iter().all(|(known, _)| known != name)
            {
                let within = body.section(name).unwrap_or_default();
                sections.push((name, Outline::read(within, wanted_within(kind, name))));
            }
        }
        // A kind's own label is meant before the other one, wherever they stand.
        let labels = if kind == Kind::BeadAccepted { [ACCEPTED_BEAD, BEAD] } else { [BEAD, ACCEPTED_BEAD] };
        let bead_label = labels.into_iter().find(|label| body.value(label).is_some());
        Self { kind, text, body, sections, bead_label, subject_id, problems: Vec::new() }
    }

    fn message(mut self) -> Parsed<Message> {
        let mut message = Message::new(Some(self.kind));
        let text = |text: &str| Field::Text(text.to_owned());
        match self.kind {
            Kind::HelpResponse => {
                let guidance = plain(self.bead_label.map_or(self.text, |label| without_bead_line(self.text, label)));
                let guidance = self.required("guidance", Some(&guidance), "a text that helps");
                message = message.with("bead_id", text(self.bead_id())).with("guidance", Field::Text(guidance));
            }
            Kind::SpawnRequest | Kind::SpawnAck => {
                let (bead, issue) = self.required_issue();
                message = message.with("bead_id", text(bead)).with("issue_id", text(issue));
            }
            Kind::OfferingAccepted | Kind::RetryRequired => {
                let (bead, issue) = (self.bead_id(), issue_in(&self.body));
                if issue.is_none() {
                    self.check_id("bead_id", bead);
                }
                message = message.with("bead_id", text(bead)).with("issue_id", issue.map(text));
            }
            _ => {
                self.check_id("bead_id", self.bead_id());
                message = message.with("bead_id", text(self.bead_id()));
            }
        }
        for rule in rules(self.kind) {
            let field = self.field(rule, &message);
            message = message.with(rule.0, field);
        }
        Parsed { value: message, problems: self.problems }
    }

    /// Reads a field, with those before it.
    fn field(&mut self, (name, place, form, wanted): &Rule, message: &Message) -> Option<Field> {
        let found = self.found(*place);
        Some(match form {
            // Only work that is resumed has a commit to go on from.
            Form::Text if self.kind == Kind::SpawnRequest && *name == "partial_commit_sha" => {
                let wanted = if message.flag("resume").is_some() { *wanted } else { "" };
                Field::Text(self.required(name, found, wanted))
            }
            Form::Text => Field::Text(self.required(name, found, wanted)),
            Form::Constant(word) => Field::Text(self.constant(name, found, word)),
            Form::Fixed(word) => {
                found.map(|found| self.constant(name, Some(found), word));
                return None;
            }
            Form::Word(words) => {
                Field::Text(self.word(name, found, words, optional(found).trim().to_ascii_uppercase()))
            }
            Form::ExactWord(words) => Field::Text(self.word(name, found, words, optional(found).trim().to_owned())),
            Form::Percent => Field::Number(self.percent(name, found)?),
            Form::Number => Field::Number(self.number(name, found)?),
            Form::Verdict => match self.verdict(name, found, wanted)? {
                false if *name == "resume" => return None,
                verdict => Field::Flag(verdict),
            },
            Form::Time => Field::Text(self.time(name, found)),
            Form::List => {
                let list = match place {
                    Place::Within(section, _) => self.section(section).map(Outline::take_list).unwrap_or_default(),
                    Place::Label(_) | Place::Section(_) => self.body.take_list(),
                };
                Field::List(self.bounded(name, list))
            }
            Form::Bullets => Field::List(self.bounded(name, self.body.bullets(place.section()))),
        })
    }

    /// What stands in a place, if anything does.
    fn found(&mut self, place: Place) -> Option<&'t str> {
        match place {
            Place::Label(label) => self.body.value(label),
            Place::Section(NEXT_STEPS) => self.body.section(NEXT_STEPS).or_else(|| self.body.section(SHORT_NEXT_STEPS)),
            Place::Section(name) => self.body.section(name),
            Place::Within(name, label) => self.section(name)?.value(label),
        }
    }

    fn section(&mut self, name: &str) -> Option<&mut Outline<'t>> {
        self.sections.iter_mut().find(|(known, _)| *known == name).map(|(_, outline)| outline)
    }
}

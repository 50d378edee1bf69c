//! What a draft says, read before it is kept: its kind, its work, what is wrong with it, and what should not be in it.
//!
//! Reading is lenient: mail is refused for its content only where its sender, or the office, asked for that.

use std::fmt;

use formats::json::Rejection;
use formats::secrets::Rule;
use formats::{Kind, Parsed, Problem, Typed, json, markdown, secrets};

use super::send::Draft;
use crate::channels::is_outside;
use crate::error::{Error, shown};
use crate::messages::Message;
use crate::office::{Office, Secrets};
use crate::work;

/// What its sender should know of a message that was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// What is wrong with it as a typed message.
    pub problems: Vec<Problem>,
    /// What looks like a secret in it.
    pub secrets: Vec<Secret>,
}

/// A place that looks like a secret. Never the secret itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// Where it stands: `subject` or `body_md`.
    pub place: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// What it looks like.
    pub rule: Rule,
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, line, rule } = self;
        write!(f, "{place} line {line} looks like {} ('{}')", rule.about(), rule.as_str())
    }
}

/// What a draft says.
pub(in crate::office) struct Reading {
    pub(super) kind: Option<Kind>,
    pub(super) work_id: Option<String>,
    /// Whether nothing is wrong with it, but that it may not name its work. It does not say that there is none.
    pub(super) is_whole: bool,
    /// Whether its sender's next word of that kind takes its place on the board.
    pub(super) is_passing: bool,
    pub(in crate::office) notes: Notes,
    /// The message in JSON that it is meant as.
    pub(super) json: Option<JsonBody>,
}

/// A body that is meant as a message in JSON.
pub(super) struct JsonBody {
    /// None if it cannot be read as an object.
    pub(super) message: Option<json::Message>,
}

impl Office {
    /// Reads a draft, which may answer another message.
    pub(in crate::office) async fn read_draft(
        &self,
        draft: &Draft<'_>,
        answered: Option<&Message>,
    ) -> Result<Reading, Error> {
        self.read_as(draft, draft.subject, answered).await
    }

    /// Reads an answer that took its subject from what it answers, and so says nothing by it: "Re: DONE" is no
    /// completion.
    pub(super) async fn read_answer(&self, draft: &Draft<'_>, answered: &Message) -> Result<Reading, Error> {
        self.read_as(draft, "", Some(answered)).await
    }

    async fn read_as(&self, draft: &Draft<'_>, subject: &str, answered: Option<&Message>) -> Result<Reading, Error> {
        let secrets = self.look_for_secrets(draft)?;
        let mut typed = Typed::read(subject, draft.body);
        typed.problems.extend(wrong_sender(&typed.value, draft.from.name));
        if !secrets.is_empty() {
            withhold(&mut typed.problems);
        }
        log_unknown_type(draft, &typed.value, !secrets.is_empty());
        if draft.strict && !typed.problems.is_empty() {
            let mut rejection = rejection_of(&typed);
            if let Some(rejection) = rejection.as_mut().filter(|_| !secrets.is_empty()) {
                // Whatever stands there, it may be the secret.
                rejection.message_id = None;
            }
            return Err(Error::Malformed { problems: typed.problems, rejection });
        }
        let work_id = typed.value.work_id().map(str::to_owned);
        let own = kind_of(subject, &typed.value);
        let is_meant = own.is_some() || is_meant_as_one(subject, &typed.value);
        let problems = if is_meant { typed.problems } else { Vec::new() };
        let is_whole = !typed.value.is_about_no_work()
            && problems.iter().all(|problem| NAMES_OF_WORK.contains(&problem.path.as_str()));
        let kind = match (own, answered) {
            (None, Some(answered)) if self.helps(draft, answered).await? => {
                Some(Kind::Markdown(markdown::Kind::HelpResponse))
            }
            (own, _) => own,
        };
        let json = if is_meant { json_body(&typed.value) } else { None };
        let is_passing = work::will_pass(kind, typed.value);
        Ok(Reading { kind, work_id, is_whole, is_passing, notes: Notes { problems, secrets }, json })
    }

    /// Whether an answer in plain words is the help that was asked for: from one of those who were asked, or from a
    /// person, whom every agent asks in the end.
    async fn helps(&self, draft: &Draft<'_>, answered: &Message) -> Result<bool, Error> {
        if !work::asks(answered) {
            return Ok(false);
        }
        let part = self.part_in(draft.project_key, draft.from.name, answered.id).await?;
        if part.is_sender || part.is_open() || self.is_person {
            return Ok(!part.is_sender);
        }
        // The last holder may have read it, so that it stayed there.
        self.holds_role_of(draft.project_key, draft.from.name, answered).await
    }

    fn look_for_secrets(&self, draft: &Draft<'_>) -> Result<Vec<Secret>, Error> {
        let mut found = Vec::new();
        for (place, text) in [("subject", draft.subject), ("body_md", draft.body)] {
            let here = secrets::find(text).into_iter();
            found.extend(here.map(|finding| Secret { place, line: finding.line, rule: finding.rule }));
        }
        // What comes from outside has been said there already: to refuse it would only lose it.
        if !found.is_empty() && self.rules.secrets == Secrets::Refuse && !is_outside(draft.door) {
            return Err(Error::HoldsSecret(found));
        }
        Ok(found)
    }
}

/// What stands for what may be a secret.
const WITHHELD: &str = "[withheld: there is a secret in the message]";

/// Where a typed message names its work.
pub(super) const NAMES_OF_WORK: [&str; 3] = ["bead_id", "issue_id", "task_id"];

/// The kind that a message is kept under.
///
/// A subject may merely speak of a kind ("please mark it DONE when the tests pass", "Re: FAILED"). One that does not
/// name its kind plainly counts only if the body has something of that kind to say.
fn kind_of(subject: &str, typed: &Typed) -> Option<Kind> {
    let kind = typed.kind()?;
    let speaks = match typed {
        Typed::Markdown(message) => markdown::is_plain(subject) || message.has_fields(),
        Typed::Json { .. } | Typed::BrokenJson { .. } => true,
    };
    match kind {
        _ if speaks => Some(kind),
        // An answer to a question that says nothing of its own but its text is the help that was asked for.
        Kind::Markdown(markdown::Kind::HelpRequest) if markdown::is_answer(subject) => {
            Some(Kind::Markdown(markdown::Kind::HelpResponse))
        }
        _ => None,
    }
}

/// Whether a message without a kind was meant to have one, so that its sender wants to know what is wrong.
fn is_meant_as_one(subject: &str, typed: &Typed) -> bool {
    match typed {
        Typed::Markdown(_) => markdown::meant(subject).is_some(),
        Typed::Json { message, .. } => message.sender_id().is_some() || message.message_id().is_some(),
        Typed::BrokenJson { .. } => true,
    }
}

fn json_body(typed: &Typed) -> Option<JsonBody> {
    match typed {
        Typed::Markdown(_) => None,
        Typed::Json { message, .. } => Some(JsonBody { message: Some(message.clone()) }),
        Typed::BrokenJson { .. } => Some(JsonBody { message: None }),
    }
}

/// The problem of a message that says that another sent it.
fn wrong_sender(typed: &Typed, sender: &str) -> Option<Problem> {
    let Typed::Json { message, .. } = typed else { return None };
    let named = message.sender_id().filter(|named| *named != sender)?;
    Some(Problem::wrong("sender_id", named, format!("'{sender}', the name of who sends it")))
}

/// Tells the operator which types agents use that nobody knows.
fn log_unknown_type(draft: &Draft<'_>, typed: &Typed, has_secret: bool) {
    let Typed::Json { message, .. } = typed else { return };
    if message.kind().is_some() || !is_meant_as_one(draft.subject, typed) {
        return;
    }
    let named = if has_secret { WITHHELD.to_owned() } else { shown(message.type_name()) };
    let (sender, project) = (shown(draft.from.name), shown(draft.project_key));
    tracing::warn!(r#type = named, sender, project, door = draft.door, "a message has an unknown type");
}

fn rejection_of(typed: &Parsed<Typed>) -> Option<Rejection> {
    let message = match &typed.value {
        Typed::Markdown(_) => return None,
        Typed::Json { message, .. } => Some(message.clone()),
        Typed::BrokenJson { .. } => None,
    };
    json::rejection(&Parsed { value: message, problems: typed.problems.clone() })
}

/// A problem shows what was found, cut short, and that may be part of the secret.
pub(super) fn withhold(problems: &mut [Problem]) {
    for problem in problems {
        problem.found = problem.found.take().map(|_| WITHHELD.to_owned());
    }
}

//! What a draft says, read before it is kept: its kind, its work, what is wrong with it, and what should not be in it.
//!
//! Reading is lenient: mail is refused for its content only where its sender, or the office, asked for that.

use std::fmt;

use formats::{Kind, Parsed, Problem, Typed, json, markdown, secrets};

use super::send::{Draft, Parent};
use crate::error::Error;
use crate::office::{Office, Secrets};

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
    /// What it looks like, such as `private_key`.
    pub rule: &'static str,
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {} looks like '{}'", self.place, self.line, self.rule)
    }
}

/// What a draft says.
pub(super) struct Reading {
    pub(super) kind: Option<Kind>,
    pub(super) work_id: Option<String>,
    pub(super) notes: Notes,
}

impl Office {
    /// Reads a draft by its own subject.
    pub(super) fn read_draft(&self, draft: &Draft<'_>) -> Result<Reading, Error> {
        let secrets = self.look_for_secrets(draft)?;
        let mut typed = Typed::read(draft.subject, draft.body);
        if !secrets.is_empty() {
            withhold(&mut typed.problems);
        }
        if draft.strict && !typed.problems.is_empty() {
            let rejection = rejection_of(&typed);
            return Err(Error::Malformed { problems: typed.problems, rejection });
        }
        let work_id = typed.value.work_id().map(str::to_owned);
        let kind = kind_of(draft.subject, &typed);
        let problems =
            if kind.is_some() || is_meant_as_one(draft.subject, &typed.value) { typed.problems } else { Vec::new() };
        Ok(Reading { kind, work_id, notes: Notes { problems, secrets } })
    }

    /// Reads an answer that took its subject from what it answers, and so says nothing by it: "Re: DONE" is no
    /// completion, and an answer to somebody who asked for help is that help.
    pub(super) fn read_answer(&self, draft: &Draft<'_>, parent: &Parent) -> Result<Reading, Error> {
        let secrets = self.look_for_secrets(draft)?;
        let typed = Typed::read("", draft.body);
        let helps = parent.kind.is_some_and(asks_for_help) && parent.from != draft.from.name;
        let kind = typed.value.kind().or(helps.then_some(Kind::Markdown(markdown::Kind::HelpResponse)));
        let mut problems = if typed.value.kind().is_some() { typed.problems } else { Vec::new() };
        if !secrets.is_empty() {
            withhold(&mut problems);
        }
        let work_id = typed.value.work_id().map(str::to_owned);
        Ok(Reading { kind, work_id, notes: Notes { problems, secrets } })
    }

    fn look_for_secrets(&self, draft: &Draft<'_>) -> Result<Vec<Secret>, Error> {
        let mut found = Vec::new();
        for (place, text) in [("subject", draft.subject), ("body_md", draft.body)] {
            let here = secrets::find(text).into_iter();
            found.extend(here.map(|finding| Secret { place, line: finding.line, rule: finding.rule.as_str() }));
        }
        if !found.is_empty() && self.rules.secrets == Secrets::Refuse {
            return Err(Error::HoldsSecret { secrets: found });
        }
        Ok(found)
    }
}

/// A subject that answers another counts as that kind only if the message is one in full: most are not, but comments.
fn kind_of(subject: &str, typed: &Parsed<Typed>) -> Option<Kind> {
    let kind = typed.value.kind()?;
    let is_comment =
        matches!(typed.value, Typed::Markdown(_)) && markdown::is_answer(subject) && !typed.problems.is_empty();
    match kind {
        _ if !is_comment => Some(kind),
        Kind::Markdown(markdown::Kind::HelpRequest) => Some(Kind::Markdown(markdown::Kind::HelpResponse)),
        _ => None,
    }
}

fn asks_for_help(kind: Kind) -> bool {
    matches!(kind, Kind::Markdown(markdown::Kind::HelpRequest) | Kind::Json(json::Type::ErrorReport))
}

/// Whether a message without a kind was meant to have one, so that its sender wants to know what is wrong.
fn is_meant_as_one(subject: &str, typed: &Typed) -> bool {
    match typed {
        Typed::Markdown(_) => markdown::meant(subject).is_some(),
        Typed::Json { .. } => true,
    }
}

fn rejection_of(typed: &Parsed<Typed>) -> Option<json::Rejection> {
    match &typed.value {
        Typed::Markdown(_) => None,
        Typed::Json { message, .. } => {
            json::rejection(&Parsed { value: Some((**message).clone()), problems: typed.problems.clone() })
        }
    }
}

/// A problem shows what was found, cut short, and that may be part of the secret.
fn withhold(problems: &mut [Problem]) {
    for problem in problems {
        problem.found = problem.found.take().map(|_| "[withheld: there is a secret in the message]".to_owned());
    }
}

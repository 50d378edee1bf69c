//! What is told of a message that was sent: the receipt, and how the wait for an answer ended.

use std::process::ExitCode;

use api::answers::{ProblemAnswer, SentAnswer, WarningAnswer};
use mail::channels::SIGN;
use mail::clock::{Clock, SystemClock};
use mail::provider::Letter;
use serde::Serialize;
use serde_json::{Value, json};

use super::following::{copy_to_value, state};
use super::letter::Seen;
use super::sending::Afterwards;
use super::waiting::Ended;
use super::{Visit, waiting};
use crate::output::{self, text};

/// What was sent: one message of our own office, or a letter for each recipient elsewhere.
pub struct Sent {
    /// The id of each; never empty.
    pub ids: Vec<String>,
    /// Who got it.
    pub to: Vec<String>,
    /// The conversation of each.
    pub threads: Vec<String>,
    /// When, RFC 3339.
    created_at: String,
    /// Whether the sender waits for an acknowledgement.
    pub wants_ack: bool,
    warnings: Vec<Warning>,
}

/// What its sender should think about, or what is wrong with it as a typed message.
#[derive(Serialize)]
struct Warning {
    #[serde(flatten)]
    fact: WarningAnswer,
    /// The field of a typed message that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

impl From<SentAnswer> for Sent {
    fn from(SentAnswer { message, warnings, problems, .. }: SentAnswer) -> Self {
        let problems = problems.into_iter().map(|ProblemAnswer { path, message }| {
            let fact = WarningAnswer { code: "MALFORMED_MESSAGE".into(), message, hint: "".into() };
            Warning { fact, path: Some(path) }
        });
        let warnings = warnings.into_iter().map(|fact| Warning { fact, path: None });
        Self {
            ids: vec![message.id.to_string()],
            to: message.to.into_iter().chain(message.cc).collect(),
            threads: vec![message.thread_id],
            created_at: message.created_ts.0.to_string(),
            wants_ack: message.ack_required,
            warnings: warnings.chain(problems).collect(),
        }
    }
}

impl Sent {
    pub fn of_letters(letters: &[Letter]) -> Self {
        Self {
            ids: letters.iter().map(|letter| letter.id.clone()).collect(),
            to: letters.iter().map(|letter| letter.to.clone()).collect(),
            threads: letters.iter().map(|letter| letter.thread.clone()).collect(),
            created_at: letters.first().map(|letter| letter.created_at.to_string()).unwrap_or_default(),
            wants_ack: false,
            warnings: Vec::new(),
        }
    }

    /// Tells what was sent, and the answer if that is waited for.
    pub async fn told(self, visit: &Visit<'_>, afterwards: &Afterwards) -> anyhow::Result<ExitCode> {
        if !visit.as_json {
            for Warning { fact, .. } in &self.warnings {
                let message = text::unbroken(&fact.message);
                let told = format!("Warning: {}. {}", message.trim_end_matches('.'), text::unbroken(&fact.hint));
                output::note(told.trim_end());
            }
        }
        if afterwards.notify {
            self.notify(visit);
        }
        let Some(seconds) = afterwards.wait else {
            output::answer(visit.as_json, &self.to_value(), || self.receipt());
            return Ok(ExitCode::SUCCESS);
        };
        if !visit.as_json {
            // The answer has standard output for itself.
            output::note(&self.receipt());
        }
        let ended = waiting::answer_to(visit, &self, seconds).await?;
        self.told_how(visit, ended, seconds).await
    }

    /// Tells how the wait for the answer ended.
    async fn told_how(&self, visit: &Visit<'_>, ended: Ended, seconds: u64) -> anyhow::Result<ExitCode> {
        let mut json = self.to_value();
        json["answer"] = Value::Null;
        match ended {
            Ended::Answered(answer) => {
                let id = answer.id.clone();
                let answer = Seen { letter: Letter { read: true, ..answer }, sent: None, is_own: true };
                json["answer"] = answer.to_value();
                if output::answered(visit.as_json, &json, || answer.whole(SystemClock.now())) {
                    visit.provider().read(&id).await?;
                }
            }
            Ended::Acknowledged(copy) => {
                json["acknowledged"] = copy_to_value(&copy);
                output::answer(visit.as_json, &json, || {
                    text::unbroken(&format!("{}: {}", copy.name, state(&copy, true)))
                });
            }
            Ended::Empty => {
                if visit.as_json {
                    output::answer(true, &json, String::new);
                } else {
                    output::note(&format!("No answer came within {seconds} s. One that comes later is in your inbox."));
                }
                return Ok(ExitCode::FAILURE);
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Nudges those who got it. The mail is sent, whatever becomes of that.
    fn notify(&self, visit: &Visit<'_>) {
        let agents: Vec<&String> = self.to.iter().filter(|name| !name.starts_with(SIGN)).collect();
        for (place, name) in agents.iter().enumerate() {
            let id = match self.ids.as_slice() {
                [id] if agents.len() > 1 => format!("{id}.{}", place + 1),
                ids => ids[place.min(ids.len() - 1)].clone(),
            };
            let missing = match visit.notifier.nudge(visit.project, name, &id) {
                Ok(true) => continue,
                Ok(false) => format!("the settings do not say how; add [nudge.{name}] to postrider.toml"),
                Err(error) => format!("{error:#}"),
            };
            output::note(&text::unbroken(&format!("{name} is not nudged: {missing}.")));
        }
    }

    fn to_value(&self) -> Value {
        let mut value = json!({
            "id": self.ids[0], "to": self.to, "thread_id": self.threads[0], "created_at": self.created_at,
            "warnings": self.warnings,
        });
        if self.ids.len() > 1 {
            value["ids"] = json!(self.ids);
        }
        value
    }

    /// What a person is told.
    pub fn receipt(&self) -> String {
        let noun = if self.ids.len() == 1 { "Message" } else { "Messages" };
        let verb = if self.ids.len() == 1 { "is" } else { "are" };
        let mut receipt = format!("{noun} {} {verb} sent to {}", self.ids.join(", "), self.to.join(", "));
        match self.threads.as_slice() {
            [thread] if !thread.is_empty() => receipt.push_str(&format!(", in thread '{thread}'.")),
            _ => receipt.push('.'),
        }
        if self.wants_ack {
            receipt.push_str(" It asks for an acknowledgement.");
        }
        text::unbroken(&receipt)
    }
}

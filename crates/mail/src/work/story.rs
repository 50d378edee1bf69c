//! What a message says of the work, in a line.

use formats::json::{self, Type};
use formats::markdown::{self, Kind};
use formats::{Typed, cut};

use crate::messages::Message;

/// How long a gist may be, in characters.
const LONGEST: usize = 200;

/// What a message says, on one line without control characters.
pub fn gist(message: &Message) -> String {
    let told = match Typed::read(&message.subject, &message.body).value {
        Typed::Markdown(said) => of_markdown(&said),
        Typed::Json { message: said, .. } => of_json(&said),
        Typed::BrokenJson { .. } => vec![],
    };
    let told: Vec<String> = told.into_iter().flatten().collect();
    one_line(&if told.is_empty() { first_words(message) } else { told.join(" · ") })
}

fn of_markdown(said: &markdown::Message) -> Vec<Option<String>> {
    let field = |name: &str| text(said.text(name));
    match said.kind() {
        Some(Kind::BeadAccepted) => vec![field("title")],
        Some(Kind::Progress) => {
            let usage = said.number("context_usage").map(|percent| format!("context {percent}%"));
            vec![field("step"), field("status"), usage]
        }
        Some(Kind::HelpRequest) => vec![field("issue_type"), field("question").or(field("problem"))],
        Some(Kind::HelpResponse) => vec![field("guidance")],
        Some(Kind::OfferingReady | Kind::Done | Kind::Completed) => {
            let check = |(word, name): (&str, &str)| {
                said.flag(name).map(|passed| format!("{word} {}", if passed { "pass" } else { "FAIL" }))
            };
            let checks = [("tests", "tests_pass"), ("lint", "lint_pass"), ("build", "build_pass")].map(check);
            [field("commit_sha")].into_iter().chain(checks).chain([field("summary")]).collect()
        }
        Some(Kind::Failed) => vec![field("failure_type"), field("reason")],
        Some(Kind::Checkpoint) => vec![
            field("checkpoint_reason"),
            field("partial_commit_sha"),
            field("progress"),
            field("next_steps").map(|steps| format!("next: {steps}")),
        ],
        Some(Kind::SpawnRequest) => vec![
            said.flag("resume").map(|_| format!("resume {}", said.text("partial_commit_sha"))),
            field("orchestrator").map(|who| format!("for {who}")),
        ],
        Some(Kind::SpawnAck) => vec![field("status"), field("session")],
        Some(Kind::OfferingAccepted) => vec![field("commit_sha")],
        Some(Kind::RetryRequired) => vec![field("reason")],
        None => vec![],
    }
}

fn of_json(said: &json::Message) -> Vec<Option<String>> {
    let percent = said.percentage().map(|percent| format!("{percent}%"));
    match said.kind() {
        Some(Type::TaskAssignment) => vec![text(said.choice("priority")), text(said.text("description"))],
        Some(Type::TaskCompletion) => vec![text(said.choice("status")), text(said.text("completion_summary"))],
        Some(Type::ErrorReport) => vec![text(said.text("error.code")), text(said.text("error.message"))],
        Some(Type::StatusUpdate) => {
            vec![percent, text(said.text("progress.current_step")), text(said.text("status_summary"))]
        }
        Some(Type::CoordinationRequest) => vec![text(said.text("coordination_topic"))],
        Some(Type::FileReservation) => said.files_request().map_or_else(Vec::new, |request| {
            let mode = if request.wanted.exclusive { "exclusive" } else { "shared" };
            vec![text(mode), text(&request.wanted.patterns.join(", "))]
        }),
        None => vec![],
    }
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// The beginning of a message that is no typed one: its subject is mostly the thread's, so its body tells more.
fn first_words(message: &Message) -> String {
    let line = message.body.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or(&message.subject).to_owned()
}

fn one_line(text: &str) -> String {
    cut(text.chars().map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }), LONGEST)
}

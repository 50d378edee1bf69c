//! What a message says of the work, in a line.

use formats::{Typed, json, markdown};

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
    use markdown::Message as Said;
    match said {
        Said::BeadAccepted(accepted) => vec![text(&accepted.title)],
        Said::Progress(at) => vec![text(&at.step), text(&at.status), at.context_usage.map(|n| format!("context {n}%"))],
        Said::HelpRequest(asks) => vec![word(&asks.issue_type), text(&asks.question).or(text(&asks.problem))],
        Said::HelpResponse(answer) => vec![text(&answer.guidance)],
        Said::OfferingReady(done) | Said::Done(done) => {
            let checks = [("tests", done.tests), ("lint", done.lint), ("build", done.build)];
            let checks = checks
                .into_iter()
                .map(|(name, passed)| passed.map(|passed| format!("{name} {}", if passed { "pass" } else { "FAIL" })));
            [text(&done.commit_sha)].into_iter().chain(checks).chain([text(&done.summary)]).collect()
        }
        Said::Failed(failed) => vec![word(&failed.failure_type), text(&failed.reason)],
        Said::Checkpoint(left) => vec![
            word(&left.reason),
            text(&left.partial_commit_sha),
            text(&left.progress),
            text(&left.next_steps).map(|steps| format!("next: {steps}")),
        ],
        Said::SpawnRequest(wish) => vec![
            wish.resume.then(|| format!("resume {}", wish.partial_commit_sha)),
            text(&wish.orchestrator).map(|who| format!("for {who}")),
        ],
        Said::SpawnAck(ack) => vec![word(&ack.status), text(&ack.session)],
        Said::Unknown(_) => vec![],
    }
}

fn of_json(said: &json::Message) -> Vec<Option<String>> {
    use json::Message as Said;
    match said {
        Said::TaskAssignment(task) => vec![word(&task.priority), text(&task.description)],
        Said::TaskCompletion(done) => vec![word(&done.status), text(&done.completion_summary)],
        Said::ErrorReport(report) => vec![text(report.code()), text(report.message())],
        Said::StatusUpdate(update) => vec![
            update.percentage().map(|percent| format!("{percent}%")),
            update.current_step().and_then(text),
            text(&update.status_summary),
        ],
        Said::CoordinationRequest(request) => vec![text(&request.coordination_topic)],
        Said::FileReservation(_) | Said::Unknown(_) => vec![],
    }
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn word(word: &Option<impl ToString>) -> Option<String> {
    word.as_ref().map(ToString::to_string)
}

/// The beginning of a message that is no typed one: its subject is mostly the thread's, so its body tells more.
fn first_words(message: &Message) -> String {
    let line = message.body.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or(&message.subject).to_owned()
}

fn one_line(text: &str) -> String {
    let mut line: String =
        text.chars().take(LONGEST).map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    line
}

//! What one typed message says of the work, whichever format it is written in.
//!
//! It knows nothing of what was said before: putting words together is the board's business.

use formats::json::{self, Severity, Status, UpdateType};
use formats::markdown::{self, SpawnStatus};
use formats::{Kind, Typed};

use super::{Checkpoint, Failure, Outcome, Progress, State};
use crate::messages::Message;

/// What a message says of the work.
pub(super) enum Said {
    /// Somebody arranges for the work to be done by another: by whom, if it says, and what it is called.
    Arranged { state: State, agent: Option<String>, title: String },
    /// A worker takes it on, or comes to an end with it.
    Becomes { state: State, title: String },
    /// A worker is at it.
    GoesOn(Progress),
    /// A worker is at it again, and what it asked for came by itself.
    Unblocked(Progress),
    /// A worker is stuck.
    Asks { issue: String, problem: String, question: String },
    /// Somebody helps.
    Answers,
    /// It is about the work, and does not say how it stands.
    Nothing,
}

/// Whether a message that was kept tells only how far its sender is, so that its next word of that kind takes its place.
pub fn is_passing(message: &Message) -> bool {
    matches!(Said::by(message), Said::GoesOn(_))
}

/// The same of a message that is to be kept under this kind.
pub(crate) fn will_pass(kind: Option<Kind>, typed: Typed) -> bool {
    matches!(Said::under(kind, || typed, &[]), Said::GoesOn(_))
}

/// Whether the sender of a message is stuck and waits for an answer.
pub(crate) fn asks(message: &Message) -> bool {
    matches!(Said::by(message), Said::Asks { .. })
}

impl Said {
    /// What a message that was kept says.
    pub(super) fn by(message: &Message) -> Self {
        Self::under(message.kind, || Typed::read(&message.subject, &message.body).value, &message.to)
    }

    /// What a message says under the kind that it is kept under.
    fn under(kind: Option<Kind>, typed: impl FnOnce() -> Typed, to: &[String]) -> Self {
        match kind {
            None => Self::Nothing,
            // An answer that took its subject from the question is kept as one, and reads as something else.
            Some(Kind::Markdown(markdown::Kind::HelpResponse)) => Self::Answers,
            Some(_) => Self::of(typed(), to),
        }
    }

    fn of(typed: Typed, to: &[String]) -> Self {
        match typed {
            Typed::Markdown(message) => Self::of_markdown(message),
            Typed::Json { message, .. } => Self::of_json(*message, to),
            Typed::BrokenJson { .. } => Self::Nothing,
        }
    }

    fn becomes(state: State) -> Self {
        Self::Becomes { state, title: String::new() }
    }

    fn arranged(state: State) -> Self {
        Self::Arranged { state, agent: None, title: String::new() }
    }

    fn of_markdown(message: markdown::Message) -> Self {
        use markdown::Message as Word;
        match message {
            Word::BeadAccepted(accepted) => Self::Becomes { state: State::Accepted, title: accepted.title },
            Word::Progress(at) => Self::GoesOn(Progress {
                percent: None,
                step: at.step,
                status: at.status,
                context_usage: at.context_usage,
            }),
            Word::HelpRequest(asks) => {
                Self::Asks { issue: word_of(asks.issue_type), problem: asks.problem, question: asks.question }
            }
            Word::HelpResponse(_) => Self::Answers,
            Word::OfferingReady(offering) => Self::becomes(State::Done(outcome(offering, true))),
            Word::Done(offering) => Self::becomes(State::Done(outcome(offering, false))),
            Word::Failed(failed) => Self::becomes(State::Failed(Failure {
                failure_type: word_of(failed.failure_type),
                reason: failed.reason,
                recommendation: failed.recommendation,
                commit: failed.partial_commit_sha,
            })),
            Word::Checkpoint(left) => Self::becomes(State::Checkpointed(Checkpoint {
                reason: word_of(left.reason),
                commit: left.partial_commit_sha,
                progress: left.progress,
                next_steps: left.next_steps,
            })),
            Word::SpawnRequest(wish) => Self::arranged(State::SpawnRequested {
                orchestrator: wish.orchestrator,
                from_commit: wish.partial_commit_sha,
            }),
            Word::SpawnAck(ack) => Self::of_spawn_ack(ack),
            Word::Unknown(_) => Self::Nothing,
        }
    }

    fn of_spawn_ack(ack: markdown::SpawnAck) -> Self {
        let status = word_of(ack.status);
        if status.eq_ignore_ascii_case(SpawnStatus::Failed.as_str()) {
            let reason = "no worker could be started".to_owned();
            let failure_type = "SPAWN_FAILED".to_owned();
            Self::arranged(State::Failed(Failure { failure_type, reason, ..Failure::default() }))
        } else if status.eq_ignore_ascii_case(SpawnStatus::Spawned.as_str()) {
            Self::arranged(State::Spawned { session: ack.session })
        } else {
            Self::Nothing
        }
    }

    fn of_json(message: json::Message, to: &[String]) -> Self {
        use json::Message as Word;
        match message {
            Word::TaskAssignment(task) => {
                Self::Arranged { state: State::Assigned, agent: to.first().cloned(), title: task.description }
            }
            Word::StatusUpdate(update) => Self::of_update(update),
            Word::ErrorReport(report) => {
                let stops = matches!(report.severity, Some(Severity::High | Severity::Blocking));
                if !stops && !report.needs_human_intervention() {
                    return Self::Nothing;
                }
                let (issue, problem) = (report.code().to_owned(), report.message().to_owned());
                Self::Asks { issue, problem, question: report.suggested_actions().join("; ") }
            }
            Word::TaskCompletion(completion) => Self::of_completion(completion),
            Word::CoordinationRequest(_) | Word::FileReservation(_) | Word::Unknown(_) => Self::Nothing,
        }
    }

    fn of_update(update: json::StatusUpdate) -> Self {
        let step = update.current_step().unwrap_or_default().to_owned();
        let percent = update.percentage();
        let blockers = update.blocker_lines().join("; ");
        let status = update.status_summary;
        match update.update_type {
            Some(UpdateType::Blocker) => Self::Asks { issue: BLOCKED.to_owned(), problem: status, question: blockers },
            Some(UpdateType::Unblocker) => Self::Unblocked(Progress { percent, step, status, context_usage: None }),
            _ => Self::GoesOn(Progress { percent, step, status, context_usage: None }),
        }
    }

    fn of_completion(completion: json::TaskCompletion) -> Self {
        let tests = tests_passed(&completion);
        let summary = completion.completion_summary;
        match completion.status {
            Some(Status::Complete) => Self::becomes(State::Done(Outcome { tests, summary, ..Outcome::default() })),
            Some(Status::Partial) => {
                Self::becomes(State::Checkpointed(Checkpoint { progress: summary, ..Checkpoint::default() }))
            }
            Some(Status::Blocked) => {
                Self::Asks { issue: BLOCKED.to_owned(), problem: summary, question: String::new() }
            }
            // Whatever word stands there, it is none that says that the work is done.
            None => Self::Nothing,
        }
    }
}

/// What sort of trouble a blocker is, in the words of a help request.
const BLOCKED: &str = "BLOCKED";

fn word_of(word: Option<impl ToString>) -> String {
    word.map_or_else(String::new, |word| word.to_string())
}

fn outcome(offering: markdown::Offering, offered: bool) -> Outcome {
    Outcome {
        commit: offering.commit_sha,
        tests: offering.tests,
        lint: offering.lint,
        build: offering.build,
        summary: offering.summary,
        offered,
    }
}

/// Whether no test failed, if any group of tests says how many did.
fn tests_passed(completion: &json::TaskCompletion) -> Option<bool> {
    let results = completion.test_results.as_ref()?;
    let groups = [&results.unit_tests, &results.integration_tests];
    let failed = groups.into_iter().flatten().filter_map(|group| group.get("failed")?.as_f64());
    failed.map(|count| count == 0.0).reduce(|all, one| all && one)
}

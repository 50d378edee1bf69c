//! What one typed message says of the work, whichever format it is written in.
//!
//! It knows nothing of what was said before: putting words together is the board's business.

use formats::json::{self, Type};
use formats::markdown::{self, Kind as Word};
use formats::{Kind, Typed};

use super::{Checkpoint, Failure, MOST_DEPENDENCIES, Progress, State, Task, WorkOutcome};
use crate::messages::Message;

/// The major version of the format that is read here.
const OWN_MAJOR: u64 = 1;

/// What a message says of the work.
pub(super) enum Said {
    /// Somebody arranges for the work to be done by another.
    Arranged(State),
    /// Somebody is given the work, as it says.
    Assigned { agent: Option<String>, title: String, task: Task },
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
    /// Somebody accepts the work that a worker offered.
    Accepts { commit: String },
    /// Somebody sends the work back to its worker.
    SendsBack,
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

/// Whether a message in JSON is of another major version, whose words may mean something else: nobody can act on it.
fn is_foreign(typed: &Typed) -> bool {
    let Typed::Json { message, .. } = typed else { return false };
    let major = message.text("version").split('.').next().and_then(|major| major.parse::<u64>().ok());
    major.is_some_and(|major| major != OWN_MAJOR)
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
            None | Some(Kind::Channel(_)) => Self::Nothing,
            // An answer that took its subject from the question is kept as one, and reads as something else.
            Some(Kind::Markdown(markdown::Kind::HelpResponse)) => Self::Answers,
            Some(_) => Self::of(typed(), to),
        }
    }

    fn of(typed: Typed, to: &[String]) -> Self {
        match typed {
            foreign if is_foreign(&foreign) => Self::Nothing,
            Typed::Markdown(message) => Self::of_markdown(&message),
            Typed::Json { message, .. } => Self::of_json(&message, to),
            Typed::BrokenJson { .. } => Self::Nothing,
        }
    }

    fn becomes(state: State) -> Self {
        Self::Becomes { state, title: String::new() }
    }

    fn of_markdown(message: &markdown::Message) -> Self {
        let text = |name: &str| message.text(name).to_owned();
        let context_usage = message.number("context_usage").and_then(|usage| u8::try_from(usage).ok());
        match message.kind() {
            Some(Word::BeadAccepted) => Self::Becomes { state: State::Accepted, title: text("title") },
            Some(Word::Progress) => {
                let (step, status) = (text("step"), text("status"));
                Self::GoesOn(Progress { step, status, context_usage, ..Progress::default() })
            }
            Some(Word::HelpRequest) => {
                Self::Asks { issue: text("issue_type"), problem: text("problem"), question: text("question") }
            }
            Some(Word::HelpResponse) => Self::Answers,
            Some(kind @ (Word::OfferingReady | Word::Done | Word::Completed)) => {
                Self::becomes(State::Done(WorkOutcome {
                    commit: text("commit_sha"),
                    tests: message.flag("tests_pass"),
                    lint: message.flag("lint_pass"),
                    build: message.flag("build_pass"),
                    summary: text("summary"),
                    offered: kind == Word::OfferingReady,
                }))
            }
            Some(Word::Failed) => Self::becomes(State::Failed(Failure {
                failure_type: text("failure_type"),
                reason: text("reason"),
                recommendation: text("recommendation"),
                commit: text("partial_commit_sha"),
            })),
            Some(Word::Checkpoint) => Self::becomes(State::Checkpointed(Checkpoint {
                reason: text("checkpoint_reason"),
                commit: text("partial_commit_sha"),
                progress: text("progress"),
                next_steps: text("next_steps"),
            })),
            Some(Word::SpawnRequest) => Self::Arranged(State::SpawnRequested {
                orchestrator: text("orchestrator"),
                from_commit: text("partial_commit_sha"),
            }),
            Some(Word::SpawnAck) if text("status").eq_ignore_ascii_case("failed") => {
                let (failure_type, reason) = ("SPAWN_FAILED".to_owned(), "no worker could be started".to_owned());
                Self::Arranged(State::Failed(Failure { failure_type, reason, ..Failure::default() }))
            }
            Some(Word::SpawnAck) if text("status").eq_ignore_ascii_case("spawned") => {
                Self::Arranged(State::Spawned { session: text("session") })
            }
            Some(Word::OfferingAccepted) => Self::Accepts { commit: text("commit_sha") },
            Some(Word::RetryRequired) => Self::SendsBack,
            Some(Word::SpawnAck) | None => Self::Nothing,
        }
    }

    fn of_json(message: &json::Message, to: &[String]) -> Self {
        let text = |path: &str| message.text(path).to_owned();
        match message.kind() {
            Some(Type::TaskAssignment) => {
                Self::Assigned { agent: to.first().cloned(), title: text("description"), task: task_of(message) }
            }
            Some(Type::StatusUpdate) => Self::of_update(message),
            Some(Type::ErrorReport) => {
                let stops = matches!(message.text("severity"), "high" | "blocking");
                if !stops && !message.is_set("needs_human_intervention") {
                    return Self::Nothing;
                }
                let question = message.texts("suggested_actions").join("; ");
                Self::Asks { issue: text("error.code"), problem: text("error.message"), question }
            }
            Some(Type::TaskCompletion) => Self::of_completion(message),
            Some(Type::CoordinationRequest | Type::FileReservation) | None => Self::Nothing,
        }
    }

    fn of_update(update: &json::Message) -> Self {
        let status = update.text("status_summary").to_owned();
        let step = update.text("progress.current_step").to_owned();
        match update.text("update_type") {
            "blocker" => {
                let question = update.lines("blockers").join("; ");
                Self::Asks { issue: BLOCKED.to_owned(), problem: status, question }
            }
            word => {
                let expected_at = update.time("progress.estimated_completion");
                let progress =
                    Progress { percent: update.percentage(), step, status, context_usage: None, expected_at };
                if word == "unblocker" { Self::Unblocked(progress) } else { Self::GoesOn(progress) }
            }
        }
    }

    fn of_completion(completion: &json::Message) -> Self {
        let summary = completion.text("completion_summary").to_owned();
        match completion.text("status") {
            "complete" => {
                let tests = tests_passed(completion);
                Self::becomes(State::Done(WorkOutcome { tests, summary, ..WorkOutcome::default() }))
            }
            "partial" => Self::becomes(State::Checkpointed(Checkpoint { progress: summary, ..Checkpoint::default() })),
            "blocked" => Self::Asks { issue: BLOCKED.to_owned(), problem: summary, question: String::new() },
            // Whatever word stands there, it is none that says that the work is done.
            _ => Self::Nothing,
        }
    }
}

fn task_of(assignment: &json::Message) -> Task {
    let texts = |path: &str| assignment.texts(path).into_iter().map(str::to_owned);
    Task {
        priority: assignment.choice("priority").to_owned(),
        dependencies: texts("dependencies").filter(|id| !id.is_empty()).take(MOST_DEPENDENCIES).collect(),
        deadline: assignment.time("deadline"),
        estimated_minutes: assignment.number("estimated_duration_minutes"),
        acceptance_criteria: texts("specification.acceptance_criteria").collect(),
    }
}

/// What sort of trouble a blocker is, in the words of a help request.
const BLOCKED: &str = "BLOCKED";

/// Whether no test failed, if any group of tests says how many did.
fn tests_passed(completion: &json::Message) -> Option<bool> {
    let groups = ["test_results.unit_tests.failed", "test_results.integration_tests.failed"];
    let failed = groups.into_iter().filter_map(|group| completion.number(group));
    failed.map(|count| count == 0.0).reduce(|all, one| all && one)
}

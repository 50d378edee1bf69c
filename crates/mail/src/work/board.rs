//! How it stands with a piece of work, told by the words about it in the order in which they were said.
//!
//! The last word counts, with two exceptions: a question stays open until somebody else answers it or the work comes to
//! an end, and what says nothing about the state (a wish for files, a request to coordinate) changes nothing.

use formats::json::{self, Severity, Status, UpdateType};
use formats::markdown::{self, SpawnStatus};
use formats::{Kind, Typed};

use super::{Checkpoint, Failure, Outcome, Progress, Question, State, WorkItem, WorkRecord};
use crate::messages::Message;

/// The item that a record tells of; `None` if nothing in it says how the work stands.
pub fn item_of(record: WorkRecord) -> Option<WorkItem> {
    let mut board = Board::default();
    let mut said_by = None;
    for word in &record.words {
        if board.hear(word) {
            said_by = Some(word);
        }
    }
    let state = board.question.map(State::HelpWanted).or(board.state)?;
    let said_by = said_by?;
    Some(WorkItem {
        id: record.id,
        title: board.title,
        state,
        agent: board.agent,
        changed_at: said_by.created_at,
        changed_by: said_by.id,
        open_acks: record.open_acks,
    })
}

/// What was heard so far.
#[derive(Default)]
struct Board {
    state: Option<State>,
    question: Option<Question>,
    title: String,
    agent: String,
}

impl Board {
    /// Takes in the next word, and tells whether it changed something.
    fn hear(&mut self, word: &Message) -> bool {
        if word.kind == Some(Kind::Markdown(markdown::Kind::HelpResponse)) {
            // An answer that took its subject from the question is kept as one, and reads as something else.
            return self.answered_by(word);
        }
        match Typed::read(&word.subject, &word.body).value {
            Typed::Markdown(message) => self.hear_markdown(word, message),
            Typed::Json { message, .. } => self.hear_json(word, *message),
        }
    }

    fn hear_markdown(&mut self, word: &Message, message: markdown::Message) -> bool {
        use markdown::Message as Said;
        match message {
            Said::BeadAccepted(accepted) => {
                self.call(accepted.title);
                self.becomes(word, State::Accepted)
            }
            Said::Progress(at) => {
                let (step, status, context_usage) = (at.step, at.status, at.context_usage);
                self.goes_on(word, Progress { percent: None, step, status, context_usage })
            }
            Said::HelpRequest(asks) => self.asks(word, word_of(asks.issue_type), asks.problem, asks.question),
            Said::OfferingReady(offering) => self.becomes(word, State::Done(outcome(offering, true))),
            Said::Done(offering) => self.becomes(word, State::Done(outcome(offering, false))),
            Said::Failed(failed) => self.becomes(
                word,
                State::Failed(Failure {
                    failure_type: word_of(failed.failure_type),
                    reason: failed.reason,
                    recommendation: failed.recommendation,
                    commit: failed.partial_commit_sha,
                }),
            ),
            Said::Checkpoint(left) => self.becomes(
                word,
                State::Checkpointed(Checkpoint {
                    reason: word_of(left.reason),
                    commit: left.partial_commit_sha,
                    progress: left.progress,
                    next_steps: left.next_steps,
                }),
            ),
            Said::SpawnRequest(wish) => {
                let (orchestrator, from_commit) = (wish.orchestrator, wish.partial_commit_sha);
                self.is_arranged(State::SpawnRequested { orchestrator, from_commit })
            }
            Said::SpawnAck(ack) if ack.status == Some(SpawnStatus::Failed) => {
                let failure_type = "SPAWN_FAILED".to_owned();
                let reason = "no worker could be started".to_owned();
                self.is_arranged(State::Failed(Failure { failure_type, reason, ..Failure::default() }))
            }
            Said::SpawnAck(ack) => self.is_arranged(State::Spawned { session: ack.session }),
            Said::HelpResponse(_) | Said::Unknown(_) => false,
        }
    }

    fn hear_json(&mut self, word: &Message, message: json::Message) -> bool {
        use json::Message as Said;
        match message {
            Said::TaskAssignment(task) => {
                self.call(task.description);
                self.agent = word.to.first().cloned().unwrap_or_default();
                self.is_arranged(State::Assigned)
            }
            Said::StatusUpdate(update) => self.hear_update(word, update),
            Said::ErrorReport(report) => {
                let stops = matches!(report.severity, Some(Severity::High | Severity::Blocking));
                let actions = report.suggested_actions().join("; ");
                (stops || report.needs_human_intervention())
                    && self.asks(word, report.code().to_owned(), report.message().to_owned(), actions)
            }
            Said::TaskCompletion(completion) => self.hear_completion(word, completion),
            Said::CoordinationRequest(_) | Said::FileReservation(_) | Said::Unknown(_) => false,
        }
    }

    fn hear_update(&mut self, word: &Message, update: json::StatusUpdate) -> bool {
        match update.update_type {
            Some(UpdateType::Blocker) => {
                let blockers = update.blocker_lines().join("; ");
                return self.asks(word, "BLOCKED".to_owned(), update.status_summary, blockers);
            }
            Some(UpdateType::Unblocker) => self.question = None,
            _ => {}
        }
        let step = update.current_step().unwrap_or_default().to_owned();
        let percent = update.percentage();
        self.goes_on(word, Progress { percent, step, status: update.status_summary, context_usage: None })
    }

    fn hear_completion(&mut self, word: &Message, completion: json::TaskCompletion) -> bool {
        let tests = tests_passed(&completion);
        let summary = completion.completion_summary;
        match completion.status {
            Some(Status::Blocked) => self.asks(word, "BLOCKED".to_owned(), summary, String::new()),
            Some(Status::Partial) => {
                self.becomes(word, State::Checkpointed(Checkpoint { progress: summary, ..Checkpoint::default() }))
            }
            Some(Status::Complete) | None => {
                self.becomes(word, State::Done(Outcome { tests, summary, ..Outcome::default() }))
            }
        }
    }

    fn call(&mut self, title: String) {
        if !title.is_empty() {
            self.title = title;
        }
    }

    /// A worker says how it stands; whatever was asked before is settled.
    fn becomes(&mut self, word: &Message, state: State) -> bool {
        self.question = None;
        self.agent.clone_from(&word.from);
        self.state = Some(state);
        true
    }

    /// A worker is at it. Going on with something does not answer what it asked.
    fn goes_on(&mut self, word: &Message, progress: Progress) -> bool {
        self.agent.clone_from(&word.from);
        self.state = Some(State::InProgress(progress));
        true
    }

    /// Somebody arranges for the work to be done by another.
    fn is_arranged(&mut self, state: State) -> bool {
        self.question = None;
        self.state = Some(state);
        true
    }

    fn asks(&mut self, word: &Message, issue: String, problem: String, question: String) -> bool {
        self.agent.clone_from(&word.from);
        // Who asks is at work, even if it never said so.
        self.state.get_or_insert_with(|| State::InProgress(Progress::default()));
        let (message, asked_by, asked_at) = (word.id, word.from.clone(), word.created_at);
        self.question = Some(Question { message, asked_by, asked_at, issue, problem, question, overdue: false });
        true
    }

    /// Nobody answers itself: a second word of the one who asked adds to the question.
    fn answered_by(&mut self, word: &Message) -> bool {
        let answers = self.question.as_ref().is_some_and(|question| question.asked_by != word.from);
        if answers {
            self.question = None;
        }
        answers
    }
}

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

#[cfg(test)]
mod tests;

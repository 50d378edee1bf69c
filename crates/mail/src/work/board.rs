//! How it stands with a piece of work, told by the words about it in the order in which they were said.
//!
//! The last word counts. But a question stays open, whatever else its asker says, until somebody else answers it, or the
//! work is taken on again, is sent back or comes to an end; and what says nothing about the state changes nothing.

use super::said::Said;
use super::{Progress, Question, State, Task, WorkItem, WorkOutcome, WorkRecord};
use crate::ids::MessageId;
use crate::messages::Message;

/// The item that a record tells of.
pub fn item_of(record: WorkRecord) -> WorkItem {
    let mut board = Board::default();
    for word in &record.words {
        board.hear(word);
    }
    let said_by = board.said_by.or(record.words.last());
    WorkItem {
        id: record.id,
        title: board.title,
        // Of several questions the oldest is shown: it has waited longest.
        state: board.open.into_iter().next().map(|open| State::HelpWanted(open.question)).unwrap_or(board.state),
        agent: board.agent,
        changed_at: said_by.map_or(jiff::Timestamp::UNIX_EPOCH, |word| word.created_at),
        changed_by: said_by.map_or(record.newest, |word| word.id),
        open_acks: record.open_acks,
        task: board.task,
        waiting_for: vec![],
        late: false,
    }
}

/// What was heard so far.
#[derive(Default)]
struct Board<'a> {
    state: State,
    /// Questions that nobody answered, one for each who asks, in the order in which they were first asked.
    open: Vec<Open>,
    title: String,
    task: Task,
    agent: String,
    /// The last word that changed something.
    said_by: Option<&'a Message>,
}

/// A question, and every message that asks it.
struct Open {
    question: Question,
    messages: Vec<MessageId>,
}

impl<'a> Board<'a> {
    fn hear(&mut self, word: &'a Message) {
        match Said::by(word) {
            Said::Nothing => return,
            Said::Answers if !self.answer(word) => return,
            Said::Answers => {}
            Said::Accepts { .. } if word.from == self.agent => return,
            Said::Accepts { commit } => self.accept(commit),
            Said::SendsBack => self.send_back(word),
            Said::Arranged(state) => self.turn(state, String::new()),
            Said::Assigned { agent, title, task } => {
                self.agent = agent.unwrap_or_else(|| std::mem::take(&mut self.agent));
                self.task = task;
                self.turn(State::Assigned, title);
            }
            Said::Becomes { state, title } => {
                self.agent.clone_from(&word.from);
                self.turn(state, title);
            }
            Said::GoesOn(progress) => self.go_on(word, progress),
            Said::Unblocked(progress) => {
                self.open.retain(|open| open.question.asked_by != word.from);
                self.go_on(word, progress);
            }
            Said::Asks { issue, problem, question } => self.ask(word, issue, problem, question),
        }
        self.said_by = Some(word);
    }

    /// Work that was offered is done and waits for nobody. So is work whose offering the board never heard.
    fn accept(&mut self, commit: String) {
        let mut outcome = if let State::Done(offered) = &self.state { offered.clone() } else { WorkOutcome::default() };
        outcome.offered = false;
        if outcome.commit.is_empty() {
            outcome.commit = commit;
        }
        self.turn(State::Done(outcome), String::new());
    }

    /// The work goes to its worker again, unless it is sent to others, and its questions are settled by that.
    fn send_back(&mut self, word: &Message) {
        let keeps_it = word.from == self.agent || word.to.iter().chain(&word.cc).any(|name| *name == self.agent);
        if !keeps_it && let Some(other) = word.to.first() {
            self.agent.clone_from(other);
        }
        self.turn(State::Assigned, String::new());
    }

    fn turn(&mut self, state: State, title: String) {
        if !title.is_empty() {
            self.title = title;
        }
        self.open.clear();
        self.state = state;
    }

    fn go_on(&mut self, word: &Message, progress: Progress) {
        self.agent.clone_from(&word.from);
        self.state = State::InProgress(progress);
    }

    /// Asking again adds to the question, and does not make it younger.
    fn ask(&mut self, word: &Message, issue: String, problem: String, question: String) {
        self.agent.clone_from(&word.from);
        if matches!(self.state, State::Mentioned) {
            // Who asks is at work, even if it never said so.
            self.state = State::InProgress(Progress::default());
        }
        let asked = Question {
            message: word.id,
            asked_by: word.from.clone(),
            asked_at: word.created_at,
            issue,
            problem,
            question,
            overdue: false,
        };
        match self.open.iter_mut().find(|open| open.question.asked_by == word.from) {
            Some(open) => {
                open.messages.push(word.id);
                open.question = Question { asked_at: open.question.asked_at, ..asked };
            }
            None => self.open.push(Open { messages: vec![word.id], question: asked }),
        }
    }

    /// An answer settles the question that it replies to, else those of the agents whom it is written to. Nobody answers
    /// itself.
    fn answer(&mut self, word: &Message) -> bool {
        let before = self.open.len();
        let replies = |open: &Open| word.reply_to.is_some_and(|id| open.messages.contains(&id));
        let by_reply = self.open.iter().any(replies);
        self.open.retain(|open| {
            let addressed = word.to.iter().chain(&word.cc).any(|name| *name == open.question.asked_by);
            let settles = if by_reply { replies(open) } else { addressed };
            !(settles && open.question.asked_by != word.from)
        });
        self.open.len() < before
    }
}

#[cfg(test)]
mod tests;

//! Asking how it stands with the work.

use std::collections::HashMap;

use jiff::Timestamp;

use super::{Office, near_misses};
use crate::error::{Error, shown};
use crate::ids::MessageId;
use crate::messages::{Message, PAGE_BYTES};
use crate::projects::Project;
use crate::work::{State, WorkItem, WorkQuery, WorkRecord, item_of};

/// How many items are read at a time.
const STEP: usize = 100;
/// How many items one question looks at, at most; what is beyond them is on the next page.
const MOST_LOOKED_AT: usize = 10_000;
/// What can be asked for beside the names of states.
const OVERDUE: &str = "overdue";
const READY: &str = "ready";
const WAITING: &str = "waiting";
const LATE: &str = "late";

/// Which items are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkRequest<'a> {
    /// The project.
    pub project_key: &'a str,
    /// Only items in the state of this name; `overdue` for those where help is wanted and overdue, `ready` for those that
    /// somebody could begin with now, `waiting` for those that wait for others, `late` for those past their deadline.
    pub state: Option<&'a str>,
    /// Only items that this agent is on.
    pub agent: Option<&'a str>,
    /// Only items whose newest typed message has a lower number.
    pub before: Option<MessageId>,
    /// At most so many, those that changed last.
    pub limit: usize,
}

/// A part of the board.
#[derive(Clone, Debug)]
pub struct WorkPage {
    /// The project.
    pub project: Project,
    /// Items, those that changed last first.
    pub items: Vec<WorkItem>,
    /// Where the next page begins, if there may be one: `before` this.
    pub next: Option<MessageId>,
}

/// One item, and what was said of it.
#[derive(Clone, Debug)]
pub struct WorkStory {
    /// The project.
    pub project: Project,
    /// The item as it stands.
    pub item: WorkItem,
    /// Messages, oldest first.
    pub messages: Vec<Message>,
    /// Where the next page begins, if there may be one: `after` this.
    pub next: Option<MessageId>,
}

impl Office {
    /// The work of a project, as its mail tells it.
    pub async fn work(&self, request: WorkRequest<'_>) -> Result<WorkPage, Error> {
        let state = request.state.map(|name| name.replace('-', "_"));
        let request = WorkRequest { state: state.as_deref(), ..request };
        check_state(request.state)?;
        let project = self.project(request.project_key).await?;
        let (mut items, mut before, mut looked_at) = (Vec::new(), request.before, 0);
        let mut done = Done::new();
        loop {
            let query = WorkQuery { project: project.id, id: None, before, limit: STEP };
            let records = self.store.work(&query).await?;
            if records.is_empty() {
                return Ok(WorkPage { project, items, next: None });
            }
            for record in records {
                before = Some(record.newest);
                looked_at += 1;
                let item = self.item(record);
                // What it waits for is looked up of those alone that nothing else rules out: each one is a question.
                if is_wanted(&item, &request) {
                    let known = done.len();
                    let item = self.with_what_it_waits_for(&project, item, &mut done).await?;
                    looked_at += done.len() - known;
                    items.extend(Some(item).filter(|item| waits_as_wanted(item, &request)).map(WorkItem::cut));
                }
                if items.len() >= request.limit || looked_at >= MOST_LOOKED_AT {
                    return Ok(WorkPage { project, items, next: before });
                }
            }
        }
    }

    /// One item and its story, from the message after `after` on.
    pub async fn work_story(
        &self,
        project_key: &str,
        id: &str,
        after: Option<MessageId>,
        limit: usize,
    ) -> Result<WorkStory, Error> {
        let project = self.project(project_key).await?;
        let query = WorkQuery { project: project.id, id: Some(id.to_owned()), before: None, limit: 1 };
        let record = self.store.work(&query).await?.pop();
        let Some(record) = record else { return Err(self.unknown_work(&project, id).await?) };
        let item = self.with_what_it_waits_for(&project, self.item(record), &mut Done::new()).await?;
        let messages = self.store.work_story(project.id, id, after, limit).await?;
        let bytes: usize = messages.iter().map(|message| message.body.len()).sum();
        let is_full = messages.len() == limit || bytes > PAGE_BYTES;
        let next = messages.last().map(|message| message.id).filter(|_| is_full);
        Ok(WorkStory { project, item, messages, next })
    }

    /// The item of a record, with what depends on the time.
    fn item(&self, record: WorkRecord) -> WorkItem {
        let mut item = item_of(record);
        let now = self.clock.now();
        if let State::HelpWanted(question) = &mut item.state {
            question.overdue = has_passed(question.asked_at, self.rules.help_overdue.as_micros(), now);
        }
        item.late = !item.is_over() && item.task.deadline.is_some_and(|deadline| deadline < now);
        item
    }

    /// The same with what depends on other items.
    async fn with_what_it_waits_for(
        &self,
        project: &Project,
        mut item: WorkItem,
        done: &mut Done,
    ) -> Result<WorkItem, Error> {
        if !item.is_over() {
            for id in item.task.dependencies.clone() {
                if id != item.id && !item.waiting_for.contains(&id) && !self.is_done(project, &id, done).await? {
                    item.waiting_for.push(id);
                }
            }
        }
        Ok(item)
    }

    /// Whether an item is done. One that nobody spoke of is not.
    async fn is_done(&self, project: &Project, id: &str, done: &mut Done) -> Result<bool, Error> {
        if let Some(known) = done.get(id) {
            return Ok(*known);
        }
        let query = WorkQuery { project: project.id, id: Some(id.to_owned()), before: None, limit: 1 };
        let item = self.store.work(&query).await?.pop().map(item_of);
        let is_done = item.is_some_and(|item| matches!(item.state, State::Done(_)));
        done.insert(id.to_owned(), is_done);
        Ok(is_done)
    }

    async fn unknown_work(&self, project: &Project, id: &str) -> Result<Error, Error> {
        let query = WorkQuery { project: project.id, id: None, before: None, limit: STEP };
        let known = self.store.work(&query).await?;
        let near = near_misses(id, known.iter().map(|record| record.id.as_str()));
        Ok(Error::UnknownWork { id: shown(id), near })
    }
}

/// Which items are done, of those that were asked about for one answer.
type Done = HashMap<String, bool>;

fn check_state(state: Option<&str>) -> Result<(), Error> {
    const MORE: [&str; 4] = [OVERDUE, READY, WAITING, LATE];
    match state {
        Some(name) if !MORE.contains(&name) && !State::NAMES.contains(&name) => {
            let wanted = format!("{}, {OVERDUE}, {READY}, {WAITING} or {LATE}", State::NAMES.join(", "));
            Err(Error::invalid("state", name, wanted))
        }
        _ => Ok(()),
    }
}

/// Whether an item is asked for, as far as one knows without other items.
fn is_wanted(item: &WorkItem, request: &WorkRequest<'_>) -> bool {
    let in_state = match request.state {
        Some(OVERDUE) => matches!(&item.state, State::HelpWanted(question) if question.overdue),
        Some(READY) => item.is_ready(),
        Some(WAITING) => !item.is_over() && !item.task.dependencies.is_empty(),
        Some(LATE) => item.late,
        Some(name) => item.state.name() == name,
        None => true,
    };
    in_state && request.agent.is_none_or(|agent| item.agent == agent)
}

/// Whether an item that is asked for so far waits for others as it should.
fn waits_as_wanted(item: &WorkItem, request: &WorkRequest<'_>) -> bool {
    match request.state {
        Some(READY) => item.is_ready(),
        Some(WAITING) => !item.waiting_for.is_empty(),
        _ => true,
    }
}

fn has_passed(since: Timestamp, micros: u128, now: Timestamp) -> bool {
    let waited = now.as_microsecond().saturating_sub(since.as_microsecond());
    u128::try_from(waited).is_ok_and(|waited| waited >= micros)
}

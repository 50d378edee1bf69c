//! Questions that change nothing, drawn by lot.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use mail::Store;
use mail::channels::PostQuery;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::mailboxes::CopyQuery;
use mail::messages::{About, InboxQuery};
use mail::search::query::Query;
use mail::work::WorkQuery;

use super::{Dice, KEYS, QUERIES, THREADS};

/// What is asked, drawn by lot.
struct Question {
    project: ProjectId,
    agent: AgentId,
    message: MessageId,
    now: Timestamp,
    limit: usize,
    before: Option<MessageId>,
    thread: &'static str,
    about: About,
}

pub async fn look(
    dice: &mut Dice,
    store: &Arc<dyn Store>,
    (project, agent): (ProjectId, AgentId),
    message: MessageId,
    now: Timestamp,
) -> String {
    let question = Question {
        project,
        agent,
        message,
        now,
        limit: 1 + dice.roll(8),
        before: dice.maybe().then_some(message),
        thread: dice.one(&THREADS),
        about: About {
            kind: dice.maybe().then(|| formats::Kind::all().nth(dice.roll(10))).flatten(),
            work_id: dice.maybe().then(|| format!("bd-{}", dice.roll(4))),
        },
    };
    match dice.roll(16) {
        kind @ 0..=8 => look_at_mail(kind, question, dice, store).await,
        kind => look_around(kind, question, dice, store).await,
    }
}

async fn look_at_mail(kind: usize, question: Question, dice: &mut Dice, store: &Arc<dyn Store>) -> String {
    let Question { project, agent, message, limit, before, thread, about, .. } = question;
    match kind {
        0..=2 => {
            let query = InboxQuery {
                agent,
                unread_only: dice.maybe(),
                ack_required_only: dice.maybe(),
                thread: dice.maybe().then(|| thread.to_owned()),
                about,
                before,
                limit,
                with_bodies: dice.maybe(),
            };
            format!("{:?}", store.inbox(&query).await.unwrap())
        }
        3 => format!("{:?}", store.outbox(agent, before, limit, dice.maybe()).await.unwrap()),
        4 => format!("{:?}", store.message(project, message).await.unwrap()),
        5 => format!("{:?}", store.deliveries(message).await.unwrap()),
        6 => format!("{:?}", store.thread(project, thread, before, limit, dice.maybe()).await.unwrap()),
        7 => {
            let tail = store.thread_tail(project, thread, before, limit).await.unwrap();
            format!("{tail:?} {}", store.thread_length(project, thread).await.unwrap())
        }
        _ => {
            let query = CopyQuery {
                project,
                agent: dice.maybe().then_some(agent),
                unread_only: dice.maybe(),
                after: dice.maybe().then_some((message, dice.roll(3))),
                limit,
            };
            let count = store.count_open(project, query.agent).await.unwrap();
            format!("{:?} {count:?}", store.open_copies(&query).await.unwrap())
        }
    }
}

async fn look_around(kind: usize, question: Question, dice: &mut Dice, store: &Arc<dyn Store>) -> String {
    let Question { project, message, now, limit, before, thread, about, .. } = question;
    match kind {
        9 | 10 => {
            let query = Query::parse(dice.one(&QUERIES)).unwrap();
            format!("{:?}", store.search(project, &query, &about, before, limit).await.unwrap())
        }
        11 => {
            let query = WorkQuery { project, id: about.work_id.clone(), before, limit };
            let story = store.work_story(project, "bd-1", before, limit).await.unwrap();
            let work = store.work_of_thread(project, thread).await.unwrap();
            let stamp = store.work_stamp(project).await.unwrap();
            format!("{:?} {story:?} {work:?} {stamp}", store.work(&query).await.unwrap())
        }
        12 => format!("{:?}", store.leases(project, None, limit, now).await.unwrap()),
        13 => format!("{:?}", store.present(project, None, limit, now).await.unwrap()),
        14 => {
            let query = PostQuery {
                after: dice.maybe().then_some(message),
                since: dice.maybe().then(|| now.checked_sub(SignedDuration::from_secs(500)).unwrap()),
                before,
                thread: dice.maybe().then(|| thread.to_owned()),
                limit,
            };
            let channels = store.channels(project).await.unwrap();
            let posts = store.posts(project, "dev", &query).await.unwrap();
            let called = store.post_called(project, "dev", dice.one(&KEYS)).await.unwrap();
            let keys = store.known_keys(project, "dev", &KEYS).await.unwrap();
            without_offices(&format!("{channels:?} {posts:?} {called:?} {keys:?}"))
        }
        _ => {
            let found = store.agents_in_any_case(project, &["BOB", "alice"]).await.unwrap();
            let mut named = store.agents_named(project, &["bob", "漢字"]).await.unwrap();
            named.sort_by_key(|agent| agent.id);
            let counts = store.counts(now).await.unwrap();
            format!("{found:?} {named:?} {counts:?} {:?}", store.agents(project, None, limit).await.unwrap())
        }
    }
}

/// Names of posts end in four digits that depend on the office, of which each store is another.
fn without_offices(text: &str) -> String {
    let mut parts = text.split("msg-");
    let mut cut = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find('"').unwrap_or(part.len());
        cut.push_str("msg-");
        cut.push_str(&part[..end.saturating_sub(4)]);
        cut.push_str(&part[end..]);
    }
    cut
}

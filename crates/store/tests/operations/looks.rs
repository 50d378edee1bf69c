//! Questions that change nothing, chosen at random.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use mail::Store;
use mail::channels::PostQuery;
use mail::ids::{AgentId, MessageId, ProjectId, ReservationId};
use mail::mailboxes::DeliveryQuery;
use mail::messages::{About, InboxQuery};
use mail::projects::ProjectKey;
use mail::search::query::Query;
use mail::work::WorkQuery;

use super::words::{KEYS, NAMES, PROJECTS, QUERIES, THREADS, WORK};
use super::{Dice, Known, glances, posts, told};

/// What is asked, chosen at random.
pub struct Question {
    pub project: ProjectId,
    pub agent: AgentId,
    message: MessageId,
    pub now: Timestamp,
    pub limit: usize,
    pub before: Option<MessageId>,
    thread: &'static str,
    pub about: About,
}

pub async fn look(
    dice: &mut Dice,
    store: &Arc<dyn Store>,
    known: &mut Known,
    (project, agent): (ProjectId, AgentId),
    message: MessageId,
) -> String {
    let question = Question {
        project,
        agent,
        message,
        now: known.now(),
        limit: 1 + dice.roll(8),
        before: dice.maybe().then_some(message),
        thread: dice.one(&THREADS),
        about: About {
            kind: dice.maybe().then(|| formats::Kind::all().nth(dice.roll(10))).flatten(),
            work_id: dice.maybe().then(|| dice.one(&WORK).to_owned()),
        },
    };
    match dice.roll(25) {
        kind @ 0..=8 => look_at_mail(kind, question, dice, store).await,
        kind @ 21..=24 => glances::glance(kind, question, dice, store).await,
        kind @ 9..=16 => look_around(kind, question, dice, store).await,
        _ => look_for_people(question, dice, store, known).await,
    }
}

async fn look_at_mail(kind: usize, question: Question, dice: &mut Dice, store: &Arc<dyn Store>) -> String {
    let Question { project, agent, message, limit, before, thread, about, .. } = question;
    match kind {
        0..=2 => {
            let query = InboxQuery {
                unread_only: dice.maybe(),
                ack_required_only: dice.maybe(),
                thread: dice.maybe().then(|| thread.to_owned()),
                about,
                before,
                limit,
                with_bodies: dice.maybe(),
            };
            told(store.inbox(agent, &query).await)
        }
        3 => told(store.outbox(agent, before, limit, dice.maybe()).await),
        4 => {
            let called = told(store.message_called(project, dice.one(&KEYS)).await);
            let answer = told(store.answer_by(agent, message).await);
            format!("{} {called} {answer}", told(store.message(project, message).await))
        }
        5 => format!("{} {}", told(store.hops(message).await), told(store.deliveries(message).await)),
        6 => told(store.thread(project, thread, before, limit, dice.maybe()).await),
        7 => {
            let tail = told(store.thread_tail(project, thread, before, limit).await);
            format!("{tail} {}", told(store.thread_length(project, thread).await))
        }
        _ => {
            let query = DeliveryQuery {
                project,
                agent: dice.maybe().then_some(agent),
                unread_only: dice.maybe(),
                after: dice.maybe().then_some((message, dice.roll(3))),
                limit,
            };
            let count = told(store.count_open(project, query.agent).await);
            format!("{} {count}", told(store.open_deliveries(&query).await))
        }
    }
}

async fn look_around(kind: usize, question: Question, dice: &mut Dice, store: &Arc<dyn Store>) -> String {
    let Question { project, message, now, limit, before, thread, about, .. } = question;
    match kind {
        9 | 10 => {
            let query = Query::parse(dice.one(&QUERIES)).unwrap();
            told(store.search(project, &query, &about, before, limit).await)
        }
        11 => {
            let query = WorkQuery { project, id: about.work_id.clone(), before, limit };
            let story = told(store.work_story(project, dice.one(&WORK), before, limit).await);
            let work = told(store.work_of_thread(project, thread).await);
            let stamp = told(store.work_stamp(project).await);
            format!("{} {story} {work} {stamp}", told(store.work(&query).await))
        }
        12 => {
            let after = dice.maybe().then(|| dice.number(10, ReservationId));
            format!(
                "{} {}",
                told(store.reservations(project, after, limit, now).await),
                told(store.waiters(project, now).await)
            )
        }
        13 | 14 => {
            let query = PostQuery {
                after: dice.maybe().then_some(message),
                since: dice.maybe().then(|| now.checked_sub(SignedDuration::from_secs(500)).unwrap()),
                before,
                thread: None,
                limit,
            };
            posts::read(dice, store, project, query).await
        }
        _ => posts::find(dice, store, project, message).await,
    }
}

async fn look_for_people(question: Question, dice: &mut Dice, store: &Arc<dyn Store>, known: &mut Known) -> String {
    let Question { project, agent, now, limit, .. } = question;
    let after = dice.maybe().then_some(agent);
    match dice.roll(4) {
        0 => {
            let present = told(store.present(project, after, limit, now).await);
            let since = now.checked_sub(SignedDuration::from_secs(dice.roll(5) as i64 * 1_000)).unwrap();
            format!("{present} {}", told(store.heard_of(project, since, after, limit).await))
        }
        1 => {
            // The numbers are each engine's own; that one changed, or did not, is the same.
            let stamp = store.presence_stamp(project, now).await;
            let is_same = stamp.as_ref().ok().map(|stamp| known.stamps.insert(project, *stamp) == Some(*stamp));
            told(stamp.map(|_| is_same))
        }
        2 => {
            let key = ProjectKey::parse(dice.one(&PROJECTS)).unwrap();
            let slug = ProjectKey::Slug(dice.one(&["p-1", "p-ünï", "c-p-漢字", "P-1", "else-where"]).to_owned());
            let after = dice.maybe().then_some(project);
            let all = told(store.projects(after, limit).await);
            let sums = told(store.project_sums(after, limit).await);
            let aliases = told(store.aliases().await);
            let found = [told(store.project(&key).await), told(store.project(&slug).await)];
            format!("{found:?} {all} {sums} {aliases}")
        }
        _ => {
            let asked = [dice.one(&NAMES), dice.one(&NAMES), "BOB", "zo\u{eb}", "STRASSE"];
            let found = told(store.agents_in_any_case(project, &asked).await);
            let named = store.agents_named(project, &asked).await.map(|mut agents| {
                agents.sort_by_key(|agent| agent.id);
                agents
            });
            let counts = told(store.counts(now).await);
            format!("{found} {} {counts} {}", told(named), told(store.agents(project, after, limit).await))
        }
    }
}

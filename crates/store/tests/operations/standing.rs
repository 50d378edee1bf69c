//! Who is there, who watches for whom, and how far a sink has come, chosen at random.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use mail::Store;
use mail::clock::after_seconds;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::presence::{NewPresence, Source};
use mail::watches::{NewWatch, RunOutcome, RunQuery};

use super::words::SINKS;
use super::{Dice, told};

pub async fn presence(
    dice: &mut Dice,
    store: &Arc<dyn Store>,
    (project, agent): (ProjectId, AgentId),
    now: Timestamp,
) -> String {
    if dice.maybe() {
        store.touch_soon(project, agent, now, SignedDuration::from_secs(30));
        // Queued behind it.
        let queued = told(store.advance_cursor("test", project, 0).await);
        return format!("{queued} {}", told(store.presence(agent).await));
    }
    let said = NewPresence {
        state: dice.one(&["AWAKE", "OFFLINE", "busy", "忙しい"]).to_owned(),
        substate: dice.maybe().then(|| dice.one(&["IDLE", "PROCESSING", "\u{200b}"]).to_owned()),
        source: dice.one(&[Source::Watcher, Source::File, Source::Nats]),
        watcher_pid: dice.maybe().then_some(17),
        channel: dice.maybe().then(|| "dev".to_owned()),
        seen_at: now.checked_sub(SignedDuration::from_secs(dice.roll(3) as i64 * 20)).unwrap(),
    };
    told(store.set_presence(project, agent, &said, now).await)
}

pub async fn watch(
    dice: &mut Dice,
    store: &Arc<dyn Store>,
    agent: AgentId,
    message: MessageId,
    now: Timestamp,
) -> String {
    let channel = dice.one(&["", "dev"]);
    let holder = dice.one(&["one", "two"]);
    match dice.roll(7) {
        0 | 1 => {
            let watch = NewWatch {
                agent,
                channel: channel.to_owned(),
                since: now.checked_sub(SignedDuration::from_secs(100)).unwrap(),
                holder: holder.to_owned(),
                instead_of: dice.maybe().then(|| "two".to_owned()),
                until: after_seconds(now, 60),
            };
            told(store.begin_watch(&watch, now).await)
        }
        2 => told(store.hold_watch(agent, channel, holder, message, after_seconds(now, 60)).await),
        3 => told(store.end_watch(agent, channel, holder).await),
        // One of few, so that it is taken on again and again.
        4 => told(store.take_on(agent, channel, MessageId(message.0.min(5)), now).await),
        5 => {
            let outcome =
                [RunOutcome::Answered, RunOutcome::Silent, RunOutcome::Failed("no".to_owned())][dice.roll(3)].clone();
            told(store.finish_run(agent, MessageId(message.0.min(5)), &outcome, now).await)
        }
        _ => {
            let again = told(store.retry_runs(agent, &[], now).await);
            let query = RunQuery { channel: dice.maybe().then_some(channel), state: None, limit: 10 };
            format!("{again} {}", told(store.runs(agent, query).await))
        }
    }
}

/// Moves a sink on, or holds its work for a while.
pub async fn cursor(dice: &mut Dice, store: &Arc<dyn Store>, project: ProjectId, now: Timestamp) -> String {
    let sink = dice.one(&SINKS);
    let done = if dice.roll(4) == 0 {
        told(store.advance_cursor(sink, project, dice.roll(50) as i64).await)
    } else {
        let until = after_seconds(now, dice.roll(4) as i64 * 1_000);
        told(store.hold_cursor(sink, project, dice.one(&["one", "two"]), until, now).await)
    };
    format!("{done} {}", told(store.cursors().await))
}

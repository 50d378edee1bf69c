//! Sessions, their wake-ups, generated names and names that change, chosen at random.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use mail::Store;
use mail::agents::AgentName;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::sessions::{Release, Session};
use mail::wake_ups::{WakeFor, WakeOutcome};

use super::words::NAMES;
use super::{Dice, told};

pub async fn session(
    dice: &mut Dice,
    store: &Arc<dyn Store>,
    (project, agent): (ProjectId, AgentId),
    message: MessageId,
    now: Timestamp,
) -> String {
    let key = dice.one(&["claude-1", "codex-2", "鍵"]);
    let done = match dice.roll(8) {
        0..=2 => {
            let session = Session {
                agent,
                key: key.to_owned(),
                client: dice.one(&["claude", "codex"]).to_owned(),
                host: "here".to_owned(),
                place: dice.one(&["/a", "/b c"]).to_owned(),
                is_idle: dice.maybe(),
                began_at: now,
                seen_at: now,
            };
            told(store.note_session(project, &session).await)
        }
        3 | 4 => {
            let key = (!dice.maybe()).then_some(key);
            told(store.end_session(project, agent, key, dice.one(&Release::ALL), now).await)
        }
        5 => told(store.note_generated(project, agent).await),
        6 => told(store.note_handed_over(agent, message).await),
        _ => {
            let before = now.checked_sub(SignedDuration::from_secs(dice.roll(3) as i64 * 60)).unwrap();
            told(store.retire_quiet(project, agent, before, agent, now).await)
        }
    };
    let quiet = told(store.quiet_names(project, now, 1 + dice.roll(5), now).await);
    format!("{done} {} {quiet}", told(store.sessions(project, &[agent, AgentId(1)]).await))
}

pub async fn wake(
    dice: &mut Dice,
    store: &Arc<dyn Store>,
    (project, agent): (ProjectId, AgentId),
    message: MessageId,
    now: Timestamp,
) -> String {
    let outcome = dice.maybe().then(|| dice.one(&WakeOutcome::ALL));
    let rule = if dice.maybe() { WakeFor::Pressing } else { WakeFor::All };
    let session = dice.one(&["claude-1", "codex-2", "鍵"]);
    let claimed = told(store.claim_wake_up(project, agent, session, rule, outcome, now).await);
    let (number, outcome) = (1 + dice.roll(3) as i64, dice.one(&WakeOutcome::ALL));
    let settled = told(store.settle_wake_up(agent, number, outcome, now).await);
    let asked = [message, MessageId(1 + dice.roll(5) as i64), MessageId(999_999)];
    format!("{claimed} {settled} {}", told(store.wake_receipts(&asked).await))
}

pub async fn rename(
    dice: &mut Dice,
    store: &Arc<dyn Store>,
    (project, agent): (ProjectId, AgentId),
    now: Timestamp,
) -> String {
    let name = dice.one(&NAMES);
    let renamed = told(store.rename(project, agent, &AgentName::parse(name).unwrap(), now).await);
    format!("{renamed} {}", told(store.once_named(project, dice.one(&NAMES)).await))
}

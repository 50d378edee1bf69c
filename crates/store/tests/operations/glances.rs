//! What a person asks who looks after many agents, chosen at random.

use std::sync::Arc;

use jiff::SignedDuration;
use mail::Store;
use mail::overview::Listing;

use super::looks::Question;
use super::{Dice, told};

pub async fn glance(kind: usize, question: Question, dice: &mut Dice, store: &Arc<dyn Store>) -> String {
    let Question { project, agent, now, limit, before, about, .. } = question;
    let agent = dice.maybe().then_some(agent);
    match kind {
        21 | 22 => {
            let listing = Listing {
                project,
                agent,
                unread_only: dice.maybe(),
                ack_due_only: dice.maybe(),
                urgent_only: dice.maybe(),
                archived_only: dice.maybe(),
                kind: about.kind,
                before,
                limit,
            };
            let listed = told(store.listing(&listing).await);
            format!("{listed} {}", told(store.count_unread(project, agent, 1 + dice.roll(30)).await))
        }
        23 => {
            let since = now.checked_sub(SignedDuration::from_secs(dice.roll(3_000) as i64)).unwrap();
            let step = SignedDuration::from_secs(dice.roll(200) as i64);
            let traffic = told(store.traffic(project, since, step, dice.roll(20)).await);
            format!("{traffic} {}", told(store.correspondence(project, dice.roll(60)).await))
        }
        _ => {
            let before = dice.maybe().then(|| 1 + dice.roll(400) as i64);
            told(store.audit(project, before, limit).await)
        }
    }
}

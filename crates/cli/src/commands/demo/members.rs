//! What the agents of the demo do beside the script: who is awake stays awake, and a stranger is answered.
//!
//! A stranger is whoever is no part of the demo: a person at the page, or an agent that was connected. The agents say what
//! they are. They answer each conversation a few times and no more, because whoever writes may be a program that answers by
//! itself. Whoever fell silent, or has gone, is not woken.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use api::{Ask, ReplyMessage};
use mail::Office;
use mail::mailboxes::DeliveredMessage;
use mail::office::{Claim, DeliveriesRequest, Sign};
use mail::presence::AWAKE;
use relay::wake::WakeUps;
use tokio::time::timeout;

/// How often somebody who is awake says so: well before anybody would take it for one that is silent.
const EVERY: Duration = Duration::from_secs(60);
/// More agents than the sample has in a project.
const MOST_AGENTS: usize = 100;
/// How many answers a conversation gets.
const MOST_ANSWERS: u32 = 3;
/// More messages than wait to be read in a project.
const MOST_UNREAD: usize = 1_000;

/// The agents of the sample, by their projects.
pub(super) type ProjectMembers = BTreeMap<String, Vec<String>>;

/// Says again of every one of `members` who is awake that it is, until the office closes.
pub(super) async fn keep_awake(office: Arc<Office>, wake_ups: Arc<WakeUps>, members: ProjectMembers) {
    while timeout(EVERY, wake_ups.closed()).await.is_err() {
        if let Err(error) = beat(&office, &members).await {
            tracing::warn!(%error, "nobody could be kept awake");
        }
    }
}

async fn beat(office: &Office, members: &ProjectMembers) -> Result<(), mail::Error> {
    for (project, names) in members {
        let (_, present) = office.present(project, None, MOST_AGENTS).await?;
        for one in present.iter().filter(|one| one.shown(office.now()).starts_with(AWAKE)) {
            let Some(known) = one.presence.as_ref().filter(|_| names.contains(&one.agent.name)) else { continue };
            let (substate, channel) = (known.substate.as_deref(), known.channel.as_deref());
            let sign = Sign { state: AWAKE, substate, watcher_pid: known.watcher_pid, channel };
            office.beat(project, Claim::of(&one.agent.name), sign).await?;
        }
    }
    Ok(())
}

/// How many messages of each project and conversation came from strangers.
pub(super) type Answers = HashMap<(String, String), u32>;

/// Reads what strangers wrote to `members`, and answers it.
pub(super) async fn answer_strangers(
    answers: &mut Answers,
    office: &Office,
    members: &ProjectMembers,
) -> anyhow::Result<()> {
    for (project_key, names) in members {
        let request =
            DeliveriesRequest { project_key, whose: None, unread_only: true, after: None, limit: MOST_UNREAD };
        for delivery in office.open_deliveries(request).await? {
            let (message, recipient) = (&delivery.message, &delivery.recipient);
            if names.contains(&message.from) || !names.contains(recipient) {
                continue;
            }
            match message.ack_required {
                true => office.acknowledge(project_key, Claim::of(recipient), message.id, "Seen, by a script.").await?,
                false => office.mark_read(project_key, Claim::of(recipient), message.id).await?,
            };
            let count = answers.entry((project_key.clone(), message.thread.clone())).or_default();
            *count += 1;
            if *count <= MOST_ANSWERS {
                answer(office, project_key, &delivery).await?;
            }
        }
    }
    Ok(())
}

async fn answer(office: &Office, project: &str, delivery: &DeliveredMessage) -> anyhow::Result<()> {
    let message = &delivery.message;
    let body_md = format!(
        "Your message arrived, as number {}. This is the demo and I am a script, so that nobody thinks about it.\n\n\
         A real agent would have been told of it by its hook, by `wait_for_mail` or by a nudge, and would answer here.",
        message.id
    );
    let reply = ReplyMessage {
        project_key: project.to_owned(),
        message_id: message.id.0,
        sender_name: delivery.recipient.clone(),
        body_md,
        ack_required: Some(false),
        ..ReplyMessage::default()
    };
    reply.ask(office).await?;
    Ok(())
}

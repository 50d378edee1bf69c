//! Who is awake in the demo stays awake, also while it has nothing to do: as long as it runs, and no longer.
//!
//! Whoever fell silent, or has gone, is not woken.

use std::sync::Arc;
use std::time::Duration;

use mail::Office;
use mail::office::{Claim, Sign};
use mail::presence::AWAKE;
use relay::wake::Bells;
use tokio::time::timeout;

/// Well before anybody would take an agent for one that is silent.
const EVERY: Duration = Duration::from_secs(60);
/// More agents than the sample has in a project.
const MOST_AGENTS: usize = 100;

/// The agents of the sample: the project of each, and its name.
pub(crate) type Members = Vec<(String, String)>;

/// Says again of every one of `members` who is awake that it is, until the bells are closed.
pub(crate) async fn keep(office: Arc<Office>, bells: Arc<Bells>, members: Members) {
    while timeout(EVERY, bells.closed()).await.is_err() {
        if let Err(error) = beat(&office, &members).await {
            tracing::warn!(%error, "nobody could be kept awake");
        }
    }
}

async fn beat(office: &Office, members: &Members) -> Result<(), mail::Error> {
    let mut projects: Vec<&str> = members.iter().map(|(project, _)| project.as_str()).collect();
    projects.dedup();
    for project in projects {
        let (_, present) = office.present(project, None, MOST_AGENTS).await?;
        for one in present.iter().filter(|one| one.shown(office.now()).starts_with(AWAKE)) {
            let is_member = members.iter().any(|(of, name)| of == project && *name == one.agent.name);
            let Some(known) = one.presence.as_ref().filter(|_| is_member) else { continue };
            let (substate, channel) = (known.substate.as_deref(), known.channel.as_deref());
            let sign = Sign { state: AWAKE, substate, watcher_pid: known.watcher_pid, channel };
            office.beat(project, Claim::of(&one.agent.name), sign).await?;
        }
    }
    Ok(())
}

//! Wakes those who wait for mail or for leases, in this process, and notices what other processes commit.
//!
//! Nothing is queued and nothing is kept: a wake-up says "look again", and whoever waits looks into the store.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use mail::Store;
use mail::events::Concerned;
use mail::ids::{AgentId, ProjectId};
use mail::wake::{Signal, Wake};
use tokio::sync::{Notify, watch};

/// How long the store is asked at a time for what others commit: whether anybody still waits is looked at in between.
const ASKED_FOR: Duration = Duration::from_secs(1);

/// What somebody may wait for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum WakeTopic {
    Mail(AgentId),
    Reservations(ProjectId),
    Work(ProjectId),
    /// For those who follow the log of a project all the time.
    Events(ProjectId),
}

/// Those who wait in this process, for each mailbox and each project that somebody waits at.
#[derive(Default)]
pub struct WakeUps {
    senders: Mutex<HashMap<WakeTopic, watch::Sender<()>>>,
    /// Told when somebody begins to wait.
    arrived: Notify,
    /// Whom this process woke and others were not told of; none while nobody passes it on.
    woken: Mutex<Option<(BTreeSet<AgentId>, BTreeSet<ProjectId>)>>,
    has_woken: Notify,
    closing: watch::Sender<bool>,
}

impl WakeUps {
    /// Nobody waits yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends home everybody who waits, now and from now on.
    pub fn close(&self) {
        self.closing.send_replace(true);
        self.wake_all();
    }

    /// Comes back when everybody is sent home.
    pub async fn closed(&self) {
        // It cannot fail: the sender is ours.
        let _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }

    /// Wakes those whom commits of other processes concern, for as long as it is polled. Idle while nobody waits.
    pub async fn follow(self: Arc<Self>, store: Arc<dyn Store>) {
        let mut last = None;
        loop {
            if !self.anybody_waits() {
                self.arrived.notified().await;
                continue;
            }
            match store.changes(last, ASKED_FOR).await {
                Ok(changes) => {
                    last = Some(changes.stamp);
                    self.wake_concerned(&changes.concerned);
                }
                Err(error) => {
                    // Whoever waits looks again by itself; the store's own calls report what is wrong.
                    tracing::debug!(%error, "cannot ask for foreign commits");
                    tokio::time::sleep(ASKED_FOR).await;
                }
            }
        }
    }

    /// A signal for what this process does in a project. Whoever follows a log all the time has to look by itself for what
    /// others commit: the store is not asked ten times a second for its sake.
    pub fn events(&self, project: ProjectId) -> Box<dyn Signal> {
        self.listen(WakeTopic::Events(project))
    }

    /// Waits until this process wakes somebody, and tells whom, to one who passes it on to other servers.
    pub async fn woken(&self) -> Concerned {
        loop {
            let (agents, projects) =
                std::mem::take(self.woken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default());
            if !agents.is_empty() || !projects.is_empty() {
                let (agents, projects) = (agents.into_iter().collect(), projects.into_iter().collect());
                return Concerned::These { agents, projects };
            }
            self.has_woken.notified().await;
        }
    }

    fn note(&self, agents: &[AgentId], projects: &[ProjectId]) {
        if let Some((woken_agents, woken_projects)) = &mut *self.woken.lock().unwrap_or_else(PoisonError::into_inner) {
            woken_agents.extend(agents);
            woken_projects.extend(projects);
            self.has_woken.notify_one();
        }
    }

    /// Wakes those whom a commit elsewhere concerns.
    pub fn wake_concerned(&self, concerned: &Concerned) {
        match concerned {
            Concerned::Everybody => self.wake_all(),
            Concerned::These { agents, projects } => {
                let of_project =
                    |id: &ProjectId| [WakeTopic::Reservations(*id), WakeTopic::Work(*id), WakeTopic::Events(*id)];
                self.wake(agents.iter().copied().map(WakeTopic::Mail).chain(projects.iter().flat_map(of_project)));
            }
        }
    }

    fn wake(&self, wanted: impl IntoIterator<Item = WakeTopic>) {
        let mut senders = self.senders();
        for topic in wanted {
            if senders.get(&topic).is_some_and(|sender| sender.send(()).is_err()) {
                senders.remove(&topic);
            }
        }
    }

    fn wake_all(&self) {
        self.senders().retain(|_, sender| sender.send(()).is_ok());
    }

    fn anybody_waits(&self) -> bool {
        let waits = |topic: &WakeTopic, sender: &watch::Sender<()>| {
            !matches!(topic, WakeTopic::Events(_)) && sender.receiver_count() > 0
        };
        self.senders().iter().any(|(topic, sender)| waits(topic, sender))
    }

    fn listen(&self, topic: WakeTopic) -> Box<dyn Signal> {
        let listener = Listener(self.senders().entry(topic).or_default().subscribe());
        self.arrived.notify_one();
        Box::new(listener)
    }

    fn senders(&self) -> MutexGuard<'_, HashMap<WakeTopic, watch::Sender<()>>> {
        // A panic cannot leave a map of senders half changed.
        self.senders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for WakeUps {
    fn mail_for(&self, agents: &[AgentId]) {
        self.wake(agents.iter().copied().map(WakeTopic::Mail));
        self.note(agents, &[]);
    }

    fn leases_changed(&self, project: ProjectId) {
        self.wake([WakeTopic::Reservations(project), WakeTopic::Events(project)]);
        self.note(&[], &[project]);
    }

    fn work_changed(&self, project: ProjectId) {
        self.wake([WakeTopic::Work(project), WakeTopic::Events(project)]);
        self.note(&[], &[project]);
    }

    fn mailbox(&self, agent: AgentId) -> Box<dyn Signal> {
        self.listen(WakeTopic::Mail(agent))
    }

    fn work(&self, project: ProjectId) -> Box<dyn Signal> {
        self.listen(WakeTopic::Work(project))
    }

    fn closing(&self) -> bool {
        *self.closing.borrow()
    }

    fn leases(&self, project: ProjectId) -> Box<dyn Signal> {
        self.listen(WakeTopic::Reservations(project))
    }
}

struct Listener(watch::Receiver<()>);

#[async_trait]
impl Signal for Listener {
    async fn wait(&mut self, at_most: Duration) {
        let woken = async {
            if self.0.changed().await.is_err() {
                // The sender is gone, so nothing wakes: wait out the time instead of spinning.
                std::future::pending::<()>().await;
            }
        };
        let _ = tokio::time::timeout(at_most, woken).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn a_wake_up_between_listening_and_waiting_is_not_missed() {
        let wake_ups = WakeUps::new();
        let mut signal = wake_ups.mailbox(AgentId(1));
        wake_ups.mail_for(&[AgentId(1)]);
        let start = tokio::time::Instant::now();
        signal.wait(LONG).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn mail_for_others_wakes_nobody() {
        let wake_ups = WakeUps::new();
        let mut signal = wake_ups.mailbox(AgentId(1));
        wake_ups.mail_for(&[AgentId(2)]);
        wake_ups.leases_changed(ProjectId(1));
        let start = tokio::time::Instant::now();
        signal.wait(LONG).await;
        assert_eq!(start.elapsed(), LONG);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_passes_it_on_is_told_for_whom_this_process_rang() {
        let wake_ups = WakeUps::new();
        wake_ups.mail_for(&[AgentId(9)]);
        let none = tokio::time::timeout(LONG, wake_ups.woken()).await;
        assert!(none.is_err(), "from when it asks first, and not before: {none:?}");
        wake_ups.mail_for(&[AgentId(2), AgentId(1)]);
        wake_ups.leases_changed(ProjectId(3));
        wake_ups.wake_concerned(&Concerned::These { agents: vec![AgentId(7)], projects: vec![ProjectId(7)] });
        let told = Concerned::These { agents: vec![AgentId(1), AgentId(2)], projects: vec![ProjectId(3)] };
        assert_eq!(wake_ups.woken().await, told, "and not for what others did");
    }

    #[tokio::test(start_paused = true)]
    async fn who_follows_a_log_is_woken_and_does_not_count_as_waiting() {
        let wake_ups = WakeUps::new();
        let mut signal = wake_ups.events(ProjectId(1));
        assert!(!wake_ups.anybody_waits());
        wake_ups.work_changed(ProjectId(1));
        let start = tokio::time::Instant::now();
        signal.wait(LONG).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_the_end_is_told_of_it_before_and_after() {
        let wake_ups = WakeUps::new();
        assert!(tokio::time::timeout(LONG, wake_ups.closed()).await.is_err());
        let (_, ()) = tokio::join!(wake_ups.closed(), async { wake_ups.close() });
        wake_ups.closed().await;
        assert!(wake_ups.closing());
    }

    #[tokio::test]
    async fn a_topic_without_listeners_is_removed() {
        let wake_ups = WakeUps::new();
        drop(wake_ups.mailbox(AgentId(1)));
        assert!(!wake_ups.anybody_waits());
        wake_ups.mail_for(&[AgentId(1)]);
        assert!(wake_ups.senders().is_empty());
    }
}

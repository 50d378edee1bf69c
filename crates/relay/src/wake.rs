//! Wakes those who wait for mail or for reservations, in this process, and notices what other processes commit.
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
enum Bell {
    Mail(AgentId),
    Reservations(ProjectId),
    Work(ProjectId),
    /// For those who follow the log of a project all the time.
    Events(ProjectId),
}

/// The bells of this process: one for each mailbox and each project that somebody waits at.
#[derive(Default)]
pub struct Bells {
    bells: Mutex<HashMap<Bell, watch::Sender<()>>>,
    /// Told when somebody begins to wait.
    arrived: Notify,
    /// Whom this process has rung for and others were not told; none while nobody passes it on.
    rung: Mutex<Option<(BTreeSet<AgentId>, BTreeSet<ProjectId>)>>,
    has_rung: Notify,
    closing: watch::Sender<bool>,
}

impl Bells {
    /// Nobody waits yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends home everybody who waits, now and from now on.
    pub fn close(&self) {
        self.closing.send_replace(true);
        self.ring_all();
    }

    /// Comes back when everybody is sent home.
    pub async fn closed(&self) {
        // It cannot fail: the sender is ours.
        let _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }

    /// Rings for what other processes commit, for as long as it is polled. Idle while nobody waits.
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
                    self.ring_for(&changes.concerned);
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
        self.listen(Bell::Events(project))
    }

    /// Waits until this process rings, and tells for whom, to one who passes it on to other servers.
    pub async fn rung(&self) -> Concerned {
        loop {
            let (agents, projects) =
                std::mem::take(self.rung.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default());
            if !agents.is_empty() || !projects.is_empty() {
                let (agents, projects) = (agents.into_iter().collect(), projects.into_iter().collect());
                return Concerned::These { agents, projects };
            }
            self.has_rung.notified().await;
        }
    }

    fn note(&self, agents: &[AgentId], projects: &[ProjectId]) {
        if let Some((rung_agents, rung_projects)) = &mut *self.rung.lock().unwrap_or_else(PoisonError::into_inner) {
            rung_agents.extend(agents);
            rung_projects.extend(projects);
            self.has_rung.notify_one();
        }
    }

    /// Rings for what was committed elsewhere.
    pub fn ring_for(&self, concerned: &Concerned) {
        match concerned {
            Concerned::Everybody => self.ring_all(),
            Concerned::These { agents, projects } => {
                let of_project = |id: &ProjectId| [Bell::Reservations(*id), Bell::Work(*id), Bell::Events(*id)];
                self.ring(agents.iter().copied().map(Bell::Mail).chain(projects.iter().flat_map(of_project)));
            }
        }
    }

    fn ring(&self, wanted: impl IntoIterator<Item = Bell>) {
        let mut bells = self.bells();
        for bell in wanted {
            if bells.get(&bell).is_some_and(|listeners| listeners.send(()).is_err()) {
                bells.remove(&bell);
            }
        }
    }

    fn ring_all(&self) {
        self.bells().retain(|_, listeners| listeners.send(()).is_ok());
    }

    fn anybody_waits(&self) -> bool {
        let waits = |bell: &Bell, listeners: &watch::Sender<()>| {
            !matches!(bell, Bell::Events(_)) && listeners.receiver_count() > 0
        };
        self.bells().iter().any(|(bell, listeners)| waits(bell, listeners))
    }

    fn listen(&self, bell: Bell) -> Box<dyn Signal> {
        let listener = Listener(self.bells().entry(bell).or_default().subscribe());
        self.arrived.notify_one();
        Box::new(listener)
    }

    fn bells(&self) -> MutexGuard<'_, HashMap<Bell, watch::Sender<()>>> {
        // A panic cannot leave a map of bells half changed.
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Bells {
    fn mail_for(&self, agents: &[AgentId]) {
        self.ring(agents.iter().copied().map(Bell::Mail));
        self.note(agents, &[]);
    }

    fn reservations_changed(&self, project: ProjectId) {
        self.ring([Bell::Reservations(project), Bell::Events(project)]);
        self.note(&[], &[project]);
    }

    fn work_changed(&self, project: ProjectId) {
        self.ring([Bell::Work(project), Bell::Events(project)]);
        self.note(&[], &[project]);
    }

    fn mailbox(&self, agent: AgentId) -> Box<dyn Signal> {
        self.listen(Bell::Mail(agent))
    }

    fn work(&self, project: ProjectId) -> Box<dyn Signal> {
        self.listen(Bell::Work(project))
    }

    fn closing(&self) -> bool {
        *self.closing.borrow()
    }

    fn reservations(&self, project: ProjectId) -> Box<dyn Signal> {
        self.listen(Bell::Reservations(project))
    }
}

struct Listener(watch::Receiver<()>);

#[async_trait]
impl Signal for Listener {
    async fn wait(&mut self, at_most: Duration) {
        let rung = async {
            if self.0.changed().await.is_err() {
                // The bell was taken down, so nothing can ring: wait out the time instead of spinning.
                std::future::pending::<()>().await;
            }
        };
        let _ = tokio::time::timeout(at_most, rung).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn a_ring_between_listening_and_waiting_is_not_missed() {
        let bells = Bells::new();
        let mut signal = bells.mailbox(AgentId(1));
        bells.mail_for(&[AgentId(1)]);
        let start = tokio::time::Instant::now();
        signal.wait(LONG).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn mail_for_others_wakes_nobody() {
        let bells = Bells::new();
        let mut signal = bells.mailbox(AgentId(1));
        bells.mail_for(&[AgentId(2)]);
        bells.reservations_changed(ProjectId(1));
        let start = tokio::time::Instant::now();
        signal.wait(LONG).await;
        assert_eq!(start.elapsed(), LONG);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_passes_it_on_is_told_for_whom_this_process_rang() {
        let bells = Bells::new();
        bells.mail_for(&[AgentId(9)]);
        let none = tokio::time::timeout(LONG, bells.rung()).await;
        assert!(none.is_err(), "from when it asks first, and not before: {none:?}");
        bells.mail_for(&[AgentId(2), AgentId(1)]);
        bells.reservations_changed(ProjectId(3));
        bells.ring_for(&Concerned::These { agents: vec![AgentId(7)], projects: vec![ProjectId(7)] });
        let told = Concerned::These { agents: vec![AgentId(1), AgentId(2)], projects: vec![ProjectId(3)] };
        assert_eq!(bells.rung().await, told, "and not for what others did");
    }

    #[tokio::test(start_paused = true)]
    async fn who_follows_a_log_is_woken_and_does_not_count_as_waiting() {
        let bells = Bells::new();
        let mut signal = bells.events(ProjectId(1));
        assert!(!bells.anybody_waits());
        bells.work_changed(ProjectId(1));
        let start = tokio::time::Instant::now();
        signal.wait(LONG).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_the_end_is_told_of_it_before_and_after() {
        let bells = Bells::new();
        assert!(tokio::time::timeout(LONG, bells.closed()).await.is_err());
        let (_, ()) = tokio::join!(bells.closed(), async { bells.close() });
        bells.closed().await;
        assert!(bells.closing());
    }

    #[tokio::test]
    async fn a_bell_without_listeners_is_taken_down() {
        let bells = Bells::new();
        drop(bells.mailbox(AgentId(1)));
        assert!(!bells.anybody_waits());
        bells.mail_for(&[AgentId(1)]);
        assert!(bells.bells().is_empty());
    }
}

//! Follows the event log of one project for one sink, from where the sink last stood.
//!
//! At least once, in order: what is done is noted in the store a little later, so after a crash the last events come again.
//! Where several processes would do the work of a sink, one [holds](Feed::next_alone) it while there is something to do;
//! when it dies, another takes over within seconds. What is done with an event, and how the sink is reached, is not told
//! here.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use mail::events::Event;
use mail::projects::Project;
use mail::{Store, Stored};

/// How long a sink that waits for a wake-up waits at most: one may be lost.
pub const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// How long a sink may be ahead of what the store knows of it, in events and in time. A note is a write of its own.
const MOST_UNNOTED: i64 = 256;
const LONGEST_UNNOTED: Duration = Duration::from_secs(1);
/// How often the store is asked how far others brought the sink.
const ASKED_EVERY: Duration = Duration::from_secs(5);
/// How long a sink is held at a time, and how long its holder relies on that: less, because asking takes time.
const HELD_FOR: SignedDuration = SignedDuration::from_secs(4);
const RELIED_ON: Duration = Duration::from_secs(2);
/// How many events may be put off.
const MOST_PUT_OFF: usize = 10_000;
/// How soon a sink that failed is tried again, and how late at most.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The events of a project that a sink has not dealt with.
pub struct Feed {
    store: Arc<dyn Store>,
    sink: String,
    project: Project,
    /// The last event that was dealt with or put off.
    position: i64,
    /// The events that wait although others behind them are done, and what each waits for.
    put_off: BTreeMap<i64, (Event, String)>,
    /// The last event that the store knows to be dealt with, none if it does not know the sink; and when it was told.
    noted: Option<i64>,
    noted_at: Instant,
    /// When the store was last asked what it knows; none if it has to be asked.
    asked_at: Option<Instant>,
    backoff: Backoff,
    /// A name of its own for this feed, and until when it holds the sink.
    holder: String,
    held_until: Option<Instant>,
}

/// How long to leave something alone that failed: longer each time, until it works.
#[derive(Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Says that it worked.
    pub fn worked(&mut self) {
        self.failures = 0;
    }

    /// Whether it has failed since it last worked.
    pub fn has_failed(&self) -> bool {
        self.failures > 0
    }

    /// Says that it failed, and tells how long to wait.
    pub fn failed(&mut self) -> Duration {
        let pause = pause_after(self.failures);
        self.failures = self.failures.saturating_add(1);
        pause
    }
}

impl Feed {
    /// The feed of a sink. One that is new to the store begins at the first event.
    pub fn new(store: Arc<dyn Store>, sink: &str, project: &Project) -> Self {
        Self {
            store,
            sink: sink.to_owned(),
            project: project.clone(),
            position: 0,
            put_off: BTreeMap::new(),
            noted: None,
            noted_at: Instant::now(),
            asked_at: None,
            backoff: Backoff::default(),
            holder: own_name(),
            held_until: None,
        }
    }

    /// Whether the store does not know the sink: it has never been used, or nobody came to note it.
    pub async fn is_new(&mut self) -> Stored<bool> {
        self.catch_up().await?;
        Ok(self.noted.is_none())
    }

    /// The next events in order, at most `limit`; those again that were not said to be done.
    pub async fn next(&mut self, limit: usize) -> Stored<Vec<Event>> {
        self.catch_up().await?;
        if self.noted_at.elapsed() >= LONGEST_UNNOTED {
            self.note().await?;
        }
        self.store.events(self.project.id, self.position, limit).await
    }

    /// As [`Self::next`], but nothing while another process does the work of the sink.
    pub async fn next_alone(&mut self, limit: usize, now: Timestamp) -> Stored<Vec<Event>> {
        let asked_at = Instant::now();
        let (events, read_after) = (self.next(limit).await?, self.position);
        if events.is_empty() || !self.hold(now, asked_at).await? {
            return Ok(Vec::new());
        }
        if self.position == read_after { Ok(events) } else { self.next(limit).await }
    }

    /// Takes on the work of the sink, or goes on with it; `false` while it is another's. It is held from `now` on, and relied
    /// on from `asked_at` on, which must not be later.
    pub async fn hold(&mut self, now: Timestamp, asked_at: Instant) -> Stored<bool> {
        if self.is_held() {
            return Ok(true);
        }
        let until = now + HELD_FOR;
        let held = self.store.hold_cursor(&self.sink, self.project.id, &self.holder, until, now).await?;
        let Some(seq) = held else { return Ok(false) };
        self.held_until = Some(asked_at + RELIED_ON);
        self.learnt(Some(seq));
        Ok(true)
    }

    /// Whether the sink is still held: its work may go on.
    pub fn is_held(&self) -> bool {
        self.held_until.is_some_and(|until| Instant::now() < until)
    }

    /// Notes how far the sink is, and lets another go on at once.
    pub async fn let_go(&mut self, now: Timestamp) -> Stored<()> {
        self.note().await?;
        if self.held_until.take().is_some() {
            self.store.hold_cursor(&self.sink, self.project.id, &self.holder, now, now).await?;
        }
        Ok(())
    }

    /// Says that everything up to `seq` is done, but for what was put off.
    pub async fn done(&mut self, seq: i64) -> Stored<()> {
        self.catch_up().await?;
        self.position = self.position.max(seq);
        self.backoff.worked();
        if self.position - self.noted.unwrap_or(0) >= MOST_UNNOTED { self.note().await } else { Ok(()) }
    }

    /// Puts an event off until there is what it waits for, so that those behind it need not wait too; whether it
    /// was accepted. Until it is done, the store does not learn of more than what came before it.
    pub fn put_off(&mut self, event: &Event, waits_for: &str) -> bool {
        let is_accepted = self.put_off.len() < MOST_PUT_OFF;
        if is_accepted {
            self.put_off.insert(event.seq, (event.clone(), waits_for.to_owned()));
        }
        is_accepted
    }

    /// The events that were put off, in order, and what each waits for.
    pub fn waiting(&self) -> Vec<(Event, String)> {
        self.put_off.values().cloned().collect()
    }

    /// Says that an event that was put off is done.
    pub fn made_good(&mut self, seq: i64) {
        self.put_off.remove(&seq);
    }

    /// Tells the store how far the sink is, if it does not know. A sink that ends does this last.
    pub async fn note(&mut self) -> Stored<()> {
        self.catch_up().await?;
        let done = self.put_off.keys().next().map_or(self.position, |first| first - 1);
        if self.noted.is_none_or(|noted| noted < done) {
            self.store.advance_cursor(&self.sink, self.project.id, done).await?;
            (self.noted, self.noted_at) = (Some(done), Instant::now());
        }
        Ok(())
    }

    /// Says that the sink failed, and tells how long to leave it alone: longer each time, until something is done.
    pub fn failed(&mut self) -> Duration {
        self.asked_at = None;
        self.backoff.failed()
    }

    /// Whether the sink has failed since something was last done.
    pub fn has_failed(&self) -> bool {
        self.backoff.has_failed()
    }

    /// Asks the store from time to time how far the sink is: other processes may do its work too.
    async fn catch_up(&mut self) -> Stored<()> {
        if self.asked_at.is_some_and(|at| at.elapsed() < ASKED_EVERY) {
            return Ok(());
        }
        let cursors = self.store.cursors().await?;
        let ours = cursors.iter().find(|cursor| cursor.sink == self.sink && cursor.project == self.project.slug);
        self.learnt(ours.map(|cursor| cursor.seq));
        self.asked_at = Some(Instant::now());
        Ok(())
    }

    /// Goes by how far the store knows the sink to be.
    fn learnt(&mut self, noted: Option<i64>) {
        self.noted = noted;
        let noted = noted.unwrap_or(0);
        self.position = self.position.max(noted);
        self.put_off.retain(|seq, _| *seq > noted);
    }
}

/// How long to leave something alone that failed so many times before.
fn pause_after(failures: u32) -> Duration {
    let pause = LONGEST_PAUSE.min(FIRST_PAUSE * 2_u32.saturating_pow(failures));
    // Many that lost the same server do not all come back at the same moment.
    pause.mul_f64(0.75 + (chance() % 512) as f64 / 1024.0)
}

/// A name that nobody else has.
pub(crate) fn own_name() -> String {
    format!("{:016x}", chance())
}

fn chance() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use mail::clock::from_micros;
    use store::{Engine, Options, Sqlite};

    use super::*;

    struct Log {
        _home: tempfile::TempDir,
        store: Arc<Engine>,
        project: Project,
    }

    /// A log with so many events.
    async fn log(events: i64) -> Log {
        use mail::agents::{AgentName, AgentStore, Profile, Taking};
        use mail::projects::ProjectStore;

        let home = tempfile::tempdir().unwrap();
        let store = Arc::new(Sqlite::open(&home.path().join("mail.db"), &Options::default()).unwrap());
        let project = store.ensure_project("/data/app", from_micros(1)).await.unwrap();
        for number in 0..events {
            let name = AgentName::parse(&format!("agent{number}")).unwrap();
            let profile = Profile::default();
            let agent = store.register(project.id, &name, &profile, None, Taking::NewOnly, from_micros(1));
            agent.await.unwrap();
        }
        Log { _home: home, store, project }
    }

    impl Log {
        fn feed(&self) -> Feed {
            Feed::new(self.store.clone(), "test", &self.project)
        }

        async fn noted(&self) -> Option<i64> {
            use mail::events::EventStore;

            self.store.cursors().await.unwrap().first().map(|cursor| cursor.seq)
        }
    }

    fn numbers(events: &[Event]) -> Vec<i64> {
        events.iter().map(|event| event.seq).collect()
    }

    #[tokio::test]
    async fn a_new_sink_begins_at_the_first_event_and_gets_each_in_order() {
        let log = log(5).await;
        let mut feed = log.feed();
        assert_eq!(numbers(&feed.next(2).await.unwrap()), [1, 2]);
        feed.done(1).await.unwrap();
        assert_eq!(numbers(&feed.next(2).await.unwrap()), [2, 3], "what is not done comes again");
        feed.done(5).await.unwrap();
        assert!(feed.next(2).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_sink_goes_on_where_the_store_knows_it_to_be() {
        let log = log(3).await;
        let mut feed = log.feed();
        feed.done(2).await.unwrap();
        assert_eq!(log.noted().await, None, "an event alone is not worth a write");
        feed.note().await.unwrap();
        assert_eq!(log.noted().await, Some(2));
        assert_eq!(numbers(&log.feed().next(9).await.unwrap()), [3]);
    }

    #[tokio::test]
    async fn the_store_is_told_from_time_to_time_and_never_of_less() {
        let log = log(1).await;
        let mut feed = log.feed();
        feed.done(MOST_UNNOTED - 1).await.unwrap();
        assert_eq!(log.noted().await, None);
        feed.done(MOST_UNNOTED).await.unwrap();
        assert_eq!(log.noted().await, Some(MOST_UNNOTED));
        feed.done(1).await.unwrap();
        feed.note().await.unwrap();
        assert_eq!(log.noted().await, Some(MOST_UNNOTED));
    }

    #[tokio::test]
    async fn a_sink_that_fails_is_left_alone_longer_each_time_until_something_is_done() {
        let log = log(1).await;
        let mut feed = log.feed();
        let first = feed.failed();
        assert!(first <= FIRST_PAUSE * 5 / 4 && first >= FIRST_PAUSE * 3 / 4, "{first:?}");
        assert!(feed.failed() > first);
        let late = (0..40).map(|_| feed.failed()).last().unwrap();
        assert!(late <= LONGEST_PAUSE * 5 / 4 && late >= LONGEST_PAUSE * 3 / 4, "{late:?}");
        feed.done(1).await.unwrap();
        assert!(feed.failed() <= FIRST_PAUSE * 5 / 4);
    }

    #[tokio::test]
    async fn what_another_process_did_for_the_sink_is_not_done_again() {
        let log = log(5).await;
        let (mut feed, mut other) = (log.feed(), log.feed());
        assert_eq!(feed.next(9).await.unwrap().len(), 5);
        other.done(3).await.unwrap();
        other.note().await.unwrap();
        feed.failed();
        assert_eq!(numbers(&feed.next(9).await.unwrap()), [4, 5], "after a failure");
        other.done(4).await.unwrap();
        other.note().await.unwrap();
        feed.asked_at = Instant::now().checked_sub(ASKED_EVERY);
        assert_eq!(numbers(&feed.next(9).await.unwrap()), [5], "from time to time");
    }

    #[tokio::test]
    async fn one_process_does_the_work_of_a_sink_and_another_goes_on_where_it_ended() {
        let log = log(5).await;
        let (mut first, mut second) = (log.feed(), log.feed());
        let at = |seconds: i64| from_micros(seconds * 1_000_000);
        assert_eq!(first.next_alone(2, at(0)).await.unwrap().len(), 2);
        assert!(first.is_held());
        assert!(second.next_alone(9, at(3)).await.unwrap().is_empty(), "it is the first's");
        first.done(2).await.unwrap();
        first.note().await.unwrap();
        assert_eq!(numbers(&second.next_alone(9, at(4)).await.unwrap()), [3, 4, 5], "the first is gone");
        first.held_until = Some(Instant::now());
        assert!(!first.is_held() && first.next_alone(9, at(5)).await.unwrap().is_empty(), "it came too late");
        second.done(4).await.unwrap();
        second.let_go(at(5)).await.unwrap();
        assert_eq!(numbers(&first.next_alone(9, at(5)).await.unwrap()), [5], "at once");
    }

    #[tokio::test]
    async fn what_is_put_off_holds_up_the_note_and_not_the_others() {
        let log = log(4).await;
        let mut feed = log.feed();
        let events = feed.next(9).await.unwrap();
        assert!(feed.put_off(&events[1], "dev"));
        feed.done(4).await.unwrap();
        assert!(feed.next(9).await.unwrap().is_empty());
        feed.note().await.unwrap();
        let waiting: Vec<_> = feed.waiting().into_iter().map(|(event, waits_for)| (event.seq, waits_for)).collect();
        assert_eq!((log.noted().await, waiting), (Some(1), vec![(2, "dev".to_owned())]));
        assert_eq!(numbers(&log.feed().next(9).await.unwrap()), [2, 3, 4], "after a crash");
        feed.made_good(2);
        feed.note().await.unwrap();
        assert_eq!(log.noted().await, Some(4));
    }

    #[tokio::test]
    async fn a_sink_is_new_until_it_was_noted_also_when_nothing_happened() {
        let log = log(0).await;
        let mut feed = log.feed();
        assert!(feed.is_new().await.unwrap());
        feed.note().await.unwrap();
        assert_eq!(log.noted().await, Some(0));
        assert!(!feed.is_new().await.unwrap() && !log.feed().is_new().await.unwrap());
    }
}

//! What was committed lately and whom it concerns, as far as this server made it or heard of it.
//!
//! Whoever asks for more than is remembered is told that it may concern everybody. How they come and go is told by the
//! [listener](super::listener).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mail::events::{Changes, Concerned};
use mail::ids::{AgentId, ProjectId};
use tokio::sync::{Notify, watch};

/// How many commits are remembered.
const MOST_REMEMBERED: usize = 1_024;
/// How many are named in one word; a word may have 8,000 bytes.
const NAMED_AT_ONCE: usize = 150;
/// How many are named in all, before everybody is meant.
const MOST_NAMED: usize = 3_000;
/// The version of a project in which nothing has happened.
const NEW: i64 = 1;
/// The word that means everybody.
const EVERYBODY: &str = "*";

/// What a commit changed: mailboxes, and projects with the version that they came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) agents: BTreeSet<i64>,
    pub(super) projects: BTreeMap<i64, i64>,
}

impl Notice {
    /// The words that others are told.
    pub(super) fn words(&self) -> Vec<String> {
        if self.agents.len() + self.projects.len() > MOST_NAMED {
            return vec![EVERYBODY.to_owned()];
        }
        let agents = self.agents.iter().map(|agent| format!("a{agent}"));
        let projects = self.projects.iter().map(|(project, version)| format!("p{project}:{version}"));
        let all: Vec<String> = agents.chain(projects).collect();
        all.chunks(NAMED_AT_ONCE).map(|some| some.join(" ")).collect()
    }

    /// What a word says; `None` if it means everybody, or is in no language of ours.
    pub(super) fn read(word: &str) -> Option<Self> {
        let mut notice = Self::default();
        for named in word.split(' ') {
            if let Some(agent) = named.strip_prefix('a') {
                notice.agents.insert(agent.parse().ok()?);
            } else {
                let (project, version) = named.strip_prefix('p')?.split_once(':')?;
                notice.projects.insert(project.parse().ok()?, version.parse().ok()?);
            }
        }
        Some(notice)
    }

    fn add(&mut self, other: Self) {
        self.agents.extend(other.agents);
        self.projects.extend(other.projects);
    }
}

/// What was committed lately.
#[derive(Default)]
pub(super) struct Notices {
    stamp: watch::Sender<i64>,
    kept: Mutex<Kept>,
    is_heard: watch::Sender<bool>,
    /// Others know of everything up to this stamp.
    told: watch::Sender<i64>,
    /// Woken when there is something to tell.
    pub(super) to_tell: Notify,
}

#[derive(Default)]
struct Kept {
    /// The newest commits, each with its stamp.
    recent: VecDeque<(i64, Concerned)>,
    untold: Notice,
    /// The stamp of the last commit that others are to be told of.
    made: i64,
    /// The version of each project that was told by whoever made it.
    announced: BTreeMap<i64, i64>,
    /// The version of each project when that was last looked at.
    seen: BTreeMap<i64, i64>,
}

impl Notices {
    /// Notes what this server committed. Who waits here is woken by whoever did it.
    pub(super) fn made(&self, notice: Notice) {
        let mut kept = self.kept();
        kept.announce(&notice);
        let stamp = self.add(&mut kept, Concerned::NOBODY);
        if notice != Notice::default() {
            kept.untold.add(notice);
            kept.made = stamp;
            self.to_tell.notify_one();
        }
    }

    /// Notes what another server says that it committed.
    pub(super) fn heard(&self, word: &str) {
        let mut kept = self.kept();
        let concerned = match Notice::read(word) {
            None => Concerned::Everybody,
            Some(notice) => {
                kept.announce(&notice);
                Concerned::These {
                    agents: notice.agents.into_iter().map(AgentId).collect(),
                    projects: notice.projects.into_keys().map(ProjectId).collect(),
                }
            }
        };
        self.add(&mut kept, concerned);
    }

    /// Begins to hear, with the projects as they stand now; what came before may have been missed.
    pub(super) fn begin(&self, now: BTreeMap<i64, i64>) {
        let mut kept = self.kept();
        kept.announced.clone_from(&now);
        kept.seen = now;
        self.add(&mut kept, Concerned::Everybody);
        self.is_heard.send_replace(true);
    }

    /// Comes back when others are heard for the first time.
    pub(super) async fn begun(&self) {
        // It cannot fail: the sender is ours.
        let _ = self.is_heard.subscribe().wait_for(|is_heard| *is_heard).await;
    }

    /// Compares with how the projects stand. What was there at the last look and nobody told by now was missed.
    pub(super) fn compare(&self, now: BTreeMap<i64, i64>) {
        let mut kept = self.kept();
        let seen = std::mem::replace(&mut kept.seen, now);
        let mut is_missed = false;
        for (project, version) in seen {
            let announced = kept.announced.entry(project).or_insert(NEW);
            is_missed |= *announced < version;
            *announced = version.max(*announced);
        }
        if is_missed {
            self.add(&mut kept, Concerned::Everybody);
        }
    }

    /// What others are to be told, and the stamp that they know of everything up to when that was done.
    pub(super) fn untold(&self) -> (Notice, i64) {
        let mut kept = self.kept();
        (std::mem::take(&mut kept.untold), kept.made)
    }

    /// Says that others were told of everything up to that stamp.
    pub(super) fn was_told(&self, stamp: i64) {
        self.told.send_replace(stamp);
    }

    /// Comes back when others were told of everything that is committed by now.
    pub(super) async fn all_told(&self) {
        let made = self.kept().made;
        // It cannot fail: the sender is ours.
        let _ = self.told.subscribe().wait_for(|told| *told >= made).await;
    }

    /// A number that changes with every commit, and those who wait for it to change.
    pub(super) fn stamps(&self) -> watch::Receiver<i64> {
        self.stamp.subscribe()
    }

    /// Everything after that stamp, as far as it is remembered.
    pub(super) fn after(&self, stamp: i64) -> Changes {
        let kept = self.kept();
        let newest = *self.stamp.borrow();
        let oldest = kept.recent.front().map_or(newest + 1, |(first, _)| *first);
        let is_forgotten = stamp + 1 < oldest;
        let since = kept.recent.iter().filter(|(at, _)| *at > stamp).map(|(_, concerned)| concerned);
        Changes { stamp: newest, concerned: if is_forgotten { Concerned::Everybody } else { all_of(since) } }
    }

    fn add(&self, kept: &mut Kept, concerned: Concerned) -> i64 {
        let stamp = *self.stamp.borrow() + 1;
        if kept.recent.len() >= MOST_REMEMBERED {
            kept.recent.pop_front();
        }
        kept.recent.push_back((stamp, concerned));
        self.stamp.send_replace(stamp);
        stamp
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // What a panic could leave half done is a wake-up, and one that is lost is made good.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn announce(&mut self, notice: &Notice) {
        for (project, version) in &notice.projects {
            let announced = self.announced.entry(*project).or_default();
            *announced = (*announced).max(*version);
        }
    }
}

fn all_of<'a>(parts: impl Iterator<Item = &'a Concerned>) -> Concerned {
    let (mut all_agents, mut all_projects) = (BTreeSet::new(), BTreeSet::new());
    for part in parts {
        let Concerned::These { agents, projects } = part else { return Concerned::Everybody };
        all_agents.extend(agents.iter().copied());
        all_projects.extend(projects.iter().copied());
    }
    Concerned::These { agents: all_agents.into_iter().collect(), projects: all_projects.into_iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(agents: &[i64], projects: &[(i64, i64)]) -> Notice {
        Notice { agents: agents.iter().copied().collect(), projects: projects.iter().copied().collect() }
    }

    fn these(agents: &[i64], projects: &[i64]) -> Concerned {
        Concerned::These {
            agents: agents.iter().copied().map(AgentId).collect(),
            projects: projects.iter().copied().map(ProjectId).collect(),
        }
    }

    #[test]
    fn what_is_told_is_heard_as_it_was_meant() {
        let all: Vec<i64> = (i64::MAX - 1_000..i64::MAX).collect();
        let told = notice(&all, &[(i64::MAX, i64::MAX), (2, 3)]);
        let mut heard = Notice::default();
        for word in told.words() {
            assert!(word.len() < 8_000, "{}", word.len());
            heard.add(Notice::read(&word).unwrap());
        }
        assert_eq!(heard, told);
        let too_many: Vec<i64> = (0..10_000).collect();
        assert_eq!(notice(&too_many, &[]).words(), [EVERYBODY]);
        for odd in [EVERYBODY, "", "a", "p1", "p1:", "x1", "a1  a2"] {
            assert_eq!(Notice::read(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn whoever_asks_learns_of_others_and_of_all_that_came_since() {
        let notices = Notices::default();
        let start = notices.after(0);
        assert_eq!(start, Changes { stamp: 0, concerned: Concerned::NOBODY });
        notices.made(notice(&[7], &[(1, 5)]));
        notices.heard("a1 p1:6");
        notices.heard("a2");
        assert_eq!(notices.after(0), Changes { stamp: 3, concerned: these(&[1, 2], &[1]) });
        assert_eq!(notices.after(2).concerned, these(&[2], &[]));
        notices.begin(BTreeMap::new());
        assert_eq!(notices.after(3).concerned, Concerned::Everybody, "something was missed");
        for _ in 0..MOST_REMEMBERED {
            notices.heard("a3");
        }
        assert_eq!(notices.after(4).concerned, these(&[3], &[]));
        assert_eq!(notices.after(3).concerned, Concerned::Everybody, "it is forgotten");
    }

    #[test]
    fn what_stands_there_and_nobody_told_is_noticed_at_the_second_look() {
        let notices = Notices::default();
        let look = |versions: &[(i64, i64)]| {
            let before = notices.after(0).stamp;
            notices.compare(versions.iter().copied().collect());
            notices.after(before).concerned
        };
        notices.made(notice(&[], &[(1, 5)]));
        assert_eq!(look(&[(1, 5), (3, 1)]), Concerned::NOBODY);
        assert_eq!(look(&[(1, 5), (2, 9)]), Concerned::NOBODY, "the word may be under link");
        notices.heard("p2:9");
        assert_eq!(look(&[(1, 6), (2, 9)]), Concerned::NOBODY);
        assert_eq!(look(&[(1, 6), (2, 9)]), Concerned::Everybody, "a server died before it told");
        assert_eq!(look(&[(1, 6), (2, 9)]), Concerned::NOBODY, "once");
    }
}

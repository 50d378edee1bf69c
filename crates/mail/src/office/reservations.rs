//! Reserving files, standing in line for them, and giving them back.

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;

use super::{Claim, Office};
use crate::clock::after_seconds;
use crate::error::{Error, check_text};
use crate::ids::{AgentId, ProjectId, ReservationId, TicketId};
use crate::office::projects::Found;
use crate::projects::{Named, Project, ProjectKey};
use crate::reservations::pattern::Pattern;
use crate::reservations::{
    Conflict, NewEnd, Request, Reservation, Reserved, TTL_SECONDS, Waiter, held_by_another, waited_for,
};

/// The most paths in one request.
pub const MOST_PATHS: usize = 1_000;
/// How many reservations are compared with paths at a time.
const PAGE: usize = 1_000;
/// The most plain globs that the patterns of one request may stand for, braces written out. Comparing two requests takes
/// as many steps as the product of theirs.
pub(super) const MOST_ALTERNATIVES: usize = 1_024;
/// How long somebody in line relies on being woken. Short, because a place is held again only when half of it is over,
/// and may not be lost for being late.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// The longest reason, in bytes.
pub(super) const LONGEST_REASON: usize = 4 * 1024;

/// What an agent wants to reserve.
#[derive(Clone, Copy, Debug)]
pub struct ReserveRequest<'a> {
    /// The project.
    pub project_key: &'a str,
    /// Who wants it.
    pub agent: Claim<'a>,
    /// Globs, absolute or relative to the folder that the key of the project names.
    pub paths: &'a [String],
    /// How long, in seconds.
    pub ttl_seconds: i64,
    /// Whether nobody else may hold any of it.
    pub exclusive: bool,
    /// What it is for.
    pub reason: &'a str,
    /// How long to stand in line; zero to be refused at once.
    pub wait: Duration,
}

/// What came of standing in line for a while.
#[derive(Clone, Debug)]
pub enum InLine {
    /// All of it is held now.
    Granted(Vec<Reservation>),
    /// Not yet: the place is held for some seconds, for who asks again with the ticket.
    Waiting {
        /// The place in the line.
        ticket: TicketId,
        /// What is in the way.
        conflicts: Vec<Conflict>,
    },
}

/// Somebody in line, and the reservations that it waits for.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Who, and for what.
    pub waiter: Waiter,
    /// The numbers of the reservations.
    pub waits_for: Vec<ReservationId>,
}

/// Which of an agent's reservations are meant: those on these paths and those of these numbers. All when neither is said.
#[derive(Clone, Copy, Debug, Default)]
pub struct Which<'a> {
    /// Globs, as they were reserved.
    pub paths: Option<&'a [String]>,
    /// Numbers of reservations.
    pub ids: Option<&'a [i64]>,
}

/// For how long reservations are renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// So many seconds from now.
    FromNow(i64),
    /// So many seconds longer than they would have lasted, up to the longest that a reservation may last.
    Longer(i64),
}

impl Renewal {
    fn check(self) -> Result<(), Error> {
        match self {
            Self::FromNow(seconds) => check_ttl("new_ttl_seconds", seconds),
            Self::Longer(seconds) => check_ttl("extend_seconds", seconds),
        }
    }

    fn end(self, now: Timestamp) -> NewEnd {
        match self {
            Self::FromNow(seconds) => NewEnd::At(after_seconds(now, seconds)),
            Self::Longer(seconds) => NewEnd::Later { seconds, at_most: after_seconds(now, *TTL_SECONDS.end()) },
        }
    }
}

impl Office {
    /// Reserves all of the paths or nothing; waits its turn if asked to.
    pub async fn reserve(&self, request: ReserveRequest<'_>) -> Result<Vec<Reservation>, Error> {
        let (wanted, wait) = (self.wanted(&request).await?, request.wait);
        let wait_until = (!wait.is_zero()).then(|| after_seconds(self.clock.now(), wait.as_secs() as i64));
        match self.reserve_until(Request { wait_until, ..wanted }, wait_until).await? {
            InLine::Granted(reservations) => Ok(reservations),
            InLine::Waiting { conflicts, .. } => Err(Error::Reserved { conflicts }),
        }
    }

    /// The same for who stands in line for as long as it takes, and wants to hear how it stands: returns when the wait is over,
    /// with a ticket that keeps the place until it asks again.
    pub async fn stand_in_line(&self, request: ReserveRequest<'_>, ticket: Option<TicketId>) -> Result<InLine, Error> {
        let (wanted, now) = (self.wanted(&request).await?, self.clock.now());
        let back_at = after_seconds(now, request.wait.as_secs() as i64);
        // Whoever asks again in time has never left: the place is lost by time, and not by the end of this wait.
        let wait_until = Some(after_seconds(now, *TTL_SECONDS.end()));
        self.reserve_until(Request { wait_until, ticket, ..wanted }, Some(back_at)).await
    }

    /// Leaves the line; whether the agent stood in it.
    pub async fn leave_line(&self, project_key: &str, agent: Claim<'_>, ticket: TicketId) -> Result<bool, Error> {
        let (project, agent, _) = self.acting(project_key, agent).await?;
        let has_left = self.store.leave_line(project.id, agent.id, ticket).await?;
        if has_left {
            self.wake.reservations_changed(project.id);
        }
        Ok(has_left)
    }

    /// What an agent asks for, checked.
    async fn wanted(&self, request: &ReserveRequest<'_>) -> Result<Request, Error> {
        check_ttl("ttl_seconds", request.ttl_seconds)?;
        check_text("reason", request.reason, LONGEST_REASON)?;
        let (project, agent, _) = self.acting(request.project_key, request.agent).await?;
        let patterns = patterns(&self.named(request.project_key).await?, request.paths, MOST_ALTERNATIVES)?;
        Ok(Request {
            project: project.id,
            agent: agent.id,
            agent_name: agent.name,
            patterns,
            exclusive: request.exclusive,
            reason: request.reason.to_owned(),
            ttl_seconds: request.ttl_seconds,
            wait_until: None,
            ticket: None,
        })
    }

    /// Asks until it is granted, or `back_at` has come.
    async fn reserve_until(&self, mut wanted: Request, back_at: Option<Timestamp>) -> Result<InLine, Error> {
        let project = wanted.project;
        let mut signal = self.wake.reservations(project);
        loop {
            let now = self.clock.now();
            let (look_again_at, conflicts) = match self.store.reserve(&wanted, now).await? {
                Reserved::Granted(reservations) => {
                    // A line that became shorter may let others through.
                    self.wake.reservations_changed(project);
                    return Ok(InLine::Granted(reservations));
                }
                Reserved::Refused(conflicts) => {
                    if wanted.ticket.is_some() {
                        self.wake.reservations_changed(project);
                    }
                    return Err(Error::Reserved { conflicts });
                }
                Reserved::Circle(circle) => return Err(Error::Circle { circle }),
                Reserved::Waiting { ticket, look_again_at, conflicts } => {
                    wanted.ticket = Some(ticket);
                    (look_again_at, conflicts)
                }
            };
            let back_at = back_at.unwrap_or(now);
            if now >= back_at
                && let Some(ticket) = wanted.ticket
            {
                return Ok(InLine::Waiting { ticket, conflicts });
            }
            let until = look_again_at.min(back_at).as_microsecond() - self.clock.now().as_microsecond();
            if self.wake.closing() {
                wanted.wait_until = None;
            } else {
                signal.wait(Duration::from_micros(until.max(0) as u64).min(ASK_AGAIN)).await;
            }
        }
    }

    /// Checks that the paths can be reserved at all, before anything is made for their sake: the project need not exist.
    pub async fn check_paths(&self, project_key: &str, paths: &[String]) -> Result<(), Error> {
        let named = match self.find_project(&ProjectKey::parse(project_key)?).await? {
            Found::Project(named) => named,
            Found::Missing { key: ProjectKey::Slug(_), .. } => self.named(project_key).await?,
            Found::Missing { key, place } => {
                let (human_key, created_at) = (key.as_str().to_owned(), self.clock.now());
                Named { project: Project { id: ProjectId(0), slug: String::new(), human_key, created_at }, place }
            }
        };
        patterns(&named, paths, MOST_ALTERNATIVES).map(drop)
    }

    /// Gives back reservations of the agent.
    pub async fn release(
        &self,
        project_key: &str,
        agent: Claim<'_>,
        which: Which<'_>,
    ) -> Result<Vec<Reservation>, Error> {
        let (project, agent, _) = self.acting(project_key, agent).await?;
        let (patterns, _) = self.meant(&self.named(project_key).await?, agent.id, which).await?;
        let released =
            self.store.release(project.id, agent.id, patterns.as_deref(), agent.id, self.clock.now()).await?;
        if !released.is_empty() {
            self.wake.reservations_changed(project.id);
        }
        Ok(released)
    }

    /// Moves the end of reservations of the agent. All or nothing.
    pub async fn renew(
        &self,
        project_key: &str,
        agent: Claim<'_>,
        which: Which<'_>,
        renewal: Renewal,
    ) -> Result<Vec<Reservation>, Error> {
        renewal.check()?;
        let (project, agent, _) = self.acting(project_key, agent).await?;
        let not_held = |pattern: String| Error::NotHeld { agent: agent.name.clone(), pattern };
        let (patterns, missing) = self.meant(&self.named(project_key).await?, agent.id, which).await?;
        if let Some(id) = missing {
            return Err(not_held(id.to_string()));
        }
        let now = self.clock.now();
        match self.store.renew(project.id, agent.id, patterns.as_deref(), renewal.end(now), now).await? {
            Err(pattern) => Err(not_held(pattern.as_str().to_owned())),
            Ok(renewed) if renewed.is_empty() => Err(not_held("*".to_owned())),
            Ok(renewed) => {
                // Those in line counted on the old end.
                self.wake.reservations_changed(project.id);
                Ok(renewed)
            }
        }
    }

    /// The patterns that are meant, none for all of the agent's; and the first number that is not one of its reservations.
    ///
    /// What an agent asks for again keeps its number, so that its pattern says which reservation of its own is meant.
    async fn meant(
        &self,
        named: &Named,
        agent: AgentId,
        which: Which<'_>,
    ) -> Result<(Option<Vec<Pattern>>, Option<i64>), Error> {
        let mut meant = match which.paths {
            Some(paths) => Some(self.patterns_held(named, agent, paths).await?),
            None => None,
        };
        let Some(ids) = which.ids else { return Ok((meant, None)) };
        if ids.len() > MOST_PATHS {
            let (many, wanted) = (format!("{} numbers", ids.len()), format!("at most {MOST_PATHS}"));
            return Err(Error::invalid("file_reservation_ids", &many, wanted));
        }
        let mut missing = None;
        for id in ids {
            let behind = Some(ReservationId(id.saturating_sub(1)));
            let found = self.store.reservations(named.project.id, behind, 1, self.clock.now()).await?;
            match found.into_iter().find(|found| found.id.0 == *id && found.holder == agent) {
                Some(found) => meant.get_or_insert_default().push(found.pattern),
                None => missing = missing.or(Some(*id)),
            }
        }
        Ok((Some(meant.unwrap_or_default()), missing))
    }

    /// The patterns of those paths. In a folder of the project they may be written as the folder calls them, or as the project
    /// does, which answers show: what the agent holds is meant.
    async fn patterns_held(&self, named: &Named, agent: AgentId, paths: &[String]) -> Result<Vec<Pattern>, Error> {
        let wanted = patterns(named, paths, usize::MAX)?;
        if named.place.as_ref().is_none_or(|place| place.below.is_empty()) {
            return Ok(wanted);
        }
        let (mut held, mut after) = (Vec::new(), None);
        loop {
            let page = self.store.reservations(named.project.id, after, PAGE, self.clock.now()).await?;
            after = page.last().map(|last| last.id);
            let is_last = page.len() < PAGE;
            held.extend(page.into_iter().filter(|held| held.holder == agent).map(|held| held.pattern));
            if is_last {
                break;
            }
        }
        let chosen = paths.iter().map(|path| {
            let own = patterns(named, std::slice::from_ref(path), usize::MAX)?.remove(0);
            let answered = Pattern::parse_within(&named.project.human_key, path).ok();
            Ok(answered.filter(|answered| !held.contains(&own) && held.contains(answered)).unwrap_or(own))
        });
        chosen.collect()
    }

    /// Those who stand in line in a project, in their order, and which of the reservations `held` they wait for.
    pub async fn waiting(&self, project: ProjectId, held: &[Reservation]) -> Result<Vec<Waiting>, Error> {
        let waiters = self.store.waiters(project, self.clock.now()).await?;
        let waiting = waiters.into_iter().map(|waiter| Waiting { waits_for: waited_for(&waiter, held), waiter });
        Ok(waiting.collect())
    }

    /// A page of a project's active reservations, in the order they were granted.
    pub async fn reservations(
        &self,
        project_key: &str,
        after: Option<ReservationId>,
        limit: usize,
    ) -> Result<(Project, Vec<Reservation>), Error> {
        let project = self.project(project_key).await?;
        let reservations = self.store.reservations(project.id, after, limit, self.clock.now()).await?;
        Ok((project, reservations))
    }

    /// Those of the paths that others than `me` hold, each with the reservation that [speaks against](held_by_another)
    /// writing it.
    pub async fn held_by_others<'p>(
        &self,
        project_key: &str,
        me: Option<&str>,
        paths: &'p [String],
    ) -> Result<Vec<(&'p str, Reservation)>, Error> {
        if paths.len() > MOST_PATHS {
            return Err(wrong_count(paths));
        }
        let Named { project, place } = self.named(project_key).await?;
        let place = place.unwrap_or_default();
        let called: Vec<_> = paths.iter().map(|path| place.file(path)).collect();
        // Whoever was renamed meanwhile still holds what it held. Nobody has to be registered to ask.
        let known = match me {
            Some(me) => self.agents_called(&project, &[me]).await.ok().and_then(|mut known| known.pop()),
            None => None,
        };
        let me = known.as_ref().map(|known| known.name.as_str()).or(me);
        let (mut found, mut after) = (vec![None; paths.len()], None);
        loop {
            let page = self.store.reservations(project.id, after, PAGE, self.clock.now()).await?;
            for (path, found) in called.iter().zip(&mut found) {
                if let Some(held) = held_by_another(&page, me, path)
                    && found.as_ref().is_none_or(|known: &Reservation| known.ends_at <= held.ends_at)
                {
                    *found = Some(held.clone());
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE => after = Some(last.id),
                _ => break,
            }
        }
        Ok(paths.iter().zip(found).filter_map(|(path, held)| Some((path.as_str(), held?))).collect())
    }
}

pub(super) fn patterns(named: &Named, paths: &[String], most_alternatives: usize) -> Result<Vec<Pattern>, Error> {
    if paths.is_empty() || paths.len() > MOST_PATHS {
        return Err(wrong_count(paths));
    }
    let mut patterns: Vec<Pattern> = Vec::with_capacity(paths.len());
    let mut known = std::collections::HashSet::new();
    let mut alternatives = 0;
    for path in paths {
        let path = named.place.as_ref().map_or(Cow::Borrowed(path.as_str()), |place| place.glob(path));
        let pattern = Pattern::parse_within(&named.project.human_key, &path)?;
        if known.insert(pattern.as_str().to_owned()) {
            alternatives += pattern.breadth();
            if alternatives > most_alternatives {
                let value = format!("{} paths with more than {most_alternatives} alternatives", paths.len());
                let wanted = format!("at most {most_alternatives} alternatives in all, braces written out");
                return Err(Error::Invalid { what: "paths", value, wanted });
            }
            patterns.push(pattern);
        }
    }
    Ok(patterns)
}

fn wrong_count(paths: &[String]) -> Error {
    Error::invalid("paths", &format!("{} paths", paths.len()), format!("1 to {MOST_PATHS} paths"))
}

pub(super) fn check_ttl(what: &'static str, seconds: i64) -> Result<(), Error> {
    if TTL_SECONDS.contains(&seconds) {
        return Ok(());
    }
    let wanted = format!("{} to {} seconds", TTL_SECONDS.start(), TTL_SECONDS.end());
    Err(Error::invalid(what, &seconds.to_string(), wanted))
}

//! Sessions: what hooks say of them, and what becomes of an agent's things when they have ended.

use jiff::Timestamp;

use super::{Claim, Office};
use crate::agents::{Agent, AgentName, PERSON};
use crate::channels::OFFICE;
use crate::error::{Error, check_label};
use crate::ids::{AgentId, ProjectId};
use crate::messages::{Appended, IdempotencyKey, Importance, InboxEntry, InboxQuery, NewMessage, Role, Vouched};
use crate::projects::Project;
use crate::responses::JsonFacts;
use crate::sessions::{EndedSession, Fate, QuietName, Session, fate, told_to_person, wants_answer};

/// The longest key, name of a client or of a machine, and the longest place, in characters.
const LONGEST_WORD: usize = 128;
const LONGEST_PLACE: usize = 4096;
/// How many names are looked at in one pass. More are for the next one.
const MOST_NAMES: usize = 100;
/// How many unread messages of a name are looked at.
const MOST_UNREAD: usize = 1_000;
/// How many people are looked through for the person of a project.
const MOST_PERSONS: usize = 1_000;

/// What a hook says of a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionSign<'a> {
    /// What it is known by among the agent's sessions.
    pub key: &'a str,
    /// The client.
    pub client: &'a str,
    /// The machine.
    pub host: &'a str,
    /// Where it began.
    pub place: &'a str,
    /// Whether it waits for its user.
    pub is_idle: bool,
}

/// What a pass over generated names did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// The names whose mail the person was told of.
    pub handed_over: Vec<String>,
    /// The names that were retired.
    pub retired: Vec<String>,
}

impl Office {
    /// Notes that a session of an agent is there; whether that is new.
    pub async fn note_session(
        &self,
        project_key: &str,
        claim: Claim<'_>,
        sign: SessionSign<'_>,
    ) -> Result<bool, Error> {
        for (what, text, longest) in [
            ("session_key", sign.key, LONGEST_WORD),
            ("client", sign.client, LONGEST_WORD),
            ("host", sign.host, LONGEST_WORD),
            ("place", sign.place, LONGEST_PLACE),
        ] {
            check_label(what, text, longest)?;
        }
        let (project, agent, _) = self.claimed(project_key, claim).await?;
        let now = self.clock.now();
        let session = Session {
            agent: agent.id,
            key: sign.key.to_owned(),
            client: sign.client.to_owned(),
            host: sign.host.to_owned(),
            place: sign.place.to_owned(),
            is_idle: sign.is_idle,
            began_at: now,
            seen_at: now,
        };
        let is_change = self.store.note_session(project.id, &session).await?;
        if is_change {
            self.wake.work_changed(project.id);
        }
        Ok(is_change)
    }

    /// Notes that a session of an agent ended; without a key, that the agent goes. With its last session its reservations end as the
    /// [rules](crate::sessions::SessionRules::release) say, and it is gone unless a watcher is there for it. Also answers whether it was
    /// there.
    pub async fn end_session(
        &self,
        project_key: &str,
        claim: Claim<'_>,
        key: Option<&str>,
    ) -> Result<(EndedSession, bool), Error> {
        let (project, agent, _) = self.claimed(project_key, claim).await?;
        let (release, now) = (self.rules.sessions.release, self.clock.now());
        let ended = self.store.end_session(project.id, agent.id, key, release, now).await?;
        if !ended.released.is_empty() {
            self.wake.reservations_changed(project.id);
        }
        self.wake.work_changed(project.id);
        let is_watched = self.store.presence(agent.id).await?.is_some_and(|known| known.is_watched(now));
        if !ended.is_new || !ended.is_last || is_watched {
            return Ok((ended, false));
        }
        let is_gone = self.leave(project_key, claim).await?;
        Ok((ended, is_gone))
    }

    /// The open sessions of some agents of a project.
    pub async fn sessions(&self, project: ProjectId, agents: &[AgentId]) -> Result<Vec<Session>, Error> {
        let mut sessions = self.store.sessions(project, agents).await?;
        let now = self.clock.now();
        sessions.retain(|session| !session.is_lost(now));
        Ok(sessions)
    }

    /// Looks after the names that were generated for sessions which have ended, as [`fate`] decides: mail that wants an answer is told
    /// to the person, once; a name that nothing waits for is retired. `person` is what the person is called if nobody is known in the
    /// project yet.
    pub async fn settle_sessions(&self, project_key: &str, person: &str) -> Result<Settled, Error> {
        let project = self.project(project_key).await?;
        let (rules, now) = (self.rules.sessions, self.clock.now());
        let quiet_until = rules.quiet_until(now);
        let mut settled = Settled::default();
        for name in self.store.quiet_names(project.id, quiet_until, MOST_NAMES, now).await? {
            let waiting = self.waiting_for(&name).await?;
            match fate(&name, waiting.len(), &rules, now) {
                Fate::Stays => {}
                Fate::HandsOver => {
                    self.hand_over(&project, person, &name, &waiting, now).await?;
                    settled.handed_over.push(name.agent.name);
                }
                Fate::Retires => {
                    let by = self.office_agent(&project).await?;
                    let is_new = self.store.retire_quiet(project.id, name.agent.id, quiet_until, by, now).await?;
                    self.note_retired(project.id, &name.agent.name, is_new);
                    settled.retired.extend(is_new.then_some(name.agent.name));
                }
            }
        }
        Ok(settled)
    }

    /// The unread mail of a name that wants an answer, and that the person was not told of; oldest first.
    async fn waiting_for(&self, name: &QuietName) -> Result<Vec<InboxEntry>, Error> {
        let unread = InboxQuery { unread_only: true, with_bodies: false, ..InboxQuery::newest(MOST_UNREAD) };
        let mut waiting = self.store.inbox(name.agent.id, &unread).await?;
        waiting.retain(|entry| entry.message.id > name.handed_over && wants_answer(entry));
        waiting.reverse();
        Ok(waiting)
    }

    /// Tells the person of mail that waits for a name. A key makes it once, whoever passes by.
    async fn hand_over(
        &self,
        project: &Project,
        person: &str,
        name: &QuietName,
        waiting: &[InboxEntry],
        now: Timestamp,
    ) -> Result<(), Error> {
        let Some(last) = waiting.last().map(|entry| entry.message.id) else { return Ok(()) };
        let to = self.person_of(project, person).await?;
        let (subject, body) = told_to_person(name, waiting);
        let key = format!("hand over {} to {last}", name.agent.id);
        let new = NewMessage {
            project: project.id,
            from: self.office_agent(project).await?,
            from_as: None,
            recipients: vec![(to.id, to.name, Role::To)],
            subject,
            body,
            thread: None,
            reply_to: None,
            marks_read: true,
            importance: Importance::High,
            ack_required: false,
            kind: None,
            work_id: None,
            is_passing: false,
            door: OFFICE,
            vouched: Vouched::Claimed,
            // What it says changes with the time; that it is the same message is known by the key alone.
            idempotency: Some(IdempotencyKey { fingerprint: *blake3::hash(key.as_bytes()).as_bytes(), key }),
            open_key: None,
            post: None,
            json: JsonFacts::default(),
            now,
        };
        if let Appended::New { .. } = self.store.append(&new).await? {
            self.wake.mail_for(&[to.id]);
            self.wake.work_changed(project.id);
        }
        Ok(self.store.note_handed_over(name.agent.id, last).await?)
    }

    /// The person of a project: of those who were ever at its page the one of that name, else who did something last; else a new one
    /// of that name.
    async fn person_of(&self, project: &Project, name: &str) -> Result<Agent, Error> {
        let mut people = self.store.agents_in(project.id, PERSON, MOST_PERSONS).await?;
        people.sort_by_key(|person| (person.name == name, person.last_active_at));
        match people.pop() {
            Some(person) => Ok(person),
            None => match self.make_person(project, &AgentName::parse(name)?).await {
                // An agent has that name.
                Err(Error::NameTaken(_)) => {
                    self.make_person(project, &AgentName::parse(&format!("{PERSON} {name}"))?).await
                }
                made => made,
            },
        }
    }
}

//! Operations of a store, chosen at random: the same numbers make the same operations.
//!
//! What cannot be compared is left out: when somebody is told of a change (`changes`), and how fast one may ask (`take`).

mod edges;
mod glances;
mod looks;
mod messages;
mod moving;
mod nul;
mod posts;
mod sessions;
mod standing;
mod words;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use jiff::Timestamp;
use mail::agents::{AgentName, Profile, Taking, TokenHash};
use mail::clock::after_seconds;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::messages::Mark;
use mail::{Store, StoreError};

pub use edges::ask_oddly;
pub use nul::ask_with_nul;
use words::{NAMES, PROJECTS};

/// How an answer begins that is none.
pub const REFUSED: &str = "REFUSED";

/// Numbers that look random and are the same each time.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len())]
    }

    fn maybe(&mut self) -> bool {
        self.roll(3) == 0
    }

    fn number<T>(&mut self, known: usize, id: fn(i64) -> T) -> T {
        id(1 + self.roll(known + 1) as i64)
    }
}

/// What was made so far, the same in both stores.
#[derive(Clone, Default)]
pub struct Known {
    /// Projects, by their paths.
    projects: Vec<(ProjectId, String)>,
    agents: Vec<KnownAgent>,
    /// The number of the newest message.
    messages: usize,
    tickets: usize,
    seconds: i64,
    /// What each project's stamp of presences was when it was last asked for.
    stamps: BTreeMap<ProjectId, i64>,
}

#[derive(Clone)]
struct KnownAgent {
    id: AgentId,
    project: ProjectId,
    name: String,
}

impl Known {
    fn now(&self) -> Timestamp {
        after_seconds("2026-01-01T00:00:00Z".parse().unwrap(), self.seconds)
    }

    /// Anybody, and more often one of a few, so that something comes of it.
    fn someone(&self, dice: &mut Dice) -> KnownAgent {
        let few = if dice.maybe() { self.agents.len() } else { self.agents.len().min(6) };
        self.agents[dice.roll(few)].clone()
    }

    /// Any message, more often a new one, and sometimes one that is not there.
    fn some_message(&self, dice: &mut Dice) -> MessageId {
        let newest = self.messages as i64;
        if dice.maybe() { dice.number(self.messages, MessageId) } else { MessageId(newest + 1 - dice.roll(12) as i64) }
    }

    fn name_of(&self, id: AgentId) -> &str {
        self.agents.iter().find(|agent| agent.id == id).map_or("nobody", |agent| &agent.name)
    }

    fn path_of(&self, id: ProjectId) -> &str {
        self.projects.iter().find(|(known, _)| *known == id).map_or("/", |(_, path)| path)
    }

    /// Finds whoever came with imported mail.
    async fn look_around(&mut self, store: &Arc<dyn Store>) {
        let projects = store.projects(None, 1_000).await.unwrap();
        self.projects = projects.into_iter().map(|project| (project.id, project.human_key)).collect();
        self.agents.clear();
        for (project, _) in &self.projects {
            for agent in store.agents(*project, None, 1_000).await.unwrap() {
                self.agents.push(KnownAgent { id: agent.id, project: *project, name: agent.name });
            }
        }
        self.agents.sort_by_key(|agent| agent.id);
    }
}

/// What a store answered, or how it failed: the words for that are each engine's own.
fn told<T: Debug>(answer: Result<T, StoreError>) -> String {
    match answer {
        Ok(answer) => format!("{answer:?}"),
        Err(StoreError::Busy) => format!("{REFUSED}: busy"),
        Err(StoreError::TooSlow) => format!("{REFUSED}: too slow"),
        Err(StoreError::Away { .. }) => format!("{REFUSED}: away"),
        Err(StoreError::Failed { .. }) => format!("{REFUSED}: failed"),
    }
}

/// Does one thing, and tells what the store answered.
pub async fn act(dice: &mut Dice, store: &Arc<dyn Store>, known: &mut Known) -> String {
    known.seconds += i64::try_from(dice.roll(30)).unwrap();
    let now = known.now();
    if known.projects.is_empty() || dice.roll(60) == 0 {
        let path = if known.projects.is_empty() { PROJECTS[0] } else { dice.one(&PROJECTS) };
        let made = store.ensure_project(path, now).await;
        known.look_around(store).await;
        return told(made);
    }
    if known.agents.is_empty() || dice.roll(25) == 0 {
        return register(dice, store, known, now).await;
    }
    let KnownAgent { id: agent, project, .. } = known.someone(dice);
    if let Some(said) = rarely(dice, store, known, (project, agent), now).await {
        return said;
    }
    let message = known.some_message(dice);
    match dice.roll(30) {
        0..=6 => messages::send(dice, store, known, (project, agent), now).await,
        7 => {
            let mark = [Mark::Read, Mark::Unread, Mark::Acknowledged { note: "done".into() }][dice.roll(3)].clone();
            told(store.mark(agent, message, &mark, now).await)
        }
        8 => {
            let by = known.someone(dice).id;
            match dice.maybe() {
                true => told(store.bring_back(agent, message, by, now).await),
                false => told(store.archive(agent, message, by, now).await),
            }
        }
        9 => {
            let after = dice.maybe().then_some(message);
            let taken = store.take_unseen(agent, after, 1 + dice.roll(3), now, None).await;
            if dice.maybe() {
                return told(store.give_back(agent, &[message], now).await);
            }
            told(taken)
        }
        10 => messages::reserve(dice, store, known, (project, agent), now).await,
        11 => messages::give_back_or_renew(dice, store, (project, agent), now).await,
        12 => standing::presence(dice, store, (project, agent), now).await,
        13 => standing::watch(dice, store, agent, message, now).await,
        14 => sessions::session(dice, store, (project, agent), message, now).await,
        15 => standing::cursor(dice, store, project, now).await,
        16 => told(store.events(project, dice.roll(80) as i64, 1 + dice.roll(20)).await),
        17 => posts::name(dice, store, message).await,
        18 | 19 => moving::carry(dice, store, known, message).await,
        _ => looks::look(dice, store, known, (project, agent), message).await,
    }
}

/// Does one of the things that change much of what comes later.
async fn rarely(
    dice: &mut Dice,
    store: &Arc<dyn Store>,
    known: &mut Known,
    (project, agent): (ProjectId, AgentId),
    now: Timestamp,
) -> Option<String> {
    if dice.roll(60) == 0 {
        return Some(told(store.retire(project, agent, known.someone(dice).id, now).await));
    }
    if dice.roll(60) == 0 {
        return Some(match dice.maybe() {
            true => told(store.remove_alias(dice.one(&PROJECTS)).await),
            false => told(store.set_alias(dice.one(&PROJECTS), project, now).await),
        });
    }
    if dice.roll(60) == 0 {
        let which = [TokenHash::from_bytes([dice.roll(5) as u8; 32])];
        let which = dice.maybe().then_some(&which[..]);
        return Some(told(store.revoke_tokens(agent, which, TokenHash::from_bytes([9; 32]), now).await));
    }
    if dice.roll(15) == 0 {
        let message = known.some_message(dice);
        return Some(sessions::wake(dice, store, (project, agent), message, now).await);
    }
    if dice.roll(80) == 0 {
        let renamed = sessions::rename(dice, store, (project, agent), now).await;
        known.look_around(store).await;
        return Some(renamed);
    }
    None
}

async fn register(dice: &mut Dice, store: &Arc<dyn Store>, known: &mut Known, now: Timestamp) -> String {
    let (project, _) = known.projects[dice.roll(known.projects.len())];
    let profile = Profile { program: dice.maybe().then(|| "codex".to_owned()), ..Profile::default() };
    let token = dice.maybe().then(|| TokenHash::from_bytes([dice.roll(5) as u8; 32]));
    let taking = [Taking::NewOrKnown, Taking::NewOnly, Taking::NewOrTokenless][dice.roll(3)];
    let name = AgentName::parse(dice.one(&NAMES)).unwrap();
    let registered = told(store.register(project, &name, &profile, token, taking, now).await);
    known.look_around(store).await;
    let tokens = store.token_hashes(AgentId(1 + dice.roll(known.agents.len() + 1) as i64)).await;
    format!("{registered} {}", told(tokens.map(|all| all.iter().map(|hash| *hash.as_bytes()).collect::<Vec<_>>())))
}

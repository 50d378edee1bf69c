//! Operations of a store, drawn by lot: the same numbers make the same operations.

mod looks;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use mail::Store;
use mail::agents::{AgentName, Profile, Taking, TokenHash};
use mail::channels::{ChannelName, NewPost};
use mail::clock::after_seconds;
use mail::ids::{AgentId, MessageId, ProjectId, TicketId};
use mail::messages::{IdempotencyKey, Importance, Mark, NewMessage, Role, Vouched};
use mail::presence::{NewPresence, Source};
use mail::reservations::Request;
use mail::reservations::pattern::Pattern;
use mail::watches::{NewWatch, Outcome, RunQuery};

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
    projects: usize,
    agents: Vec<(ProjectId, String)>,
    messages: usize,
    tickets: usize,
    seconds: i64,
}

impl Known {
    fn now(&self) -> Timestamp {
        after_seconds("2026-01-01T00:00:00Z".parse().unwrap(), self.seconds)
    }
}

const NAMES: [&str; 6] = ["alice", "bob", "Bob", "漢字", "dave x", "eve"];
const TEXTS: [&str; 7] = [
    "red green",
    "Green blue round",
    "src/main.rs:17 and red-round",
    "Größe and naïve",
    "",
    "round rounder",
    "\nblue\ttwo",
];
const THREADS: [&str; 4] = ["1", "t", "release 2", "Ünïcode"];
const KEYS: [&str; 4] = ["k", "K", "key 2", "ключ"];
const PATHS: [&str; 6] = ["src/**", "src/a.rs", "docs/*.md", "**/*.rs", "README.md", "src/{a,b}.rs"];
const QUERIES: [&str; 12] = [
    "red",
    "red green",
    "\"red green\"",
    "NOT red",
    "gro*",
    "subject:blue",
    "from:BOB",
    "main.rs",
    "naive",
    "red OR round",
    "round NOT \"round rounder\"",
    "(red OR green) NOT from:alice",
];
const CHANNELS: [&str; 2] = ["dev", "ops.2"];

/// Does one thing, and tells what the store answered.
pub async fn act(dice: &mut Dice, store: &Arc<dyn Store>, known: &mut Known) -> String {
    known.seconds += i64::try_from(dice.roll(30)).unwrap();
    let now = known.now();
    if known.projects < 3 && dice.roll(40) == 0 || known.projects == 0 {
        known.projects += 1;
        return format!("{:?}", store.ensure_project(&format!("/p/{}", known.projects), now).await.unwrap());
    }
    if known.agents.is_empty() || dice.roll(25) == 0 {
        return register(dice, store, known, now).await;
    }
    let (place, (project, _)) = {
        let place = dice.roll(known.agents.len());
        (place, known.agents[place].clone())
    };
    let agent = AgentId(1 + place as i64);
    let message = dice.number(known.messages, MessageId);
    match dice.roll(24) {
        0..=6 => send(dice, store, known, (project, agent), now).await,
        7 => {
            let mark = [Mark::Read, Mark::Unread, Mark::Acknowledged { note: "done".into() }][dice.roll(3)].clone();
            format!("{:?}", store.mark(agent, message, &mark, now).await.unwrap())
        }
        8 => format!("{:?}", store.archive(agent, message, now).await.unwrap()),
        9 => {
            let after = dice.maybe().then_some(message);
            format!("{:?}", store.take_unseen(agent, after, 1 + dice.roll(3), now, None).await.unwrap())
        }
        10 => reserve(dice, store, known, (project, agent), now).await,
        11 => {
            let pattern = [Pattern::parse(dice.one(&PATHS)).unwrap()];
            let patterns = dice.maybe().then_some(&pattern[..]);
            match dice.maybe() {
                true => format!("{:?}", store.release(project, agent, patterns, now).await.unwrap()),
                false => {
                    let until = after_seconds(now, 60);
                    format!("{:?}", store.renew(project, agent, patterns, until, now).await.unwrap())
                }
            }
        }
        12 => presence(dice, store, project, agent, now).await,
        13 => watch(dice, store, agent, message, now).await,
        14 => {
            let seq = dice.roll(50) as i64;
            store.advance_cursor("test", project, seq).await.unwrap();
            format!("{:?}", store.cursors().await.unwrap())
        }
        15 => format!("{:?}", store.events(project, dice.roll(80) as i64, 1 + dice.roll(20)).await.unwrap()),
        _ => looks::look(dice, store, (project, agent), message, now).await,
    }
}

async fn register(dice: &mut Dice, store: &Arc<dyn Store>, known: &mut Known, now: Timestamp) -> String {
    let project = ProjectId(1 + dice.roll(known.projects) as i64);
    let name = dice.one(&NAMES);
    let profile = Profile { program: dice.maybe().then(|| "codex".to_owned()), ..Profile::default() };
    let token = dice.maybe().then(|| TokenHash::from_bytes([dice.roll(5) as u8; 32]));
    let taking = [Taking::NewOrKnown, Taking::NewOnly, Taking::NewOrTokenless][dice.roll(3)];
    let parsed = AgentName::parse(name).unwrap();
    let agent = store.register(project, &parsed, &profile, token, taking, now).await.unwrap();
    if let Some(agent) = &agent
        && agent.id.0 as usize > known.agents.len()
    {
        known.agents.push((project, name.to_owned()));
    }
    let tokens = store.token_hashes(AgentId(1 + dice.roll(known.agents.len() + 1) as i64)).await.unwrap();
    let hashes: Vec<[u8; 32]> = tokens.iter().map(|hash| *hash.as_bytes()).collect();
    format!("{agent:?} {hashes:?}")
}

async fn send(
    dice: &mut Dice,
    store: &Arc<dyn Store>,
    known: &mut Known,
    (project, from): (ProjectId, AgentId),
    now: Timestamp,
) -> String {
    let mut recipients = Vec::new();
    for (place, (home, name)) in known.agents.iter().enumerate() {
        if *home == project && dice.maybe() {
            recipients.push((AgentId(1 + place as i64), name.clone(), dice.one(&[Role::To, Role::Cc, Role::Bcc])));
        }
    }
    let post = dice.maybe().then(|| {
        let mut post = NewPost::chat(ChannelName::parse(dice.one(&CHANNELS)).unwrap());
        if dice.maybe() {
            post.keys = vec![dice.one(&KEYS).to_owned(), format!("also {}", dice.roll(4))];
            post.external_id = Some(post.keys[0].clone());
            post.hops = dice.roll(3) as u32;
        }
        post
    });
    let work_id = dice.maybe().then(|| format!("bd-{}", dice.roll(4)));
    let kind = formats::Kind::all().nth(dice.roll(30));
    let message = NewMessage {
        project,
        from,
        recipients,
        subject: dice.one(&TEXTS).to_owned(),
        body: dice.one(&TEXTS).to_owned(),
        thread: dice.maybe().then(|| dice.one(&THREADS).to_owned()),
        reply_to: dice.maybe().then(|| dice.number(known.messages, MessageId)),
        importance: dice.one(&[Importance::Low, Importance::Normal, Importance::Urgent]),
        ack_required: dice.maybe(),
        kind,
        work_id,
        is_passing: dice.maybe(),
        door: "test",
        vouched: dice.one(&[Vouched::Claimed, Vouched::Verified, Vouched::Human]),
        idempotency: dice
            .maybe()
            .then(|| IdempotencyKey { key: dice.one(&KEYS).to_owned(), fingerprint: [dice.roll(2) as u8; 32] }),
        post,
        // A clock that is sometimes late.
        now: after_seconds(now, 0).checked_sub(SignedDuration::from_secs(dice.roll(3) as i64 * 20)).unwrap(),
    };
    let appended = store.append(&message).await.unwrap();
    if let mail::messages::Appended::New { id, .. } = appended {
        known.messages = id.0 as usize;
    }
    format!("{appended:?}")
}

async fn reserve(
    dice: &mut Dice,
    store: &Arc<dyn Store>,
    known: &mut Known,
    (project, agent): (ProjectId, AgentId),
    now: Timestamp,
) -> String {
    let mut patterns: Vec<Pattern> = Vec::new();
    for _ in 0..1 + dice.roll(3) {
        let pattern = Pattern::parse(dice.one(&PATHS)).unwrap();
        if patterns.iter().all(|known| known.as_str() != pattern.as_str()) {
            patterns.push(pattern);
        }
    }
    let waits = dice.maybe();
    let request = Request {
        project,
        agent,
        agent_name: known.agents[agent.0 as usize - 1].1.clone(),
        patterns,
        exclusive: !dice.maybe(),
        reason: dice.one(&TEXTS).to_owned(),
        ttl_seconds: 30 + dice.roll(600) as i64,
        wait_until: waits.then(|| after_seconds(now, dice.roll(300) as i64)),
        ticket: (waits && known.tickets > 0 && dice.maybe()).then(|| dice.number(known.tickets, TicketId)),
    };
    let reserved = store.reserve(&request, now).await.unwrap();
    if let mail::reservations::Reserved::Waiting { ticket, .. } = &reserved {
        known.tickets = known.tickets.max(ticket.0 as usize);
    }
    format!("{reserved:?}")
}

async fn presence(
    dice: &mut Dice,
    store: &Arc<dyn Store>,
    project: ProjectId,
    agent: AgentId,
    now: Timestamp,
) -> String {
    if dice.maybe() {
        store.touch_soon(project, agent, now, SignedDuration::from_secs(30));
        // Queued behind it.
        store.advance_cursor("test", project, 0).await.unwrap();
        return format!("{:?}", store.presence(agent).await.unwrap());
    }
    let told = NewPresence {
        state: dice.one(&["AWAKE", "OFFLINE", "busy"]).to_owned(),
        substate: dice.maybe().then(|| dice.one(&["IDLE", "PROCESSING"]).to_owned()),
        source: dice.one(&[Source::Watcher, Source::File]),
        watcher_pid: dice.maybe().then_some(17),
        channel: dice.maybe().then(|| "dev".to_owned()),
        seen_at: now,
    };
    format!("{:?}", store.set_presence(project, agent, &told, now).await.unwrap())
}

async fn watch(dice: &mut Dice, store: &Arc<dyn Store>, agent: AgentId, message: MessageId, now: Timestamp) -> String {
    let channel = dice.one(&["", "dev"]);
    let holder = dice.one(&["one", "two"]);
    match dice.roll(7) {
        0 | 1 => {
            let watch = NewWatch {
                agent,
                channel: channel.to_owned(),
                since: now.checked_sub(SignedDuration::from_secs(100)).unwrap(),
                holder: holder.to_owned(),
                instead_of: dice.maybe().then(|| "two".to_owned()),
                until: after_seconds(now, 60),
            };
            format!("{:?}", store.begin_watch(&watch, now).await.unwrap())
        }
        2 => {
            let until = after_seconds(now, 60);
            format!("{:?}", store.hold_watch(agent, channel, holder, message, until).await.unwrap())
        }
        3 => format!("{:?}", store.end_watch(agent, channel, holder).await.unwrap()),
        4 if message.0 <= 5 => format!("{:?}", store.take_on(agent, channel, message, now).await.unwrap()),
        5 => {
            let outcome = [Outcome::Answered, Outcome::Failed("no".to_owned())][dice.roll(2)].clone();
            format!("{:?}", store.finish_run(agent, message, &outcome, now).await.unwrap())
        }
        _ => {
            let again = store.retry_runs(agent, &[], now).await.unwrap();
            let runs = store.runs(agent, RunQuery { channel: None, state: None, limit: 10 }).await.unwrap();
            format!("{again:?} {runs:?}")
        }
    }
}

//! Post offices and a folder that they share.

mod offices;
mod trouble;
mod turns;

use std::fs;

use formats::channel::read_value;
use mail::channels::{ChannelStore, PostQuery, external_id};
use mail::clock::SystemClock;
use mail::events::EventStore;
use mail::ids::MessageId;
use mail::office::{Arrival, Chance, Claim, PostDraft, Rules};
use mail::presence::Source;
use serde_json::json;
use store::{Engine, Options, Sqlite};

use super::*;
use crate::wake::WakeUps;

const PROJECT: &str = "/data/app";
const LONGEST: usize = 10_000;

struct Dice;

impl Chance for Dice {
    fn token(&self) -> String {
        "0".repeat(64)
    }

    fn seed(&self) -> u64 {
        7
    }
}

/// A post office with a database of its own.
struct Town {
    _home: tempfile::TempDir,
    store: Arc<Engine>,
    office: Arc<Office>,
}

fn town() -> Town {
    let home = tempfile::tempdir().unwrap();
    let store = Arc::new(Sqlite::open(&home.path().join("mail.db"), &Options::default()).unwrap());
    let wake = Arc::new(WakeUps::new());
    let office = Office::new(store.clone(), Arc::new(SystemClock), wake, Arc::new(Dice), Rules::default());
    Town { _home: home, store, office: Arc::new(office) }
}

impl Town {
    /// A bridge as a process that just started has it.
    async fn bridge(&self, root: &Path) -> Bridge {
        Bridge::open(self.office.clone(), self.store.clone(), PROJECT, root, LONGEST).await.unwrap()
    }

    /// A bridge as a process has it that starts after the one before it was killed, and its time was over.
    async fn bridge_after_a_crash(&self, root: &Path) -> Bridge {
        let bridge = self.bridge(root).await;
        let (now, project) = (self.office.now(), bridge.context.project.id);
        let later = now + jiff::SignedDuration::from_secs(60);
        assert!(self.store.hold_cursor(SINK, project, "nobody", now, later).await.unwrap().is_some());
        bridge
    }

    async fn post(&self, from: &str, text: &str) -> MessageId {
        self.post_in("dev", from, text).await
    }

    async fn post_in(&self, channel: &str, from: &str, text: &str) -> MessageId {
        self.office.ensure_project(PROJECT).await.unwrap();
        self.office.post(draft(channel, from, text)).await.unwrap().message.id
    }

    /// What the channel says, in the order in which it was taken in.
    async fn texts(&self) -> Vec<String> {
        let query = PostQuery { limit: 1_000, ..PostQuery::default() };
        let (_, _, posts) = self.office.posts(PROJECT, "dev", query).await.unwrap();
        posts.into_iter().map(|post| post.message.body).collect()
    }
}

/// What somebody says in a channel.
fn draft<'a>(channel: &'a str, from: &'a str, text: &'a str) -> PostDraft<'a> {
    PostDraft {
        project_key: PROJECT,
        from: Claim::of(from),
        channel,
        to: Vec::new(),
        subject: None,
        text,
        code: None,
        artifacts: Vec::new(),
        kind: "chat",
        mode: "chat",
        in_reply_to: None,
        thread: None,
        idempotency_key: None,
        door: "test",
    }
}

/// A folder that is shared.
struct Shared(tempfile::TempDir);

fn shared() -> Shared {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("channels/dev")).unwrap();
    Shared(root)
}

impl Shared {
    fn root(&self) -> &Path {
        self.0.path()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join("channels/dev").join(name)
    }

    fn drop(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let all = fs::read_dir(self.root().join("channels/dev")).unwrap();
        let mut names: Vec<String> = all.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn document(id: &str, time: &str, text: &str) -> String {
    json!({
        "id": id, "timestamp": time, "session_id": "dev", "from": "claude", "to": "all", "type": "chat",
        "content": { "text": text, "code": null, "artifacts": [] }, "metadata": {},
    })
    .to_string()
}

const FIRST: &str = "msg-20260111-163315-claude-4c78.json";

fn first(text: &str) -> String {
    document("msg-20260111-163315-claude-4c78", "2026-01-11T16:33:15.123Z", text)
}

#[tokio::test]
async fn a_taken_name_is_left_alone_and_another_one_generated() {
    let (town, shared) = (town(), shared());
    let id = town.post("codex", "hello").await;
    let post = town.store.post(id).await.unwrap().unwrap();
    let office = town.store.office_id().await.unwrap();
    let name = |attempt| external_id(post.sent_at, "codex", &office, post.seq, attempt);
    shared.drop(&format!("{}.json", name(0)), &first("I was here"));
    shared.drop(&format!("{}.json", name(1)), "");
    for _ in 0..2 {
        town.bridge_after_a_crash(shared.root()).await.pass().await.unwrap();
    }
    let mut wanted = [0, 1, 2].map(|attempt| format!("{}.json", name(attempt)));
    wanted.sort();
    assert_eq!(shared.names(), wanted);
    assert_eq!(town.store.post(id).await.unwrap().unwrap().external_id, name(2));
    let mut texts = town.texts().await;
    texts.sort();
    assert_eq!(texts, ["I was here", "hello"]);
}

#[tokio::test]
async fn a_file_is_taken_in_once_by_each_office_and_written_by_none() {
    let (one, other, shared) = (town(), town(), shared());
    shared.drop(FIRST, &first("@codex hello"));
    one.post("codex", "from the first office").await;
    for _ in 0..2 {
        let (mut first, mut second) = (one.bridge(shared.root()).await, other.bridge(shared.root()).await);
        for _ in 0..2 {
            first.settle().await.unwrap();
            second.settle().await.unwrap();
        }
    }
    assert_eq!(shared.names().len(), 2);
    for town in [&one, &other] {
        let mut texts = town.texts().await;
        texts.sort();
        assert_eq!(texts, ["@codex hello", "from the first office"]);
    }
}

#[tokio::test]
async fn what_came_by_another_way_is_one_file_whichever_office_writes_it() {
    let (one, other, shared) = (town(), town(), shared());
    let post = one.store.post(one.post("codex", "hello").await).await.unwrap().unwrap();
    let ours = post.said(&one.store.office_id().await.unwrap(), &post.external_id);
    let foreign = read_value(&first("from afar")).unwrap();
    for said in [&ours, &foreign] {
        let document = said.to_json();
        let (name, door) = (said.id.as_str(), mail::channels::NATS);
        let arrival = Arrival { project_key: PROJECT, channel: "dev", name, said, document: &document, door };
        other.office.take_in(arrival).await.unwrap();
    }
    for town in [&other, &one, &other] {
        town.bridge(shared.root()).await.settle().await.unwrap();
    }
    let mut wanted = [FIRST.to_owned(), format!("{}.json", post.external_id)];
    wanted.sort();
    assert_eq!(shared.names(), wanted);
    for town in [&one, &other] {
        let mut texts = town.texts().await;
        texts.sort();
        assert_eq!(texts, ["from afar", "hello"]);
    }
}

#[tokio::test]
async fn what_was_said_within_a_second_comes_in_the_order_of_its_times() {
    let (town, shared) = (town(), shared());
    for (name, time, text) in [
        ("msg-20260111-163316-aaa-0000", "2026-01-11T16:33:16.000Z", "fourth"),
        ("msg-20260111-163315-aaa-0000", "2026-01-11T16:33:15.900Z", "third"),
        ("msg-20260111-163315-zzz-ffff", "2026-01-11T16:33:15.100Z", "first"),
        ("msg-20260111-163315-bbb-0000", "2026-01-11T16:33:15.500Z", "second"),
    ] {
        shared.drop(&format!("{name}.json"), &document(name, time, text));
    }
    town.bridge(shared.root()).await.pass().await.unwrap();
    assert_eq!(town.texts().await, ["first", "second", "third", "fourth"]);
}

#[tokio::test]
async fn a_file_that_is_being_written_is_taken_in_when_it_is_whole() {
    let (town, shared) = (town(), shared());
    let whole = first("a longer text");
    let mut bridge = town.bridge(shared.root()).await;
    for length in [0, 1, 20, 60, whole.len() - 1] {
        shared.drop(FIRST, &whole[..length]);
        bridge.pass().await.unwrap();
        assert!(town.texts().await.is_empty());
    }
    shared.drop(FIRST, &whole);
    bridge.pass().await.unwrap();
    assert_eq!(town.texts().await, ["a longer text"]);
}

#[tokio::test]
async fn a_file_that_stays_incomplete_is_passed_over_until_it_changes() {
    let (town, shared) = (town(), shared());
    let whole = first("late");
    shared.drop(FIRST, &whole[..30]);
    let mut bridge = town.bridge(shared.root()).await;
    let begin = Instant::now();
    let looked = |bridge: &Bridge| bridge.scanners["dev"].files_read;
    for seconds in 0..20 {
        bridge.pass_at(begin + Duration::from_secs(seconds)).await.unwrap();
    }
    assert_eq!(looked(&bridge), 7, "once, and six times again");
    // A change in its place is no new name, so it is found when the folder is read again whatever its stamp says.
    shared.drop(FIRST, &whole);
    bridge.pass_at(begin + Duration::from_secs(60)).await.unwrap();
    assert_eq!((looked(&bridge), town.texts().await), (8, vec!["late".to_owned()]));
}

#[tokio::test]
async fn what_is_no_message_is_passed_over_and_stops_nothing() {
    let (town, shared) = (town(), shared());
    let large = first(&"x".repeat(LONGEST));
    for (name, content) in [
        (".msg-20260111-163315-claude-0000.json", first("hidden").as_str()),
        (".nfs0000000000", "x"),
        ("msg-20260111-163315-claude-0001.json.tmp", &first("temporary")),
        ("README.md", "x"),
        ("msg-20260111-163315-claude-0002.json", "[]"),
        ("msg-20260111-163315-claude-0003.json", "{\"id\": 7}"),
        ("msg-20260111-163315-claude-0004.json", &large),
        ("msg-20260111-163315-claude-0006.json", &first("x").replace("\"claude\"", "\"a\\u0000b\"")),
        ("msg-20260111-163316-claude-0007.json", &first("good")),
    ] {
        shared.drop(name, content);
    }
    fs::create_dir(shared.path("msg-20260111-163315-claude-0005.json")).unwrap();
    let outside = tempfile::NamedTempFile::new().unwrap();
    fs::write(outside.path(), first("outside")).unwrap();
    std::os::unix::fs::symlink(outside.path(), shared.path("msg-20260111-163315-claude-0008.json")).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), shared.root().join("channels/link")).unwrap();
    fs::write(elsewhere.path().join(FIRST), first("elsewhere")).unwrap();
    let mut bridge = town.bridge(shared.root()).await;
    for _ in 0..3 {
        bridge.pass().await.unwrap();
    }
    assert_eq!(town.texts().await, ["good"]);
    assert_eq!(bridge.scanners.keys().collect::<Vec<_>>(), ["dev"]);
    assert_eq!(bridge.scanners["dev"].files_read, 7, "each was read once");
}

#[tokio::test]
async fn an_idle_look_at_ten_thousand_files_reads_no_folder_and_no_file() {
    let (town, shared) = (town(), shared());
    for number in 0..10_000 {
        shared.drop(&format!("msg-20260111-163315-a{}-{:04x}.json", number % 3, number), "[]");
    }
    shared.drop(FIRST, &first("good"));
    let mut bridge = town.bridge(shared.root()).await;
    let begin = Instant::now();
    let counts = |bridge: &Bridge| (bridge.scanners["dev"].folders_read, bridge.scanners["dev"].files_read);
    for seconds in [0, 2, 4] {
        bridge.pass_at(begin + Duration::from_secs(seconds)).await.unwrap();
    }
    assert_eq!(counts(&bridge), (3, 10_001), "a young folder is read again, its files are not");
    for seconds in (6..34).step_by(2) {
        bridge.pass_at(begin + Duration::from_secs(seconds)).await.unwrap();
    }
    assert_eq!(counts(&bridge), (3, 10_001));
    bridge.pass_at(begin + Duration::from_secs(34)).await.unwrap();
    assert_eq!(counts(&bridge), (4, 10_001), "from time to time the stamp is not believed");
    assert_eq!(town.texts().await, ["good"]);
}

#[tokio::test]
async fn who_starts_again_reads_only_what_is_new() {
    let (town, shared) = (town(), shared());
    shared.drop(FIRST, &first("old"));
    town.post("codex", "our own").await;
    town.bridge(shared.root()).await.settle().await.unwrap();
    shared.drop("msg-20260111-163320-claude-0000.json", &first("new"));
    let mut bridge = town.bridge(shared.root()).await;
    bridge.pass().await.unwrap();
    assert_eq!(bridge.scanners["dev"].files_read, 1);
    assert_eq!(town.texts().await.len(), 3);
}

#[tokio::test]
async fn a_folder_that_is_missing_is_not_made_and_used_when_it_is_there() {
    let (town, place) = (town(), tempfile::tempdir().unwrap());
    let root = place.path().join("mount");
    town.post("codex", "hello").await;
    let mut bridge = town.bridge(&root).await;
    let error = bridge.settle().await.unwrap_err();
    assert!(matches!(&error, FilesError::NotThere { .. }), "{error}");
    assert!(error.to_string().contains("/mount'"), "{error}");
    assert!(!root.exists());
    fs::create_dir(&root).unwrap();
    bridge.settle().await.unwrap();
    assert_eq!(fs::read_dir(root.join("channels/dev")).unwrap().count(), 1);
}

#[tokio::test]
async fn who_is_here_is_written_and_who_is_elsewhere_is_heard() {
    let (town, shared) = (town(), shared());
    let presence = shared.root().join("signals/presence");
    fs::create_dir_all(&presence).unwrap();
    let now = town.office.now().to_string();
    let foreign = json!({ "agent_id": "gemini", "timestamp": now, "state": "AWAKE", "substate": "WORKING" });
    fs::write(presence.join("gemini.json"), foreign.to_string()).unwrap();
    fs::write(presence.join("liar.json"), foreign.to_string().replace("gemini", "codex")).unwrap();
    fs::write(presence.join("broken.json"), "{").unwrap();
    town.post("codex", "hello").await;
    let mut bridge = town.bridge(shared.root()).await;
    let begin = Instant::now();
    for seconds in [0, 12, 40] {
        bridge.pass_at(begin + Duration::from_secs(seconds)).await.unwrap();
    }
    let written = formats::presence::Heartbeat::read(&fs::read(presence.join("codex.json")).unwrap()).unwrap();
    assert_eq!((written.agent_id.as_str(), written.state.as_deref()), ("codex", Some("AWAKE")));
    assert_eq!(fs::read_to_string(presence.join("gemini.json")).unwrap(), foreign.to_string());
    let (_, present) = town.office.present(PROJECT, None, 10).await.unwrap();
    let known: Vec<_> = present
        .iter()
        .filter_map(|known| known.presence.as_ref().map(|presence| (known.agent.name.as_str(), presence.source)))
        .collect();
    assert_eq!(known, [("codex", Source::Activity), ("gemini", Source::File)]);
}

#[tokio::test]
async fn what_is_in_the_folder_of_a_project_stays_there_when_its_path_means_another() {
    let (town, shared) = (town(), shared());
    let mut bridge = town.bridge(shared.root()).await;
    let own = town.office.project(PROJECT).await.unwrap().slug;
    town.office.ensure_project("/data/other").await.unwrap();
    town.office.set_alias(PROJECT, "/data/other", true).await.unwrap();
    shared.drop("msg-20260111-163315-aaa-0000.json", &first("from afar"));
    bridge.pass().await.unwrap();
    let found = async |project: &str| {
        let posts = town.office.posts(project, "dev", PostQuery { limit: 10, ..PostQuery::default() }).await;
        posts.map_or(0, |(_, _, posts)| posts.len())
    };
    assert_eq!((found(&own).await, found(PROJECT).await), (1, 0));
}

//! What goes wrong with a shared folder, and what goes on all the same.

use mail::events::EventStore;

use super::*;

impl Town {
    async fn noted(&self) -> Option<i64> {
        self.store.cursors().await.unwrap().first().map(|cursor| cursor.seq)
    }
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[tokio::test]
async fn where_nothing_is_mounted_any_more_nothing_is_written_and_all_is_made_good_later() {
    let (town, place) = (town(), tempfile::tempdir().unwrap());
    let (root, elsewhere) = (place.path().join("mount"), place.path().join("elsewhere"));
    fs::create_dir(&root).unwrap();
    town.bridge(&root).await.settle().await.unwrap();
    assert!(root.join("channels").is_dir(), "it is ours from the first use on");
    fs::rename(&root, &elsewhere).unwrap();
    fs::create_dir(&root).unwrap();
    town.post("codex", "hello").await;
    let mut bridge = town.bridge(&root).await;
    for error in [bridge.settle().await, bridge.take_in(Instant::now()).await, bridge.write_out().await] {
        let error = error.unwrap_err();
        assert!(matches!(&error, FilesError::NotMounted(path) if *path == root), "{error}");
    }
    assert!(bridge.show_presence(Instant::now()).await.is_err());
    assert_eq!(count(&root), 0);
    fs::remove_dir(&root).unwrap();
    fs::rename(&elsewhere, &root).unwrap();
    town.bridge(&root).await.settle().await.unwrap();
    assert_eq!(count(&root.join("channels/dev")), 1);
}

#[tokio::test]
async fn a_folder_that_was_missing_at_the_first_use_is_made_ours_when_it_is_there() {
    let (town, place) = (town(), tempfile::tempdir().unwrap());
    let root = place.path().join("later");
    town.post("codex", "hello").await;
    assert!(town.bridge(&root).await.write_out().await.is_err());
    fs::create_dir(&root).unwrap();
    town.bridge(&root).await.write_out().await.unwrap();
    assert_eq!(count(&root.join("channels/dev")), 1);
}

#[tokio::test]
async fn a_channel_that_cannot_be_written_to_stops_no_other_and_gets_its_posts_later() {
    let (town, shared) = (town(), shared());
    let channels = shared.root().join("channels");
    fs::write(channels.join("closed"), "no folder").unwrap();
    for (channel, text) in [("dev", "one"), ("closed", "two"), ("dev", "three"), ("closed", "four")] {
        town.post_in(channel, "codex", text).await;
    }
    let mut bridge = town.bridge(shared.root()).await;
    for _ in 0..2 {
        let error = bridge.settle().await.unwrap_err().to_string();
        assert!(error.contains("channels/closed'"), "{error}");
    }
    assert_eq!(shared.names().len(), 2);
    // What comes later is not held up by it: only the channel rests.
    town.post_in("dev", "codex", "five").await;
    bridge.follow_events().await.unwrap();
    bridge.tell_closed();
    assert_eq!((shared.names().len(), bridge.unwritten.len()), (3, 1));
    fs::remove_file(channels.join("closed")).unwrap();
    // As well by who goes on as by who begins again.
    town.bridge(shared.root()).await.pass().await.unwrap();
    bridge.settle().await.unwrap();
    bridge.tell_closed();
    assert_eq!((shared.names().len(), count(&channels.join("closed")), bridge.unwritten.len()), (3, 2, 0));
    assert_eq!(town.noted().await, town.store.cursors().await.unwrap().first().map(|cursor| cursor.newest));
}

#[tokio::test]
async fn a_channel_that_cannot_be_read_stops_no_other() {
    let (town, shared) = (town(), shared());
    fs::create_dir(shared.root().join("channels/closed")).unwrap();
    shared.drop(FIRST, &first("good"));
    let mut bridge = town.bridge(shared.root()).await;
    let mut folders = bridge.open_channels(Instant::now()).await.unwrap();
    assert_eq!(folders[0].0.as_str(), "closed");
    folders[0].1 = Err(io::ErrorKind::PermissionDenied.into());
    bridge.look_into(folders, Instant::now()).await.unwrap();
    assert_eq!(town.texts().await, ["good"]);
    assert!(bridge.unread["closed"].is_there() && !bridge.unread["dev"].is_there());
    bridge.pass().await.unwrap();
    assert!(!bridge.unread["closed"].is_there());
}

#[tokio::test]
async fn a_post_that_is_there_makes_no_work() {
    let (town, shared) = (town(), shared());
    town.post("codex", "hello").await;
    town.bridge(shared.root()).await.pass().await.unwrap();
    let folder = File::open(shared.path(".")).unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    folder.set_modified(long_ago).unwrap();
    town.bridge(shared.root()).await.follow_events().await.unwrap();
    assert_eq!(folder.metadata().unwrap().modified().unwrap(), long_ago, "not even a temporary file");
}

#[tokio::test]
async fn a_heartbeat_that_cannot_be_read_or_written_stops_no_other() {
    let (town, shared) = (town(), shared());
    let presence = shared.root().join("signals/presence");
    fs::create_dir_all(presence.join("codex.json")).unwrap();
    let foreign = json!({ "agent_id": "qc-1", "timestamp": town.office.now().to_string(), "state": "AWAKE" });
    fs::write(presence.join("qc-1.json"), foreign.to_string()).unwrap();
    for agent in ["codex", "gemini"] {
        town.post(agent, "hello").await;
    }
    town.bridge(shared.root()).await.pass().await.unwrap();
    assert!(presence.join("gemini.json").is_file());
    let (_, present) = town.office.present(PROJECT, None, 10).await.unwrap();
    assert!(present.iter().any(|known| known.agent.name == "qc-1" && known.presence.is_some()));
}

#[tokio::test]
async fn only_who_changed_is_written_again() {
    let (town, shared) = (town(), shared());
    for agent in ["codex", "gemini"] {
        town.post(agent, "hello").await;
    }
    let mut bridge = town.bridge(shared.root()).await;
    bridge.pass().await.unwrap();
    let files = ["codex", "gemini"].map(|agent| shared.root().join(format!("signals/presence/{agent}.json")));
    for file in &files {
        fs::remove_file(file).unwrap();
    }
    town.office.leave(PROJECT, Claim::of("codex")).await.unwrap();
    bridge.pass().await.unwrap();
    assert_eq!(files.map(|file| file.exists()), [true, false]);
}

/// Holds a file so that nobody else can open it without waiting, until its input ends.
#[cfg(target_os = "linux")]
const HOLD: &str = r#"
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
fcntl.fcntl(os.open(sys.argv[1], os.O_RDWR), fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
sys.stdin.read()
"#;

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_file_that_cannot_be_read_now_stops_no_other_and_is_read_later() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let (town, shared) = (town(), shared());
    shared.drop(FIRST, &first("later"));
    shared.drop("msg-20260111-163320-claude-0000.json", &first("good"));
    let mut python = Command::new("python3");
    python.args(["-c", HOLD]).arg(shared.path(FIRST));
    let mut python = match python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
        Ok(python) => python,
        Err(error) => {
            return testing::not_run("files that cannot be read", &format!("there is no python3 ({error})"));
        }
    };
    let mut said = String::new();
    BufReader::new(python.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "held\n");
    let mut bridge = town.bridge(shared.root()).await;
    for _ in 0..2 {
        bridge.pass().await.unwrap();
        assert_eq!(town.texts().await, ["good"]);
    }
    drop(python.stdin.take());
    python.wait().unwrap();
    bridge.pass().await.unwrap();
    assert_eq!(town.texts().await, ["good", "later"]);
}

#[test]
fn a_log_is_made_when_it_is_needed_and_only_there() {
    use std::io::Write;

    let shared = shared();
    for _ in 0..2 {
        writeln!(open_log(shared.root(), "codex-watcher").unwrap(), "a line").unwrap();
    }
    assert_eq!(fs::read_to_string(shared.root().join("logs/codex-watcher.log")).unwrap(), "a line\na line\n");
    assert!(open_log(shared.root(), "../codex").is_err());
    let unmounted = tempfile::tempdir().unwrap();
    assert!(is_not_mounted(&open_log(unmounted.path(), "codex-watcher").unwrap_err()));
    assert_eq!(fs::read_dir(unmounted.path()).unwrap().count(), 0);
}

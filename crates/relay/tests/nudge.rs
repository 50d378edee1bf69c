//! Nudges that reach real programs: tmux with a pane that writes down every byte, commands, files, and the pace that
//! many processes keep together.
//!
//! Without tmux its tests say loudly that they did not run; on a build machine they fail.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use relay::nudge::{NudgeError, Pace, Turn, Way, nudge};

/// Everything that a shell, tmux or a terminal might want to read something into.
const SPECIAL: &str = "$(touch x) `touch y`; 'a' \"b\" #{pane_id} #(touch z) ~ Enter C-c \\n ! % -t ü漢🦀;";
const PASTE_BEGINS: &str = "\x1b[200~";
const PASTE_ENDS: &str = "\x1b[201~";
const MANY: usize = 12;

/// A tmux server of its own, which ends with the test.
struct Tmux {
    folder: tempfile::TempDir,
}

impl Tmux {
    /// Starts it with a session `agents`, whose program writes down what it gets; `None` when there is no tmux.
    fn start(asks_for: &str) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            testing::not_run("nudges through tmux", "there is no tmux");
            return None;
        }
        let tmux = Self { folder: tempfile::tempdir().unwrap() };
        let script = format!("stty raw -echo; printf '{asks_for}ready'; exec cat >got");
        tmux.ask(&["-f", "/dev/null", "new-session", "-d", "-s", "agents", "-n", "alice", &script]);
        // What the program asked for before it said so has been heard by then.
        until("the program is ready", || tmux.ask(&["capture-pane", "-p", "-t", "agents"]).contains("ready"));
        Some(tmux)
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.socket()).args(arguments).current_dir(self.folder.path());
        command
    }

    fn ask(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn way(&self, pane: &str) -> Way {
        Way::Tmux { pane: pane.to_owned(), socket: Some(self.socket()) }
    }

    fn got(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.folder.path().join("got")).unwrap_or_default()).into_owned()
    }

    fn is_untouched(&self) -> bool {
        self.got().is_empty() && self.ask(&["list-buffers"]).is_empty()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).stderr(Stdio::null()).status();
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn now() -> Timestamp {
    "2026-01-11T10:00:00Z".parse().unwrap()
}

#[tokio::test]
async fn a_text_reaches_a_pane_letter_by_letter_and_is_entered() {
    let Some(tmux) = Tmux::start("\\033[?2004h") else { return };
    nudge(&tmux.way("agents:alice"), SPECIAL).await.unwrap();
    until("Enter has come", || tmux.got().ends_with('\r'));
    assert_eq!(tmux.got(), format!("{PASTE_BEGINS}{SPECIAL}{PASTE_ENDS}\r"));
    assert_eq!(tmux.ask(&["list-buffers"]), "");
    let files = std::fs::read_dir(tmux.folder.path()).unwrap().map(|file| file.unwrap().file_name());
    let mut files: Vec<_> = files.collect();
    files.sort();
    assert_eq!(files, ["got", "socket"]);
}

#[tokio::test]
async fn a_program_that_did_not_ask_for_it_gets_no_brackets() {
    let Some(tmux) = Tmux::start("") else { return };
    nudge(&tmux.way("%0"), "you have mail").await.unwrap();
    until("Enter has come", || tmux.got().ends_with('\r'));
    assert_eq!(tmux.got(), "you have mail\r");
}

#[tokio::test]
async fn no_text_can_end_the_paste_or_press_a_key() {
    let Some(tmux) = Tmux::start("\\033[?2004h") else { return };
    nudge(&tmux.way("agents"), "a\x1b[201~\rrm -rf x\n\x03b\u{9b}201~c").await.unwrap();
    until("Enter has come", || tmux.got().ends_with('\r'));
    assert_eq!(tmux.got(), format!("{PASTE_BEGINS}a [201~ rm -rf x b 201~c{PASTE_ENDS}\r"));
}

#[tokio::test]
async fn a_pane_that_is_not_there_is_an_error_and_no_other_gets_the_text() {
    let Some(tmux) = Tmux::start("") else { return };
    for pane in ["%99", "agent", "agents:ali", "agents:7", "agents:alice.7", "", "-t", "{last}"] {
        let error = nudge(&tmux.way(pane), "you have mail").await.unwrap_err();
        assert_eq!(error.to_string(), format!("tmux has no pane '{pane}'"));
        assert_eq!(error.code(), "NUDGE_NO_PANE");
    }
    assert!(tmux.is_untouched());
    let nowhere = Way::Tmux { pane: "%0".to_owned(), socket: Some(tmux.folder.path().join("nowhere")) };
    assert!(
        matches!(nudge(&nowhere, "you have mail").await, Err(NudgeError::Failed { program, .. }) if program == "tmux")
    );
}

#[tokio::test]
async fn a_pane_that_is_not_at_its_input_is_left_alone() {
    let Some(tmux) = Tmux::start("") else { return };
    let told = async || nudge(&tmux.way("%0"), "you have mail").await.unwrap_err().to_string();
    tmux.ask(&["copy-mode", "-t", "%0"]);
    assert_eq!(told().await, "The tmux pane '%0' is in copy mode");
    assert_eq!(tmux.ask(&["display-message", "-p", "-t", "%0", "#{pane_in_mode}"]), "1\n");
    tmux.ask(&["send-keys", "-t", "%0", "-X", "cancel"]);
    tmux.ask(&["set-option", "-t", "%0", "synchronize-panes", "on"]);
    assert_eq!(told().await, "The tmux pane '%0' passes its keys on to other panes");
    tmux.ask(&["set-option", "-t", "%0", "synchronize-panes", "off"]);
    assert!(tmux.is_untouched());
    tmux.ask(&["set-option", "-t", "%0", "remain-on-exit", "on"]);
    tmux.ask(&["respawn-pane", "-k", "-t", "%0", "true"]);
    until("the program has ended", || tmux.ask(&["list-panes", "-F", "#{pane_dead}"]) == "1\n");
    assert_eq!(told().await, "The tmux pane '%0' has no program any more");
}

fn command(program: &str, arguments: &[&str]) -> Way {
    let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    Way::Command { program: program.to_owned(), arguments }
}

#[tokio::test]
async fn a_command_gets_the_text_as_a_line_and_as_a_variable_and_no_shell_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let got = folder.path().join("got");
    let script = "{ cat; printf '%s|' \"$POSTRIDER_NUDGE\" \"$@\"; } >\"$0\"; echo said; echo said >&2";
    let way = command("sh", &["-c", script, got.to_str().unwrap(), "$(a) b", "*"]);
    nudge(&way, &format!(" {SPECIAL}\n")).await.unwrap();
    assert_eq!(std::fs::read_to_string(got).unwrap(), format!("{SPECIAL}\n{SPECIAL}|$(a) b|*|"));
}

#[tokio::test]
async fn a_command_that_fails_or_is_not_there_is_an_error_that_names_it() {
    let error = nudge(&command("sh", &["-c", "exit 3"]), "you have mail").await.unwrap_err();
    assert_eq!(error.to_string(), "'sh' failed: exit status: 3");
    let error = nudge(&command("no-such-program", &["secret"]), "you have mail").await.unwrap_err();
    assert!(matches!(&error, NudgeError::CannotRun { program, .. } if program == "no-such-program"));
    assert!(!error.to_string().contains("secret"));
}

#[tokio::test(start_paused = true)]
async fn a_command_that_does_not_end_is_not_waited_for() {
    let error = nudge(&command("sleep", &["1000"]), "you have mail").await.unwrap_err();
    assert_eq!(error.to_string(), "The nudge by 'sleep' was not done in 5 seconds");
}

#[tokio::test]
async fn a_signal_file_holds_the_last_text_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("signal");
    let way = Way::File { path: path.clone() };
    nudge(&way, "a long text at first").await.unwrap();
    let opened_before = std::fs::File::open(&path).unwrap();
    nudge(&way, "you\nhave mail").await.unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "you have mail\n");
    // Who was about to read the old file reads all of it.
    assert_eq!(std::io::read_to_string(opened_before).unwrap(), "a long text at first\n");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_signal_file_that_cannot_be_written_is_an_error_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let is_a_folder = folder.path().join("taken");
    std::fs::create_dir(&is_a_folder).unwrap();
    for path in [folder.path().join("missing/signal"), is_a_folder] {
        let error = nudge(&Way::File { path: path.clone() }, "you have mail").await.unwrap_err();
        assert!(error.to_string().starts_with(&format!("'{}' cannot be written: ", path.display())), "{error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_text_of_which_nothing_is_left_is_refused_before_anything_is_done() {
    let path = tempfile::tempdir().unwrap().path().join("signal");
    assert!(matches!(nudge(&Way::File { path }, " \x1b\n").await, Err(NudgeError::Empty)));
}

#[test]
fn of_many_threads_one_gets_the_turn() {
    let folder = tempfile::tempdir().unwrap();
    let take = || Pace::new(folder.path().to_owned(), Duration::from_secs(60)).take_turn("alice", now()).unwrap();
    let turns = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..MANY).map(|_| scope.spawn(take)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(turns.iter().filter(|turn| **turn == Turn::Now).count(), 1, "{turns:?}");
}

#[test]
fn of_many_processes_one_gets_the_turn() {
    let folder = tempfile::tempdir().unwrap();
    let processes: Vec<Child> = (0..MANY).map(|number| turn_taker(folder.path(), number)).collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let turns = (0..MANY).map(|number| std::fs::read_to_string(turn_of(folder.path(), number)).unwrap());
    assert_eq!(turns.filter(|turn| turn == "Now").count(), 1);
}

fn turn_taker(folder: &Path, number: usize) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "nudge::turn_taking_process"]).env("POSTRIDER_TURN_TAKER", turn_of(folder, number));
    command.stdout(Stdio::null()).spawn().unwrap()
}

fn turn_of(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("turn{number}"))
}

/// Not a test: what the processes of the one above do.
#[test]
fn turn_taking_process() {
    let Some(answer) = std::env::var_os("POSTRIDER_TURN_TAKER").map(PathBuf::from) else { return };
    let pace = Pace::new(answer.with_file_name("pace"), Duration::from_secs(60));
    std::fs::write(answer, format!("{:?}", pace.take_turn("alice", now()).unwrap())).unwrap();
}

//! A text pasted into a pane of tmux.
//!
//! tmux guesses: where a name does not fit it takes one that begins alike, and where nothing does, the pane in front.
//! So the panes are listed and compared here, and tmux is told the pane's number; nothing that was configured is ever
//! part of its command line. A pane that is not at its program's input is left alone.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::{NudgeError, run_program, unique_name};

/// What is run.
pub const PROGRAM: &str = "tmux";
/// Agents take an Enter for a line feed of the text if it comes right behind a paste; the slowest need about a second.
const BEFORE_ENTER: Duration = Duration::from_secs(1);
/// One line for each pane. The names are last because they may hold anything; a session's has no colon.
const PANES: &str = "#{pane_id},#{pane_dead},#{pane_in_mode},#{pane_synchronized},#{pane_input_off},\
                     #{pane_active},#{window_active},#{window_index},#{pane_index},#{session_name}:#{window_name}";

/// Pastes a text that is safe, and presses Enter.
pub async fn paste(pane: &str, socket: Option<&Path>, text: &str) -> Result<(), NudgeError> {
    let target = ready_pane(pane, socket).await?;
    let buffer = unique_name();
    // Line feeds would need `-r` to stay what they are; a safe text has none.
    let load = ["load-buffer", "-b", &buffer, "-", ";", "paste-buffer", "-p", "-d", "-b", &buffer, "-t", &target];
    if let Err(error) = ask(socket, &load, text).await {
        // It may not have come to exist, and what went wrong first is what is told.
        let _ = ask(socket, &["delete-buffer", "-b", &buffer], "").await;
        return Err(error);
    }
    tokio::time::sleep(BEFORE_ENTER).await;
    // Somebody may have begun to scroll in the meantime, or to look at another pane.
    ready_pane(&target, socket).await?;
    ask(socket, &["send-keys", "-t", &target, "Enter"], "").await?;
    Ok(())
}

/// The number of the pane of that name, if a text can be pasted into it now.
async fn ready_pane(pane: &str, socket: Option<&Path>) -> Result<String, NudgeError> {
    let panes = ask(socket, &["list-panes", "-a", "-F", PANES], "").await?;
    find(&panes, pane)
}

fn find(panes: &str, name: &str) -> Result<String, NudgeError> {
    let mut found = panes.lines().filter_map(Pane::read).filter(|pane| pane.is_called(name));
    let Some(pane) = found.next() else { return Err(NudgeError::NoPane(name.to_owned())) };
    // One pane may be listed more than once, because sessions can share a window.
    let is_one_of_many = found.any(|other| other.id != pane.id);
    let why = if is_one_of_many { Some("is one of several of that name") } else { pane.hindrance };
    match why {
        Some(why) => Err(NudgeError::PaneNotReady { pane: name.to_owned(), why }),
        None => Ok(pane.id.to_owned()),
    }
}

/// A line of [`PANES`].
struct Pane<'a> {
    id: &'a str,
    hindrance: Option<&'static str>,
    /// Whether it is in front in its window.
    leads_window: bool,
    /// Whether it is in front in its session.
    leads_session: bool,
    window_number: &'a str,
    number: &'a str,
    session: &'a str,
    window: &'a str,
}

impl<'a> Pane<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let fields: Vec<&str> = line.splitn(10, ',').collect();
        let [id, dead, mode, synchronized, input_off, in_window, in_session, window_number, number, names] = fields[..]
        else {
            return None;
        };
        let (session, window) = names.split_once(':')?;
        // A mode is counted by how deep it is, and an old tmux says nothing where it does not know.
        let is_set = |field: &str| !matches!(field, "" | "0");
        let hindrances = [
            // More than a courtesy: tmux 3.3 itself ends when something is pasted into such a pane.
            (dead, "has no program any more"),
            (mode, "is in copy mode"),
            (synchronized, "passes its keys on to other panes"),
            (input_off, "takes no input"),
        ];
        Some(Self {
            id,
            hindrance: hindrances.into_iter().find(|(field, _)| is_set(field)).map(|(_, why)| why),
            leads_window: is_set(in_window),
            leads_session: is_set(in_window) && is_set(in_session),
            window_number,
            number,
            session,
            window,
        })
    }

    fn is_called(&self, name: &str) -> bool {
        if name == self.id {
            return true;
        }
        let Some(rest) = name.strip_prefix(self.session) else { return false };
        if rest.is_empty() {
            return self.leads_session;
        }
        let Some(place) = rest.strip_prefix(':') else { return false };
        [self.window_number, self.window].into_iter().any(|window| match place.strip_prefix(window) {
            Some("") => self.leads_window,
            Some(pane) => pane.strip_prefix('.') == Some(self.number),
            None => false,
        })
    }
}

/// What tmux answers.
async fn ask(socket: Option<&Path>, arguments: &[&str], input: &str) -> Result<String, NudgeError> {
    let mut command = Command::new(PROGRAM);
    // Without `-u` names come with `_` for what is not ASCII, where the locale does not say UTF-8.
    command.arg("-u");
    if let Some(socket) = socket {
        command.arg("-S").arg(socket);
    }
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    run_program(&mut command, input).await
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = "%0,0,0,0,0,0,1,1,0,main:shell\n\
                          %1,0,0,0,0,1,1,1,1,main:shell\n\
                          %2,0,0,0,0,1,0,2,0,main:a.b, c:d\n\
                          %12,0,0,0,0,1,1,0,0,main2:shell\n";

    #[test]
    fn a_pane_is_found_by_its_number_and_by_its_names() {
        let names = [
            ("%0", "%0"),
            ("%12", "%12"),
            ("main", "%1"),
            ("main2", "%12"),
            ("main:shell", "%1"),
            ("main:1", "%1"),
            ("main:1.0", "%0"),
            ("main:shell.0", "%0"),
            ("main:a.b, c:d", "%2"),
            ("main:a.b, c:d.0", "%2"),
            ("main:2", "%2"),
        ];
        for (name, id) in names {
            assert_eq!(find(LISTED, name).unwrap(), id, "{name}");
        }
    }

    #[test]
    fn a_name_that_only_begins_alike_finds_nothing() {
        let strangers =
            ["", "%", "%1 ", "%3", "mai", "main3", "main:", "main:she", "main:9", "main:1.", "main:1.7", "-t", "="];
        for name in strangers {
            assert!(matches!(find(LISTED, name), Err(NudgeError::NoPane(pane)) if pane == name), "{name}");
        }
        assert!(matches!(find("\n%0,0\nx", "%0"), Err(NudgeError::NoPane { .. })));
    }

    #[test]
    fn a_name_that_two_panes_have_is_refused_unless_it_is_one_pane_twice() {
        let line = |id: &str, window: u32| format!("{id},0,0,0,0,1,0,{window},0,main:agent\n");
        let two = find(&(line("%1", 1) + &line("%2", 2)), "main:agent");
        assert!(matches!(two, Err(NudgeError::PaneNotReady { why: "is one of several of that name", .. })));
        assert_eq!(find(&line("%1", 1).repeat(2), "main:agent").unwrap(), "%1");
    }

    #[test]
    fn a_pane_whose_keys_would_go_astray_is_not_ready() {
        let why =
            |flags: &str| find(&format!("%1,{flags},1,1,0,0,main:agent"), "%1").map_err(|error| error.to_string());
        assert_eq!(why("0,0,0,0").unwrap(), "%1");
        assert_eq!(why(",,,").unwrap(), "%1");
        let hindered = [
            ("1,0,0,0", "The tmux pane '%1' has no program any more"),
            ("0,2,0,0", "The tmux pane '%1' is in copy mode"),
            ("0,0,1,0", "The tmux pane '%1' passes its keys on to other panes"),
            ("0,0,0,1", "The tmux pane '%1' takes no input"),
        ];
        for (flags, told) in hindered {
            assert_eq!(why(flags).unwrap_err(), told);
        }
    }
}

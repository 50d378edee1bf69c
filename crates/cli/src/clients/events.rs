//! The moments at which a client asks us, and what is done then. What each client calls them is in its row.

use super::ALL;

/// A moment in the life of an agent at which its client asks us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A session begins, or goes on after it was cleared or put together.
    SessionStart,
    /// The user said something, and the model has not seen it yet.
    Prompt,
    /// A tool is about to be called.
    BeforeTool,
    /// A tool was called.
    AfterTool,
    /// The agent is done with what it was told to do.
    Stop,
    /// The conversation is about to be compacted.
    BeforeCompaction,
    /// The session ends.
    SessionEnd,
    /// An agent below the main one begins.
    SubagentStart,
}

/// Every event, and what a hook does then.
pub(super) const EVENTS: [(Event, &str); 8] = [
    (Event::SessionStart, "registers the agent, tells who it is and what waits"),
    (Event::Prompt, "tells new mail, once"),
    (Event::BeforeTool, "refuses a write to what another agent has reserved"),
    (Event::AfterTool, "tells new mail, once"),
    (Event::Stop, "asks to handle urgent mail first, once for each message"),
    (Event::BeforeCompaction, "keeps where the agent stands, to tell it when it goes on"),
    (Event::SessionEnd, "tells others that the agent is gone, and gives back what it held exclusively"),
    (Event::SubagentStart, "tells a sub-agent whose it is, and its own name"),
];

/// What is said of events with a star.
const UNHEARD: &str = "  * Nothing that is said then reaches the model: mail is told at the next event that does, and
    nothing is refused or held.";

/// How wide a line of the help is.
const WIDTH: usize = 96;

/// The events for people: what each client calls one, and what is done then.
pub(crate) fn list_of_events() -> String {
    let told = EVENTS.map(|(event, does)| format!("{}\n      {does}", filled(&names_of(event), "  ")));
    format!("{}\n{UNHEARD}", told.join("\n"))
}

/// Each name of an event, with the clients that call it so.
fn names_of(event: Event) -> Vec<String> {
    let mut names: Vec<(&str, Vec<String>)> = Vec::new();
    for client in ALL {
        let name = client.event_name(event);
        let by = format!("{}{}", client.name, if client.hears(event) { "" } else { "*" });
        match names.iter_mut().find(|(known, _)| *known == name) {
            _ if name.is_empty() => {}
            Some((_, clients)) => clients.push(by),
            None => names.push((name, vec![by])),
        }
    }
    let last = names.len().saturating_sub(1);
    let mut words = Vec::new();
    for (at, (name, clients)) in names.into_iter().enumerate() {
        let end = if at == last { "" } else { "," };
        words.extend(format!("{name} ({}){end}", clients.join(", ")).split(' ').map(str::to_owned));
    }
    words
}

/// Words in lines that are no wider than the help.
fn filled(words: &[String], indent: &str) -> String {
    let mut lines = vec![indent.to_owned()];
    for word in words {
        let line = lines.last_mut().expect("there is a first line");
        if line.len() + word.len() + 1 > WIDTH && line.len() > indent.len() {
            lines.push(format!("{indent}{word}"));
        } else {
            if line.len() > indent.len() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_events_has_every_client_and_is_no_wider_than_a_terminal() {
        let list = list_of_events();
        assert!(list.lines().all(|line| line.chars().count() <= 100), "{list}");
        for client in ALL {
            for (_, name) in client.events {
                assert!(list.contains(name), "{} {name}", client.name);
            }
        }
    }
}

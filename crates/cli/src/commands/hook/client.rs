//! The clients that run hooks: which events each of them has, and by what name.
//!
//! What an event is answered with is in `reply`; what it brings is in `input`.

use clap::ValueEnum;

/// A program that runs an agent, and hooks beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Client {
    /// Claude Code
    Claude,
    /// Codex CLI
    Codex,
    /// Gemini CLI
    Gemini,
}

/// A moment in the life of an agent at which its client asks us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
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
    /// The session ends.
    SessionEnd,
}

/// Every event, and its name in the order of [`Client`]; empty where a client has no such event.
const EVENTS: [(Event, [&str; 3]); 6] = [
    (Event::SessionStart, ["SessionStart", "SessionStart", "SessionStart"]),
    (Event::Prompt, ["UserPromptSubmit", "UserPromptSubmit", "BeforeAgent"]),
    (Event::BeforeTool, ["PreToolUse", "PreToolUse", "BeforeTool"]),
    (Event::AfterTool, ["PostToolUse", "PostToolUse", "AfterTool"]),
    (Event::Stop, ["Stop", "Stop", "AfterAgent"]),
    (Event::SessionEnd, ["SessionEnd", "", "SessionEnd"]),
];

impl Client {
    /// What it is called on the command line.
    pub fn name(self) -> &'static str {
        ["claude", "codex", "gemini"][self as usize]
    }

    /// What agents are told that it is.
    pub fn program(self) -> &'static str {
        ["claude-code", "codex-cli", "gemini-cli"][self as usize]
    }

    /// The event that it calls `name`.
    pub fn event(self, name: &str) -> Option<Event> {
        self.events().find(|(_, known)| *known == name).map(|(event, _)| event)
    }

    /// What it calls an event.
    pub fn event_name(self, event: Event) -> &'static str {
        self.events().find(|(known, _)| *known == event).map_or("", |(_, name)| name)
    }

    /// The events that it has, by name.
    pub fn events(self) -> impl Iterator<Item = (Event, &'static str)> {
        let all = EVENTS.into_iter().map(move |(event, names)| (event, names[self as usize]));
        all.filter(|(_, name)| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_knows_its_own_events_by_its_own_names_alone() {
        assert_eq!(Client::Claude.event("PreToolUse"), Some(Event::BeforeTool));
        assert_eq!(Client::Gemini.event("BeforeTool"), Some(Event::BeforeTool));
        assert_eq!(Client::Gemini.event_name(Event::Prompt), "BeforeAgent");
        for (client, name) in [(Client::Codex, "SessionEnd"), (Client::Gemini, "Stop"), (Client::Codex, "")] {
            assert_eq!(client.event(name), None, "{name}");
        }
        assert_eq!(Client::Codex.events().count(), 5);
    }

    #[test]
    fn the_command_line_calls_clients_what_we_call_them() {
        for client in Client::value_variants() {
            let value = client.to_possible_value().expect("every client can be named");
            assert_eq!(value.get_name(), client.name());
        }
    }
}

//! Agents: who writes and who is written to, each within one project.
//!
//! A name is what others call an agent; registering it again keeps the identity. A registration token lets a sender
//! prove a name where names have to be proved. Whether an agent is awake is presence, not told here.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::error::{Error, Stored};
use crate::ids::{AgentId, ProjectId};

/// The longest name, in characters.
pub const LONGEST_NAME: usize = 128;
/// The name that means every agent of the project, and so belongs to none.
pub const EVERYONE: &str = "all";
/// The `program` of somebody who writes from the page: a person, and no agent.
pub const PERSON: &str = "person";

/// What stands behind the name of a person where people and models read who wrote something. No name ends so.
const HUMAN: &str = "(human)";

/// A sender as people and models read it: with a mark behind the name of a person.
pub fn signed(name: &str, is_human: bool) -> String {
    if is_human { format!("{name} {HUMAN}") } else { name.to_owned() }
}

/// An agent as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The store's number for it.
    pub id: AgentId,
    /// The project it belongs to.
    pub project: ProjectId,
    /// What others call it.
    pub name: String,
    /// The program it runs in, such as `claude-code`; empty when it did not say.
    pub program: String,
    /// The model behind it; empty when it did not say.
    pub model: String,
    /// What it works on; empty when it did not say.
    pub task_description: String,
    /// When the name was first registered.
    pub registered_at: Timestamp,
    /// When it last wrote anything.
    pub last_active_at: Timestamp,
    /// When it was retired: nobody writes to it until it registers again.
    pub retired_at: Option<Timestamp>,
}

impl Agent {
    /// Whether it is a person who writes from the page.
    pub fn is_person(&self) -> bool {
        self.program == PERSON
    }
}

/// A name that was checked: 1 to 128 characters, none of them a control character, not blank, not `all`, not starting with
/// `#`, which is how channels are addressed, and not ending in `(human)`, which marks people.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgentName(String);

impl AgentName {
    /// Checks a name that somebody wants to have.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wanted = if text.trim().is_empty() {
            "a name of 1 to 128 characters"
        } else if text.chars().count() > LONGEST_NAME {
            "at most 128 characters"
        } else if text.chars().any(char::is_control) {
            "a name without control characters"
        } else if text == EVERYONE {
            "another name, because 'all' addresses every agent"
        } else if text.starts_with('#') {
            "a name without '#' at its start, because that addresses a channel"
        } else if text.trim_end().to_lowercase().ends_with(HUMAN) {
            "a name without '(human)' at its end, because that marks what a person wrote"
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(Error::invalid("agent name", text, wanted))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether `name` is what a hook calls an agent below another, such as `GreenDog/reviewer-3fa9`: the name of that one, its kind, and
/// four digits of a hash.
pub fn is_below(name: &str) -> bool {
    let parts = name.split_once('/').and_then(|(above, below)| Some((above, below.rsplit_once('-')?)));
    let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    parts.is_some_and(|(above, (kind, hash))| {
        !above.is_empty() && !kind.is_empty() && hash.len() == 4 && hash.bytes().all(is_digit)
    })
}

/// A name as people write it among others, without what is no part of it: blanks around it, and the `@` that calls it.
pub fn called(written: &str) -> &str {
    let written = written.trim();
    written.strip_prefix('@').unwrap_or(written).trim_start()
}

/// What an agent says of itself. What it leaves out stays as it was.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The program it runs in.
    pub program: Option<String>,
    /// The model behind it.
    pub model: Option<String>,
    /// What it works on.
    pub task_description: Option<String>,
}

/// A registration token, as the store knows it: by its hash alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenHash(blake3::Hash);

impl TokenHash {
    /// Hashes the token that an agent holds. Comparing two hashes takes the same time whatever they hold.
    pub fn of(token: &str) -> Self {
        Self(blake3::hash(token.as_bytes()))
    }

    /// The hash that a store kept.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(blake3::Hash::from_bytes(bytes))
    }

    /// The bytes for a store to keep.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

/// Which names a registration may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taking {
    /// Only a name that nobody has.
    NewOnly,
    /// The same, and it is noted that the office made the name up
    /// ([`note_generated`](crate::sessions::SessionStore::note_generated)).
    Generated,
    /// Also one that came with imported mail: nobody was ever given a token for it.
    NewOrTokenless,
    /// Any name: one that is there keeps its identity.
    NewOrKnown,
    /// Any name, and the tokens that were given out for it before are forgotten.
    Over,
}

/// What became of an agent's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revoked {
    /// How many are worth nothing any more.
    pub revoked: u64,
    /// How many are left, the new one counted.
    pub left: u64,
    /// Whether there is a new one, because none would have been left.
    pub is_replaced: bool,
}

/// What keeps agents.
#[async_trait]
pub trait AgentStore: Send + Sync {
    /// Registers `name`, or brings its profile up to date, and remembers one more token for it. `None`, and nothing
    /// changed, if `taking` does not allow the name; of many who ask for one name at once, one finds it new.
    ///
    /// A name that is there keeps its number and `registered_at`; fields that `profile` leaves out keep their value.
    /// Of an agent's tokens the newest 16 stay valid. Only a new name writes an event (`AgentRegistered`), and one that was
    /// retired: it is back.
    async fn register(
        &self,
        project: ProjectId,
        name: &AgentName,
        profile: &Profile,
        token: Option<TokenHash>,
        taking: Taking,
        now: Timestamp,
    ) -> Stored<Option<Agent>>;

    /// Retires an agent: nobody writes to it until it registers again. Its active reservations are given back, each with its
    /// event (`ReservationReleased`), and then it is told itself (`AgentRetired`), all of it as done by `by`. `false`, and nothing
    /// changed, if it was retired before or is none of the project.
    async fn retire(&self, project: ProjectId, agent: AgentId, by: AgentId, now: Timestamp) -> Stored<bool>;

    /// Gives an agent another name, and notes that it had the one before ([`once_named`](Self::once_named)): it keeps its number, its
    /// mail, its tokens and its reservations, and what was sent keeps the names that it was sent under. Writes an event
    /// (`AgentRenamed`), as done by the agent. `None`, and nothing changed, if another agent of the project has or had that name, or
    /// if the agent is none of the project.
    async fn rename(
        &self,
        project: ProjectId,
        agent: AgentId,
        name: &AgentName,
        now: Timestamp,
    ) -> Stored<Option<Agent>>;

    /// The agent that had exactly this name before it was renamed. Registering such a name finds the agent, under its name of now.
    async fn once_named(&self, project: ProjectId, name: &str) -> Stored<Option<Agent>>;

    /// The agents that had exactly one of `names` before they were renamed, under their names of now, in no particular order.
    async fn agents_once_named(&self, project: ProjectId, names: &[&str]) -> Stored<Vec<Agent>>;

    /// Those of `names` that are registered, each once, in no particular order. Names are compared exactly.
    async fn agents_named(&self, project: ProjectId, names: &[&str]) -> Stored<Vec<Agent>>;

    /// Agents that are called one of `names` if the case of ASCII letters does not count, in the order they were registered,
    /// each once.
    async fn agents_in_any_case(&self, project: ProjectId, names: &[&str]) -> Stored<Vec<Agent>>;

    /// Agents in the order they were registered, those with a number above `after`, at most `limit`.
    async fn agents(&self, project: ProjectId, after: Option<AgentId>, limit: usize) -> Stored<Vec<Agent>>;

    /// The hashes of the tokens that prove this agent's name, newest first.
    async fn token_hashes(&self, agent: AgentId) -> Stored<Vec<TokenHash>>;

    /// Forgets those of an agent's tokens that are in `which`, or all of them. If none would be left, `instead` is remembered:
    /// a name without a token would belong to whoever asks for it first.
    async fn revoke_tokens(
        &self,
        agent: AgentId,
        which: Option<&[TokenHash]>,
        instead: TokenHash,
        now: Timestamp,
    ) -> Stored<Revoked>;
}

const ADJECTIVES: [&str; 32] = [
    "Amber", "Azure", "Bold", "Brave", "Bright", "Calm", "Clear", "Cobalt", "Copper", "Crimson", "Dusty", "Eager",
    "Fleet", "Gentle", "Golden", "Green", "Hazel", "Indigo", "Ivory", "Jade", "Keen", "Lucid", "Mellow", "Noble",
    "Olive", "Proud", "Quick", "Ruby", "Silver", "Swift", "Teal", "Violet",
];
const NOUNS: [&str; 32] = [
    "Badger", "Beacon", "Brook", "Canyon", "Castle", "Cedar", "Comet", "Creek", "Falcon", "Forest", "Fox", "Garden",
    "Harbor", "Hawk", "Heron", "Hill", "Island", "Lake", "Lantern", "Maple", "Meadow", "Mountain", "Otter", "Peak",
    "Pine", "Raven", "River", "Stone", "Summit", "Valley", "Willow", "Wolf",
];

/// The `attempt`-th name to try for an agent that came without one, from a random `seed`.
///
/// The first thousand attempts are plain AdjectiveNoun names; should all be taken, a number follows.
pub fn assigned_name(seed: u64, attempt: u64) -> AgentName {
    let pick = seed.wrapping_add(attempt.wrapping_mul(389));
    let adjective = ADJECTIVES[(pick % 32) as usize];
    let noun = NOUNS[(pick / 32 % 32) as usize];
    AgentName(if attempt < 1024 { format!("{adjective}{noun}") } else { format!("{adjective}{noun}{attempt}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_called_with_a_sign_before_it_and_blanks_around_it() {
        for written in ["codex", "@codex", " codex ", "\t@codex\n", "@ codex"] {
            assert_eq!(called(written), "codex", "{written:?}");
        }
        assert_eq!((called("@@codex"), called("joe@home"), called(" @ ")), ("@codex", "joe@home", ""));
    }

    #[test]
    fn names_in_use_are_taken_as_given() {
        for name in ["CobaltForest", "qc-1", "mayor", "rig/polecat-3", "Jürgen", "a b"] {
            assert_eq!(AgentName::parse(name).unwrap().as_str(), name);
        }
        assert!(AgentName::parse(&"x".repeat(128)).is_ok());
    }

    #[test]
    fn names_that_nobody_could_address_are_refused() {
        for name in ["", "  ", "all", "#general", "a\nb", &"x".repeat(129)] {
            assert_eq!(AgentName::parse(name).unwrap_err().code(), "INVALID_ARGUMENT", "{name:?}");
        }
    }

    #[test]
    fn no_name_looks_like_that_of_a_person() {
        assert_eq!([signed("Anna", true), signed("Anna", false)], ["Anna (human)", "Anna"]);
        for name in [&signed("Anna", true), "anna(HUMAN)", "Anna (Human) ", "(human)"] {
            assert_eq!(AgentName::parse(name).unwrap_err().code(), "INVALID_ARGUMENT", "{name:?}");
        }
        assert!(AgentName::parse("(human) error").is_ok());
    }

    #[test]
    fn the_name_of_a_sub_agent_is_told_from_any_other() {
        for name in ["GreenDog/reviewer-3fa9", "a/b-c-0000", "rig/x/agent-beef"] {
            assert!(is_below(name), "{name}");
        }
        for name in ["GreenDog", "rig/polecat-3", "a/b-3fA9", "/b-3fa9", "a/-3fa9", "a/b3fa9", "a-3fa9", "a/b-3fa99"] {
            assert!(!is_below(name), "{name}");
        }
    }

    #[test]
    fn assigned_names_do_not_repeat_for_a_thousand_attempts() {
        let names: std::collections::HashSet<_> = (0..1024).map(|attempt| assigned_name(7, attempt)).collect();
        assert_eq!(names.len(), 1024);
        assert!(!names.contains(&assigned_name(7, 1024)));
    }
}

//! Roles: work that one of several agents takes, such as `reviewer`.
//!
//! A role is held by one agent for a time, which ends by itself, because an agent that crashed gives nothing back. Mail to a role
//! goes to whoever holds it. While nobody does it waits in a mailbox that is the role's own, and whoever takes the role next gets
//! what nobody has read: what waits, and what the last holder left.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::agents::TokenHash;
use crate::error::{Error, Stored};
use crate::ids::{AgentId, ProjectId};

/// The `program` of the mailbox of a role: no agent has it.
pub const ROLE: &str = "role";
/// What an address of a role begins with.
const PREFIX: &str = "role:";
/// The longest name of a role, in characters.
const LONGEST: usize = 64;
/// How long a role is held when nobody says, and what may be said, in seconds.
pub const DEFAULT_HOLD_SECONDS: i64 = 3600;
/// The shortest and the longest time that a role may be held without taking it again.
pub const HOLD_SECONDS: std::ops::RangeInclusive<i64> = 1..=7 * 24 * 3600;

/// A name that was checked: 1 to 64 letters, digits, `-`, `_`, `.` and `/`, in small letters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RoleName(String);

impl RoleName {
    /// Checks the name of a role, with or without `role:` before it.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let name = text.strip_prefix(PREFIX).unwrap_or(text);
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
        if name.is_empty() || name.chars().count() > LONGEST || !name.chars().all(is_plain) {
            let wanted = format!("1 to {LONGEST} letters, digits, '-', '_', '.' and '/', such as reviewer");
            return Err(Error::invalid("role", text, wanted));
        }
        Ok(Self(name.to_lowercase()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How mail is addressed to it, which is also what its mailbox is called.
    pub fn address(&self) -> String {
        format!("{PREFIX}{}", self.0)
    }
}

/// Whether a name in the list of recipients of a message is that of a role.
pub fn is_role_address(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Who holds a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The agent.
    pub agent: AgentId,
    /// Its name.
    pub name: String,
    /// Since when it holds it without a break.
    pub since: Timestamp,
    /// When that ends unless it takes the role again.
    pub until: Timestamp,
}

/// A role that somebody took or wrote to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownRole {
    /// Its name.
    pub name: String,
    /// Where its mail waits while nobody holds it.
    pub mailbox: AgentId,
    /// How much waits there.
    pub waiting: u64,
    /// Who holds it now.
    pub held: Option<Holding>,
}

/// What became of a wish to hold a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleTaken {
    /// The agent holds it.
    Held {
        /// Since when and until when.
        holding: Holding,
        /// How many unread messages of the role it got by that.
        handed_over: u64,
    },
    /// Another holds it.
    ByAnother(Holding),
    /// An agent has, or had, the name that the role's mailbox would have.
    NameTaken,
}

/// What keeps roles.
#[async_trait]
pub trait RoleStore: Send + Sync {
    /// The role of that name as it is at `now`; it and its mailbox are made if nobody took it or wrote to it before. `token` is the
    /// mailbox's, so that nobody can register its name. A mailbox of that name which nobody registered is taken over with its mail;
    /// `None`, and nothing changed, if an agent has or had the name.
    async fn ensure_role(
        &self,
        project: ProjectId,
        role: &RoleName,
        token: TokenHash,
        now: Timestamp,
    ) -> Stored<Option<KnownRole>>;

    /// Makes `agent` the one who holds a role until `until`, unless another holds it, and hands the role's unread mail over to it:
    /// what waits in the mailbox, and what was addressed to the role and the last holder has not read. What was addressed to that
    /// agent by name, too, stays there as well. Nothing comes twice to one agent. Who holds it takes it again to hold it longer.
    /// Of many who take it at once one does.
    ///
    /// A hold ends by itself, with the agent's last session, and with its retirement.
    async fn take_role(
        &self,
        project: ProjectId,
        role: &RoleName,
        agent: AgentId,
        token: TokenHash,
        until: Timestamp,
        now: Timestamp,
    ) -> Stored<RoleTaken>;

    /// Gives a role back; whether `agent` held it. Its unread mail stays until another takes the role.
    async fn release_role(&self, project: ProjectId, role: &RoleName, agent: AgentId, now: Timestamp) -> Stored<bool>;

    /// Every role of a project, by name.
    async fn roles(&self, project: ProjectId, now: Timestamp) -> Stored<Vec<KnownRole>>;

    /// Hands what is unread of a role in the mailbox `from`, its own or that of somebody who held it, to whoever holds it at `now`, and
    /// tells who that is: somebody may have taken the role while a message to it was on its way. If it is held by nobody, and was
    /// not held by `from` last, the mail waits in the role's mailbox.
    async fn hand_out(
        &self,
        project: ProjectId,
        role: &RoleName,
        from: AgentId,
        now: Timestamp,
    ) -> Stored<Option<AgentId>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_one_word_in_small_letters() {
        let role = RoleName::parse("role:Code/Reviewer-2").unwrap();
        assert_eq!((role.as_str(), role.address().as_str()), ("code/reviewer-2", "role:code/reviewer-2"));
        assert!(is_role_address(&role.address()) && !is_role_address("reviewer"));
        for text in ["", "role:", "two words", "a@b", "a\n", "a:b", &"x".repeat(65)] {
            assert_eq!(RoleName::parse(text).unwrap_err().code(), "INVALID_ARGUMENT", "{text:?}");
        }
    }
}

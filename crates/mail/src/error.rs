//! What can go wrong, told so that the caller can mend it.
//!
//! An error is a fact with its values, and a code for programs. The next step is said by each door in its own language, and how
//! an error looks on a wire is decided where that wire is spoken.

pub use formats::Problem;
pub use formats::json::Rejection;
use jiff::Timestamp;

pub use crate::clock::rfc3339;
use crate::ids::{MessageId, ReservationId};
use crate::office::Secret;
use crate::reservations::Conflict;
use crate::reservations::pattern::PatternError;
use crate::search::query::QueryError;

/// Why the office refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A key that is neither an absolute path nor a slug.
    #[error("Invalid project_key: '{0}' is not an absolute path")]
    InvalidProjectKey(String),
    /// No such project; `near` are keys of projects with like names.
    #[error("Project not found: '{key}'")]
    UnknownProject {
        /// What was given.
        key: String,
        /// Projects that may have been meant.
        near: Vec<String>,
    },
    /// A path whose own project has mail, which would be out of sight.
    #[error("'{path}' is a project of its own ('{slug}') with {messages} message{}", if *.messages == 1 { "" } else { "s" })]
    HasMail {
        /// The path.
        path: String,
        /// The slug of its project.
        slug: String,
        /// How much mail there is.
        messages: u64,
    },
    /// No such agent in the project; `near` are like names.
    #[error("Agent '{name}' not found")]
    UnknownAgent {
        /// What was given.
        name: String,
        /// Agents that may have been meant.
        near: Vec<String>,
        /// Whether it is somebody else, whom the caller cannot register.
        another: bool,
    },
    /// Mail to an agent that a person retired.
    #[error("Agent '{name}' is retired since {}", rfc3339(*.since))]
    Retired {
        /// The agent.
        name: String,
        /// Since when.
        since: Timestamp,
        /// Who is awake and could be asked instead.
        instead: Vec<String>,
    },
    /// A word with a sign of an address in it that is neither a name nor an address.
    #[error("'{0}' is neither an agent of this project nor an address")]
    UnknownAddress(String),
    /// No agent that could get mail runs in that program.
    #[error("No agent of the program '{program}' is in this project")]
    UnknownProgram {
        /// What was given.
        program: String,
        /// The programs that there are.
        there: Vec<String>,
    },
    /// A role that another agent holds.
    #[error("Role '{role}' is held by {holder} until {}", rfc3339(*.until))]
    RoleHeld {
        /// The role.
        role: String,
        /// Who holds it.
        holder: String,
        /// When that ends.
        until: Timestamp,
    },
    /// A name that a person wants and an agent has.
    #[error("'{0}' belongs to an agent of this project")]
    NameTaken(String),
    /// No message of that number in the project.
    #[error("Message '{0}' not found in this project")]
    UnknownMessage(MessageId),
    /// No delivery of that id, such as `17.2`, that the caller may know of.
    #[error("Message '{0}' not found")]
    UnknownDelivery(String),
    /// A delivery that was archived before.
    #[error("'{0}' is already archived")]
    AlreadyArchived(String),
    /// The agent has no delivery of the message.
    #[error("Message '{id}' was not sent to '{agent}'")]
    NotARecipient {
        /// The message.
        id: MessageId,
        /// Who asked.
        agent: String,
    },
    /// A message that went to several, and nobody said whose delivery is meant.
    #[error("Message '{id}' went to several: {}", first_few(.deliveries, 5, ", ", |(id, recipient)| format!("'{id}' is the copy of '{recipient}'")))]
    SeveralDeliveries {
        /// The message.
        id: MessageId,
        /// What each delivery is called, and whose it is.
        deliveries: Vec<(String, String)>,
    },
    /// No message belongs to that thread.
    #[error("Thread '{0}' not found in this project")]
    UnknownThread(String),
    /// No typed message names that piece of work.
    #[error("Work item '{id}' not found in this project")]
    UnknownWork {
        /// What was given.
        id: String,
        /// Items that may have been meant.
        near: Vec<String>,
    },
    /// A message that had to be a typed one without fault, and is not.
    #[error("The message is malformed: {}", listed(.problems))]
    Malformed {
        /// Everything that is wrong with it.
        problems: Vec<Problem>,
        /// The same in the words of the JSON formats, when it is JSON.
        rejection: Option<Rejection>,
    },
    /// A message that seems to hold a secret, where that is refused.
    #[error("The message seems to hold a secret: {}", listed(.0))]
    HoldsSecret(Vec<Secret>),
    /// A value that its rule does not allow.
    #[error("Invalid {what}: '{value}'; wanted: {wanted}")]
    Invalid {
        /// Which value.
        what: &'static str,
        /// What was given, cut short.
        value: String,
        /// What is allowed.
        wanted: String,
    },
    /// A value beyond its limit.
    #[error("{what} has {size} bytes; the limit is {limit}")]
    TooLarge {
        /// Which value.
        what: &'static str,
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// Nobody to send to.
    #[error("'to' names no recipient")]
    NoRecipients,
    /// An idempotency key that was used for other content.
    #[error("idempotency_key '{key}' was used before for another message, '{first}'")]
    KeyTaken {
        /// The key.
        key: String,
        /// The message it was used for.
        first: MessageId,
    },
    /// Others hold, or stand in line for, what was wanted.
    #[error("FILE_RESERVATION_CONFLICT: {}", first_few(.conflicts, 3, "; ", ToString::to_string))]
    Reserved {
        /// Who holds what.
        conflicts: Vec<Conflict>,
    },
    /// Waiting would never end, because each waits for the next.
    #[error("Waiting would never end: {}", .circle.join(" waits for "))]
    Circle {
        /// The agents, the first one again at the end.
        circle: Vec<String>,
    },
    /// A reservation to renew that the agent does not hold.
    #[error("'{agent}' holds no reservation on '{pattern}'")]
    NotHeld {
        /// Who asked.
        agent: String,
        /// The pattern, or `*` for any.
        pattern: String,
    },
    /// A reservation to give back that ended, or was given back, meanwhile.
    #[error("Reservation '{0}' is not active any more")]
    ReservationOver(ReservationId),
    /// A pattern that cannot be read.
    #[error("Invalid path: {0}")]
    Pattern(#[from] PatternError),
    /// A query that cannot be read.
    #[error("Invalid query: {0}")]
    Query(#[from] QueryError),
    /// Names have to be proved here, and this one was not.
    #[error("'{name}' was not proved: the registration token is {}", if *.given { "wrong" } else { "missing" })]
    Unproved {
        /// The name.
        name: String,
        /// Whether a token was given at all.
        given: bool,
    },
    /// Everybody's mail was asked for, where names have to be proved.
    #[error("Everybody's mail is nobody's where names have to be proved")]
    EverybodysMail,
    /// What a path means is for people to say, where names have to be proved: whoever changes it gets everybody's mail.
    #[error("Only a person may do this where names have to be proved")]
    ForPeople,
    /// The store could not answer. The cause goes to the log, not to the caller.
    #[error("Mail storage is unavailable")]
    Store(#[source] StoreError),
    /// The database is on another machine, and that cannot be reached. The cause goes to the log.
    #[error("The mail database cannot be reached")]
    Away(#[source] StoreError),
    /// More is asked for than the store can take in, or the store takes too long over it.
    #[error("The post office is busy")]
    Busy,
    /// A search that takes too long.
    #[error("The search took too long and was given up")]
    SearchTooSlow,
}

impl Error {
    /// The code of files that others hold.
    pub const RESERVED: &'static str = "FILE_RESERVATION_CONFLICT";

    /// A value that cannot be taken, as it is shown to whoever gave it.
    pub fn invalid(what: &'static str, value: &str, wanted: impl Into<String>) -> Self {
        Self::Invalid { what, value: shown(value), wanted: wanted.into() }
    }

    /// A code that clients may match on. Codes are added, never renamed.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidProjectKey { .. } => "INVALID_PROJECT_KEY",
            Self::UnknownProject { .. } => "PROJECT_NOT_FOUND",
            Self::HasMail { .. } => "PROJECT_HAS_MAIL",
            Self::UnknownAgent { .. } => "AGENT_NOT_FOUND",
            Self::Retired { .. } => "AGENT_RETIRED",
            Self::UnknownAddress { .. } => "ADDRESS_UNKNOWN",
            Self::UnknownProgram { .. } => "PROGRAM_NOT_FOUND",
            Self::RoleHeld { .. } => "ROLE_HELD",
            Self::NameTaken { .. } => "NAME_TAKEN",
            Self::UnknownMessage { .. } | Self::UnknownDelivery { .. } => "MESSAGE_NOT_FOUND",
            Self::AlreadyArchived { .. } => "ALREADY_ARCHIVED",
            Self::NotARecipient { .. } => "NOT_A_RECIPIENT",
            Self::SeveralDeliveries { .. } => "SEVERAL_COPIES",
            Self::UnknownThread { .. } => "THREAD_NOT_FOUND",
            Self::UnknownWork { .. } => "WORK_NOT_FOUND",
            Self::Malformed { .. } => "MALFORMED_MESSAGE",
            Self::HoldsSecret { .. } => "SECRET_REFUSED",
            Self::Invalid { .. } => "INVALID_ARGUMENT",
            Self::TooLarge { .. } => "TOO_LARGE",
            Self::NoRecipients => "NO_RECIPIENTS",
            Self::KeyTaken { .. } => "IDEMPOTENCY_CONFLICT",
            Self::Reserved { .. } => Self::RESERVED,
            Self::Circle { .. } => "FILE_RESERVATION_CIRCLE",
            Self::NotHeld { .. } => "RESERVATION_NOT_FOUND",
            Self::ReservationOver { .. } => "RESERVATION_OVER",
            Self::Pattern(_) => "INVALID_PATH",
            Self::Query(_) => "INVALID_QUERY",
            Self::Unproved { .. } | Self::EverybodysMail => "IDENTITY_REQUIRED",
            Self::ForPeople => "PERSON_REQUIRED",
            Self::Store(_) => "STORE_UNAVAILABLE",
            Self::Away(_) => "STORE_AWAY",
            Self::Busy => "BUSY",
            Self::SearchTooSlow => "SEARCH_TOO_SLOW",
        }
    }

    /// What may have been meant instead.
    pub fn near(&self) -> &[String] {
        match self {
            Self::UnknownProject { near, .. } | Self::UnknownAgent { near, .. } | Self::UnknownWork { near, .. } => {
                near
            }
            Self::UnknownProgram { there, .. } => there,
            Self::Retired { instead, .. } => instead,
            _ => &[],
        }
    }

    /// The same error about somebody whom the caller cannot register, because only an agent itself should.
    pub(crate) fn of_another(self) -> Self {
        match self {
            Self::UnknownAgent { name, near, .. } => Self::UnknownAgent { name, near, another: true },
            other => other,
        }
    }

    /// Whether the same call may succeed later, without any change.
    pub fn retryable(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Away(_) | Self::Busy | Self::SearchTooSlow | Self::Reserved { .. })
    }
}

/// What a store answers.
pub type Stored<T> = Result<T, StoreError>;

/// Why a store could not do its work. Never the caller's fault.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Too much is waiting already, or somebody else writes for too long; nothing was written.
    #[error("the database is busy: too many writes wait, or another process holds it")]
    Busy,
    /// The work took longer than it may.
    #[error("it took too long")]
    TooSlow,
    /// The database cannot be reached; nothing was written.
    #[error("cannot {doing}: the database is away: {cause}")]
    Away {
        /// What was tried.
        doing: &'static str,
        /// What went wrong.
        cause: String,
    },
    /// Anything else.
    #[error("cannot {doing}: {cause}")]
    Failed {
        /// What was tried.
        doing: &'static str,
        /// What went wrong.
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy | StoreError::TooSlow => Self::Busy,
            StoreError::Away { .. } => Self::Away(error),
            other => Self::Store(other),
        }
    }
}

/// A value as an error may show it: without control characters, cut to 100 characters.
pub fn shown(value: &str) -> String {
    formats::shown(value, 100)
}

/// Checks text of any length: at most `limit` bytes, and no NUL, which not every store can hold.
pub(crate) fn check_text(what: &'static str, text: &str, limit: usize) -> Result<(), Error> {
    if text.len() > limit {
        return Err(Error::TooLarge { what, size: text.len(), limit });
    }
    if text.contains('\0') {
        return Err(Error::invalid(what, text, "text without NUL characters"));
    }
    Ok(())
}

/// Checks a label: 1 to `longest` characters that can be seen.
pub(crate) fn check_label(what: &'static str, text: &str, longest: usize) -> Result<(), Error> {
    if text.trim().is_empty() || text.chars().count() > longest || text.chars().any(char::is_control) {
        let wanted = format!("1 to {longest} characters, none of them a control character");
        return Err(Error::invalid(what, text, wanted));
    }
    Ok(())
}

/// The first few, and how many more there are.
pub(crate) fn first_few<T>(all: &[T], most: usize, joint: &str, told: impl Fn(&T) -> String) -> String {
    let mut few: Vec<String> = all.iter().take(most).map(told).collect();
    if all.len() > most {
        few.push(format!("and {} more", all.len() - most));
    }
    few.join(joint)
}

fn listed(all: &[impl std::fmt::Display]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests;

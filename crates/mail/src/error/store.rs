//! What can go wrong in a store, which is never the caller's fault.

use super::Error;

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

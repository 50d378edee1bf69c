//! Fields with a fixed set of words, each as an enum.
//!
//! The words are written once, here; the rules, the schema and the typed values take them from the enum. A word that is
//! not of the set has no value here: it stays with the message as it came.

/// Declares an enum by its words, in their order.
macro_rules! choices {
    ($(#[doc = $about:literal])+ $name:ident { $(#[doc = $note:literal] $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[doc = $note] $variant,)+
        }

        impl $name {
            /// Every choice, in the order of `WORDS`.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// Every word, as it stands in the JSON.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word for this choice.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// The choice for a word in exactly this spelling.
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl crate::json::record::Content for $name {
            fn read(value: serde_json::Value) -> Result<Self, serde_json::Value> {
                value.as_str().and_then(Self::parse).ok_or(value)
            }

            fn write(&self) -> serde_json::Value {
                self.as_str().into()
            }
        }
    };
}

choices! {
    /// The types of message that the format knows.
    Type {
        /// Delegates a task from one agent to another.
        TaskAssignment = "task_assignment",
        /// Tells that a task has been completed.
        TaskCompletion = "task_completion",
        /// Reports errors met while working on a task.
        ErrorReport = "error_report",
        /// Tells how a task goes on.
        StatusUpdate = "status_update",
        /// Asks several agents to coordinate.
        CoordinationRequest = "coordination_request",
        /// Asks for files to be reserved.
        FileReservation = "file_reservation",
    }
}

choices! {
    /// How urgent a task is. The place in this order is the task's `priority_value`.
    Priority {
        /// Before all else.
        Urgent = "urgent",
        /// Soon.
        High = "high",
        /// In its turn.
        Normal = "normal",
        /// When there is time.
        Low = "low",
    }
}

choices! {
    /// How far a task was completed.
    Status {
        /// Fully.
        Complete = "complete",
        /// In part; the summary says what is missing.
        Partial = "partial",
        /// Not, for something is in the way.
        Blocked = "blocked",
    }
}

choices! {
    /// How bad an error is.
    Severity {
        /// Minor; there is a way around it.
        Low = "low",
        /// Partially blocking, needs attention.
        Medium = "medium",
        /// A major issue that blocks progress.
        High = "high",
        /// Nothing goes on before it is resolved.
        Blocking = "blocking",
    }
}

choices! {
    /// Why a status update was sent.
    UpdateType {
        /// Regular progress.
        Progress = "progress",
        /// A milestone was reached.
        Milestone = "milestone",
        /// A new blocker was discovered.
        Blocker = "blocker",
        /// A blocker was resolved.
        Unblocker = "unblocker",
    }
}

choices! {
    /// What agents are asked to coordinate.
    RequestType {
        /// Work in parallel.
        ParallelExecution = "parallel_execution",
        /// The handing over of work.
        Handoff = "handoff",
        /// A review of work.
        Review = "review",
        /// Their status.
        Sync = "sync",
    }
}

choices! {
    /// How files are reserved.
    Mode {
        /// Only this agent can access them.
        Exclusive = "exclusive",
        /// Several agents can read, one can write.
        SharedRead = "shared_read",
        /// Several agents can read and write, with coordination.
        SharedWrite = "shared_write",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_found_by_its_own_word_and_no_other_spelling() {
        for (kind, word) in Type::ALL.iter().zip(Type::WORDS) {
            assert_eq!((kind.as_str(), Type::parse(word)), (*word, Some(*kind)));
            assert_eq!(Type::parse(&word.to_uppercase()), None);
            assert_eq!(Type::parse(&format!("{word} ")), None);
        }
        assert_eq!(Type::ALL.len(), 6);
    }

    #[test]
    fn the_order_of_priorities_is_the_scale_of_the_format() {
        assert_eq!(Priority::WORDS, ["urgent", "high", "normal", "low"]);
    }
}

//! Fields whose value is one of a few words.
//!
//! A word that is none of them is kept as it stands, so that nothing a sender wrote is lost; whether that is a problem
//! is for the reader to say.

/// A value that should be one of a few words.
pub(super) trait Word: Sized {
    /// The words, as the protocol lists them.
    const WANTED: &'static str;

    /// Reads a value that is not empty.
    fn read(text: &str) -> Self;

    /// Whether it is one of the words.
    fn is_known(&self) -> bool;
}

macro_rules! words {
    (
        $(#[$about:meta])* $name:ident through $fold:path:
        $(#[$first_about:meta])* $first:ident = $first_word:literal
        $(, $(#[$variant_about:meta])* $variant:ident = $word:literal)*
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[$first_about])* $first,
            $($(#[$variant_about])* $variant,)*
            /// Another word.
            Other(String),
        }

        impl $name {
            /// Reads the word; what is none of the protocol's is kept as another.
            pub fn read(text: &str) -> Self {
                let word = $fold(text.trim());
                match word.as_str() {
                    $first_word => Self::$first,
                    $($word => Self::$variant,)*
                    _ => Self::Other(word),
                }
            }

            /// The word as it stands in a message.
            pub fn as_str(&self) -> &str {
                match self {
                    Self::$first => $first_word,
                    $(Self::$variant => $word,)*
                    Self::Other(word) => word,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Word for $name {
            const WANTED: &'static str = concat!($first_word, $(" | ", $word),*);

            fn read(text: &str) -> Self {
                Self::read(text)
            }

            fn is_known(&self) -> bool {
                !matches!(self, Self::Other(_))
            }
        }
    };
}

words! {
    /// Why a worker asks for help.
    IssueType through str::to_ascii_uppercase:
    /// It cannot proceed and does not know how.
    Stuck = "STUCK",
    /// The specification is ambiguous.
    SpecUnclear = "SPEC_UNCLEAR",
    /// Something outside holds the work up.
    Blocked = "BLOCKED",
    /// A technical problem wants an expert.
    Technical = "TECHNICAL"
}

words! {
    /// Why work failed.
    FailureType through str::to_ascii_uppercase:
    /// The tests do not pass.
    TestsFail = "TESTS_FAIL",
    /// It does not build.
    BuildFail = "BUILD_FAIL",
    /// The specification cannot be implemented.
    SpecImpossible = "SPEC_IMPOSSIBLE",
    /// The context window is exhausted.
    ContextHigh = "CONTEXT_HIGH",
    /// Something unexpected.
    Error = "ERROR"
}

words! {
    /// Why a worker stops halfway.
    CheckpointReason through str::to_ascii_uppercase:
    /// The context window is nearly full.
    ContextHigh = "CONTEXT_HIGH",
    /// Somebody asked for it.
    Manual = "MANUAL",
    /// The time is up.
    Timeout = "TIMEOUT"
}

words! {
    /// What became of the wish for a new worker. The word is taken as it is written.
    SpawnStatus through str::to_owned:
    /// The worker runs.
    Spawned = "spawned",
    /// There is none.
    Failed = "failed"
}

/// Reads a yes or a no in the words that people use for it; `None` for anything else.
pub(super) fn read_verdict(text: &str) -> Option<bool> {
    let is_one_of = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text.trim()));
    if is_one_of(&["PASS", "TRUE", "YES", "OK"]) {
        Some(true)
    } else if is_one_of(&["FAIL", "FALSE", "NO"]) {
        Some(false)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_in_any_case_and_an_unknown_one_is_kept() {
        assert_eq!(IssueType::read(" spec_unclear "), IssueType::SpecUnclear);
        assert_eq!(IssueType::read("lost").as_str(), "LOST");
        assert!(!IssueType::read("STUCK | BLOCKED").is_known());
        assert_eq!(IssueType::WANTED, "STUCK | SPEC_UNCLEAR | BLOCKED | TECHNICAL");
    }

    #[test]
    fn the_status_of_a_spawn_stays_as_it_is_written() {
        assert_eq!(SpawnStatus::read("spawned"), SpawnStatus::Spawned);
        assert_eq!(SpawnStatus::read("Spawned"), SpawnStatus::Other("Spawned".into()));
    }

    #[test]
    fn only_the_bare_word_is_a_verdict() {
        for yes in ["PASS", "true", "Yes", " ok "] {
            assert_eq!(read_verdict(yes), Some(true), "{yes}");
        }
        for no in ["FAIL", "False", "no"] {
            assert_eq!(read_verdict(no), Some(false), "{no}");
        }
        for neither in ["", "PASSED", "✅ PASS", "PASS (12 tests)", "PASS | FAIL", "1"] {
            assert_eq!(read_verdict(neither), None, "{neither}");
        }
    }
}

//! The kinds of coordination message on the command line: a subcommand each, with a flag for each label.
//!
//! Declarations only. Nothing is required here, so that all that is missing can be told at once.

use clap::{Args, Subcommand};

const LONG_TEXTS: &str = "A TEXT may be `-` for standard input or `@FILE` for a file; `@@` begins a text with one `@`.";

/// The kind of message, with what it says.
#[derive(Subcommand, Debug)]
#[command(disable_help_subcommand = true)]
pub enum Given {
    /// A worker has taken on a piece of work
    #[command(alias = "BEAD_ACCEPTED")]
    BeadAccepted {
        /// The piece of work
        #[arg(long, value_name = "ID")]
        bead: Option<String>,
        /// What it is called
        #[arg(long, value_name = "LINE")]
        title: Option<String>,
        /// When the worker began, as 2026-01-31T10:00:00Z [default: now]
        #[arg(long, value_name = "TIME")]
        started_at: Option<String>,
    },
    /// A worker says how far it is
    #[command(alias = "PROGRESS")]
    Progress {
        /// The piece of work
        #[arg(long, value_name = "ID")]
        bead: Option<String>,
        /// The step it is at
        #[arg(long, value_name = "LINE")]
        step: Option<String>,
        /// What is happening
        #[arg(long, value_name = "LINE")]
        status: Option<String>,
        /// How much of the context window is used, 0 to 100
        #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
        context_usage: Option<String>,
        /// The files changed so far, with commas between them
        #[arg(long, value_name = "FILES")]
        files: Vec<String>,
    },
    /// A worker is stuck and asks for guidance
    #[command(alias = "HELP_REQUEST", after_help = LONG_TEXTS)]
    HelpRequest(HelpRequest),
    /// The answer to a request for help
    #[command(alias = "HELP_RESPONSE", after_help = LONG_TEXTS)]
    HelpResponse {
        /// The piece of work
        #[arg(long, value_name = "ID")]
        bead: Option<String>,
        /// The answer
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        guidance: Option<String>,
    },
    /// The work is complete and can be reviewed
    #[command(alias = "OFFERING_READY", after_help = LONG_TEXTS)]
    OfferingReady(Offering),
    /// The work is complete
    #[command(alias = "DONE", after_help = LONG_TEXTS)]
    Done(Offering),
    /// The work failed
    #[command(alias = "FAILED", after_help = LONG_TEXTS)]
    Failed(Failed),
    /// A worker stops halfway and leaves notes for its successor
    #[command(alias = "CHECKPOINT", after_help = LONG_TEXTS)]
    Checkpoint(CheckpointArgs),
    /// A new worker is wanted
    #[command(alias = "SPAWN_REQUEST")]
    SpawnRequest {
        /// The piece of work
        #[arg(long, value_name = "ID")]
        issue: Option<String>,
        /// Whether to go on from a checkpoint
        #[arg(long, value_name = "yes|no", num_args = 0..=1, default_value = "false", default_missing_value = "true")]
        resume: String,
        /// The commit to go on from
        #[arg(long, value_name = "SHA")]
        checkpoint: Option<String>,
        /// Who asks
        #[arg(long, value_name = "NAME")]
        orchestrator: Option<String>,
    },
    /// The answer to the wish for a new worker
    #[command(alias = "SPAWN_ACK")]
    SpawnAck {
        /// The piece of work
        #[arg(long, value_name = "ID")]
        issue: Option<String>,
        /// spawned or failed
        #[arg(long, value_name = "WORD")]
        status: Option<String>,
        /// Where the new worker runs
        #[arg(long, value_name = "NAME")]
        session: Option<String>,
    },
}

/// What HELP_REQUEST says.
#[derive(Args, Debug)]
pub struct HelpRequest {
    /// The piece of work
    #[arg(long, value_name = "ID")]
    pub bead: Option<String>,
    /// STUCK, SPEC_UNCLEAR, BLOCKED or TECHNICAL
    #[arg(long, value_name = "WORD")]
    pub issue_type: Option<String>,
    /// What is wrong
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub problem: Option<String>,
    /// What did not help
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub tried: Option<String>,
    /// The files changed so far, with commas between them
    #[arg(long, value_name = "FILES")]
    pub files: Vec<String>,
    /// What the worker wants to know
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub question: Option<String>,
}

/// What OFFERING_READY and DONE say.
#[derive(Args, Debug)]
pub struct Offering {
    /// The piece of work
    #[arg(long, value_name = "ID")]
    pub bead: Option<String>,
    /// The commit that holds the work
    #[arg(long, value_name = "SHA")]
    pub commit: Option<String>,
    /// The files changed, with commas between them
    #[arg(long, value_name = "FILES")]
    pub files: Vec<String>,
    /// Whether the tests pass
    #[arg(long, value_name = "pass|fail")]
    pub tests: Option<String>,
    /// Whether the linter is content
    #[arg(long, value_name = "pass|fail")]
    pub lint: Option<String>,
    /// Whether it builds
    #[arg(long, value_name = "pass|fail")]
    pub build: Option<String>,
    /// What was done
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub summary: Option<String>,
}

/// What FAILED says.
#[derive(Args, Debug)]
pub struct Failed {
    /// The piece of work
    #[arg(long, value_name = "ID")]
    pub bead: Option<String>,
    /// TESTS_FAIL, BUILD_FAIL, SPEC_IMPOSSIBLE, CONTEXT_HIGH or ERROR
    #[arg(long = "type", value_name = "WORD")]
    pub failure_type: Option<String>,
    /// Why it failed, in one line
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub reason: Option<String>,
    /// How often the worker tried
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true)]
    pub attempts: Option<String>,
    /// The commit that holds what there is
    #[arg(long, value_name = "SHA")]
    pub commit: Option<String>,
    /// The files of that commit, with commas between them
    #[arg(long, value_name = "FILES")]
    pub files: Vec<String>,
    /// What would unblock the work
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub recommendation: Option<String>,
}

/// What CHECKPOINT says.
#[derive(Args, Debug)]
pub struct CheckpointArgs {
    /// The piece of work
    #[arg(long, value_name = "ID")]
    pub bead: Option<String>,
    /// CONTEXT_HIGH, MANUAL or TIMEOUT
    #[arg(long, value_name = "WORD")]
    pub reason: Option<String>,
    /// The commit that holds what there is
    #[arg(long, value_name = "SHA")]
    pub commit: Option<String>,
    /// What is done and what remains, in one line
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub description: Option<String>,
    /// How much of the context window is used, 0 to 100
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub context_usage: Option<String>,
    /// Notes for the successor
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub next_steps: Option<String>,
}

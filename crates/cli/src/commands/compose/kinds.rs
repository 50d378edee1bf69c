//! The kinds of coordination message on the command line: a subcommand each, with a flag for each label.
//!
//! One table says what there is, what it is called in the message and how it is read. Nothing is required here, so that
//! all that is missing can be told at once.

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, Subcommand};
use formats::markdown::Kind;

use self::FlagValue::{Block, Count, Files, Line, LongLine, Percent, Resume, Status, Time, Verdict, Whole, Word};

const LONG_TEXTS: &str = "A TEXT may be `-` for standard input or `@FILE` for a file; `@@` begins a text with one `@`.";

/// A flag: its name, the field of the message, how it is read, and what its help says.
pub type Flag = (&'static str, &'static str, FlagValue, &'static str);

/// How what is given for a flag is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagValue {
    /// One line; its help calls it so.
    Line(&'static str),
    /// A time; now, if none is given.
    Time,
    /// One of a few words, in capitals.
    Word,
    /// What became of a wish for a worker.
    Status,
    /// Names of files.
    Files,
    /// Whether something passed.
    Verdict,
    /// Whether to resume, which is no unless it is said.
    Resume,
    /// 0 to 100.
    Percent,
    /// A whole number.
    Count,
    /// A text that becomes one line; it may be in a file, like the next two.
    LongLine,
    /// A text that stands in a section of its own.
    Block,
    /// A text as it is.
    Whole,
}

const BEAD: Flag = ("bead", "bead_id", Line("ID"), "The piece of work");
const ISSUE: Flag = ("issue", "issue_id", Line("ID"), "The piece of work");
const TOUCHED: Flag = ("files", "files_touched", Files, "The files changed so far, with commas between them");
const CONTEXT: Flag = ("context-usage", "context_usage", Percent, "How much of the context window is used, 0 to 100");
const LEFT: Flag = ("commit", "partial_commit_sha", Line("SHA"), "The commit that holds what there is");

/// The flags of work that is complete.
const COMPLETE: [Flag; 7] = [
    BEAD,
    ("commit", "commit_sha", Line("SHA"), "The commit that holds the work"),
    ("files", "files", Files, "The files changed, with commas between them"),
    ("tests", "tests_pass", Verdict, "Whether the tests pass"),
    ("lint", "lint_pass", Verdict, "Whether the linter is content"),
    ("build", "build_pass", Verdict, "Whether it builds"),
    ("summary", "summary", Block, "What was done"),
];

/// What each kind is called on the command line, and what its help says.
const KINDS: [(&str, &str); Kind::written().len()] = [
    ("bead-accepted", "A worker has taken on a piece of work"),
    ("progress", "A worker says how far it is"),
    ("help-request", "A worker is stuck and asks for guidance"),
    ("help-response", "The answer to a request for help"),
    ("offering-ready", "The work is complete and can be reviewed"),
    ("done", "The work is complete"),
    ("failed", "The work failed"),
    ("checkpoint", "A worker stops halfway and leaves notes for its successor"),
    ("spawn-request", "A new worker is wanted"),
    ("spawn-ack", "The answer to the wish for a new worker"),
];

/// The flags of a kind.
pub fn flags(kind: Kind) -> &'static [Flag] {
    match kind {
        Kind::BeadAccepted => &[
            BEAD,
            ("title", "title", Line("LINE"), "What it is called"),
            ("started-at", "started_at", Time, "When the worker began, as 2026-01-31T10:00:00Z [default: now]"),
        ],
        Kind::Progress => &[
            BEAD,
            ("step", "step", Line("LINE"), "The step it is at"),
            ("status", "status", Line("LINE"), "What is happening"),
            CONTEXT,
            TOUCHED,
        ],
        Kind::HelpRequest => &[
            BEAD,
            ("issue-type", "issue_type", Word, "STUCK, SPEC_UNCLEAR, BLOCKED or TECHNICAL"),
            ("problem", "problem", Block, "What is wrong"),
            ("tried", "what_tried", Block, "What did not help"),
            TOUCHED,
            ("question", "question", Block, "What the worker wants to know"),
        ],
        Kind::HelpResponse => &[BEAD, ("guidance", "guidance", Whole, "The answer")],
        Kind::OfferingReady | Kind::Done => &COMPLETE,
        Kind::Failed => &[
            BEAD,
            ("type", "failure_type", Word, "TESTS_FAIL, BUILD_FAIL, SPEC_IMPOSSIBLE, CONTEXT_HIGH or ERROR"),
            ("reason", "reason", LongLine, "Why it failed, in one line"),
            ("attempts", "internal_attempts", Count, "How often the worker tried"),
            LEFT,
            ("files", "files", Files, "The files of that commit, with commas between them"),
            ("recommendation", "recommendation", Block, "What would unblock the work"),
        ],
        Kind::Checkpoint => &[
            BEAD,
            ("reason", "checkpoint_reason", Word, "CONTEXT_HIGH, MANUAL or TIMEOUT"),
            LEFT,
            ("description", "progress", LongLine, "What is done and what remains, in one line"),
            CONTEXT,
            ("next-steps", "next_steps", Block, "Notes for the successor"),
        ],
        Kind::SpawnRequest => &[
            ISSUE,
            ("resume", "resume", Resume, "Whether to go on from a checkpoint"),
            ("checkpoint", "partial_commit_sha", Line("SHA"), "The commit to go on from"),
            ("orchestrator", "orchestrator", Line("NAME"), "Who asks"),
        ],
        Kind::SpawnAck => &[
            ISSUE,
            ("status", "status", Status, "spawned or failed"),
            ("session", "session", Line("NAME"), "Where the new worker runs"),
        ],
        // Read, and never written.
        Kind::OfferingAccepted | Kind::RetryRequired | Kind::Completed => &[],
    }
}

/// The kind of message, with what was given for each of its flags.
#[derive(Debug)]
pub struct Given {
    pub kind: Kind,
    pub values: Vec<(&'static Flag, Vec<String>)>,
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let chosen = matches.subcommand().and_then(|(name, matches)| Some((called(name)?, matches)));
        let (kind, matches) = chosen.ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
        let given = |flag: &Flag| matches.get_many(flag.0).into_iter().flatten().cloned().collect();
        Ok(Self { kind, values: flags(kind).iter().map(|flag| (flag, given(flag))).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Given {
    fn augment_subcommands(command: Command) -> Command {
        command.disable_help_subcommand(true).subcommands(Kind::written().map(subcommand))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        called(name).is_some()
    }
}

fn called(name: &str) -> Option<Kind> {
    Kind::written().iter().copied().find(|kind| KINDS[*kind as usize].0 == name)
}

fn subcommand(kind: Kind) -> Command {
    let ((name, about), flags) = (KINDS[kind as usize], flags(kind));
    let command = Command::new(name).about(about).alias(kind.as_str()).args(flags.iter().map(arg));
    let is_long = flags.iter().any(|(_, _, shape, _)| matches!(shape, LongLine | Block | Whole));
    if is_long { command.after_help(LONG_TEXTS) } else { command }
}

fn arg((flag, _, shape, about): &Flag) -> Arg {
    let arg = Arg::new(*flag).long(*flag).help(*about);
    match shape {
        Line(name) => arg.value_name(*name),
        Time => arg.value_name("TIME"),
        Word | Status => arg.value_name("WORD"),
        Files => arg.value_name("FILES").action(ArgAction::Append),
        Verdict => arg.value_name("pass|fail"),
        Resume => arg.value_name("yes|no").num_args(0..=1).default_value("false").default_missing_value("true"),
        Percent => arg.value_name("PERCENT").allow_hyphen_values(true),
        Count => arg.value_name("COUNT").allow_hyphen_values(true),
        LongLine | Block | Whole => arg.value_name("TEXT").allow_hyphen_values(true),
    }
}

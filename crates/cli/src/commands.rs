//! The commands of the terminal, one file each.

mod acting;
mod backup;
mod channel;
mod completions;
mod compose;
mod conflicts;
mod demo;
mod doctor;
pub mod exec_mail;
mod given;
mod globs;
mod guard;
mod handoff;
mod hook;
mod in_name;
pub(crate) mod install;
mod join;
mod leave;
mod lines;
mod mail;
mod man;
mod members;
mod migrate;
mod monitor;
pub mod nudge;
mod parse;
mod problems;
mod project;
mod projects;
mod release;
mod rename;
mod reservations;
mod reserve;
mod retire;
mod role;
mod schema;
mod serve;
mod stdio;
mod token;
mod transfer;
mod validate;
pub mod watch;
mod watching;
mod who;
mod work;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use self::acting::takes_a_name;
use crate::config::{Config, Global};
use crate::output;

/// Mail for coding agents.
#[derive(Parser, Debug)]
#[command(name = "postrider", version, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    /// What every command takes.
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run the mail server: MCP over HTTP at /mcp
    Serve(serve::Serve),
    /// See it all move: sample mail in a home of its own, served, with agents at work in it
    Demo(demo::Demo),
    /// Speak MCP on standard input and output, for clients that start their server
    Stdio(stdio::Stdio),
    /// Join the project, so that others can write to you
    Join(join::Join),
    /// End your session: others see that you are gone, and what you hold exclusively is released
    Leave(leave::Leave),
    /// Give an agent another name; the old one still reaches it
    Rename(rename::Rename),
    /// Retire an agent: nobody writes to it until it registers again
    Retire(retire::Retire),
    /// Send, read and answer mail
    Mail(Box<mail::Mail>),
    /// Talk in channels, where everybody reads along
    Channel(channel::Channel),
    /// Say something in a channel, with the flags of the script send-message
    SendMessage(Box<channel::SendMessage>),
    /// Show the work of a project: who is on what, how far, and who waits for help
    Work(work::Work),
    /// Show who is there: who is awake, since when, and what it is at
    Who(who::Who),
    /// Take a role, so that mail to it comes to you, and give it back
    Role(role::Role),
    /// Reserve files, so that others keep out of them
    Reserve(reserve::Reserve),
    /// Give back what you reserved
    Release(release::Release),
    /// Show which files are reserved: by whom, until when, and who waits
    Reservations(reservations::Reservations),
    /// Show every project: its path, its agents and its mail
    Projects(projects::Projects),
    /// Name other paths of a project: another clone, or where it is on another machine
    Project(project::OtherPaths),
    /// Look after the registration tokens of an agent
    Token(token::AgentTokens),
    /// Answer for an agent: run a command for each message that calls it, and post what it prints
    Watch(Box<watch::Watch>),
    /// Put a word before an agent's running session
    Nudge(nudge::Nudge),
    /// Print a line whenever mail wakes a session, for a plugin of its client
    Monitor(monitor::Monitor),
    /// Tell another agent where your work stands
    Handoff(handoff::Handoff),
    /// Answer as the mail program of another tool: <OP> [ARG], JSON on standard input
    ExecMail(exec_mail::ExecMail),
    /// Refuse commits of files that another agent has reserved
    Guard(guard::Guard),
    /// Answer a client's hook: tell its agent of mail and reserved files
    Hook(hook::Hook),
    /// Give a coding agent mail: put the hooks and the MCP server into its configuration
    Install(install::Install),
    /// Take back what install wrote
    Uninstall(install::Target),
    /// Look at the post office and say what is wrong (changes nothing)
    Doctor(doctor::Doctor),
    /// Copy all mail to a file, while the server runs or not
    Backup(backup::Backup),
    /// Put a backup in place of the present mail, which is kept aside
    Restore(backup::Restore),
    /// Write all mail as JSON lines, one message a line
    Export(transfer::Export),
    /// Read mail that was exported
    Import(transfer::Import),
    /// Move all mail to another store: from a file to PostgreSQL, or back
    Migrate(migrate::Migrate),
    /// Write a coordination message, and print or send it
    Compose(Box<compose::Compose>),
    /// Read a coordination message and say what is in it
    Parse(parse::Parse),
    /// Check a JSON message against the rules of its type
    Validate(validate::Validate),
    /// Print the JSON Schema of a type of JSON message
    Schema(schema::Schema),
    /// Print what makes a shell complete these commands
    Completions(completions::Completions),
    /// Print the manual page, or write a page for each command into a folder
    Man(man::Man),
}

impl Cli {
    /// Reads the command line and the environment.
    pub fn read() -> Result<Self, clap::Error> {
        let mut command = without_empty_variables(Self::command());
        let matches = command.try_get_matches_from_mut(std::env::args_os())?;
        let mut cli = Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
        cli.global.names_home = matches.value_source("home") == Some(ValueSource::CommandLine);
        Ok(cli)
    }

    /// The help of a command, which has to be one of all commands.
    fn help_of(name: &str) -> String {
        let mut whole = Self::command();
        whole.build();
        let command = whole.find_subcommand_mut(name).expect("this command is one of all commands");
        command.render_help().to_string().trim_end().to_owned()
    }

    /// Whether to answer in JSON. Mail that is exported to standard output has it for itself: what else there is to say
    /// goes to standard error, as for people.
    pub fn answers_json(&self) -> bool {
        self.global.json && !matches!(&self.command, Command::Export(export) if export.path().is_none())
    }
}

/// Runs what the command line says.
pub fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let json = cli.answers_json();
    let settings = || Config::load(&cli.global);
    let whole_settings = || Config::load_whole(&cli.global);
    match cli.command {
        // It reads the settings itself: wrong ones must not break an agent.
        Command::Hook(command) => command.run(cli.global),
        // It has none of anybody's.
        Command::Demo(command) => command.run(&cli.global),
        Command::Guard(command) => match settings() {
            Ok(config) => command.run(config, json),
            Err(error) => command.run_without_settings(error, json),
        },
        Command::Serve(command) => command.run(settings()?, json),
        Command::Stdio(command) => command.run(settings()?),
        Command::Join(command) => command.run(settings()?, json),
        Command::Leave(command) => command.run(settings()?, json),
        Command::Rename(command) => command.run(settings()?, json),
        Command::Retire(command) => command.run(settings()?, json),
        Command::Mail(command) => match settings() {
            Ok(config) => command.run(config, json),
            Err(error) => command.run_without_settings(error),
        },
        Command::Channel(command) => command.run(settings()?, json),
        Command::SendMessage(command) => command.run(settings()?, json),
        Command::Work(command) => command.run(settings()?, json),
        Command::Who(command) => command.run(settings()?, json),
        Command::Role(command) => command.run(settings()?, json),
        Command::Reserve(command) => command.run(settings()?, json),
        Command::Release(command) => command.run(settings()?, json),
        Command::Reservations(command) => command.run(settings()?, json),
        Command::Projects(command) => command.run(settings()?, json),
        Command::Project(command) => command.run(settings()?, json),
        Command::Token(command) => command.run(settings()?, json),
        Command::Watch(command) => command.run(settings()?, json),
        Command::Nudge(command) => command.run(settings()?, json),
        Command::Monitor(command) => command.run(settings()?),
        Command::Handoff(command) => command.run(settings()?, json),
        Command::Install(command) => command.install(&whole_settings()?, json),
        Command::Uninstall(command) => command.uninstall(&whole_settings()?, json),
        Command::Doctor(command) => command.run(&whole_settings()?, json),
        Command::Backup(command) => command.run(&settings()?, json),
        Command::Restore(command) => command.run(&settings()?, json),
        Command::Export(command) => command.run(&settings()?, json),
        Command::Import(command) => command.run(&settings()?, json),
        Command::Migrate(command) => command.run(&settings()?, json),
        Command::Compose(command) => command.run(settings()?, json),
        // These need no settings, and tell of wrong ones all the same.
        Command::ExecMail(command) => settings().map(|_| exec_mail::run(&command.words, &cli.global)),
        Command::Parse(command) => settings().and_then(|_| command.run(json)),
        Command::Validate(command) => settings().and_then(|_| command.run(json)),
        Command::Schema(command) => settings().and_then(|_| command.run(json)),
        Command::Completions(command) => settings().map(|_| command.run(json)),
        Command::Man(command) => settings().and_then(|_| command.run(json)),
    }
}

/// Says what is wrong with the command line. A client's hook fails at nothing, so for one it is a line.
pub fn wrong_line(error: &clap::Error) -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let name = match () {
        () if !error.use_stderr() => return output::usage(error),
        () if hook::is_called(&words) => "postrider hook",
        () if mail::is_reminder_called(&words) => mail::CHECK,
        () => return output::usage(error),
    };
    output::note(&hook::deadline::complaint(name, error));
    ExitCode::SUCCESS
}

/// The command that a command line calls, however wrong it is, and the words behind it. These options have a value.
fn called<'w>(mut words: &'w [OsString], with_value: &[&str]) -> Option<(&'w OsStr, &'w [OsString])> {
    while let [word, rest @ ..] = words {
        if with_value.iter().any(|option| word == option) {
            words = rest.get(1..)?;
        } else if word.as_encoded_bytes().starts_with(b"-") {
            words = rest;
        } else {
            return Some((word, rest));
        }
    }
    None
}

/// The command line, for which a variable of the environment that is empty is not set.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |arg: &clap::Arg| arg.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty());
    let command = command.mut_args(|arg| if is_empty(&arg) { arg.env(None::<&str>) } else { arg });
    command.mut_subcommands(without_empty_variables)
}

/// A runtime for commands that ask a few questions.
pub fn small_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// What comes of some work, unless it takes too long; then it is left to itself, for nothing can end a wait for a disk.
fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RecvTimeoutError> {
    let (answer, answered) = mpsc::sync_channel(1);
    // Nobody may be there any more to hear it.
    std::thread::spawn(move || _ = answer.send(work()));
    answered.recv_timeout(limit)
}

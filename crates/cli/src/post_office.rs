//! How a process reaches its post office, and how a command asks it.
//!
//! The office is found as every client finds it: a server elsewhere if one is set, else the server that owns the
//! database, else the database itself. A `PostOffice` asks verbs there; the connection below it also carries the messages of
//! another client. Deliberately absent: printing, and any knowledge of what a verb means.

pub mod answer;
pub mod backend;
pub mod connection;
mod hints;
mod join;
pub mod message;
pub mod pages;
mod project;
pub mod taken_back;
mod trees;
mod watch;

use std::ops::Deref;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::commands::small_runtime;
use crate::config::Config;
pub use answer::Refused;
use backend::Finder;
use connection::Connection;
pub use project::InProject;
pub use trees::{OnDisk, Tree, real, regular_text, repository_of};
pub use watch::{Watch, resource};

/// What a shell expects of a program that was interrupted: 128 and the number of the signal.
const INTERRUPTED: u8 = 130;

/// Where a command asks the post office: a connection with nobody behind it who would read other lines than answers.
pub struct PostOffice(Arc<Connection>);

/// Opens the post office for something about a project, runs `operation` with it, and closes it, whatever became of the
/// operation. Ctrl-C ends the operation.
pub fn visit(
    config: Config,
    project: &str,
    operation: impl AsyncFnOnce(&PostOffice) -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    run(async {
        let post_office = PostOffice::open(config.about(project)).await?;
        let ended = until_interrupted(operation(&post_office)).await;
        post_office.write_out().await;
        post_office.close().await;
        ended
    })
}

/// Runs a command that asks an office to its end.
pub fn run<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = small_runtime()?;
    let ended = runtime.block_on(command);
    // A name that is being looked up for a connection is not waited for.
    runtime.shutdown_background();
    ended
}

/// What becomes of an operation that Ctrl-C may end.
pub async fn until_interrupted(operation: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    tokio::select! {
        // An operation that takes Ctrl-C for its end says itself how it ended.
        biased;
        ended = operation => ended,
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::from(INTERRUPTED)),
    }
}

impl PostOffice {
    /// Opens the office that is there now.
    pub async fn open(config: Config) -> anyhow::Result<Self> {
        Ok(Self(Connection::open(Finder::new(config)?, mpsc::channel(1).0).await?))
    }

    /// The same for a command that stays: an office of its own does all the time what is due from time to time.
    pub async fn open_to_stay(config: Config) -> anyhow::Result<Self> {
        Ok(Self(Connection::open(Finder::new(config)?.staying(), mpsc::channel(1).0).await?))
    }

    /// Watches resources. Whether there is such a resource is told by reading it, not by watching.
    pub fn watch(&self, uris: impl IntoIterator<Item = String>) -> Watch {
        Watch::begin(self.0.clone(), uris.into_iter().collect())
    }

    /// Closes it. What is still being watched is over.
    pub async fn close(self) {
        self.leave();
        if let Some(engine) = self.0.close() {
            engine.close().await;
        }
    }
}

impl Deref for PostOffice {
    type Target = Arc<Connection>;

    fn deref(&self) -> &Arc<Connection> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use api::{EnsureProject, HealthCheck, RegisterAgent, SendMessage, Whois};
    use serde_json::json;

    use super::*;
    use crate::config::SettingsFile;

    const PROJECT: &str = "/data/p";

    fn config(home: &tempfile::TempDir) -> Config {
        Config { home: home.path().to_owned(), source: None, file: SettingsFile::default() }
    }

    async fn with_an_agent(home: &tempfile::TempDir) -> PostOffice {
        let post_office = PostOffice::open(config(home)).await.unwrap();
        post_office.ask(EnsureProject { human_key: PROJECT.to_owned() }).await.unwrap();
        let anna = RegisterAgent {
            project_key: PROJECT.to_owned(),
            name: Some("Anna".to_owned()),
            ..RegisterAgent::default()
        };
        assert_eq!(post_office.ask(anna).await.unwrap().agent.name, "Anna");
        post_office
    }

    async fn say(post_office: &PostOffice, to: &str) {
        let words = SendMessage {
            project_key: PROJECT.to_owned(),
            sender_name: "Anna".to_owned(),
            to: vec![to.to_owned()],
            subject: "s".to_owned(),
            body_md: "b".to_owned(),
            ..SendMessage::default()
        };
        post_office.ask(words).await.unwrap();
    }

    #[tokio::test]
    async fn a_refusal_keeps_its_code_its_hint_and_what_stands_beside_them() {
        let home = tempfile::tempdir().unwrap();
        let post_office = with_an_agent(&home).await;
        let whois = Whois { project_key: PROJECT.to_owned(), agent_name: Some("Ana".to_owned()), ..Whois::default() };
        let refused = post_office.ask(whois).await.unwrap_err();
        assert_eq!(refused.code, "AGENT_NOT_FOUND");
        assert_eq!(refused.to_json()["suggestions"], json!(["Anna"]));
        assert!(refused.to_string().contains("'Ana'") && refused.to_string().contains(&refused.hint), "{refused}");
        post_office.close().await;
    }

    #[tokio::test]
    async fn a_watch_rings_when_mail_comes() {
        let home = tempfile::tempdir().unwrap();
        let post_office = with_an_agent(&home).await;
        let watch = post_office.watch(["resource://inbox/Anna?project=%2Fdata%2Fp".to_owned()]);
        let changes = || tokio::time::timeout(Duration::from_secs(30), watch.changed());
        changes().await.expect("the first wake-up says that somebody listens now");
        say(&post_office, "Anna").await;
        changes().await.expect("mail came");
        post_office.close().await;
    }

    #[tokio::test]
    async fn a_watched_channel_rings_when_something_is_said_there_and_not_elsewhere() {
        let home = tempfile::tempdir().unwrap();
        let post_office = with_an_agent(&home).await;
        let watch = post_office.watch(["resource://channel/dev?project=%2Fdata%2Fp".to_owned()]);
        let changes = || tokio::time::timeout(Duration::from_secs(30), watch.changed());
        changes().await.expect("the first wake-up says that somebody listens now");
        say(&post_office, "#ops").await;
        say(&post_office, "#dev").await;
        changes().await.expect("something was said");
        let again = tokio::time::timeout(Duration::from_millis(50), watch.changed()).await;
        assert!(again.is_err(), "what was said elsewhere is no news here");
        post_office.close().await;
    }

    #[test]
    fn an_operation_says_how_it_ended_and_leaves_a_closed_database() {
        let home = tempfile::tempdir().unwrap();
        let ended = visit(config(&home), PROJECT, async |post_office| {
            post_office.ask(HealthCheck {}).await?;
            Ok(ExitCode::from(7))
        });
        assert_eq!(format!("{:?}", ended.unwrap()), format!("{:?}", ExitCode::from(7)));
        let failed = visit(config(&home), PROJECT, async |post_office| {
            post_office.ask(Whois::default()).await?;
            Ok(ExitCode::SUCCESS)
        });
        assert!(failed.unwrap_err().downcast_ref::<Refused>().is_some());
    }
}

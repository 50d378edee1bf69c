//! NATS: every event goes to a stream of a NATS server, and what others say in channels there comes in.
//!
//! Nothing of it is on the path of an answer, and nothing waits in memory: the log is in the store, and where the server
//! stands in it too. A server that is away is told of everything once it is back. The server is never the record.

mod announcement;
mod inward;
mod link;
mod outward;
mod presence;
mod publication;
mod settings;
mod subjects;
mod waking;

use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::context::GetStreamErrorKind;
use mail::{Office, Store};
use tokio::task::JoinSet;

pub use outward::SINK;
pub use settings::Settings;

use crate::feed;
use crate::wake::WakeUps;
use link::{Link, LinkHandle};

/// How often projects are looked for that are new.
const NEW_PROJECTS: Duration = Duration::from_secs(1);
/// How long it may take at the end to note what the server was told.
const LONGEST_GOODBYE: Duration = Duration::from_secs(1);
/// What the server says of a stream that is not there.
const NOT_FOUND: usize = 404;
/// How many projects are read at a time.
const PAGE: usize = 100;

/// What is wrong between us and the NATS server.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// What is set is no address.
    #[error("'{0}' is no address of a NATS server")]
    Address(String),
    /// What is set cannot begin a subject.
    #[error("'{0}' cannot begin a subject of NATS")]
    Prefix(String),
    /// A file that is set cannot be read.
    #[error("'{path}' cannot be read: {cause}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A file holds no credentials.
    #[error("'{0}' holds no credentials of NATS")]
    Credentials(PathBuf),
    /// The server does not let us in, or is not there.
    #[error("NATS at '{server}' cannot be reached: {cause}")]
    Unreachable {
        /// Its address, without a password.
        server: String,
        /// What went wrong.
        cause: String,
    },
    /// The stream is not there and cannot be made.
    #[error("the stream '{name}' of NATS cannot be used: {cause}")]
    Stream {
        /// The stream.
        name: String,
        /// What the server said.
        cause: String,
    },
    /// The server did not confirm what it was told.
    #[error("NATS did not confirm an event: {0}")]
    Publish(String),
    /// The server says that it will never take what it was told.
    #[error("NATS refuses an event: {0}")]
    Refused(String),
    /// The server does not hand out what is said in channels.
    #[error("NATS hands out no messages: {0}")]
    Listen(String),
}

impl NatsError {
    /// A code that programs may match on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Address(_) => "NATS_ADDRESS",
            Self::Prefix(_) => "NATS_PREFIX",
            Self::File { .. } => "NATS_FILE_NOT_READ",
            Self::Credentials(_) => "NATS_CREDENTIALS",
            Self::Unreachable { .. } => "NATS_UNREACHABLE",
            Self::Stream { .. } => "NATS_STREAM",
            Self::Refused(_) => "NATS_REFUSED",
            Self::Publish(_) | Self::Listen(_) => "NATS_FAILED",
        }
    }

    /// The next thing to try.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Address(_) => "Set url to one like 'nats://127.0.0.1:4222', or 'tls://…' for TLS.",
            Self::Prefix(_) => "Use letters, digits, '-' and '_', with single dots between them, at most 64 in all.",
            Self::File { .. } => "Check the path and who may read the file.",
            Self::Credentials(_) => "Name a .creds file, or one that holds the seed of a user's key.",
            Self::Unreachable { .. } => "Check that the server runs and lets us in; it is told of everything later.",
            Self::Stream { .. } => "Check that JetStream is on, and that this account may make and use the stream.",
            Self::Refused(_) => "Raise max_payload of the server, or max_msg_size of the stream.",
            Self::Publish(_) | Self::Listen(_) => {
                "Check the server's log and the stream's limits; it is tried again by itself."
            }
        }
    }
}

/// One project, and what is needed to speak of it.
struct Project {
    settings: Arc<Settings>,
    store: Arc<dyn Store>,
    office: Arc<Office>,
    wake_ups: Arc<WakeUps>,
    office_id: String,
    project: mail::projects::Project,
}

/// Tells the server of everything, and takes in what others say there, until the office closes.
pub async fn run(settings: Settings, store: Arc<dyn Store>, office: Arc<Office>, wake_ups: Arc<WakeUps>) {
    let settings = Arc::new(settings);
    let (connections, line) = LinkHandle::new();
    tokio::select! {
        () = link::keep(&settings, &connections) => {}
        () = serve_projects(&settings, &store, &office, &wake_ups, &line) => {}
        () = pass_wakes_on(&settings, &store, &wake_ups, line.clone()) => {}
    }
}

async fn pass_wakes_on(settings: &Settings, store: &Arc<dyn Store>, wake_ups: &WakeUps, mut line: LinkHandle) {
    let office_id = loop {
        match store.office_id().await {
            Ok(id) => break id,
            Err(error) => tracing::debug!(%error, "cannot ask which office this is"),
        }
        tokio::time::sleep(NEW_PROJECTS).await;
    };
    waking::exchange(settings, &office_id, &feed::own_name(), wake_ups, &mut line).await;
}

/// Whether the server can be reached, lets us in and keeps streams. Changes nothing.
pub async fn check(settings: &Settings) -> Result<(), NatsError> {
    let (link, _) = Link::make(settings).await?;
    let name = settings.subjects.stream();
    match link.jetstream.get_stream(&name).await {
        Ok(_) => Ok(()),
        // It is made as soon as there is something to say.
        Err(error) if matches!(error.kind(), GetStreamErrorKind::JetStream(said) if said.code() == NOT_FOUND) => Ok(()),
        Err(error) => Err(NatsError::Stream { name, cause: told(&error) }),
    }
}

/// Sees to every project, also those that come to be later; until the office closes.
async fn serve_projects(
    settings: &Arc<Settings>,
    store: &Arc<dyn Store>,
    office: &Arc<Office>,
    wake_ups: &Arc<WakeUps>,
    line: &LinkHandle,
) {
    let (mut listening, mut telling) = (JoinSet::new(), JoinSet::new());
    let mut last = None;
    while !office.wake().closing() {
        let found = match store.office_id().await {
            Ok(id) => store.projects(last, PAGE).await.map(|projects| (id, projects)),
            Err(error) => Err(error),
        };
        let (office_id, projects) = found.unwrap_or_else(|error| {
            match &error {
                // It has told so itself, once; this is tried every second.
                mail::StoreError::Away { .. } => tracing::debug!(%error, "cannot look for projects that NATS is to be told of"),
                other => {
                    tracing::warn!(error = %other, "cannot look for projects that NATS is to be told of; it is tried again");
                }
            }
            Default::default()
        });
        let is_last_page = projects.len() < PAGE;
        for project in projects {
            last = Some(project.id);
            let project = Arc::new(Project {
                settings: settings.clone(),
                store: store.clone(),
                office: office.clone(),
                wake_ups: wake_ups.clone(),
                office_id: office_id.clone(),
                project,
            });
            let (told, mut its_line) = (project.clone(), line.clone());
            telling.spawn(async move { outward::tell(&told, &mut its_line).await });
            let (heard, mut its_line) = (project.clone(), line.clone());
            listening.spawn(async move { presence::exchange(&heard, &mut its_line).await });
            let mut its_line = line.clone();
            listening.spawn(async move { inward::listen(&project, &mut its_line).await });
        }
        if is_last_page {
            let _ = tokio::time::timeout(NEW_PROJECTS, wake_ups.closed()).await;
        }
    }
    // What NATS was told is noted before the store closes.
    let all_noted = async { while telling.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(LONGEST_GOODBYE, all_noted).await;
}

/// How something ends that goes on until it fails.
type UntilLost = Result<Infallible, NatsError>;

/// Why one hears nothing more, where the server does not say.
const ENDED: &str = "the server has ended it";

/// What is wrong where nothing is heard any more.
fn lost(error: impl std::error::Error) -> NatsError {
    NatsError::Listen(told(&error))
}

/// An error with what is behind it, in one line.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        // Some errors say what is behind them themselves.
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = cause.source();
    }
    text
}

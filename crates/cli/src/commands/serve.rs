//! `postrider serve`: the mail server.
//!
//! [`Listening`] is the server itself, for other commands that serve too. What an agent or a person may ask of it is the
//! business of `server`.

use std::future::{pending, poll_fn};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use serde_json::json;
use server::{Door, Listeners, Metrics, Settings, Trust};
use store::Location;
use store::ownership::{NotOwned, Ownership, current_owner};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::{JoinHandle, JoinSet};

use super::nudge;
use crate::client::Client;
use crate::config::{Config, Identity, Tools, endpoint_of};
use crate::local_sessions;
use crate::local_socket::{self, LocalSocket};
use crate::logging;
use crate::nats;
use crate::on_demand;
use crate::outbox::collecting::Collector;
use crate::outbox::workspaces;
use crate::output;
use crate::relays::Relays;
use crate::waker::{self, Reach};
use crate::wiring::LocalOffice;

/// Where a server listens unless it is told another port.
pub(super) const DEFAULT_PORT: u16 = 8765;
/// Requests under way at once. Most of them wait for mail and cost nothing.
const MOST_IN_FLIGHT: usize = 8192;
/// How long what runs beside the office may take to write what was posted last.
const LONGEST_WRITING: Duration = Duration::from_secs(5);
/// How long requests under way may take to finish when the server is told to stop.
const LONGEST_GOODBYE: Duration = Duration::from_secs(20);
/// How long a server that is stopping is waited for when another one begins, with some seconds for what it does at the
/// very end, and how often it is looked at.
const LONGEST_PATIENCE: Duration = Duration::from_secs(LONGEST_GOODBYE.as_secs() + LONGEST_WRITING.as_secs() + 5);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Run the mail server.
#[derive(Args, Debug)]
pub(super) struct Serve {
    /// The address to listen on; beyond loopback only with a token [default: 127.0.0.1]
    #[arg(long, env = "POSTRIDER_HOST", value_name = "ADDRESS")]
    host: Option<IpAddr>,
    /// The port to listen on; 0 for any that is free [default: 8765]
    #[arg(long, env = "POSTRIDER_PORT")]
    port: Option<u16>,
    /// Which tools are listed [default: full]
    #[arg(long, env = "POSTRIDER_TOOLS", value_enum)]
    tools: Option<Tools>,
    /// How names are taken [default: claimed]
    #[arg(long, env = "POSTRIDER_IDENTITY", value_enum)]
    identity: Option<Identity>,
    /// Whether a hook or `stdio` began it, so that it ends by itself.
    #[arg(long, hide = true)]
    on_demand: bool,
}

impl Serve {
    /// Serves until a signal says stop.
    pub(super) fn run(self, mut config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        config.file.host = self.host.or(config.file.host);
        config.file.port = self.port.or(config.file.port);
        config.file.tools = self.tools.or(config.file.tools);
        config.file.identity = self.identity.or(config.file.identity);
        logging::start(&config)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        match self.on_demand {
            true => runtime.block_on(serve_on_demand(config))?,
            false => runtime.block_on(serve(&config, as_json))?,
        }
        // Whoever did not finish in time is not waited for any longer.
        runtime.shutdown_background();
        Ok(ExitCode::SUCCESS)
    }
}

async fn serve(config: &Config, as_json: bool) -> anyhow::Result<()> {
    let server = Listening::open(config, config.token()?, config.page_token()?).await?;
    // Before anybody is told that we run: who starts us may stop us at once.
    let asked_to_stop = asked_to_stop(&[SignalKind::interrupt(), SignalKind::terminate()]);
    let url = server.url();
    let place = match config.location() {
        Location::File(_) => config.home.display().to_string(),
        database => database.to_string(),
    };
    let page = format!("{}/", server.base_url());
    let socket = server.socket.as_ref().map(LocalSocket::path);
    let told = json!({ "url": url, "page": page, "socket": socket, "home": config.home, "mail": place });
    output::answer(as_json, &told, || {
        let version = env!("CARGO_PKG_VERSION");
        format!("Postrider {version} listening on {url} (mail in {place})\nThe page for people is at {page}")
    });
    server.run(asked_to_stop).await;
    Ok(())
}

/// Serves until nobody needs it any more. If another server was quicker, nothing is left to do.
async fn serve_on_demand(mut config: Config) -> anyhow::Result<()> {
    on_demand::detach();
    let (token, page_token) = (config.token()?, config.page_token()?);
    let opened = match Listening::open(&config, token.clone(), page_token.clone()).await {
        Err(_) if current_owner(&config.database()).is_some() => return Ok(()),
        // Others may have the usual port; who looks for this server finds it by its home.
        Err(error) if is_taken(&error) && config.file.port.is_none() => {
            config.file.port = Some(0);
            Listening::open(&config, token, page_token).await
        }
        opened => opened,
    };
    let server = opened?;
    let asked_to_stop = asked_to_stop(&[SignalKind::interrupt(), SignalKind::terminate()]);
    let (metrics, longest) = (server.metrics.clone(), config.file.server.stop_after());
    let home = config.home.clone();
    let over = async move {
        tokio::select! {
            () = asked_to_stop => {}
            () = on_demand::idle(&home, &metrics, longest) => tracing::info!("nobody needs this server any more"),
        }
    };
    server.run(over).await;
    Ok(())
}

fn is_taken(error: &anyhow::Error) -> bool {
    let cause = error.root_cause().downcast_ref::<std::io::Error>();
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::AddrInUse)
}

/// A server that has its database and its port. Whoever connects waits until it runs.
pub(super) struct Listening {
    /// The office that is served.
    pub(super) local: LocalOffice,
    listeners: Listeners,
    /// The socket in the home folder, if there can be one.
    socket: Option<LocalSocket>,
    pub(super) address: SocketAddr,
    door: Door,
    metrics: Arc<Metrics>,
    /// What runs beside the office. It has to end by itself when the office closes.
    pub(super) relays: JoinSet<()>,
    nats: Option<JoinHandle<()>>,
    ownership: Ownership,
}

impl Listening {
    /// Takes the database and the port that the settings say, for callers that show the token, if there is one, and people
    /// who show theirs.
    pub async fn open(config: &Config, token: Option<String>, page_token: Option<String>) -> anyhow::Result<Self> {
        let host = config.file.host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        if !host.is_loopback() && token.is_none() {
            bail!(
                "'{host}' can be reached by other machines; set AGENT_MAIL_BEARER_TOKEN to a secret, or use 127.0.0.1"
            );
        }
        let address = SocketAddr::new(host, config.file.port.unwrap_or(DEFAULT_PORT));
        let ownership = own(config, address).await?;
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!("cannot listen on '{address}'; choose another --port, or 0 for any that is free")
        })?;
        let address = listener.local_addr()?;
        let (socket, at_socket) = LocalSocket::open(&config.home)
            .inspect_err(|why| tracing::warn!("no socket, only the port: {why:#}"))
            .ok()
            .unzip();
        let listeners = Listeners { tcp: listener, local: at_socket };
        let local = LocalOffice::open(config).await?;
        let mut relays = Relays::new(config, &local).run();
        relays.spawn(local_sessions::look_after(config.home.clone(), local.clone()));
        let reach = Reach::new(&config.home, nudge::ways(config));
        relays.spawn(waker::look_after(reach, local.clone()));
        let nats = nats::start(config, &local)?;
        let metrics = Arc::new(Metrics::default());
        let endpoint = server::endpoint(&local.office, &metrics, config.profile());
        relays.spawn(workspaces::look_after(Collector::new(config), local.clone(), endpoint.clone()));
        let settings = settings(config, host, token, page_token);
        let door = Door::new(local.office.clone(), endpoint, metrics.clone(), settings, local.engine.pace());
        ownership.announce(&reachable(address))?;
        Ok(Self { local, listeners, socket, address, door, metrics, relays, nats, ownership })
    }

    /// The address under which this machine reaches the server.
    pub(super) fn base_url(&self) -> String {
        reachable(self.address)
    }

    /// The address of MCP.
    pub(super) fn url(&self) -> String {
        format!("{}/mcp", self.base_url())
    }

    /// Serves until it is asked to stop and everything that was under way has ended.
    pub(super) async fn run(self, asked_to_stop: impl Future<Output = ()>) {
        let Self { local, listeners, socket, door, relays, nats, ownership, .. } = self;
        let wake_ups = local.wake_ups.clone();
        let (told, mut stopping) = tokio::sync::watch::channel(false);
        let serving = door.serve(listeners, async move {
            asked_to_stop.await;
            tracing::info!("stopping: requests under way are finished first");
            wake_ups.close();
            told.send_replace(true);
        });
        let goodbye = async {
            let _ = stopping.wait_for(|stopping| *stopping).await;
            tokio::time::sleep(LONGEST_GOODBYE).await;
        };
        tokio::select! {
            () = serving => {}
            () = goodbye => tracing::warn!("some requests did not finish in time and were cut off"),
        }
        drop(socket);
        // What they leave is done at the next start.
        let _ = tokio::time::timeout(LONGEST_WRITING, relays.join_all()).await;
        if let Some(nats) = nats {
            // If it failed, what it did not do is done at the next start.
            let _ = nats.await;
        }
        // What waits for a database that does not answer is in doubt, and its callers were cut off.
        if tokio::time::timeout(LONGEST_WRITING, local.engine.close()).await.is_err() {
            tracing::warn!("the store did not finish its writes in time");
        }
        drop(ownership);
    }
}

/// Takes the database. A server that accepts no connections any more is stopping, and is waited for.
async fn own(config: &Config, address: SocketAddr) -> anyhow::Result<Ownership> {
    let (begun, mut is_told) = (Instant::now(), false);
    loop {
        let owner = match Ownership::take(&config.database(), &reachable(address)) {
            Ok(ownership) => return Ok(ownership),
            Err(NotOwned::Owned(owner)) => owner,
            Err(NotOwned::Failed(error)) => {
                return Err(error).context(format!("cannot use '{}'", config.home.display()));
            }
        };
        let is_there = match Client::new(&endpoint_of(&owner.address), None) {
            Ok(client) => client.through(local_socket::path(&config.home)).is_reachable().await,
            // It is no server.
            Err(_) => true,
        };
        if is_there || begun.elapsed() >= LONGEST_PATIENCE {
            bail!(
                "the mail in '{}' is served already, at {} (process {}); use that server, or another --home",
                config.home.display(),
                owner.address,
                owner.pid
            );
        }
        if !is_told {
            tracing::warn!(process = owner.pid, "the server that has the mail is stopping; waiting for its end");
            is_told = true;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

fn settings(config: &Config, host: IpAddr, token: Option<String>, page_token: Option<String>) -> Settings {
    let mut hosts = config.file.allowed_hosts.clone().unwrap_or_default();
    if host.is_unspecified() && hosts.is_empty() {
        // Reachable under names that only its owner knows; the token keeps foreign pages out.
        hosts.push("*".to_owned());
    }
    hosts.push(host.to_string());
    Settings {
        trust: Trust { token, page_token, hosts, origins: config.file.allowed_origins.clone().unwrap_or_default() },
        largest_request: config.largest_request(),
        most_in_flight: MOST_IN_FLIGHT,
        rate_limit: config.file.rate_limit.filter(|limit| *limit > 0),
        person: local_sessions::person(),
    }
}

/// The address under which this machine reaches the server.
fn reachable(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    format!("http://{address}")
}

/// Comes back when one of these signals came, at any time since this was called.
pub(super) fn asked_to_stop(kinds: &[SignalKind]) -> impl Future<Output = ()> + use<> {
    let signals: std::io::Result<Vec<Signal>> = kinds.iter().map(|kind| signal(*kind)).collect();
    async move {
        // Without signals the process runs until it is killed, which loses nothing.
        let Ok(mut signals) = signals else { return pending().await };
        poll_fn(|cx| match signals.iter_mut().any(|signal| signal.poll_recv(cx).is_ready()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await
    }
}

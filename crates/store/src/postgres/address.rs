//! Where the database is and how it is reached: the URL, TLS, and the pools of connections.
//!
//! The URL is libpq's, with `sslmode` and `sslrootcert`. What leaves this machine is encrypted and the server's name is
//! checked, unless the URL says `sslmode=disable`: there is no half-secure mode.

use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use futures_util::FutureExt;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::in_use;

/// How long a connection may take to come about.
const CONNECTING: Duration = Duration::from_secs(5);
/// How long one waits for a connection that is in use: longer than it takes to learn that the database is away.
const WAITING: Duration = Duration::from_secs(6);

/// A database, and how to talk to it.
#[derive(Clone)]
pub(super) struct Address {
    config: Config,
    /// `None` for a connection that never leaves the machine, or where the URL says so.
    pub(super) tls: Option<MakeRustlsConnect>,
}

/// Why a URL cannot be used. The URL itself is not told: it may hold a password.
#[derive(Debug, thiserror::Error)]
pub(super) enum AddressError {
    #[error("the URL of the database cannot be read: {0}")]
    Url(String),
    #[error("sslmode '{0}' is not known; use 'disable' or 'verify-full'")]
    Mode(String),
    #[error("cannot use the certificates of '{file}': {cause}")]
    Roots { file: String, cause: String },
}

impl Address {
    pub(super) fn parse(url: &str) -> Result<Self, AddressError> {
        let (plain, ours) = without_ours(url);
        let mut config: Config = plain.parse().map_err(|error: tokio_postgres::Error| {
            let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            AddressError::Url(cause)
        })?;
        if config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(name) if name.contains('@'))) {
            return Err(AddressError::Url("write an '@' of the user or the password as %40".to_owned()));
        }
        let encrypted = match ours.mode.as_deref() {
            Some("disable") => false,
            Some("require" | "verify-ca" | "verify-full") => true,
            // Who names an authority wants it to be asked.
            None => ours.roots.is_some() || config.get_hosts().iter().any(is_elsewhere),
            Some(other) => return Err(AddressError::Mode(other.to_owned())),
        };
        config
            .ssl_mode(if encrypted { SslMode::Require } else { SslMode::Disable })
            .application_name("postrider")
            .connect_timeout(CONNECTING)
            .tcp_user_timeout(Duration::from_secs(10))
            .keepalives_idle(Duration::from_secs(10))
            .keepalives_interval(Duration::from_secs(5))
            .keepalives_retries(3);
        let tls = encrypted.then(|| tls(ours.roots.as_deref())).transpose()?;
        Ok(Self { config, tls })
    }

    /// Connections on which a statement takes at most `deadline`. None is made before it is needed.
    pub(super) fn pool(&self, size: usize, deadline: Duration) -> Pool {
        self.pool_of(size, self.limited(deadline, ""))
    }

    /// Connections for searches: how best to search depends on the words, so that each search is planned anew.
    pub(super) fn pool_for_searches(&self, size: usize, deadline: Duration) -> Pool {
        self.pool_of(size, self.limited(deadline, " -c plan_cache_mode=force_custom_plan"))
    }

    fn pool_of(&self, size: usize, config: Config) -> Pool {
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = match &self.tls {
            Some(tls) => Manager::from_config(config, tls.clone(), recycling),
            None => Manager::from_config(config, NoTls, recycling),
        };
        Pool::builder(manager)
            .max_size(size.max(1))
            .post_create(Hook::async_fn(|client, _| durable(client).boxed()))
            .post_create(Hook::async_fn(|client, _| in_use::note(client).boxed()))
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(WAITING))
            .create_timeout(Some(CONNECTING))
            .recycle_timeout(Some(CONNECTING))
            .build()
            .expect("a runtime is named wherever there is a time limit")
    }

    /// The settings of every session: what is slow or stuck is given up by the server, also when we are gone.
    pub(super) fn limited(&self, deadline: Duration, more: &str) -> Config {
        let millis = deadline.as_millis();
        let ours = format!(
            "-c statement_timeout={millis} -c lock_timeout={millis} -c idle_in_transaction_session_timeout=60000 \
             -c default_transaction_isolation=read\\ committed -c client_min_messages=warning{more}"
        );
        let mut config = self.config.clone();
        let given = config.get_options().map(|given| format!("{given} ")).unwrap_or_default();
        config.options(format!("{given}{ours}"));
        config
    }
}

/// Accepted means kept, whatever the role or the database is set to. Who waits for a standby goes on to do so.
async fn durable(client: &Client) -> Result<(), HookError> {
    let sql =
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";
    client.batch_execute(sql).await.map_err(HookError::Backend)
}

/// The URL as it may be shown: where the database is and its name, and nothing of who asks.
pub(crate) fn shown(url: &str) -> String {
    let Ok(config) = without_ours(url).0.parse::<Config>() else { return "postgres://…".to_owned() };
    let host = match config.get_hosts().first() {
        // What stands before an '@' may be the rest of a password.
        Some(Host::Tcp(name)) => name.rsplit('@').next().unwrap_or_default().to_owned(),
        #[cfg(unix)]
        Some(Host::Unix(folder)) => folder.display().to_string(),
        None => String::new(),
    };
    let port = config.get_ports().first().map(|port| format!(":{port}")).unwrap_or_default();
    format!("postgres://…@{host}{port}/{}", config.get_dbname().unwrap_or_default())
}

/// What the URL says that `tokio_postgres` does not read.
#[derive(Default)]
struct Ours {
    mode: Option<String>,
    roots: Option<String>,
}

fn without_ours(url: &str) -> (String, Ours) {
    let mut ours = Ours::default();
    let Some((plain, query)) = url.split_once('?') else { return (url.to_owned(), ours) };
    let mut kept = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslmode", mode)) => ours.mode = Some(mode.to_owned()),
            Some(("sslrootcert", file)) => ours.roots = Some(decoded(file)),
            _ => kept.push(pair),
        }
    }
    (if kept.is_empty() { plain.to_owned() } else { format!("{plain}?{}", kept.join("&")) }, ours)
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn is_elsewhere(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name != "localhost" && !name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => false,
    }
}

fn tls(file: Option<&str>) -> Result<MakeRustlsConnect, AddressError> {
    let failed = |cause: String| AddressError::Roots { file: file.unwrap_or("this machine").to_owned(), cause };
    let mut roots = RootCertStore::empty();
    match file {
        Some(file) => {
            for certificate in CertificateDer::pem_file_iter(file).map_err(|error| failed(error.to_string()))? {
                let certificate = certificate.map_err(|error| failed(error.to_string()))?;
                roots.add(certificate).map_err(|error| failed(error.to_string()))?;
            }
        }
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    if roots.is_empty() {
        return Err(failed("there is none".to_owned()));
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_the_machine_is_encrypted_unless_the_url_forbids_it() {
        for (url, encrypted) in [
            ("postgres://me@localhost/mail", false),
            ("postgres://me@127.0.0.1:5433/mail", false),
            ("postgres://me@db.example/mail", true),
            ("postgres://me@db.example/mail?sslmode=disable", false),
            ("postgres://me@localhost/mail?sslmode=verify-full&application_name=x", true),
            ("postgres://me@%2Frun%2Fpostgresql/mail", false),
        ] {
            // Where no certificates are installed at all, encryption is refused rather than left out.
            let parsed = Address::parse(url);
            assert_eq!(parsed.map_or(true, |address| address.tls.is_some()), encrypted, "{url}");
        }
    }

    #[test]
    fn what_is_shown_of_a_url_says_where_and_never_who() {
        for (url, told) in [
            ("postgres://me:s3cret@db.example:5433/mail?sslmode=disable", "postgres://…@db.example:5433/mail"),
            ("postgres://db.example/mail?user=me&password=s3cret", "postgres://…@db.example:5432/mail"),
            ("postgres://me:s3cret%40x@%2Frun%2Fpg/mail?password=a@s3cret", "postgres://…@/run/pg:5432/mail"),
            ("postgres://me:s3cret@db:port/mail@s3cret", "postgres://…"),
            ("postgres://me:p@s3cret@db.example/mail", "postgres://…@db.example:5432/mail"),
        ] {
            assert_eq!(shown(url), told);
        }
    }

    #[test]
    fn a_url_that_cannot_be_used_is_refused_without_being_told() {
        for url in [
            "postgres://me:s3cret@db:port/mail",
            "postgres://me:s3cret@db/mail?sslmode=maybe",
            "postgres://me:p@s3cret@db/mail",
        ] {
            let refused = Address::parse(url).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(!refused.is_empty() && !refused.contains("s3cret"), "{refused}");
        }
    }
}

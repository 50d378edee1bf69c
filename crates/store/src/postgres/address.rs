//! Where the database is and how it is reached: the URL, TLS, and the pools of connections.
//!
//! The URL is libpq's, with `sslmode` and `sslrootcert`. What leaves this machine is encrypted and the server's name is
//! checked, unless the URL says `sslmode=disable`: there is no half-secure mode.

use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, PoolBuilder, RecyclingMethod, Runtime};
use futures_util::FutureExt;
use percent_encoding::percent_decode_str;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{Outcome, SqlError};
use crate::row::values;
use crate::tx::Tx;

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

impl Address {
    /// Reads a URL. In an error it is not told: it may hold a password.
    pub(super) fn parse(url: &str) -> Outcome<Self> {
        let unreadable = |cause: &str| SqlError::Unknown(format!("the URL of the database cannot be read: {cause}"));
        let (plain, mode, roots) = without_ours(url);
        let mut config: Config = plain.parse().map_err(|error: tokio_postgres::Error| {
            unreadable(&std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string))
        })?;
        if config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(name) if name.contains('@'))) {
            return Err(unreadable("write an '@' of the user or the password as %40"));
        }
        let encrypted = match mode {
            Some("disable") => false,
            Some("require" | "verify-ca" | "verify-full") => true,
            // Who names an authority wants it to be asked.
            None => roots.is_some() || config.get_hosts().iter().any(is_elsewhere),
            Some(other) => {
                let why = format!("sslmode '{other}' is not known; use 'disable' or 'verify-full'");
                return Err(SqlError::Unknown(why));
            }
        };
        config
            .ssl_mode(if encrypted { SslMode::Require } else { SslMode::Disable })
            .application_name("postrider")
            .connect_timeout(CONNECTING)
            .tcp_user_timeout(Duration::from_secs(10))
            .keepalives_idle(Duration::from_secs(10))
            .keepalives_interval(Duration::from_secs(5))
            .keepalives_retries(3);
        let tls = encrypted.then(|| tls(roots.as_deref())).transpose()?;
        Ok(Self { config, tls })
    }

    /// Connections on which a statement takes at most `deadline`. None is made before it is needed.
    pub(super) fn pool(&self, size: usize, deadline: Duration) -> Pool {
        self.in_use(size, self.limited(deadline, ""))
    }

    /// Connections for searches: how best to search depends on the words, so that each search is planned again.
    pub(super) fn pool_for_searches(&self, size: usize, deadline: Duration) -> Pool {
        self.in_use(size, self.limited(deadline, " -c plan_cache_mode=force_custom_plan"))
    }

    /// One connection without time limits, which does not count as using the mail. It may have nothing to do for as long as
    /// another store reads all of its mail.
    pub(super) fn pool_of_one(&self) -> Pool {
        built(self.pool_of(1, self.limited(Duration::ZERO, " -c idle_in_transaction_session_timeout=0")))
    }

    fn in_use(&self, size: usize, config: Config) -> Pool {
        built(self.pool_of(size, config).post_create(Hook::async_fn(|client, _| note_use(client).boxed())))
    }

    fn pool_of(&self, size: usize, config: Config) -> PoolBuilder {
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = match &self.tls {
            Some(tls) => Manager::from_config(config, tls.clone(), recycling),
            None => Manager::from_config(config, NoTls, recycling),
        };
        Pool::builder(manager)
            .max_size(size.max(1))
            .post_create(Hook::async_fn(|client, _| durable(client).boxed()))
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(WAITING))
            .create_timeout(Some(CONNECTING))
            .recycle_timeout(Some(CONNECTING))
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

fn built(pool: PoolBuilder) -> Pool {
    pool.build().expect("a runtime is named wherever there is a time limit")
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

/// Every connection of an open store holds this lock, which any number of them share; whoever moves all mail in or out holds
/// it alone. It is PostgreSQL's own and ends with its connection. The number was chosen at random once. Stores in other schemas of the database have locks of their own.
const IN_USE: i64 = 0x6d61_696c_0000_0000;
const OF_SCHEMA: &str = "$1 + coalesce((SELECT oid::bigint FROM pg_namespace WHERE nspname = current_schema()), 0)";

/// PostgreSQL notices after a moment that somebody has gone; a lock that is still taken then is in use.
const TRIES: u32 = 10;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// Notes that this connection uses the mail.
async fn note_use(client: &Client) -> Result<(), HookError> {
    let sql = format!("SELECT pg_try_advisory_lock_shared({OF_SCHEMA})");
    let row = client.query_one(&sql, &[&IN_USE]).await.map_err(HookError::Backend)?;
    match row.try_get(0).map_err(HookError::Backend)? {
        true => Ok(()),
        false => Err(HookError::message("its mail is being moved (`postrider migrate`). Try again when that is done.")),
    }
}

/// Takes the mail for this connection alone. `false` if somebody uses it.
pub(super) async fn take_alone(tx: &mut Tx<'_>) -> Outcome<bool> {
    let sql = format!("SELECT pg_try_advisory_lock({OF_SCHEMA})");
    for _ in 0..TRIES {
        if tx.row(&sql, values![IN_USE]).await? == Some(true) {
            return Ok(true);
        }
        tokio::time::sleep(BETWEEN_TRIES).await;
    }
    Ok(false)
}

/// The URL without what `tokio_postgres` does not read: `sslmode`, and the file of `sslrootcert`.
fn without_ours(url: &str) -> (String, Option<&str>, Option<String>) {
    let Some((plain, query)) = url.split_once('?') else { return (url.to_owned(), None, None) };
    let (mut kept, mut mode, mut roots) = (Vec::new(), None, None);
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslmode", named)) => mode = Some(named),
            Some(("sslrootcert", file)) => roots = Some(percent_decode_str(file).decode_utf8_lossy().into_owned()),
            _ => kept.push(pair),
        }
    }
    (if kept.is_empty() { plain.to_owned() } else { format!("{plain}?{}", kept.join("&")) }, mode, roots)
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

fn tls(file: Option<&str>) -> Outcome<MakeRustlsConnect> {
    let config = tls_config(file).map_err(|cause| {
        let file = file.unwrap_or("this machine");
        SqlError::Unknown(format!("cannot use the certificates of '{file}': {cause}"))
    });
    config.map(MakeRustlsConnect::new)
}

fn tls_config(file: Option<&str>) -> Result<ClientConfig, Box<dyn std::error::Error>> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(file) => {
            for certificate in CertificateDer::pem_file_iter(file)? {
                roots.add(certificate?)?;
            }
        }
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    if roots.is_empty() {
        return Err("there is none".into());
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
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

//! Where the NATS server is, and how one is let in.
//!
//! What is wrong with a setting is said before anything runs. A password goes to the server and nowhere else: no error
//! and no log shows an address with one.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_nats::{AuthError, ConnectOptions, ServerAddr};
use nkeys::KeyPair;
use percent_encoding::percent_decode_str;

use super::NatsError;
use super::subjects::Subjects;

/// What all subjects begin with, unless something else is said.
const USUAL_PREFIX: &str = "postrider";
/// How long the server may take to answer.
const LONGEST_ANSWER: Duration = Duration::from_secs(5);
/// How often the connection is tried while nothing is said.
const PING_EVERY: Duration = Duration::from_secs(10);

/// Where the server is, and how one is let in.
pub struct Settings {
    pub(super) servers: Vec<ServerAddr>,
    pub(super) subjects: Subjects,
    /// The projects whose channels lie in a folder too, by their paths.
    pub(super) folders: HashSet<String>,
    login: Login,
    ca: Option<PathBuf>,
}

/// What shows the server who we are.
enum Login {
    Nobody,
    Token(String),
    Password(String, String),
    /// A file with credentials, or with the seed of a key.
    File(PathBuf),
}

impl Settings {
    /// Checks what was set. `url` may name several servers of one cluster, with commas between them; `folders` are the
    /// projects whose channels lie in a folder too, by their paths.
    pub fn new(
        url: &str,
        prefix: Option<&str>,
        credentials: Option<&Path>,
        ca: Option<&Path>,
        folders: HashSet<String>,
    ) -> Result<Self, NatsError> {
        let mut login = Login::Nobody;
        let mut servers = Vec::new();
        for one in url.split(',').map(str::trim) {
            let without_login = || one.rsplit_once('@').map_or(one, |(_, rest)| rest);
            let wrong = || NatsError::Address(mail::error::shown(without_login()));
            let (server, found) = read_address(one).ok_or_else(wrong)?;
            servers.push(server);
            login = if matches!(login, Login::Nobody) { found } else { login };
        }
        if let Some(path) = credentials {
            login = Login::File(path.to_owned());
        }
        let prefix = prefix.unwrap_or(USUAL_PREFIX);
        let subjects = Subjects::under(prefix).ok_or_else(|| NatsError::Prefix(mail::error::shown(prefix)))?;
        Ok(Self { servers, subjects, folders, login, ca: ca.map(Path::to_owned) })
    }

    /// The address for people.
    pub(super) fn shown(&self) -> String {
        self.servers.iter().map(ServerAddr::as_url_str).collect::<Vec<_>>().join(",")
    }

    /// What a connection is made with. The files are read again each time, for credentials are exchanged while we run.
    pub(super) async fn options(&self) -> Result<ConnectOptions, NatsError> {
        let mut options = ConnectOptions::new()
            .name("postrider")
            .connection_timeout(LONGEST_ANSWER)
            .request_timeout(Some(LONGEST_ANSWER))
            .ping_interval(PING_EVERY)
            // Whoever lost the connection makes a new one: what was under way on the old one is said again.
            .max_reconnects(self.servers.len());
        if let Some(path) = &self.ca {
            read(path).await?;
            options = options.add_root_certificates(path.clone());
        }
        Ok(match &self.login {
            Login::Nobody => options,
            Login::Token(token) => options.token(token.clone()),
            Login::Password(user, password) => options.user_and_password(user.clone(), password.clone()),
            Login::File(path) => {
                let text = read(path).await?;
                match text.trim() {
                    seed if is_seed(seed) => options.nkey(seed.to_owned()),
                    text => {
                        let (token, key) =
                            read_credentials(text).ok_or_else(|| NatsError::Credentials(path.clone()))?;
                        let key = Arc::new(key);
                        options.jwt(token.to_owned(), move |nonce| {
                            let key = key.clone();
                            async move { key.sign(&nonce).map_err(AuthError::new) }
                        })
                    }
                }
            }
        })
    }
}

/// The address without what lets one in, and that. A name without a password is a token, as with other programs.
fn read_address(url: &str) -> Option<(ServerAddr, Login)> {
    let address: ServerAddr = url.parse().ok().filter(|address: &ServerAddr| !address.host().is_empty())?;
    if !matches!(address.scheme(), "nats" | "tls") {
        return None;
    }
    let decoded = |text: &str| percent_decode_str(text).decode_utf8().ok().map(|text| text.into_owned());
    let login = match (address.username(), address.password()) {
        (None, _) => Login::Nobody,
        (Some(token), None) => Login::Token(decoded(token)?),
        (Some(user), Some(password)) => Login::Password(decoded(user)?, decoded(password)?),
    };
    let host = if address.host().contains(':') { format!("[{}]", address.host()) } else { address.host().to_owned() };
    let plain = format!("{}://{host}:{}", address.scheme(), address.port());
    Some((plain.parse().ok()?, login))
}

/// Whether a text is the seed of a user's key, and nothing else.
fn is_seed(text: &str) -> bool {
    text.starts_with("SU") && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// The token and the key in a file of credentials: two blocks, each between a line `-----BEGIN …` and a line
/// `------END …`. The client of NATS can read it too, with a regex engine that has no other use and 0.6 MB.
fn read_credentials(text: &str) -> Option<(&str, KeyPair)> {
    let mut lines = text.lines().map(str::trim);
    let mut block = || {
        lines.find(|line| line.starts_with("---") && line.contains("BEGIN"))?;
        lines.find(|line| !line.is_empty()).filter(|line| !line.starts_with("---"))
    };
    let (token, seed) = (block()?, block()?);
    Some((token, KeyPair::from_seed(seed).ok()?))
}

async fn read(path: &Path) -> Result<String, NatsError> {
    let owned = path.to_owned();
    let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(owned)).await;
    let read = read.unwrap_or_else(|ended| Err(io::Error::other(ended)));
    read.map_err(|cause| NatsError::File { path: path.to_owned(), cause })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: &str) -> Result<Settings, NatsError> {
        Settings::new(url, None, None, None, HashSet::new())
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        let kept = settings("nats://ann:s3cr%40t@mail.example:4333, tls://[::1]").unwrap();
        assert_eq!(kept.shown(), "nats://mail.example:4333,tls://[::1]:4222");
        assert!(matches!(kept.login, Login::Password(user, password) if user == "ann" && password == "s3cr@t"));
        let kept = settings("nats://t0ken@mail.example").unwrap();
        assert_eq!(kept.shown(), "nats://mail.example:4222");
        assert!(matches!(kept.login, Login::Token(token) if token == "t0ken"));
    }

    #[test]
    fn a_wrong_setting_is_refused_and_no_password_is_told() {
        for url in
            ["http://ann:s3cret@host", "nats://ann:s3cret@", "ws://ann:s3cret@host", "nats://ann:s3cret@host:99999"]
        {
            let error = settings(url).err().unwrap();
            assert_eq!(error.code(), "NATS_ADDRESS");
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
        let error = Settings::new("nats://host", Some("a.*"), None, None, HashSet::new()).err().unwrap();
        assert_eq!((error.code(), error.to_string().as_str()), ("NATS_PREFIX", "'a.*' cannot begin a subject of NATS"));
    }

    #[tokio::test]
    async fn what_is_in_a_file_of_credentials_is_not_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "-----BEGIN NATS USER JWT-----\ns3cret\n").unwrap();
        let kept = Settings::new("nats://host", None, Some(file.path()), None, HashSet::new()).unwrap();
        let error = kept.options().await.err().unwrap();
        assert_eq!(error.code(), "NATS_CREDENTIALS");
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
    }
}

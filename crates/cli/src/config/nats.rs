//! The NATS server, as `[nats]` says it. What it is for is in `crate::nats`.

use std::path::PathBuf;

use serde::Deserialize;

/// The NATS server that events go to.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(feature = "nats"), expect(dead_code, reason = "without NATS it is only refused"))]
pub struct Nats {
    /// Its address, such as `nats://127.0.0.1:4222`; `tls://` asks for TLS. It may hold a password.
    pub url: String,
    /// What all subjects begin with.
    pub prefix: Option<String>,
    /// A file with credentials.
    pub credentials: Option<PathBuf>,
    /// A file with the certificates of the authorities that the certificate of the server may come from.
    pub ca: Option<PathBuf>,
}

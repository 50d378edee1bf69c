//! Who may come in: the host and origin of a request, its token, and how much at once.
//!
//! A page in a browser can send requests to a server on loopback, by another origin or by a name that it points there;
//! `Origin` and `Host` give it away. The token is compared in constant time and never written anywhere.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use ::http::header::{AUTHORIZATION, HOST, ORIGIN};
use ::http::{HeaderMap, HeaderValue};
use mail::rate_limit::RateLimitStore;
use subtle::ConstantTimeEq;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Settings;
use super::problem::HttpProblem;
use super::rate_limit::Pace;
use crate::metrics::Metrics;

/// Whom the door trusts.
#[derive(Clone, Default)]
pub struct Trust {
    /// The bearer token that every call needs, if one is set.
    pub token: Option<String>,
    /// What people sign in with at the page, where that is not the same.
    pub page_token: Option<String>,
    /// Names under which the server may be called besides loopback's; `*` for any.
    pub hosts: Vec<String>,
    /// Pages that may call besides those on loopback.
    pub origins: Vec<String>,
}

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trust")
            .field("token", &self.token.as_ref().map(|_| "set"))
            .field("page_token", &self.page_token.as_ref().map(|_| "set"))
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .finish()
    }
}

/// A request that was let in; it holds its place until it is dropped.
pub struct Admitted {
    _place: OwnedSemaphorePermit,
    metrics: Arc<Metrics>,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.metrics.in_flight.dec();
    }
}

/// The doorkeeper.
pub struct Admission {
    trust: Trust,
    places: Arc<Semaphore>,
    pace: Option<Pace>,
    metrics: Arc<Metrics>,
}

impl Admission {
    /// A doorkeeper by these settings, who shares the limit of requests with those of other servers if there are any.
    pub fn new(settings: Settings, metrics: Arc<Metrics>, shared: Option<Arc<dyn RateLimitStore>>) -> Self {
        let places = Arc::new(Semaphore::new(settings.most_in_flight));
        let pace = settings.rate_limit.and_then(NonZeroU32::new).map(|limit| Pace::new(limit, shared));
        Self { trust: settings.trust, places, pace, metrics }
    }

    /// Lets a request in, or says why not.
    pub async fn admit(&self, headers: &HeaderMap, peer: IpAddr) -> Result<Admitted, HttpProblem> {
        let admitted = async {
            self.trust.check_host(headers)?;
            self.trust.check_origin(headers)?;
            self.trust.check_token(headers)?;
            self.take_place(peer).await
        };
        admitted.await.inspect_err(|problem| self.metrics.refused(problem.status()))
    }

    /// The origin of the page that sends a request, if it is one that may call here. What no page sends is judged when it
    /// is admitted.
    pub fn page(&self, headers: &HeaderMap) -> Result<Option<HeaderValue>, HttpProblem> {
        let Some(origin) = headers.get(ORIGIN) else { return Ok(None) };
        self.trust.check_host(headers)?;
        self.trust.check_origin(headers)?;
        Ok(Some(origin.clone()))
    }

    /// Lets in a person who looks at a page and has signed in or not, or says why not. The token of agents opens no page,
    /// and pages of this server are of its own origin, so no other is asked for.
    pub async fn admit_person(
        &self,
        headers: &HeaderMap,
        peer: IpAddr,
        signed_in: bool,
    ) -> Result<Admitted, HttpProblem> {
        let admitted = async {
            self.trust.check_host(headers)?;
            if signed_in { self.take_place(peer).await } else { Err(HttpProblem::unauthorized()) }
        };
        admitted.await.inspect_err(|problem| self.metrics.refused(problem.status()))
    }

    /// Whether the server is called by a name of its own.
    pub fn check_host(&self, headers: &HeaderMap) -> Result<(), HttpProblem> {
        self.trust.check_host(headers).inspect_err(|problem| self.metrics.refused(problem.status()))
    }

    /// A place among the requests under way, for one that may come in.
    async fn take_place(&self, peer: IpAddr) -> Result<Admitted, HttpProblem> {
        if let Some(pace) = &self.pace
            && !pace.allows(peer).await
        {
            return Err(HttpProblem::too_many());
        }
        let place = self.places.clone().try_acquire_owned().map_err(|_| HttpProblem::busy())?;
        self.metrics.admit();
        Ok(Admitted { _place: place, metrics: self.metrics.clone() })
    }
}

impl Trust {
    fn check_host(&self, headers: &HeaderMap) -> Result<(), HttpProblem> {
        let Some(host) = headers.get(HOST) else { return Ok(()) };
        let host = host.to_str().unwrap_or("?");
        let name = host_name(host);
        let known = is_loopback(name) || self.hosts.iter().any(|own| own == "*" || own.eq_ignore_ascii_case(name));
        if known { Ok(()) } else { Err(HttpProblem::wrong_host(host)) }
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), HttpProblem> {
        let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
        let origin = origin.to_str().unwrap_or("?");
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let known = authority.is_some_and(|authority| is_loopback(host_name(authority)))
            || self.origins.iter().any(|own| own == "*" || own.eq_ignore_ascii_case(origin));
        if known { Ok(()) } else { Err(HttpProblem::wrong_origin(origin)) }
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), HttpProblem> {
        let Some(token) = &self.token else { return Ok(()) };
        let given = headers.get(AUTHORIZATION).map_or(&b""[..], |value| value.as_bytes());
        let (scheme, given) = given.split_at_checked(7).unwrap_or((b"", b""));
        let right = scheme.eq_ignore_ascii_case(b"bearer ") & bool::from(given.ct_eq(token.as_bytes()));
        if right { Ok(()) } else { Err(HttpProblem::unauthorized()) }
    }
}

/// The name of a host without its port.
fn host_name(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => authority.split(':').next().unwrap_or(authority),
    }
}

fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_loopback_and_named_hosts_are_served() {
        let trust = Trust { hosts: vec!["mail.example".into()], ..Trust::default() };
        for host in ["127.0.0.1:8765", "localhost", "LOCALHOST:1", "[::1]:8765", "mail.example:80", "Mail.Example"] {
            assert!(trust.check_host(&headers(&[("host", host)])).is_ok(), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "10.0.0.1"] {
            assert_eq!(trust.check_host(&headers(&[("host", host)])).unwrap_err().status(), 403, "{host}");
        }
    }

    #[test]
    fn a_foreign_page_is_refused_and_no_origin_is_fine() {
        let trust = Trust { origins: vec!["https://desk.example".into()], ..Trust::default() };
        for origin in ["http://localhost:3000", "http://127.0.0.1", "https://[::1]:9", "https://desk.example"] {
            assert!(trust.check_origin(&headers(&[("origin", origin)])).is_ok(), "{origin}");
        }
        for origin in ["http://evil.example", "null", "http://localhost.evil.example", "file://"] {
            assert!(trust.check_origin(&headers(&[("origin", origin)])).is_err(), "{origin}");
        }
        assert!(trust.check_origin(&HeaderMap::new()).is_ok());
    }

    #[test]
    fn a_token_must_be_whole_and_right() {
        let trust = Trust { token: Some("s3cret".into()), ..Trust::default() };
        for right in ["Bearer s3cret", "bearer s3cret"] {
            assert!(trust.check_token(&headers(&[("authorization", right)])).is_ok(), "{right}");
        }
        for wrong in ["", "Bearer", "Bearer ", "Bearer s3cre", "Bearer s3crets", "Basic s3cret", "s3cret"] {
            assert!(trust.check_token(&headers(&[("authorization", wrong)])).is_err(), "{wrong}");
        }
        assert!(trust.check_token(&HeaderMap::new()).is_err());
        assert!(!format!("{trust:?}").contains("s3cret"));
    }
}

//! The HTTP door: MCP at `/mcp` and `/mcp/`, health, metrics, and the pages.
//!
//! Each request is admitted first (who may connect, how much, how often), then handed on. Nothing is decided here about
//! mail or about the protocol.

mod admission;
mod cors;
mod edge;
mod problem;
mod rate_limit;
mod readiness;
mod request_body;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{ACCEPT, CONTENT_TYPE};
use ::http::{HeaderMap, Method, StatusCode};
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::StreamExt;
use mail::Office;
use mail::rate_limit::RateLimitStore;
use mcp::{Endpoint, Reply, ReplyBody};
use serde_json::json;

use crate::metrics::Metrics;
use crate::web::{self, Web};
use admission::Admission;
pub(crate) use admission::Admitted;
pub use admission::Trust;
pub use edge::{Listeners, LocalListener};
pub(crate) use problem::HttpProblem;
use readiness::Readiness;
use request_body::BodyBudget;

/// Connections at once. More wait until one ends.
const MOST_CONNECTIONS: usize = 10_000;

/// How long the page of metrics waits for the store.
const LONGEST_ASKING: Duration = Duration::from_secs(3);

/// What the HTTP door allows.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who may connect.
    pub trust: Trust,
    /// The largest request, in bytes.
    pub largest_request: usize,
    /// Requests under way at once; more are refused.
    pub most_in_flight: usize,
    /// Requests a second from one address; `None` for as many as it likes.
    pub rate_limit: Option<u32>,
    /// What a person is called who looks at the page and has not said.
    pub person: String,
}

/// The HTTP door.
pub struct Door {
    pub(crate) office: Arc<Office>,
    endpoint: Endpoint,
    metrics: Arc<Metrics>,
    pub(crate) admission: Admission,
    pub(crate) body_budget: BodyBudget,
    readiness: Readiness<Result<(), Unready>>,
    pub(crate) web: Web,
}

impl Door {
    /// A door to this office. Its limit of requests holds for all doors that share the `pace`.
    pub fn new(
        office: Arc<Office>,
        endpoint: Endpoint,
        metrics: Arc<Metrics>,
        settings: Settings,
        pace: Option<Arc<dyn RateLimitStore>>,
    ) -> Self {
        let body_budget = BodyBudget::new(settings.largest_request);
        let trust = &settings.trust;
        let web = Web::new(&office, trust.page_token.clone().or_else(|| trust.token.clone()), settings.person.clone());
        let admission = Admission::new(settings, metrics.clone(), pace);
        Self { office, endpoint, metrics, admission, body_budget, readiness: Readiness::default(), web }
    }

    /// Answers requests until `shutdown`; those under way then are finished before this returns.
    pub async fn serve(self, listeners: Listeners, shutdown: impl Future<Output = ()>) {
        let endpoint = self.endpoint.clone();
        let shutdown = async move {
            shutdown.await;
            endpoint.close();
        };
        let following = tokio::spawn(self.web.follow());
        edge::serve(listeners, self.router(), MOST_CONNECTIONS, shutdown).await;
        following.abort();
    }

    fn router(self) -> Router {
        Router::new()
            .route("/mcp", axum::routing::any(mcp))
            .route("/mcp/", axum::routing::any(mcp))
            .route("/health", get(liveness))
            .route("/health/liveness", get(liveness))
            .route("/health/readiness", get(readiness))
            .route("/metrics", get(metrics))
            .merge(web::routes())
            .fallback(nothing_here)
            .with_state(Arc::new(self))
    }
}

async fn mcp(
    State(door): State<Arc<Door>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
) -> Result<Response, HttpProblem> {
    let page = door.admission.page(request.headers());
    let page = page.inspect_err(|problem| door.metrics.refused(problem.status()))?;
    let Some(origin) = page else { return door.answer(request, peer).await };
    // A browser asks this by itself, and cannot send a token with it.
    if request.method() == Method::OPTIONS {
        return Ok(cors::permission(origin));
    }
    // A page may read why it was refused, too.
    let mut response = door.answer(request, peer).await.into_response();
    cors::open(response.headers_mut(), origin);
    Ok(response)
}

impl Door {
    async fn answer(&self, request: Request, peer: SocketAddr) -> Result<Response, HttpProblem> {
        let (parts, body) = request.into_parts();
        let admitted = self.admission.admit(&parts.headers, peer.ip()).await?;
        match parts.method {
            Method::POST => {
                let body = self.body_budget.read(&parts.headers, body).await;
                let body = body.inspect_err(|problem| self.metrics.refused(problem.status()))?;
                // The share of the body is held until the call is answered, because its arguments are.
                let reply = self.endpoint.post(&parts.headers, body.bytes.clone()).await;
                Ok(respond(reply, Some(admitted)))
            }
            // A stream that only listens is not work under way; it ends when the endpoint closes.
            Method::GET => Ok(respond(self.endpoint.get(&parts.headers), None)),
            Method::DELETE => Ok(respond(self.endpoint.delete(&parts.headers), None)),
            _ => Err(HttpProblem::method_not_allowed()),
        }
    }
}

fn respond(reply: Reply, admitted: Option<Admitted>) -> Response {
    let mut response = Response::new(match reply.body {
        ReplyBody::Empty => Body::empty(),
        ReplyBody::Json(text) => Body::from(text),
        ReplyBody::EventStream(stream) => {
            // The place is held for as long as the stream runs.
            Body::from_stream(stream.map(move |chunk| {
                let _held = &admitted;
                Ok::<_, io::Error>(chunk)
            }))
        }
    });
    *response.status_mut() = reply.status;
    for (name, value) in reply.headers {
        response.headers_mut().insert(name, value);
    }
    response
}

async fn liveness() -> Response {
    json_answer(StatusCode::OK, r#"{"status":"alive"}"#.to_owned())
}

async fn readiness(State(door): State<Arc<Door>>) -> Response {
    match door.is_ready().await {
        Ok(()) => json_answer(StatusCode::OK, r#"{"status":"ready"}"#.to_owned()),
        Err(Unready { code, why }) => {
            let told = json!({ "status": "not ready", "store": "unavailable", "code": code, "why": why });
            json_answer(StatusCode::SERVICE_UNAVAILABLE, told.to_string())
        }
    }
}

/// Why mail can be neither taken nor read. Anybody may ask, so that it says no more than a refusal would.
#[derive(Clone)]
struct Unready {
    code: &'static str,
    why: String,
}

impl Door {
    async fn is_ready(&self) -> Result<(), Unready> {
        let asking = async {
            let ready = self.office.check_ready().await;
            ready.map_err(|error| {
                match &error {
                    // The store told of that itself, once; this is asked again and again.
                    mail::Error::Away(cause) => tracing::debug!(%cause, "the store is away"),
                    other => tracing::error!(cause = %other, "the store does not answer"),
                }
                Unready { code: error.code(), why: error.to_string() }
            })
        };
        self.readiness.or_ask(asking).await
    }
}

async fn metrics(
    State(door): State<Arc<Door>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Result<Response, HttpProblem> {
    door.admission.admit(&headers, peer.ip()).await?;
    // What cannot be told now is not told; the rest is, before whoever asks gives up.
    let asking = async { (door.is_ready().await.is_ok(), door.office.store().cursors().await.unwrap_or_default()) };
    let (is_up, cursors) = tokio::time::timeout(LONGEST_ASKING, asking).await.unwrap_or_default();
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind)], Body::from(door.metrics.text(is_up, &cursors))).into_response())
}

async fn nothing_here(request: Request) -> Result<Response, HttpProblem> {
    // Clients that look for a login at /.well-known expect a plain 404 when there is none.
    if request.uri().path().starts_with("/.well-known/") {
        return Ok(StatusCode::NOT_FOUND.into_response());
    }
    if request.headers().get(ACCEPT).is_some_and(|kinds| kinds.to_str().is_ok_and(|kinds| kinds.contains("text/html")))
    {
        return Ok(web::nothing_here().await);
    }
    Err(HttpProblem::not_found(request.uri().path()))
}

fn json_answer(status: StatusCode, body: String) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], Body::from(body)).into_response()
}

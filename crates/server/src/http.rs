//! The HTTP door: MCP at `/mcp` and `/mcp/`, health, and metrics.
//!
//! Each request is admitted first (who may connect, how much, how often), then handed on. Nothing is decided here about
//! mail or about the protocol.

mod admission;
mod problem;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use ::http::{HeaderMap, Method, StatusCode};
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::response::Response;
use axum::routing::get;
use axum::serve::ListenerExt;
use bytes::Bytes;
use futures_util::StreamExt;
use mail::Office;
use mcp::{Endpoint, Reply, ReplyBody};
use tokio::net::TcpListener;

use crate::metrics::Metrics;
pub use admission::Trust;
use admission::{Admission, Admitted};
use problem::Problem;

/// How long the body of a request may take to arrive.
const SLOWEST_BODY: Duration = Duration::from_secs(30);

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
}

/// The HTTP door.
pub struct Door {
    office: Arc<Office>,
    endpoint: Endpoint,
    metrics: Arc<Metrics>,
    admission: Admission,
    largest_request: usize,
}

impl Door {
    /// A door to this office.
    pub fn new(office: Arc<Office>, endpoint: Endpoint, metrics: Arc<Metrics>, settings: Settings) -> Self {
        let largest_request = settings.largest_request;
        Self { office, endpoint, admission: Admission::new(settings, metrics.clone()), metrics, largest_request }
    }

    /// Answers requests until `shutdown`; those under way then are finished before this returns.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let endpoint = self.endpoint.clone();
        // Without this an answer of two writes waits 40 ms for an acknowledgement.
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, self.router().into_make_service_with_connect_info::<SocketAddr>())
            .with_graceful_shutdown(async move {
                shutdown.await;
                endpoint.close();
            })
            .await
    }

    fn router(self) -> Router {
        Router::new()
            .route("/mcp", axum::routing::any(mcp))
            .route("/mcp/", axum::routing::any(mcp))
            .route("/", get(front))
            .route("/health", get(liveness))
            .route("/health/liveness", get(liveness))
            .route("/health/readiness", get(readiness))
            .route("/metrics", get(metrics))
            .fallback(nothing_here)
            .with_state(Arc::new(self))
    }
}

async fn mcp(
    State(door): State<Arc<Door>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let admitted = door.admission.admit(&parts.headers, peer.ip())?;
    match parts.method {
        Method::POST => {
            let body =
                door.read(&parts.headers, body).await.inspect_err(|problem| door.metrics.refused(problem.status()))?;
            Ok(respond(door.endpoint.post(&parts.headers, body).await, Some(admitted)))
        }
        // A stream that only listens is not work under way; it ends when the endpoint closes.
        Method::GET => Ok(respond(door.endpoint.get(&parts.headers), None)),
        Method::DELETE => Ok(respond(door.endpoint.delete(&parts.headers), None)),
        _ => Err(Problem::method_not_allowed()),
    }
}

impl Door {
    async fn read(&self, headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
        let told = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if told.is_some_and(|length| length > self.largest_request as u64) {
            return Err(Problem::too_large(self.largest_request));
        }
        match tokio::time::timeout(SLOWEST_BODY, axum::body::to_bytes(body, self.largest_request)).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(_)) => Err(Problem::too_large(self.largest_request)),
            Err(_) => Err(Problem::too_slow()),
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
    json(StatusCode::OK, r#"{"status":"alive"}"#.to_owned())
}

async fn readiness(State(door): State<Arc<Door>>) -> Response {
    match door.office.check_ready().await {
        Ok(()) => json(StatusCode::OK, r#"{"status":"ready"}"#.to_owned()),
        Err(error) => {
            tracing::error!(cause = %error, "the store does not answer");
            json(StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"not ready","store":"unavailable"}"#.to_owned())
        }
    }
}

async fn metrics(
    State(door): State<Arc<Door>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    door.admission.admit(&headers, peer.ip())?;
    let mut response = Response::new(Body::from(door.metrics.text()));
    let kind = ::http::HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

async fn front() -> Response {
    let body = concat!("Postrider ", env!("CARGO_PKG_VERSION"), ": mail for coding agents. The MCP address is /mcp\n");
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(CONTENT_TYPE, ::http::HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

async fn nothing_here(request: Request) -> Result<Response, Problem> {
    // Clients that look for a login at /.well-known expect a plain 404 when there is none.
    if request.uri().path().starts_with("/.well-known/") {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_FOUND;
        return Ok(response);
    }
    Err(Problem::not_found(request.uri().path()))
}

fn json(status: StatusCode, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, ::http::HeaderValue::from_static("application/json"));
    response
}

//! A small HTTP client for a Postrider server: HTTP/1, one request a connection, over TCP or a socket in the file system.
//!
//! A connection of its own tells apart what a caller has to know: a request that never left, and one whose outcome is
//! unknown. Dropping an answer hangs up, so that the server notices; who only stops to want it still gets one that was on its way.
//! Deliberately absent: TLS, redirects, proxies,
//! repeating a request, and any knowledge of what a body means.

mod connecting;
mod events;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::net::Shutdown;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyDataStream, BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::TokioIo;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use connecting::{Connected, ServerAddress};
use events::Decoder;

/// What is smaller fits into the buffers between us and the server, and is just sent.
const LARGE: usize = 64 << 10;
/// How long a server may take to say that it wants a large body. Some never say so, and want it all the same.
const SLOWEST_CONTINUE: Duration = Duration::from_secs(1);
/// How long an answer is waited for that nobody wants any more. A server that is there notices at once that we hung up.
const SLOWEST_FAREWELL: Duration = Duration::from_secs(2);
/// The longest answer, or event of a stream, that is held in memory.
const LARGEST_ANSWER: usize = 256 << 20;

/// Where a server is, and the token that it wants.
pub struct Client {
    url: String,
    address: ServerAddress,
    authority: HeaderValue,
    path: Uri,
    bearer: Option<HeaderValue>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The server never saw the request.
    #[error("no connection: {0}")]
    NotSent(io::Error),
    /// What the server did with the request is unknown.
    #[error("the connection broke: {0}")]
    Broken(#[from] hyper::Error),
    #[error("the answer is larger than {LARGEST_ANSWER} bytes")]
    TooLarge,
}

impl Client {
    /// A client of the server at `url`, which has to be `http://`.
    pub fn new(url: &str, token: Option<&str>) -> anyhow::Result<Self> {
        // Before anything else is said of it, for what follows shows it.
        if url.split('/').nth(2).is_some_and(|authority| authority.contains('@')) {
            bail!(
                "the address of the server holds a user or a password; leave that out, and set AGENT_MAIL_BEARER_TOKEN"
            );
        }
        let parsed: Uri = url.parse().with_context(|| format!("'{url}' is not the address of a server"))?;
        match parsed.scheme_str() {
            Some("http") => {}
            Some("https") => bail!("'{url}' needs TLS, which this client does not speak; use http:// or a tunnel"),
            _ => bail!("'{url}' is not the address of a server; it has to begin with http://"),
        }
        let host = parsed.host().filter(|host| !host.is_empty());
        let host = host.with_context(|| format!("'{url}' names no host"))?;
        let port = parsed.port_u16();
        let authority = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let path = parsed.path_and_query().map_or("/", |path| path.as_str());
        let bearer = token.map(|token| HeaderValue::try_from(format!("Bearer {token}"))).transpose();
        let mut bearer = bearer.context("the bearer token has characters that a header cannot have")?;
        if let Some(bearer) = &mut bearer {
            bearer.set_sensitive(true);
        }
        Ok(Self {
            url: url.to_owned(),
            address: ServerAddress::new(host.trim_matches(['[', ']']), port.unwrap_or(80)),
            authority: HeaderValue::try_from(authority)?,
            path: path.parse()?,
            bearer,
        })
    }

    /// The same client, which goes through the server's socket where that takes connections.
    pub fn through(mut self, socket: PathBuf) -> Self {
        self.address.socket = Some(socket);
        self
    }

    /// The address of the server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether somebody accepts connections there.
    pub async fn is_reachable(&self) -> bool {
        self.try_reach().await.is_ok()
    }

    /// The same, and why not.
    pub async fn try_reach(&self) -> io::Result<()> {
        self.address.connect().await.map(drop)
    }

    /// Whether somebody accepts connections at its socket.
    pub async fn has_socket(&self) -> bool {
        self.address.connect_to_socket().await.is_ok_and(|wire| wire.is_some())
    }

    /// Sends `body`, which is JSON. Once `hang_up` returns, the server is told that nobody waits any more: then there is an answer
    /// only if the server had given it before.
    pub async fn post(
        &self,
        mut headers: HeaderMap,
        body: Bytes,
        hang_up: impl Future<Output = ()> + Send + 'static,
    ) -> Result<HttpAnswer, Failure> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.send(Method::POST, headers, body, hang_up).await
    }

    /// Asks for what is there.
    pub async fn get(&self, headers: HeaderMap) -> Result<HttpAnswer, Failure> {
        self.send(Method::GET, headers, Bytes::new(), pending()).await
    }

    async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
        hang_up: impl Future<Output = ()> + Send + 'static,
    ) -> Result<HttpAnswer, Failure> {
        let Connected { stream, socket } = self.address.connect().await.map_err(Failure::NotSent)?;
        let (mut sender, driver) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let mut connection = JoinSet::new();
        connection.spawn(async move {
            let mut driver = pin!(driver);
            // Whoever waits for the answer learns of the same error.
            tokio::select! {
                _ = &mut driver => {}
                () = hang_up => {
                    // Half of it: an answer that was given already still comes. A connection that broke is over anyway.
                    let _ = socket.shutdown(Shutdown::Write);
                    let _ = tokio::time::timeout(SLOWEST_FAREWELL, driver).await;
                }
            }
        });
        let mut request = request(body);
        *request.method_mut() = method;
        *request.uri_mut() = self.path.clone();
        request.headers_mut().extend(headers);
        request.headers_mut().insert(HOST, self.authority.clone());
        if let Some(bearer) = &self.bearer {
            request.headers_mut().insert(AUTHORIZATION, bearer.clone());
        }
        let (parts, body) = sender.send_request(request).await?.into_parts();
        Ok(HttpAnswer { status: parts.status, headers: parts.headers, body, _connection: connection })
    }
}

/// A request with this body. A large one is sent only when the server has said that it wants it.
///
/// A server that refuses a request without reading it closes the connection, and the bytes that are still on their way
/// then destroy the refusal before it is read. HTTP's `Expect: 100-continue` is made for this.
fn request(data: Bytes) -> Request<UnsyncBoxBody<Bytes, Infallible>> {
    if data.len() < LARGE {
        return Request::new(Full::new(data).boxed_unsync());
    }
    let (wanted, length) = (Arc::new(Notify::new()), data.len());
    let told = wanted.clone();
    let frame = stream::once(async move {
        let _ = tokio::time::timeout(SLOWEST_CONTINUE, told.notified()).await;
        Ok(Frame::data(data))
    });
    let mut request = Request::new(StreamBody::new(frame).boxed_unsync());
    request.headers_mut().insert(CONTENT_LENGTH, length.into());
    request.headers_mut().insert(EXPECT, HeaderValue::from_static("100-continue"));
    hyper::ext::on_informational(&mut request, move |said| {
        if said.status() == StatusCode::CONTINUE {
            wanted.notify_one();
        }
    });
    request
}

/// What a server answered. Its body comes as it is read.
pub struct HttpAnswer {
    /// The status line.
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: Incoming,
    /// Drives the connection, and hangs up when it is dropped.
    _connection: JoinSet<()>,
}

impl HttpAnswer {
    /// Whether the body is a stream of events.
    pub fn is_events(&self) -> bool {
        let kind = self.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
    }

    /// The whole body.
    pub async fn whole(self) -> Result<Vec<u8>, Failure> {
        let whole = Limited::new(self.body, LARGEST_ANSWER).collect().await;
        let whole =
            whole.map_err(|error| error.downcast().map_or(Failure::TooLarge, |error| Failure::Broken(*error)))?;
        Ok(whole.to_bytes().into())
    }

    /// The body as events.
    pub fn events(self) -> Events {
        Events { answer: self, decoder: Decoder::new(LARGEST_ANSWER), ready: VecDeque::new() }
    }
}

/// A stream of events, as they come.
pub struct Events {
    answer: HttpAnswer,
    decoder: Decoder,
    ready: VecDeque<Vec<u8>>,
}

impl Events {
    /// The data of the next event; `None` when the server ended the stream.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let next = BodyDataStream::new(&mut self.answer.body).next().await;
            let Some(chunk) = next.transpose()? else { return Ok(None) };
            self.decoder.push(&chunk, &mut self.ready).map_err(|events::TooLarge| Failure::TooLarge)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Waker};

    use hyper::body::Body;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    async fn listening() -> (TcpListener, Client) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let client = Client::new(&url, Some("s3cret")).unwrap();
        (listener, client)
    }

    /// Takes one connection, reads a request, and writes `answer` as it stands.
    async fn answer_one(listener: &TcpListener, answer: &str) -> (String, TcpStream) {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let read = stream.read(&mut request).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        (String::from_utf8(request[..read].to_vec()).unwrap(), stream)
    }

    #[test]
    fn only_plain_http_addresses_are_taken() {
        for url in ["https://host/mcp", "host", "ftp://host", "http://", "http:///mcp", "", "http://ho st"] {
            assert!(Client::new(url, None).is_err(), "{url}");
        }
        let client = Client::new("http://[::1]:9/mcp/", None).unwrap();
        assert_eq!((&client.address, client.path.path()), (&ServerAddress::new("::1", 9), "/mcp/"));
        assert_eq!(client.authority, "[::1]:9");
        assert_eq!(Client::new("http://host/mcp", None).unwrap().address, ServerAddress::new("host", 80));
    }

    #[tokio::test]
    async fn a_request_says_where_it_goes_and_who_sends_it() {
        let (listener, client) = listening().await;
        let served = answer_one(&listener, "HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\nok");
        let asked = async {
            let answer = client.post(HeaderMap::new(), Bytes::from_static(b"{}"), pending()).await.unwrap();
            (answer.status, answer.whole().await.unwrap())
        };
        let ((request, _stream), (status, body)) = tokio::join!(served, asked);
        assert!(request.starts_with("POST /mcp HTTP/1.1\r\n"), "{request}");
        assert!(request.contains(&format!("host: {}\r\n", listener.local_addr().unwrap())), "{request}");
        assert!(request.contains("authorization: Bearer s3cret\r\n"), "{request}");
        assert_eq!((status, body.as_slice()), (StatusCode::ACCEPTED, &b"ok"[..]));
    }

    #[tokio::test]
    async fn nobody_at_the_address_means_not_sent_and_a_broken_connection_does_not() {
        let (listener, client) = listening().await;
        let hung_up = async { drop(answer_one(&listener, "").await) };
        let ((), broken) = tokio::join!(hung_up, client.get(HeaderMap::new()));
        assert!(matches!(broken, Err(Failure::Broken(_))));
        drop(listener);
        assert!(matches!(client.get(HeaderMap::new()).await, Err(Failure::NotSent(_))));
    }

    #[tokio::test]
    async fn a_small_body_goes_at_once_and_expects_nothing() {
        let request = request(Bytes::from(vec![b'x'; LARGE - 1]));
        assert!(!request.headers().contains_key(EXPECT));
        assert_eq!(request.body().size_hint().exact(), Some(LARGE as u64 - 1));
        assert_eq!(request.into_body().collect().await.unwrap().to_bytes().len(), LARGE - 1);
        assert!(super::request(Bytes::new()).body().is_end_stream());
    }

    #[tokio::test]
    async fn a_large_body_is_sent_in_the_end_even_if_the_server_never_asks_for_it() {
        let request = request(Bytes::from(vec![b'x'; LARGE]));
        assert_eq!(request.headers()[EXPECT], "100-continue");
        assert_eq!(request.headers()[CONTENT_LENGTH], LARGE.to_string());
        let mut body = request.into_body();
        assert!(Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(body.collect().await.unwrap().to_bytes().len(), LARGE);
    }

    #[tokio::test]
    async fn who_hangs_up_still_gets_an_answer_that_was_given() {
        let (listener, client) = listening().await;
        let (hanging_up, hang_up) = tokio::sync::oneshot::channel::<()>();
        let served = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            assert_ne!(stream.read(&mut request).await.unwrap(), 0);
            hanging_up.send(()).unwrap();
            assert_eq!(stream.read(&mut request).await.unwrap(), 0, "the server sees that nobody waits");
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
        };
        let hang_up = async { drop(hang_up.await) };
        let asked = async {
            let answer = client.post(HeaderMap::new(), Bytes::from_static(b"{}"), hang_up).await.unwrap();
            answer.whole().await.unwrap()
        };
        assert_eq!(tokio::join!(served, asked).1, b"ok");
    }

    #[tokio::test]
    async fn dropping_an_answer_hangs_up() {
        let (listener, client) = listening().await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: 1\n\n";
        let (served, answer) = tokio::join!(answer_one(&listener, head), client.get(HeaderMap::new()));
        let (_, mut stream) = served;
        let answer = answer.unwrap();
        assert!(answer.is_events());
        let mut events = answer.events();
        assert_eq!(events.next().await.unwrap().as_deref(), Some(&b"1"[..]));
        drop(events);
        assert_eq!(stream.read(&mut [0; 16]).await.unwrap_or(0), 0);
    }
}

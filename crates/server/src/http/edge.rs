//! The edge to the network: takes connections, and speaks HTTP/1 on each until it ends.
//!
//! Bounds what a stranger costs before a request is there to be judged: connections at once, and the time for a head. At a socket
//! of the file system the system says whose process connects; others than the owner of the mail and root are not listened to.
//! Nothing is known here of what is served.

use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long the head of a request may take, and how long a connection may be silent between two requests. Longer than
/// clients keep an idle connection, so that it is they who close it and no request meets a closed door.
const SLOWEST_HEAD: Duration = Duration::from_secs(75);
/// The user who may do everything anyway.
const ROOT: u32 = 0;
/// How long to wait when the system has no more connections to give.
const SHORT_OF_SOCKETS: Duration = Duration::from_millis(100);

/// Where connections are taken.
pub struct Listeners {
    /// From this machine, and others if it is not an address of loopback.
    pub tcp: TcpListener,
    /// From processes of one user of this machine.
    pub local: Option<LocalListener>,
}

/// A socket in the file system.
pub struct LocalListener {
    pub socket: UnixListener,
    /// The user whose processes may connect, beside root's.
    pub user: u32,
}

/// What a request comes through, and its answer goes back.
trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

/// Serves `router` until `shutdown`; requests under way then are finished before this returns.
pub async fn serve(listeners: Listeners, router: Router, most_connections: usize, shutdown: impl Future<Output = ()>) {
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new()).header_read_timeout(SLOWEST_HEAD);
    let places = Arc::new(Semaphore::new(most_connections));
    let connections = GracefulShutdown::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let (stream, peer, place) = tokio::select! {
            accepted = accept(&listeners, &places) => accepted,
            () = &mut shutdown => break,
        };
        let router = TowerToHyperService::new(router.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer));
            hyper::service::Service::call(&router, request)
        });
        let connection = connections.watch(protocol.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // A connection that breaks is its client's affair.
            let _ = connection.await;
            drop(place);
        });
    }
    // Whoever comes now is to be refused, not left waiting.
    drop(listeners);
    connections.shutdown().await;
}

/// The next connection, as soon as there is a place for it. Until then it waits in the system's own queue.
async fn accept(
    listeners: &Listeners,
    places: &Arc<Semaphore>,
) -> (Box<dyn ByteStream>, SocketAddr, OwnedSemaphorePermit) {
    let place = places.clone().acquire_owned().await.expect("nobody closes the semaphore");
    loop {
        let accepted = tokio::select! {
            accepted = accept_tcp(&listeners.tcp) => accepted,
            accepted = accept_local(listeners.local.as_ref()) => accepted,
        };
        match accepted {
            Ok((stream, peer)) => return (stream, peer, place),
            Err(error) if is_of_the_client(&error) => {}
            Err(error) => {
                tracing::error!(%error, "no connection can be taken");
                tokio::time::sleep(SHORT_OF_SOCKETS).await;
            }
        }
    }
}

async fn accept_tcp(listener: &TcpListener) -> io::Result<(Box<dyn ByteStream>, SocketAddr)> {
    let (stream, peer) = listener.accept().await?;
    // Without this an answer of two writes waits 40 ms for an acknowledgement.
    let _ = stream.set_nodelay(true);
    Ok((Box::new(stream), peer))
}

/// The same at a socket of the file system. Who comes there counts as a caller on loopback.
async fn accept_local(listener: Option<&LocalListener>) -> io::Result<(Box<dyn ByteStream>, SocketAddr)> {
    let Some(LocalListener { socket, user }) = listener else { return pending().await };
    let (stream, _) = socket.accept().await?;
    let peer = user_of(&stream)?;
    if !is_let_in(peer, *user) {
        tracing::warn!(user = peer, "a process of another user is not let in at the socket");
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    Ok((Box::new(stream), SocketAddr::from((Ipv4Addr::LOCALHOST, 0))))
}

fn is_let_in(peer: u32, owner: u32) -> bool {
    peer == owner || peer == ROOT
}

/// Whose process is at the other end, as the system says it.
fn user_of(stream: &UnixStream) -> io::Result<u32> {
    // Without an answer nobody is let in, and others are still listened to.
    let peer = stream.peer_cred().map_err(|_| io::ErrorKind::ConnectionAborted)?;
    Ok(peer.uid())
}

fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::sync::{Notify, oneshot};
    use tokio::task::JoinHandle;

    use super::*;

    const HELLO: &[u8] = b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
    const SLOW: &[u8] = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n";

    /// A server with an answer at once, and one that is told to come.
    struct Served {
        address: SocketAddr,
        begun: Arc<Notify>,
        go_on: Arc<Notify>,
        stop: oneshot::Sender<()>,
        serving: JoinHandle<()>,
    }

    async fn served(most_connections: usize) -> Served {
        served_at(most_connections, None).await
    }

    async fn served_at(most_connections: usize, local: Option<LocalListener>) -> Served {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (stop, stopped) = oneshot::channel();
        let (tell, wait) = (begun.clone(), go_on.clone());
        let slow = move || async move {
            tell.notify_one();
            wait.notified().await;
            "slow"
        };
        let router = Router::new().route("/hello", get(|| async { "hello" })).route("/slow", get(slow));
        let serving = tokio::spawn(serve(Listeners { tcp: listener, local }, router, most_connections, async {
            let _ = stopped.await;
        }));
        Served { address, begun, go_on, stop, serving }
    }

    async fn connected(served: &Served, request: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream.write_all(request).await.unwrap();
        stream
    }

    /// What comes until `end` is there, or the connection ends.
    async fn read_until(stream: &mut (impl AsyncRead + Unpin), end: &str) -> String {
        let mut text = Vec::new();
        let mut byte = [0];
        while !text.ends_with(end.as_bytes()) && stream.read(&mut byte).await.unwrap_or(0) > 0 {
            text.push(byte[0]);
        }
        String::from_utf8(text).unwrap()
    }

    // Time stands still while anything goes on, and jumps when everybody waits.
    #[tokio::test(start_paused = true)]
    async fn a_head_that_never_comes_whole_ends_the_connection() {
        let served = served(10).await;
        let mut stream = connected(&served, b"GET /hello HTTP/1.1\r\nHo").await;
        let ended = tokio::time::timeout(SLOWEST_HEAD * 2, stream.read_to_end(&mut Vec::new())).await;
        assert!(ended.is_ok(), "it is still open");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_beyond_the_most_is_served_when_another_ends() {
        let served = served(1).await;
        let mut first = connected(&served, SLOW).await;
        served.begun.notified().await;
        let mut second = connected(&served, HELLO).await;
        let early = tokio::time::timeout(Duration::from_secs(1), second.readable()).await;
        assert!(early.is_err(), "there is no place yet");
        served.go_on.notify_one();
        assert!(read_until(&mut first, "slow").await.ends_with("slow"));
        drop(first);
        assert!(read_until(&mut second, "hello").await.ends_with("hello"));
    }

    #[tokio::test]
    async fn what_is_under_way_is_finished_and_nobody_else_is_let_in() {
        let served = served(10).await;
        let mut idle = connected(&served, HELLO).await;
        read_until(&mut idle, "hello").await;
        let mut slow = connected(&served, SLOW).await;
        served.begun.notified().await;
        served.stop.send(()).unwrap();
        assert_eq!(read_until(&mut idle, "never").await, "", "who has nothing under way is let go");
        assert!(TcpStream::connect(served.address).await.is_err());
        assert!(!served.serving.is_finished());
        served.go_on.notify_one();
        assert!(read_until(&mut slow, "slow").await.ends_with("slow"));
        served.serving.await.unwrap();
    }

    #[test]
    fn nobody_but_its_user_and_root_is_let_in_at_a_socket() {
        assert!(is_let_in(1000, 1000) && is_let_in(ROOT, 1000));
        assert!(!is_let_in(1001, 1000) && !is_let_in(1000, ROOT));
    }

    #[tokio::test]
    async fn a_socket_answers_processes_of_its_user_as_a_port_does() {
        let folder = tempfile::tempdir().unwrap();
        let user = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(folder.path()).unwrap());
        let path = folder.path().join("socket");
        let local = LocalListener { socket: UnixListener::bind(&path).unwrap(), user };
        let served = served_at(10, Some(local)).await;
        let mut stream = UnixStream::connect(&path).await.unwrap();
        stream.write_all(HELLO).await.unwrap();
        assert!(read_until(&mut stream, "hello").await.ends_with("hello"));
        let mut stream = connected(&served, HELLO).await;
        assert!(read_until(&mut stream, "hello").await.ends_with("hello"));
    }
}

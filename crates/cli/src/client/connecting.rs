//! A connection to a server: through its socket in the file system, else by TCP.
//!
//! The socket is tried first: it is reached from sandboxes that close the network, and only processes of its user are let in. What a
//! connection carries is not known here.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use socket2::{SockRef, Socket, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

/// How long a server may take to accept a connection.
const SLOWEST_CONNECT: Duration = Duration::from_secs(5);
/// How long a machine may be silent that has nothing to say before it is asked whether it is there, and how often it is
/// asked. A wait for mail is such a silence; a machine that vanished is noticed within about a minute.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);
const BETWEEN_QUESTIONS: Duration = Duration::from_secs(10);
const MOST_QUESTIONS: u32 = 3;

/// Where a server takes connections.
#[derive(Debug, PartialEq, Eq)]
pub struct ServerAddress {
    host: String,
    port: u16,
    /// Its socket, if it may have one.
    pub socket: Option<PathBuf>,
}

/// A connection.
pub struct Connected {
    pub stream: Box<dyn ByteStream>,
    /// The same, to hang up with.
    pub socket: Socket,
}

/// What a request goes through, and its answer comes back.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

impl ServerAddress {
    /// A port of a host.
    pub fn new(host: &str, port: u16) -> Self {
        Self { host: host.to_owned(), port, socket: None }
    }

    /// Connects. The error is that of the port, unless a sandbox forbids even the socket.
    pub async fn connect(&self) -> io::Result<Connected> {
        let refused = match self.connect_to_socket().await {
            Ok(Some(wire)) => return Ok(wire),
            Ok(None) => None,
            // A server without a socket, or one that died and left it.
            Err(error) => Some(error).filter(|error| error.kind() == io::ErrorKind::PermissionDenied),
        };
        match within(TcpStream::connect((self.host.as_str(), self.port))).await {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                let keepalive = TcpKeepalive::new().with_time(LONGEST_SILENCE).with_interval(BETWEEN_QUESTIONS);
                SockRef::from(&stream).set_tcp_keepalive(&keepalive.with_retries(MOST_QUESTIONS))?;
                Connected::new(stream)
            }
            Err(error) => Err(refused.unwrap_or(error)),
        }
    }

    /// Connects to the socket alone, if there may be one.
    pub async fn connect_to_socket(&self) -> io::Result<Option<Connected>> {
        let Some(socket) = &self.socket else { return Ok(None) };
        Connected::new(within(UnixStream::connect(socket)).await?).map(Some)
    }
}

impl Connected {
    fn new(stream: impl ByteStream + std::os::fd::AsFd + 'static) -> io::Result<Self> {
        let socket = SockRef::from(&stream).try_clone()?;
        Ok(Self { stream: Box::new(stream), socket })
    }
}

async fn within<T>(connecting: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(SLOWEST_CONNECT, connecting).await?
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, UnixListener};

    use super::*;

    async fn listening() -> (TcpListener, ServerAddress) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, ServerAddress::new("127.0.0.1", port))
    }

    fn is_tcp(wire: &Connected) -> bool {
        !wire.socket.local_addr().unwrap().is_unix()
    }

    #[tokio::test]
    async fn a_machine_that_vanished_is_noticed() {
        let (_listener, place) = listening().await;
        let Connected { socket, .. } = place.connect().await.unwrap();
        assert!(socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), LONGEST_SILENCE);
        assert_eq!(socket.tcp_keepalive_retries().unwrap(), MOST_QUESTIONS);
    }

    #[tokio::test]
    async fn the_socket_comes_first_and_without_anybody_at_it_the_port_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let (listener, mut place) = listening().await;
        let path = folder.path().join("socket");
        place.socket = Some(path.clone());
        assert!(is_tcp(&place.connect().await.unwrap()), "there is no socket");
        let socket = UnixListener::bind(&path).unwrap();
        assert!(!is_tcp(&place.connect().await.unwrap()));
        drop(socket);
        assert!(is_tcp(&place.connect().await.unwrap()), "its server died");
        place.socket = Some(folder.path().join("x".repeat(200)));
        assert!(is_tcp(&place.connect().await.unwrap()), "no socket can have so long a name");
        drop(listener);
        assert_eq!(place.connect().await.err().unwrap().kind(), io::ErrorKind::ConnectionRefused);
    }
}

//! A way to a PostgreSQL that can be cut at the worst moment: it carries bytes between a port of this machine and the
//! database's socket, until it is told otherwise.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

/// What becomes of what is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It arrives.
    Open,
    /// It vanishes, and nobody is told, as behind a firewall that forgot the connection. Connections that are there then stay
    /// so for ever.
    Silent,
    /// A `COMMIT` does not arrive, and the connection breaks.
    CutBeforeCommit,
    /// A `COMMIT` arrives and is done, and the connection breaks before that is told.
    CutAfterCommit,
}

/// A way to a database.
pub struct Proxy {
    state: Arc<Mutex<State>>,
    port: u16,
}

struct State {
    way: Way,
    /// How many connections there were, and the last of them that fell silent for good.
    made: u64,
    silenced: u64,
}

impl State {
    fn way_of(&self, connection: u64) -> Way {
        if connection <= self.silenced { Way::Silent } else { self.way }
    }
}

impl Proxy {
    /// A way to the socket in that folder.
    pub fn to(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let port = listener.local_addr().expect("a listener has an address").port();
        let state = Arc::new(Mutex::new(State { way: Way::Open, made: 0, silenced: 0 }));
        let (known, socket) = (state.clone(), folder.join(".s.PGSQL.5432"));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (state, socket) = (known.clone(), socket.clone());
                thread::spawn(move || carry(&client, &socket, &state));
            }
        });
        Self { state, port }
    }

    /// The URL by which the database is reached.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// From now on, what is carried fares like this.
    pub fn set(&self, way: Way) {
        let mut state = self.state.lock().unwrap();
        state.way = way;
        if way == Way::Silent {
            state.silenced = state.made;
        }
    }
}

fn carry(client: &TcpStream, socket: &PathBuf, state: &Arc<Mutex<State>>) {
    let Ok(server) = UnixStream::connect(socket) else { return };
    let number = {
        let mut state = state.lock().unwrap();
        state.made += 1;
        state.made
    };
    let way = || state.lock().unwrap().way_of(number);
    let back = {
        let (mut server, mut client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let state = state.clone();
        thread::spawn(move || {
            let mut bytes = [0; 64 * 1024];
            while let Ok(count @ 1..) = server.read(&mut bytes) {
                match state.lock().unwrap().way_of(number) {
                    Way::Silent => {}
                    // The end of what a commit answers.
                    Way::CutAfterCommit if contains(&bytes[..count], b"COMMIT\0") => break,
                    _ => _ = client.write_all(&bytes[..count]),
                }
            }
            let _ = client.shutdown(Shutdown::Both);
        })
    };
    let (mut from, mut to) = (client, &server);
    let mut bytes = [0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        match way() {
            Way::Silent => {}
            Way::CutBeforeCommit if contains(&bytes[..count], b"COMMIT\0") => break,
            _ => _ = to.write_all(&bytes[..count]),
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    let _ = back.join();
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

//! Two machines with a wire between them, a post office on each, and a NATS server on the first.
//!
//! A machine is a network namespace, which needs the superuser and `ip`. Where that cannot be had, two homes on the one
//! loopback stand in for them, and cutting the wire is stopping the NATS server; which of the two it was is told.

use std::fs::{self, File};
use std::io::Write;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use testing::nats::program;

use crate::harness::{Place, has_python, not_run, send_signal};

/// The addresses of the machines, of those that are for examples and lead nowhere.
const ADDRESSES: [&str; 2] = ["192.0.2.1", "192.0.2.2"];

/// How many pairs this process has made, for their names.
static PAIRS: AtomicUsize = AtomicUsize::new(0);

/// The two machines. All of it goes when this is dropped.
pub struct Machines {
    /// The home on the machine where NATS is.
    pub first: Place,
    /// The home on the other machine.
    pub second: Place,
    nats: Child,
    wire: Option<Wire>,
}

/// Two network namespaces that reach each other and nobody else.
struct Wire {
    names: [String; 2],
}

impl Machines {
    /// Two machines, each with these settings besides those of NATS; `None`, loudly, if a program is missing.
    pub fn start(what: &str, settings: &str) -> Option<Self> {
        let Some(program) = program() else {
            not_run(what, "there is no nats-server");
            return None;
        };
        if !has_python(what) {
            return None;
        }
        let wire = Wire::lay();
        let address = match &wire {
            Ok(_) => format!("{}:4222", ADDRESSES[0]),
            Err(_) => TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").to_string(),
        };
        tell_which(what, wire.as_ref().err());
        let wire = wire.ok();
        let toml = format!("[nats]\nurl = 'nats://{address}'\n{settings}");
        let place = |number: usize| match &wire {
            Some(wire) => Place::with_settings(&toml).in_namespace(&wire.names[number]),
            None => Place::with_settings(&toml),
        };
        let (first, second) = (place(0), place(1));
        let listening = format!("listen: '{address}'\njetstream {{ store_dir: 'nats' }}\n");
        fs::write(first.file("nats.conf"), listening).expect("the place can be written to");
        let log = File::create(first.file("nats.log")).expect("the place can be written to");
        let mut nats = first.shell(&format!("exec '{}' -c nats.conf", program.display()));
        // Nobody waits until it listens: post offices try again until it does.
        let nats = nats.stdout(Stdio::null()).stderr(log).spawn().expect("nats-server starts");
        Some(Self { first, second, nats, wire })
    }

    /// Nothing comes through any more. No connection is closed by that.
    pub fn cut(&self) {
        match &self.wire {
            Some(wire) => wire.set("down"),
            None => send_signal("-STOP", self.nats.id()),
        }
    }

    /// Everything comes through again.
    pub fn mend(&self) {
        match &self.wire {
            Some(wire) => wire.set("up"),
            None => send_signal("-CONT", self.nats.id()),
        }
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        let _ = self.nats.kill();
        let _ = self.nats.wait();
    }
}

impl Wire {
    /// Makes the namespaces and joins them, or says why that cannot be.
    fn lay() -> Result<Self, String> {
        let pair = format!("postrider-{}-{}", std::process::id(), PAIRS.fetch_add(1, Ordering::SeqCst));
        // From here on they go when this is dropped, also if only some of them could be made.
        let wire = Self { names: [format!("{pair}-first"), format!("{pair}-second")] };
        let [first, second] = &wire.names;
        ip(&["netns", "add", first])?;
        ip(&["netns", "add", second])?;
        ip(&["-n", first, "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", second])?;
        for (name, address) in wire.names.iter().zip(ADDRESSES) {
            ip(&["-n", name, "address", "add", &format!("{address}/24"), "dev", "wire"])?;
            ip(&["-n", name, "link", "set", "lo", "up"])?;
            ip(&["-n", name, "link", "set", "wire", "up"])?;
        }
        Ok(wire)
    }

    fn set(&self, state: &str) {
        ip(&["-n", &self.names[1], "link", "set", "wire", state]).expect("a wire can be cut and mended");
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = ip(&["netns", "delete", name]);
        }
    }
}

fn ip(words: &[&str]) -> Result<(), String> {
    let ran = Command::new("ip").args(words).output().map_err(|error| format!("ip cannot be run: {error}"))?;
    let complaint = || format!("ip {}: {}", words.join(" "), String::from_utf8_lossy(&ran.stderr).trim());
    ran.status.success().then_some(()).ok_or_else(complaint)
}

/// Says which kind of machines they are. On a build machine the superuser has to have real ones.
fn tell_which(what: &str, why_not: Option<&String>) {
    let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true" || ci == "1");
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0");
    let how = match why_not {
        None => "two network namespaces".to_owned(),
        Some(why) => {
            assert!(!(is_ci && is_root), "a build machine must have network namespaces: {why}");
            format!("two homes on one loopback, for want of network namespaces ({why})")
        }
    };
    // Written past the test's own capture, so that it is seen.
    let word = format!("\ntwo machines: {what}: {how}\n");
    std::io::stderr().write_all(word.as_bytes()).expect("standard error can be written to");
}

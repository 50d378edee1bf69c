//! What `postrider stdio` subscribes to for its client: one stream at the server, no notice for nothing, and none missed.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::driven::{Client, DEADLINE, Home, PROJECT, Server};

/// Long enough for a notice to come that should not.
const A_WHILE: Duration = Duration::from_millis(1500);

/// The open streams: what was asked for, and the connection.
type Streams = BTreeMap<u64, (String, TcpStream)>;

/// A way to a server that can be cut, and that knows which streams of notices are open on it.
struct Proxy {
    address: SocketAddr,
    server: String,
    open: Arc<Mutex<Streams>>,
    accepting: Option<JoinHandle<()>>,
}

impl Proxy {
    fn to(server: &Server) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let server = server.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        let mut proxy = Proxy { address, server, open: Arc::default(), accepting: None };
        proxy.accept_on(listener);
        proxy
    }

    fn accept_on(&mut self, listener: TcpListener) {
        let (open, server, mut number) = (self.open.clone(), self.server.clone(), 0);
        self.accepting = Some(thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let mut first = [0; 3];
                if client.peek(&mut first).is_ok() && &first == b"CUT" {
                    break;
                }
                let (open, server) = (open.clone(), TcpStream::connect(&server).expect("the server listens"));
                number += 1;
                thread::spawn(move || carry(number, client, server, &open));
            }
        }));
    }

    /// Breaks every stream, and accepts nobody any more.
    fn cut(&mut self) {
        TcpStream::connect(self.address).and_then(|mut way| way.write_all(b"CUT")).expect("the proxy listens");
        drop(self.accepting.take().expect("the proxy listens").join());
        for (_, stream) in self.open.lock().unwrap().values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Accepts everybody again.
    fn mend(&mut self) {
        self.accept_on(TcpListener::bind(self.address).expect("the port is still free"));
    }

    /// Waits until the requests behind the open streams are as `expected`.
    fn wait_for_streams(&self, expected: impl Fn(&[String]) -> bool) {
        let end = Instant::now() + DEADLINE;
        loop {
            let requests: Vec<String> = self.open.lock().unwrap().values().map(|(text, _)| text.clone()).collect();
            if expected(&requests) {
                return;
            }
            assert!(Instant::now() < end, "{requests:#?}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn carry(number: u64, client: TcpStream, server: TcpStream, open: &Mutex<Streams>) {
    let (mut from, mut to) = (client.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
    let back = thread::spawn(move || {
        let _ = std::io::copy(&mut &server, &mut &client);
        let _ = client.shutdown(Shutdown::Both);
    });
    let (mut request, mut bytes, mut is_stream) = (String::new(), [0; 64 * 1024], false);
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        request.push_str(&String::from_utf8_lossy(&bytes[..count]));
        is_stream |= request.contains("subscriptions/listen");
        if is_stream {
            let stream = from.try_clone().expect("a socket");
            open.lock().unwrap().insert(number, (request.clone(), stream));
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    if is_stream {
        open.lock().unwrap().remove(&number);
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    let _ = back.join();
}

fn inbox_uri(name: &str) -> String {
    format!("resource://inbox/{name}?project={}", PROJECT.replace('/', "%2F"))
}

fn subscribe(client: &mut Client, uri: &str) {
    assert_eq!(client.ask("resources/subscribe", json!({ "uri": uri }))["result"], json!({}));
}

/// The next notice that comes within `within`, for `uri`.
fn notice(client: &mut Client, uri: &str, within: Duration) -> Option<Value> {
    let is_notice =
        |message: &Value| message["method"] == "notifications/resources/updated" && message["params"]["uri"] == uri;
    client.next_within(within, is_notice)
}

/// A server with agents, somebody who writes to them, and a client that comes by a proxy.
fn by_proxy(home: &Home, names: &[&str]) -> (Server, Client, Proxy, Client) {
    let server = home.serve(&[], &[]);
    let mut writer = home.client();
    writer.register("Writer");
    names.iter().for_each(|name| writer.register(name));
    let proxy = Proxy::to(&server);
    let client = home.client_with(&[], &[("POSTRIDER_URL", &format!("http://{}", proxy.address))]);
    (server, writer, proxy, client)
}

#[test]
fn all_that_a_client_subscribed_to_comes_by_one_stream() {
    let names = ["Anna", "Bert", "Carl", "Dora"];
    let home = Home::new();
    let (_server, mut writer, proxy, mut client) = by_proxy(&home, &names);
    client.initialize();
    for name in names {
        subscribe(&mut client, &inbox_uri(name));
    }
    proxy.wait_for_streams(|open| open.len() == 1 && names.iter().all(|name| open[0].contains(&inbox_uri(name))));
    // What was subscribed to before may be told once when the list grew, and what came last is not.
    assert_eq!(notice(&mut client, &inbox_uri("Dora"), A_WHILE), None);
    client.forget_notices();
    for name in names {
        writer.send("Writer", name, "news");
        assert!(notice(&mut client, &inbox_uri(name), DEADLINE).is_some());
    }
    for name in names {
        proxy.wait_for_streams(|open| open.len() == 1);
        client.ask("resources/unsubscribe", json!({ "uri": inbox_uri(name) }));
        writer.send("Writer", name, "nobody wants to know");
    }
    proxy.wait_for_streams(<[String]>::is_empty);
    assert!(client.leave().is_empty());
}

#[test]
fn many_subscriptions_in_a_row_are_told_of_once_at_most() {
    let home = Home::new();
    let names: Vec<String> = (0..10).map(|number| format!("Agent{number}")).collect();
    let (_server, _writer, _proxy, mut client) = by_proxy(&home, &names.iter().map(String::as_str).collect::<Vec<_>>());
    client.initialize();
    names.iter().for_each(|name| subscribe(&mut client, &inbox_uri(name)));
    thread::sleep(A_WHILE);
    let told = client.leave();
    assert!(told.len() < 2 * names.len(), "{told:#?}");
}

#[test]
fn nothing_is_told_before_something_changes_and_what_changes_behind_the_answer_is() {
    let with_server = Home::new();
    let _server = with_server.serve(&[], &[]);
    for home in [&Home::new(), &with_server] {
        let (mut reader, mut writer) = (home.client(), home.client());
        reader.initialize();
        for name in ["Writer", "Silent", "Anna", "Bert", "Carl"] {
            writer.register(name);
        }
        subscribe(&mut reader, &inbox_uri("Silent"));
        assert_eq!(notice(&mut reader, &inbox_uri("Silent"), A_WHILE), None);
        for name in ["Anna", "Bert", "Carl"] {
            subscribe(&mut reader, &inbox_uri(name));
            writer.send("Writer", name, "right behind the answer");
            assert!(notice(&mut reader, &inbox_uri(name), DEADLINE).is_some());
        }
        // One that was taken back and one that is there already are answered like the first.
        reader.ask("resources/unsubscribe", json!({ "uri": inbox_uri("Silent") }));
        subscribe(&mut reader, &inbox_uri("Silent"));
        subscribe(&mut reader, &inbox_uri("Silent"));
        writer.send("Writer", "Silent", "one");
        assert!(notice(&mut reader, &inbox_uri("Silent"), DEADLINE).is_some());
        reader.leave();
    }
}

#[test]
fn a_subscription_is_answered_when_its_stream_is_open() {
    let home = Home::new();
    let (_server, mut writer, proxy, mut client) = by_proxy(&home, &["Anna"]);
    client.initialize();
    let uri = inbox_uri("Anna");
    // No stream opens while nobody may write it down.
    let held = proxy.open.lock().unwrap();
    let subscribing = client.begin("resources/subscribe", json!({ "uri": uri }));
    assert_eq!(client.next_within(A_WHILE, |_| true), None);
    drop(held);
    assert_eq!(client.answer(subscribing)["result"], json!({}));
    writer.send("Writer", "Anna", "right behind the answer");
    assert!(notice(&mut client, &uri, DEADLINE).is_some());
}

#[test]
fn what_changes_while_the_stream_is_broken_is_told() {
    let home = Home::new();
    let (_server, mut writer, mut proxy, mut client) = by_proxy(&home, &["Anna", "Bert"]);
    client.initialize();
    let uris = [inbox_uri("Anna"), inbox_uri("Bert")];
    uris.iter().for_each(|uri| subscribe(&mut client, uri));
    proxy.wait_for_streams(|open| open.len() == 1 && uris.iter().all(|uri| open[0].contains(uri)));
    thread::sleep(A_WHILE);
    proxy.cut();
    // That it broke is told, and nothing while nobody is there.
    uris.iter().for_each(|uri| assert!(notice(&mut client, uri, DEADLINE).is_some()));
    while client.next_within(A_WHILE, |_| true).is_some() {}
    writer.send("Writer", "Anna", "unseen");
    assert_eq!(notice(&mut client, &uris[0], A_WHILE), None);
    proxy.mend();
    assert!(notice(&mut client, &uris[0], DEADLINE).is_some());
    proxy.wait_for_streams(|open| open.len() == 1 && uris.iter().all(|uri| open[0].contains(uri)));
    while client.next_within(A_WHILE, |_| true).is_some() {}
    writer.send("Writer", "Bert", "seen");
    assert!(notice(&mut client, &uris[1], DEADLINE).is_some());
}

#[test]
fn what_is_subscribed_to_again_without_the_server_is_told_once() {
    let home = Home::new();
    let server = home.serve(&[], &[]);
    let (mut anna, mut bert) = (home.client(), home.client());
    anna.initialize();
    anna.register("Anna");
    bert.register("Bert");
    let uri = inbox_uri("Anna");
    subscribe(&mut anna, &uri);
    server.stop();
    assert!(notice(&mut anna, &uri, DEADLINE).is_some());
    subscribe(&mut anna, &uri);
    while anna.next_within(A_WHILE, |_| true).is_some() {}
    bert.send("Bert", "Anna", "news");
    assert!(notice(&mut anna, &uri, DEADLINE).is_some());
    assert_eq!(notice(&mut anna, &uri, A_WHILE), None);
}

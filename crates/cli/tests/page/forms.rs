//! What changes something is taken from our own pages alone: other sites, other names for this machine, forms of other
//! browsers and none at all are refused, and change nothing. No browser is needed to be a bad one.

use serde_json::json;

use super::TOKEN;
use crate::harness::http::Answer;
use crate::harness::mcp::PROJECT;
use crate::harness::{Place, Server};

const SLUG: &str = "data-projects-app";

/// A browser that says of itself what it is told to.
struct Visitor<'a> {
    server: &'a Server,
    cookies: String,
    form: String,
}

impl<'a> Visitor<'a> {
    /// Somebody who has looked at a page of the server.
    fn new(server: &'a Server, more: &str) -> Self {
        let page = server.send("GET", "/", &[("Cookie", more)], "");
        assert_eq!(page.status, 200, "{page:?}");
        let cookies = format!("{}; {more}", cookies(&page));
        let form = page.body.split("name=\"form\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        Self { server, cookies, form: form.expect("a page has a form").to_owned() }
    }

    /// Sends a form with these headers; the cookies go along, as browsers have it.
    fn post(&self, path: &str, form: &str, headers: &[(&str, &str)]) -> Answer {
        let usual = [("Cookie", self.cookies.as_str()), ("Content-Type", "application/x-www-form-urlencoded")];
        self.server.send("POST", path, &[&usual, headers].concat(), form)
    }

    /// A form of a page, with what the page gave along.
    fn filled(&self, fields: &str) -> String {
        format!("form={}&{fields}", self.form)
    }
}

/// What a browser keeps of an answer.
fn cookies(answer: &Answer) -> String {
    let set = answer.headers.iter().filter(|(name, _)| name == "set-cookie");
    set.filter_map(|(_, cookie)| cookie.split(';').next()).collect::<Vec<_>>().join("; ")
}

/// A server with somebody who holds something and has mail.
fn office() -> Server {
    let server = Place::new().serve();
    server.register(&["GreenDog", "BlueLake"]);
    server.mail("GreenDog", "BlueLake", "Hello");
    let reservation =
        json!({ "project_key": PROJECT, "agent_name": "GreenDog", "paths": ["src/**"], "ttl_seconds": 3600 });
    server.call("file_reservation_paths", reservation);
    server
}

/// Every form there is: its address below the project, and what it says.
const FORMS: [(&str, &str); 9] = [
    ("send", "to=GreenDog&name=Ada&subject=Hi&body=Hi&importance=normal&key=k"),
    ("message/1/reply", "name=Ada&body=Hi&importance=normal&key=l"),
    ("message/1/read", ""),
    ("message/1/acknowledge", ""),
    ("message/1/archive", "recipient=BlueLake"),
    ("message/1/bring-back", "recipient=BlueLake"),
    ("reservations/1/release", ""),
    ("agents/retire", "agent=BlueLake"),
    ("agents/retire", "agent=GreenDog"),
];

/// Checks that a form is refused because of where it comes from, and that nothing is otherwise than before.
fn refused(visitor: &Visitor<'_>, what: &str, headers: &[(&str, &str)], form: impl Fn(&str) -> String) {
    let before = visitor.server.place.kept();
    for (path, fields) in FORMS {
        let answer = visitor.post(&format!("/p/{SLUG}/{path}"), &form(fields), headers);
        assert_eq!(answer.status, 403, "{what}: {path} {answer:?}");
        assert!(answer.header("content-security-policy").is_some(), "{what}: {path} {answer:?}");
    }
    for path in ["/name", "/logout"] {
        assert_eq!(visitor.post(path, &form("name=Eve"), headers).status, 403, "{what}: {path}");
    }
    assert!(visitor.server.place.kept() == before, "{what} changed something");
}

#[test]
fn forms_of_other_sites_are_refused_and_change_nothing() {
    let server = office();
    let visitor = Visitor::new(&server, "");
    let own = format!("http://{}", server.address);
    let filled = |fields: &str| visitor.filled(fields);
    let port = server.address.rsplit(':').next().expect("an address has a port");
    refused(&visitor, "no origin", &[], filled);
    for origin in [
        "https://evil.example",
        "http://localhost:1",
        "null",
        &own.replace("http", "ftp"),
        &format!("{own}.evil.example"),
    ] {
        refused(&visitor, origin, &[("Origin", origin)], filled);
    }
    for site in ["cross-site", "same-site", "none"] {
        refused(&visitor, site, &[("Origin", &own), ("Sec-Fetch-Site", site)], filled);
    }
    let other_name = format!("http://localhost:{port}");
    refused(&visitor, "another name of this machine", &[("Origin", &other_name)], filled);
}

#[test]
fn forms_that_this_browser_was_not_given_are_refused_and_change_nothing() {
    let server = office();
    let (visitor, other) = (Visitor::new(&server, ""), Visitor::new(&server, ""));
    let own = format!("http://{}", server.address);
    let ours = [("Origin", own.as_str()), ("Sec-Fetch-Site", "same-origin")];
    refused(&visitor, "no form", &ours, str::to_owned);
    refused(&visitor, "the form of another browser", &ours, |fields| other.filled(fields));
    refused(&visitor, "a form that was made up", &ours, |fields| format!("form=00.{}&{fields}", "0".repeat(64)));
    let stranger = Visitor { cookies: String::new(), form: visitor.form.clone(), server: &server };
    refused(&stranger, "no browser", &ours, |fields| stranger.filled(fields));
    // The same forms are taken when nothing is wrong with them.
    let taken = |(path, fields): &(&str, &str)| {
        let answer = visitor.post(&format!("/p/{SLUG}/{path}"), &visitor.filled(fields), &ours);
        assert_eq!(answer.status, 303, "{path} {answer:?}");
    };
    FORMS.iter().filter(|(path, _)| !["message/1/read", "message/1/acknowledge"].contains(path)).for_each(taken);
}

#[test]
fn a_form_that_is_shown_again_is_the_same_message_when_it_is_sent_again() {
    let server = office();
    let visitor = Visitor::new(&server, "");
    let own = format!("http://{}", server.address);
    let ours = [("Origin", own.as_str()), ("Sec-Fetch-Site", "same-origin")];
    for (path, fields) in [
        ("send", "to=Nobody&name=Ada&subject=Hi&body=Hi&importance=normal&key=first-try"),
        ("message/1/reply", "name=GreenDog&body=Hi&importance=normal&key=first-try"),
    ] {
        let shown = visitor.post(&format!("/p/{SLUG}/{path}"), &visitor.filled(fields), &ours);
        assert_eq!(shown.status, 400, "{path} {shown:?}");
        assert!(shown.body.contains(r#"name="key" value="first-try""#), "{path} {shown:?}");
    }
}

#[test]
fn a_page_under_a_foreign_name_for_this_machine_sees_and_changes_nothing() {
    let server = office();
    let visitor = Visitor::new(&server, "");
    let port = server.address.rsplit(':').next().expect("an address has a port");
    let host = format!("evil.example:{port}");
    let origin = format!("http://{host}");
    let foreign = [("Host", host.as_str()), ("Origin", origin.as_str()), ("Sec-Fetch-Site", "same-origin")];
    refused(&visitor, "a foreign name", &foreign, |fields| visitor.filled(fields));
    let pages =
        ["", "thread/1", "message/1", "message/1/text", "agents", "work", "reservations", "channels", "log", "compose"];
    let pages = pages.map(|page| format!("/p/{SLUG}/{page}"));
    let others = ["/", "/mail", "/search?q=hello", "/compose", "/live", "/login"].map(str::to_owned);
    for path in pages.iter().chain(&others) {
        let answer = server.send("GET", path, &foreign[..1], "");
        assert_eq!(answer.status, 403, "{path} {answer:?}");
        assert!(!answer.body.contains("Hello") && !answer.body.contains("GreenDog"), "{path} {answer:?}");
    }
}

#[test]
fn no_other_page_is_told_what_is_here() {
    let server = office();
    for path in ["/", "/mail", "/live", "/favicon.svg", &format!("/p/{SLUG}/message/1/text")] {
        let origin = [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")];
        let stream = server.open("GET", path, &origin, "").expect("the server answers");
        let head = &stream.head;
        assert_eq!(head.header("access-control-allow-origin"), None, "{path}");
        assert_eq!(head.header("cross-origin-resource-policy"), Some("same-origin"), "{path} {head:?}");
        assert_eq!(head.header("x-content-type-options"), Some("nosniff"), "{path} {head:?}");
    }
}

#[test]
fn tokens_can_be_tried_ten_times_a_minute() {
    let server = Place::new().serve_with(&[], &[("AGENT_MAIL_BEARER_TOKEN", TOKEN)]);
    let own = format!("http://{}", server.address);
    let headers = [("Origin", own.as_str()), ("Content-Type", "application/x-www-form-urlencoded")];
    let try_token = |token: &str| server.send("POST", "/login", &headers, format!("next=%2Fmail&token={token}"));
    let foreign =
        server.send("POST", "/login", &[("Origin", "https://evil.example"), headers[1]], format!("token={TOKEN}"));
    assert_eq!((foreign.status, cookies(&foreign).as_str()), (403, ""));
    let right = try_token(TOKEN);
    assert_eq!((right.status, right.header("location")), (303, Some("/mail")));
    let cookie = right.header("set-cookie").expect("who is in gets a cookie");
    assert!(["HttpOnly", "SameSite=Lax", "Path=/"].iter().all(|part| cookie.contains(part)), "{cookie}");
    for _ in 0..9 {
        let wrong = try_token("wrong");
        assert_eq!((wrong.status, cookies(&wrong).as_str()), (401, ""));
    }
    let late = try_token(TOKEN);
    assert_eq!((late.status, cookies(&late).as_str()), (429, ""));
    // Whoever is in stays in.
    let visitor = Visitor::new(&server, &cookies(&right));
    let out = visitor.post("/logout", &visitor.filled(""), &headers[..1]);
    assert_eq!((out.status, out.header("location")), (303, Some("/login")));
    assert!(out.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0")), "{out:?}");
}

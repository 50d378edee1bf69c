//! A person's request: who may look, what may be changed from where, and signing in and out.
//!
//! A page is let in like any other request (host, rate, how many at once), but shows a cookie where programs show the
//! token. Whatever changes something has to come from a page of ours, with a form that this browser was given.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ::http::header::{HOST, LOCATION, REFERER, SET_COOKIE};
use ::http::request::Parts;
use ::http::{HeaderMap, HeaderValue, StatusCode};
use askama::Template;
use axum::extract::{ConnectInfo, FromRequest, FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use mail::Office;
use mail::projects::{Project, ProjectKey};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::frame::Frame;
use super::refused::{PageResult, Refused};
use super::session::{Visitor, is_from_our_page, random};
use crate::http::{Admitted, Door};

/// Somebody who may look.
pub struct Visit {
    pub door: Arc<Door>,
    /// What the browser sent along.
    pub headers: HeaderMap,
    visitor: Visitor,
    /// What tells this browser from others, and whether it does not know that yet.
    browser: String,
    is_new: bool,
    /// The name that the person writes under.
    pub person: String,
    /// What its forms carry.
    form: String,
    /// Whether one can sign out.
    signs_out: bool,
    _admitted: Admitted,
}

/// Somebody who may look and sent a form of ours.
pub struct Posted<T> {
    pub visit: Visit,
    /// What the form says.
    pub form: T,
}

impl FromRequestParts<Arc<Door>> for Visit {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, door: &Arc<Door>) -> Result<Self, Refused> {
        let visitor = Visitor::of(&parts.headers);
        let keys = door.web.keys(&door.office).await?;
        let is_let_in = keys.lets_in(&visitor);
        let admitted = match door.admission.admit_person(&parts.headers, peer(parts), is_let_in).await {
            // Whoever reads can sign in; whoever changes something has to look again first.
            Err(problem) if problem.status() == 401 => {
                let wanted = parts.uri.path_and_query().map_or("/", |wanted| wanted.as_str());
                let is_page = parts.method == ::http::Method::GET && parts.uri.path() != "/live";
                return Err(if is_page { Refused::SignInFirst(wanted.to_owned()) } else { Refused::signed_out() });
            }
            admitted => admitted?,
        };
        let browser = visitor.browser.clone().unwrap_or_else(random);
        Ok(Self {
            door: door.clone(),
            headers: parts.headers.clone(),
            is_new: visitor.browser.is_none(),
            person: visitor.name.clone().unwrap_or_else(|| door.web.person.clone()),
            form: keys.form(&browser),
            signs_out: keys.asks_for_a_token(),
            browser,
            visitor,
            _admitted: admitted,
        })
    }
}

impl Visit {
    /// The office that is looked at.
    pub fn office(&self) -> &Office {
        &self.door.office
    }

    /// The same office, asked by the person who looks.
    pub fn office_for_person(&self) -> Office {
        self.door.office.for_person()
    }

    /// The project that an address names: by its slug alone, for a path has slashes in it.
    pub async fn project(&self, slug: &str) -> Result<Project, Refused> {
        if !matches!(ProjectKey::parse(slug)?, ProjectKey::Slug(_)) {
            return Err(Refused::nothing_here());
        }
        Ok(self.office().project(slug).await?)
    }

    /// The project that a filter names, if it names one.
    pub async fn project_if_any(&self, slug: &str) -> Result<Option<Project>, Refused> {
        if slug.is_empty() { Ok(None) } else { self.project(slug).await.map(Some) }
    }

    /// What is around a page.
    pub fn frame(&self, title: &str, place: &'static str) -> Frame {
        Frame {
            place,
            person: self.person.clone(),
            form: self.form.clone(),
            signs_out: self.signs_out,
            is_inside: true,
            now: self.office().now(),
            ..Frame::outside(title)
        }
    }

    /// Sends a page.
    pub fn page(&self, page: &impl Template) -> PageResult {
        let mut response = super::frame::page(page, StatusCode::OK, &self.headers)?;
        if self.is_new {
            let cookie = self.visitor.browser_cookie(&self.browser, &self.headers);
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        Ok(response)
    }

    /// The page that a form was on, without what it said of things done.
    pub fn came_from(&self) -> String {
        let text =
            |name| self.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
        let behind_scheme = text(REFERER).split_once("://").map_or("", |(_, rest)| rest);
        let next = behind_scheme.strip_prefix(text(HOST)).unwrap_or_default();
        Destination { next: next.split("done=").next().unwrap_or_default().to_owned() }.address().to_owned()
    }

    /// Sends somebody on to another page, and has the browser remember the name that was written under.
    pub fn on_to(&self, address: &str, name: Option<&str>) -> Response {
        let mut response = see(address);
        if let Some(name) = name {
            response.headers_mut().append(SET_COOKIE, self.visitor.name_cookie(name, &self.headers));
        }
        response
    }
}

/// The part of a form that says where it comes from.
#[derive(Deserialize)]
struct Origin {
    #[serde(default)]
    form: String,
}

impl<T: DeserializeOwned> FromRequest<Arc<Door>> for Posted<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, door: &Arc<Door>) -> Result<Self, Refused> {
        let (mut parts, body) = request.into_parts();
        if !is_from_our_page(&parts.headers) {
            return Err(Refused::foreign_form());
        }
        let visit = Visit::from_request_parts(&mut parts, door).await?;
        let body = door.body_budget.read(&parts.headers, body).await?;
        let origin: Origin = serde_urlencoded::from_bytes(&body.bytes).map_err(|_| Refused::odd_form())?;
        if !door.web.keys(&door.office).await?.is_form_of(&visit.visitor, &origin.form) {
            return Err(Refused::old_form());
        }
        let form = serde_urlencoded::from_bytes(&body.bytes).map_err(|_| Refused::odd_form())?;
        Ok(Self { visit, form })
    }
}

fn peer(parts: &Parts) -> IpAddr {
    let known = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    known.map_or(IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), |ConnectInfo(peer)| peer.ip())
}

/// "See there", after something was changed: going back does not change it again.
pub fn see(address: &str) -> Response {
    let address = HeaderValue::try_from(address).unwrap_or_else(|_| HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(LOCATION, address)]).into_response()
}

/// What stands in an address as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A piece of text as part of an address.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// What an address says behind its `?`.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Arc<Door>> for Query<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Door>) -> Result<Self, Refused> {
        let query = serde_urlencoded::from_str(parts.uri.query().unwrap_or_default());
        query.map(Self).map_err(|_| Refused::odd_address())
    }
}

/// Where a list begins or ends, and what was just done.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct PageQuery {
    pub after: Option<i64>,
    pub before: Option<i64>,
    pub done: Option<String>,
}

/// Where somebody wanted to go.
#[derive(Deserialize)]
pub struct Destination {
    #[serde(default)]
    next: String,
}

impl Destination {
    /// That place, if it is one of ours.
    fn address(&self) -> &str {
        // Browsers leave out control characters, and take a backslash for a slash.
        let is_odd = |letter: char| letter.is_control() || letter == '\\';
        let is_ours = self.next.starts_with('/') && !self.next.starts_with("//") && !self.next.contains(is_odd);
        if is_ours { &self.next } else { "/" }
    }
}

#[derive(Template)]
#[template(path = "login.html")]
struct Login<'a> {
    frame: Frame,
    next: &'a str,
    is_wrong: bool,
}

/// `GET /login`
pub async fn ask_for_token(
    State(door): State<Arc<Door>>,
    Query(wanted): Query<Destination>,
    headers: HeaderMap,
) -> PageResult {
    door.admission.check_host(&headers)?;
    if door.web.keys(&door.office).await?.lets_in(&Visitor::of(&headers)) {
        return Ok(see(wanted.address()));
    }
    login(&wanted, false, StatusCode::OK, &headers)
}

fn login(wanted: &Destination, is_wrong: bool, status: StatusCode, headers: &HeaderMap) -> PageResult {
    let frame = Frame::outside("Sign in");
    super::frame::page(&Login { frame, next: wanted.address(), is_wrong }, status, headers)
}

/// What the page for signing in sends.
#[derive(Deserialize)]
struct Token {
    #[serde(default)]
    token: String,
    #[serde(flatten)]
    wanted: Destination,
}

/// `POST /login`. Nobody has a form of ours before this, so it is enough that it comes from our page.
pub async fn sign_in(
    State(door): State<Arc<Door>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
) -> PageResult {
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    door.admission.check_host(&headers)?;
    if !is_from_our_page(&headers) {
        return Err(Refused::foreign_form());
    }
    if door.web.tries.check_key(&peer.ip()).is_err() {
        return Err(Refused::too_many_tries());
    }
    door.web.tries.retain_recent();
    let body = door.body_budget.read(&headers, body).await?;
    let given: Token = serde_urlencoded::from_bytes(&body.bytes).map_err(|_| Refused::odd_form())?;
    let keys = door.web.keys(&door.office).await?;
    if !keys.is_token(given.token.trim()) {
        tracing::warn!(peer = %peer.ip(), "a wrong token was tried at the page");
        return login(&given.wanted, true, StatusCode::UNAUTHORIZED, &headers);
    }
    let mut response = see(given.wanted.address());
    response.headers_mut().append(SET_COOKIE, keys.signed_in(&Visitor::of(&headers), &headers));
    Ok(response)
}

/// What a form says that says only that it was sent.
#[derive(Deserialize)]
pub struct Plain {}

/// `POST /logout`
pub async fn sign_out(Posted { visit, .. }: Posted<Plain>) -> Response {
    let mut response = see("/login");
    response.headers_mut().append(SET_COOKIE, visit.visitor.signed_out(&visit.headers));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_anywhere_but_to_our_own_pages() {
        let address = |next: &str| Destination { next: next.to_owned() }.address().to_owned();
        assert_eq!([address("/mail?unread=1"), address("")], ["/mail?unread=1", "/"]);
        for elsewhere in [
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "javascript:1",
            "/a\r\nb: c",
            "/\t/evil.example",
        ] {
            assert_eq!(address(elsewhere), "/", "{elsewhere:?}");
        }
    }
}

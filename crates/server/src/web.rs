//! The page for people: what agents say to each other, who is stuck, who holds what; and stepping in as oneself.
//!
//! Every page is HTML made by the server and works without a script; the script lets a page look again when something
//! happened. Pages show and ask; whatever is decided is decided by the office.

mod agents;
mod assets;
mod channels;
mod events;
mod forms;
mod frame;
mod live;
mod markdown;
mod messages;
mod overview;
mod picture;
mod projects;
mod refused;
mod reservations;
mod search;
mod session;
mod threads;
mod times;
mod visit;
mod who;
mod work;

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use ::http::HeaderValue;
use ::http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use mail::Office;

use crate::http::Door;
pub use assets::ICON;
use forms::Action;
use live::Live;
use refused::Refused;
use session::Keys;
use tokio::sync::OnceCell;

/// How many tokens an address may try in a minute.
const TRIES_A_MINUTE: NonZeroU32 = NonZeroU32::new(10).expect("it is more than none");

/// Nothing comes from anywhere but this server, and nothing that stands in a page runs.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What the pages need beside the office.
pub struct Web {
    /// What people sign in with; none where nobody has to.
    token: Option<String>,
    keys: OnceCell<Keys>,
    /// The name that a person has who has not chosen one.
    person: String,
    live: Arc<Live>,
    tries: DefaultKeyedRateLimiter<IpAddr>,
}

impl Web {
    /// The pages of a server with that token, for somebody called `person`.
    pub fn new(office: &Arc<Office>, token: Option<String>, person: String) -> Self {
        let tries = RateLimiter::keyed(Quota::per_minute(TRIES_A_MINUTE));
        Self { token, keys: OnceCell::new(), person, live: Live::new(office.clone()), tries }
    }
}

impl Web {
    /// What is signed with: the same at every server of an office, and after every start.
    async fn keys(&self, office: &Office) -> Result<&Keys, Refused> {
        let making = async {
            let secret = match &self.token {
                Some(token) => token.clone(),
                None => office.store().office_id().await?,
            };
            Ok(Keys::new(self.token.clone(), &secret))
        };
        self.keys.get_or_try_init(|| making).await
    }

    /// Tells pages that are open of what happens, until the office closes.
    pub fn follow(&self) -> impl Future<Output = ()> + Send + 'static {
        self.live.clone().follow()
    }
}

/// The answer to whoever looks for a page that is not there.
pub async fn nothing_here() -> Response {
    guarded(Refused::nothing_here().into_response()).await
}

/// The addresses of all pages.
pub fn routes() -> Router<Arc<Door>> {
    let change = |action| post(move |path, posted| forms::change(action, path, posted));
    Router::new()
        .route("/", get(overview::show))
        .route("/mail", get(messages::show))
        .route("/search", get(search::show))
        .route("/compose", get(messages::choose_project))
        .route("/live", get(live::listen))
        .route("/login", get(visit::ask_for_token).post(visit::sign_in))
        .route("/logout", post(visit::sign_out))
        .route("/name", post(forms::choose_name))
        .route("/assets/{version}/{name}", get(assets::show))
        .route("/favicon.svg", get(assets::icon))
        .route("/p/{project}", get(projects::with_slash))
        .route("/p/{project}/", get(projects::show))
        .route("/p/{project}/thread/{thread}", get(threads::show))
        .route("/p/{project}/message/{id}", get(threads::of_message))
        .route("/p/{project}/message/{id}/text", get(threads::whole_text))
        .route("/p/{project}/agents", get(agents::show))
        .route("/p/{project}/work", get(work::show))
        .route("/p/{project}/reservations", get(reservations::show))
        .route("/p/{project}/channels", get(channels::list))
        .route("/p/{project}/channels/{name}", get(channels::show))
        .route("/p/{project}/log", get(events::show))
        .route("/p/{project}/compose", get(messages::compose))
        .route("/p/{project}/send", post(forms::send))
        .route("/p/{project}/message/{id}/reply", post(forms::reply))
        .route("/p/{project}/message/{id}/read", change(Action::Read))
        .route("/p/{project}/message/{id}/acknowledge", change(Action::Acknowledge))
        .route("/p/{project}/message/{id}/archive", change(Action::Archive))
        .route("/p/{project}/message/{id}/bring-back", change(Action::BringBack))
        .route("/p/{project}/reservations/{id}/release", post(forms::release))
        .route("/p/{project}/agents/retire", post(forms::retire))
        .layer(axum::middleware::map_response(guarded))
}

/// Tells browsers what a page may not do.
async fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    // Where somebody came from stays here, and our own pages still say that a form is theirs.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.append(VARY, HeaderValue::from_static("cookie, accept-encoding"));
    response
}

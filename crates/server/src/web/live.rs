//! Pages that are open learn that something happened. They are told only that, and look again.
//!
//! However many are open, the store is asked once for all of them, and not at all while none is.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::body::Body;
use axum::response::IntoResponse;
use futures_util::{StreamExt, stream};
use mail::Office;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

use super::refused::{PageResult, Refused};
use super::visit::Visit;

/// How many pages are told at once.
const MOST_PAGES: usize = 512;
/// How long the store is asked at a time.
const ASKED_FOR: Duration = Duration::from_secs(1);
/// How long changes are gathered before a page is told: one look sees them all.
const GATHERED_FOR: Duration = Duration::from_millis(150);
/// How often something is said, so that a connection that broke is noticed.
const AT_LEAST_EVERY: Duration = Duration::from_secs(20);

/// What pages that are open wait for.
pub struct Live {
    office: Arc<Office>,
    notices: watch::Sender<PageNotice>,
    arrived: Notify,
    places: Arc<Semaphore>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct PageNotice {
    number: u64,
    is_over: bool,
}

impl Live {
    /// Nobody listens yet.
    pub fn new(office: Arc<Office>) -> Arc<Self> {
        let places = Arc::new(Semaphore::new(MOST_PAGES));
        Arc::new(Self { office, notices: watch::Sender::default(), arrived: Notify::new(), places })
    }

    /// Tells those who listen of what is committed, until the office closes.
    pub async fn follow(self: Arc<Self>) {
        let mut last = None;
        while !self.office.wake().closing() {
            if self.notices.receiver_count() == 0 {
                let _ = tokio::time::timeout(ASKED_FOR, self.arrived.notified()).await;
                last = None;
                continue;
            }
            match self.office.store().changes(last, ASKED_FOR).await {
                Ok(changes) if last == Some(changes.stamp) => {}
                Ok(changes) => {
                    // The first answer says only from where to count.
                    if last.replace(changes.stamp).is_some() {
                        self.notices.send_modify(|notice| notice.number += 1);
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "pages cannot be told of news");
                    tokio::time::sleep(ASKED_FOR).await;
                }
            }
        }
        self.notices.send_modify(|notice| notice.is_over = true);
    }
}

/// One page that listens.
struct PageStream {
    notices: watch::Receiver<PageNotice>,
    _place: OwnedSemaphorePermit,
}

impl PageStream {
    /// What to say next; nothing when it is over.
    async fn next(&mut self) -> Option<String> {
        match tokio::time::timeout(AT_LEAST_EVERY, self.notices.changed()).await {
            Ok(Ok(())) => {
                tokio::time::sleep(GATHERED_FOR).await;
                let notice = *self.notices.borrow_and_update();
                (!notice.is_over).then(|| format!("event: changed\ndata: {}\n\n", notice.number))
            }
            Ok(Err(_)) => None,
            Err(_) => Some(": still here\n\n".to_owned()),
        }
    }
}

/// `GET /live`
pub async fn listen(visit: Visit) -> PageResult {
    let door = visit.door.clone();
    // A stream that only listens is not work under way.
    drop(visit);
    let live = &door.web.live;
    let place = live.places.clone().try_acquire_owned().map_err(|_| Refused::too_many_pages())?;
    let listener = PageStream { notices: live.notices.subscribe(), _place: place };
    live.arrived.notify_one();
    let notices = stream::unfold(listener, |mut listener| async { Some((listener.next().await?, listener)) });
    let said = stream::iter(["retry: 2000\n\n".to_owned()]).chain(notices).map(Ok::<_, Infallible>);
    // Without the last a proxy would gather what is said.
    let headers = [
        (CONTENT_TYPE.as_str(), "text/event-stream"),
        (CACHE_CONTROL.as_str(), "no-store"),
        ("x-accel-buffering", "no"),
    ];
    Ok((headers, Body::from_stream(said)).into_response())
}

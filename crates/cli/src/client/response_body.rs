//! The body of a request. A large one is sent only when the server has said that it wants it.
//!
//! A server that refuses a request without reading it closes the connection, and the bytes that are still on their way
//! then destroy the refusal before it is read. HTTP's `Expect: 100-continue` is made for this.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::EXPECT;
use http::{HeaderValue, Request, StatusCode};
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::Notify;

/// What is smaller fits into the buffers between us and the server, and is just sent.
const LARGE: usize = 64 << 10;
/// How long a server may take to say that it wants the body. Some never say so, and want it all the same.
const SLOWEST_CONTINUE: Duration = Duration::from_secs(1);

/// A body that may have to wait.
pub struct Waiting {
    data: Bytes,
    until_wanted: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

/// A request with this body.
pub fn request(data: Bytes) -> Request<Waiting> {
    if data.len() < LARGE {
        return Request::new(Waiting { data, until_wanted: None });
    }
    let wanted = Arc::new(Notify::new());
    let told = wanted.clone();
    let until_wanted = async move {
        let _ = tokio::time::timeout(SLOWEST_CONTINUE, told.notified()).await;
    };
    let mut request = Request::new(Waiting { data, until_wanted: Some(Box::pin(until_wanted)) });
    request.headers_mut().insert(EXPECT, HeaderValue::from_static("100-continue"));
    hyper::ext::on_informational(&mut request, move |said| {
        if said.status() == StatusCode::CONTINUE {
            wanted.notify_one();
        }
    });
    request
}

impl Body for Waiting {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(until_wanted) = &mut self.until_wanted {
            ready!(until_wanted.as_mut().poll(context));
            self.until_wanted = None;
        }
        let data = std::mem::take(&mut self.data);
        Poll::Ready((!data.is_empty()).then(|| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.data.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

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
        let mut body = request.into_body();
        assert!(is_waiting(&mut body));
        assert_eq!(body.collect().await.unwrap().to_bytes().len(), LARGE);
    }

    fn is_waiting(body: &mut Waiting) -> bool {
        Pin::new(body).poll_frame(&mut Context::from_waker(std::task::Waker::noop())).is_pending()
    }
}

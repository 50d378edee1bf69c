//! Counting what happens, for Prometheus to fetch at `/metrics`.
//!
//! Labels are names of tools and codes of refusals, never names of agents: their number stays small. Projects are named
//! for those who follow their events, a line for each: with NATS, as many as there are projects.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mail::events::Cursor;
use prometheus_client::encoding::text::{encode, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// How the names of all that is counted begin.
const PREFIX: &str = "postrider";

/// A name and its value, which tell one count from another.
type Label<V> = (&'static str, V);

/// The counters of one server.
pub struct Metrics {
    registry: Registry,
    calls: Family<[Label<&'static str>; 2], Counter>,
    seconds: Family<[Label<&'static str>; 1], Histogram>,
    refused: Family<[Label<u16>; 1], Counter>,
    /// Requests under way.
    pub in_flight: Gauge,
    /// Requests that were ever let in.
    admitted: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let calls = Family::default();
        registry.register("tool_calls", "Tool calls by tool and outcome", calls.clone());
        let buckets: fn() -> Histogram =
            || Histogram::new([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0]);
        let seconds = Family::new_with_constructor(buckets);
        registry.register("tool_seconds", "Time a tool call takes", seconds.clone());
        let refused = Family::default();
        registry.register("http_refused", "Requests refused before any tool ran, by status", refused.clone());
        let in_flight = Gauge::default();
        registry.register("requests_in_flight", "Requests under way", in_flight.clone());
        Self { registry, calls, seconds, refused, in_flight, admitted: AtomicU64::default() }
    }
}

impl Metrics {
    /// A tool was called; `refusal` is the code when it refused.
    pub fn called(&self, tool: &'static str, refusal: Option<&'static str>, took: Duration) {
        self.calls.get_or_create(&[("tool", tool), ("outcome", refusal.unwrap_or("ok"))]).inc();
        self.seconds.get_or_create(&[("tool", tool)]).observe(took.as_secs_f64());
    }

    /// A request was let in.
    pub fn admit(&self) {
        self.in_flight.inc();
        self.admitted.fetch_add(1, Ordering::Relaxed);
    }

    /// How many requests were let in so far.
    pub fn admitted(&self) -> u64 {
        self.admitted.load(Ordering::Relaxed)
    }

    /// A request was refused at the door.
    pub fn refused(&self, status: u16) {
        self.refused.get_or_create(&[("status", status)]).inc();
    }

    /// Everything, in the text format of Prometheus, with whether the store answers, and how far those have come who
    /// follow the event log.
    pub fn text(&self, is_up: bool, cursors: &[Cursor]) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail; an empty page would show that it did.
        let _ = encode_registry(&mut text, &self.registry);
        let _ = encode(&mut text, &of_now(is_up, cursors));
        text
    }
}

/// Made for each page, so that nobody who asks at the same time sees a part of it.
fn of_now(is_up: bool, cursors: &[Cursor]) -> Registry {
    let up: Gauge = Gauge::default();
    up.set(i64::from(is_up));
    let behind: Family<[Label<String>; 2], Gauge> = Family::default();
    for cursor in cursors {
        let labels = [("sink", cursor.sink.clone()), ("project", cursor.project.clone())];
        behind.get_or_create(&labels).set(cursor.newest.saturating_sub(cursor.seq));
    }
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register("store_up", "Whether the store answers", up);
    registry.register("events_behind", "Events that a follower of the log has not dealt with", behind);
    registry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_tells_of_the_followers_that_it_was_asked_about_and_of_no_others() {
        let metrics = Metrics::default();
        metrics.refused(429);
        let cursor = |project: &str| Cursor { sink: "nats".into(), project: project.into(), seq: 3, newest: 5 };
        let here = metrics.text(true, &[cursor("here")]);
        assert!(here.contains("postrider_events_behind{sink=\"nats\",project=\"here\"} 2\n"), "{here}");
        assert!(here.contains("postrider_store_up 1\n"), "{here}");
        let there = metrics.text(false, &[cursor("there")]);
        assert!(there.contains("project=\"there\"") && !there.contains("project=\"here\""), "{there}");
        assert!(there.contains("postrider_store_up 0\n"), "{there}");
        assert!(there.contains("postrider_http_refused_total{status=\"429\"} 1\n"), "{there}");
        assert!(there.ends_with("# EOF\n") && there.matches("# EOF").count() == 1, "{there}");
    }
}

//! Counting what happens, for Prometheus to fetch at `/metrics`.
//!
//! Labels are names of tools and codes of refusals, never names of agents: their number stays small. Projects are named
//! only for those who follow their events.

use std::time::Duration;

use mail::events::Cursor;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    tool: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabel {
    tool: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabel {
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FollowerLabels {
    sink: String,
    project: String,
}

/// The counters of one server.
pub struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    seconds: Family<ToolLabel, Histogram>,
    refused: Family<StatusLabel, Counter>,
    behind: Family<FollowerLabels, Gauge>,
    /// Requests under way.
    pub in_flight: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("postrider");
        let calls = Family::default();
        registry.register("tool_calls", "Tool calls by tool and outcome", calls.clone());
        let buckets: fn() -> Histogram =
            || Histogram::new([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0]);
        let seconds = Family::new_with_constructor(buckets);
        registry.register("tool_seconds", "Time a tool call takes", seconds.clone());
        let refused = Family::default();
        registry.register("http_refused", "Requests refused before any tool ran, by status", refused.clone());
        let behind = Family::default();
        registry.register("events_behind", "Events that a follower of the log has not dealt with", behind.clone());
        let in_flight = Gauge::default();
        registry.register("requests_in_flight", "Requests under way", in_flight.clone());
        Self { registry, calls, seconds, refused, behind, in_flight }
    }
}

impl Metrics {
    /// A tool was called; `refusal` is the code when it refused.
    pub fn called(&self, tool: &'static str, refusal: Option<&'static str>, took: Duration) {
        self.calls.get_or_create(&CallLabels { tool, outcome: refusal.unwrap_or("ok") }).inc();
        self.seconds.get_or_create(&ToolLabel { tool }).observe(took.as_secs_f64());
    }

    /// A request was refused at the door.
    pub fn refused(&self, status: u16) {
        self.refused.get_or_create(&StatusLabel { status }).inc();
    }

    /// How far those who follow the event log have come.
    pub fn followed(&self, cursors: &[Cursor]) {
        self.behind.clear();
        for cursor in cursors {
            let labels = FollowerLabels { sink: cursor.sink.clone(), project: cursor.project.clone() };
            self.behind.get_or_create(&labels).set(cursor.newest.saturating_sub(cursor.seq));
        }
    }

    /// Everything, in the text format of Prometheus.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail; an empty page would show that it did.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}

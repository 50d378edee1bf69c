//! The table at the end: each figure, its ceiling, their ratio, the target, and whether it was met.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

use crate::samples::median;

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Done in a second.
    PerSecond,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
    /// Bytes.
    Bytes,
    /// Millions of bytes in a second.
    MegabytesPerSecond,
    /// How many there are.
    Count,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::PerSecond => "/s",
            Self::Millis => "ms",
            Self::Micros => "µs",
            Self::Nanos => "ns",
            Self::Bytes => "B",
            Self::MegabytesPerSecond => "MB/s",
            Self::Count => "",
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            Self::PerSecond => format!("{} /s", thousands(value)),
            Self::Bytes => format!("{} B", thousands(value)),
            Self::MegabytesPerSecond => format!("{} MB/s", thousands(value)),
            Self::Count => thousands(value),
            Self::Millis | Self::Micros | Self::Nanos => format!("{value:.2} {}", self.name()),
        }
    }
}

/// What was wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// The ratio to the ceiling reaches this.
    RatioAtLeast(f64),
    /// The ratio to the ceiling stays within this.
    RatioAtMost(f64),
    /// The figure stays within this.
    FigureAtMost(f64),
}

/// What a figure is compared with.
#[derive(Clone, Copy, Debug)]
struct Ceiling {
    name: &'static str,
    value: f64,
    ratio: f64,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Line {
    what: String,
    figure: f64,
    unit: Unit,
    more: String,
    ceiling: Option<Ceiling>,
    target: Option<Target>,
}

impl Line {
    /// A figure by itself.
    pub fn new(what: impl Into<String>, figure: f64, unit: Unit) -> Self {
        Self { what: what.into(), figure, unit, more: String::new(), ceiling: None, target: None }
    }

    /// A figure that could not be taken, and why.
    pub fn not_measured(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(what, f64::NAN, Unit::Count).more(why)
    }

    /// Adds what else is worth knowing.
    pub fn more(mut self, more: impl Into<String>) -> Self {
        self.more = more.into();
        self
    }

    /// Compares the figure with a ceiling of the same unit: pairs of both, each taken at about the same time.
    ///
    /// The ratio is the median of each pair's, because a disk that is slow for a minute is slow for both.
    pub fn against(mut self, name: &'static str, pairs: &[(f64, f64)]) -> Self {
        let measured = || pairs.iter().filter(|(_, ceiling)| *ceiling > 0.0);
        self.ceiling = (measured().count() > 0).then(|| Ceiling {
            name,
            value: median(measured().map(|(_, ceiling)| *ceiling)),
            ratio: median(measured().map(|(figure, ceiling)| figure / ceiling)),
        });
        self
    }

    /// Says what was wanted.
    pub fn target(mut self, target: Target) -> Self {
        self.target = Some(target);
        self
    }

    fn ratio(&self) -> Option<f64> {
        self.ceiling.map(|ceiling| ceiling.ratio)
    }

    fn met(&self) -> Option<bool> {
        Some(match self.target? {
            Target::RatioAtLeast(wanted) => self.ratio()? >= wanted,
            Target::RatioAtMost(wanted) => self.ratio()? <= wanted,
            Target::FigureAtMost(wanted) => self.figure <= wanted,
        })
    }

    fn target_text(&self) -> String {
        match self.target {
            Some(Target::RatioAtLeast(wanted)) => format!("ratio ≥ {wanted:.2}"),
            Some(Target::RatioAtMost(wanted)) => format!("ratio ≤ {wanted:.2}"),
            Some(Target::FigureAtMost(wanted)) => format!("≤ {}", self.unit.show(wanted)),
            None => String::new(),
        }
    }

    fn cells(&self) -> [String; 7] {
        [
            self.what.clone(),
            if self.figure.is_nan() { "NOT MEASURED".to_owned() } else { self.unit.show(self.figure) },
            self.more.clone(),
            self.ceiling.map_or_else(String::new, |one| format!("{} ({})", self.unit.show(one.value), one.name)),
            self.ratio().map_or_else(String::new, |ratio| format!("{ratio:.2}")),
            self.target_text(),
            self.met().map_or("", |met| if met { "yes" } else { "NO" }).to_owned(),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "what": self.what,
            "figure": self.figure,
            "unit": self.unit.name(),
            "more": self.more,
            "ceiling": self.ceiling.map(|ceiling| json!({ "name": ceiling.name, "value": ceiling.value })),
            "ratio": self.ratio(),
            "target": self.target.map(|_| self.target_text()),
            "met": self.met(),
        })
    }
}

/// All that was measured in a run.
#[derive(Default)]
pub struct Report {
    lines: Vec<Line>,
}

impl Report {
    /// Adds a line at the end.
    pub fn add(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// For people.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(["what", "figure", "and", "ceiling", "ratio", "target", "met"]);
        for line in &self.lines {
            table.add_row(line.cells());
        }
        for column in [1, 4] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.to_string()
    }

    /// For programs.
    pub fn json(&self) -> String {
        Value::Array(self.lines.iter().map(Line::json).collect()).to_string()
    }
}

/// A whole number with a comma at every third digit.
fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.max(0.0));
    let mut shown = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_met_up_to_its_edge() {
        let sends = |figure| {
            Line::new("sends", figure, Unit::PerSecond)
                .against("raw", &[(figure, 100.0)])
                .target(Target::RatioAtLeast(0.7))
        };
        assert_eq!(sends(70.0).met(), Some(true));
        assert_eq!(sends(69.9).met(), Some(false));
        let size = |figure| Line::new("size", figure, Unit::Bytes).target(Target::FigureAtMost(10.0));
        assert_eq!(size(10.0).met(), Some(true));
        assert_eq!(size(10.1).met(), Some(false));
    }

    #[test]
    fn a_ratio_to_a_ceiling_that_was_not_measured_meets_nothing() {
        let line =
            Line::new("sends", 1.0, Unit::PerSecond).against("raw", &[(1.0, 0.0)]).target(Target::RatioAtLeast(0.0));
        assert_eq!((line.ratio(), line.met()), (None, None));
    }

    #[test]
    fn a_minute_in_which_everything_was_slow_does_not_move_the_ratio() {
        let pairs = [(70.0, 100.0), (7.0, 10.0), (71.0, 100.0)];
        let line = Line::new("sends", 70.0, Unit::PerSecond).against("raw", &pairs);
        assert_eq!(line.ratio(), Some(0.7));
    }

    #[test]
    fn the_table_and_the_json_tell_the_same() {
        let mut report = Report::default();
        let line = Line::new("sends", 1_234_567.0, Unit::PerSecond).against("raw", &[(1_234_567.0, 2_469_134.0)]);
        report.add(line.target(Target::RatioAtLeast(0.7)));
        let table = report.table();
        for told in ["sends", "1,234,567 /s", "2,469,134 /s (raw)", "0.50", "ratio ≥ 0.70", "NO"] {
            assert!(table.contains(told), "{told} is not in {table}");
        }
        let json: Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!(json[0]["ratio"], 0.5);
        assert_eq!(json[0]["met"], false);
    }

    #[test]
    fn what_could_not_be_measured_is_told_and_has_no_figure() {
        let mut report = Report::default();
        report.add(Line::not_measured("over NATS", "nats-server is not installed"));
        let table = report.table();
        assert!(table.contains("NOT MEASURED") && table.contains("nats-server is not installed"), "{table}");
        let json: Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!((&json[0]["figure"], &json[0]["what"]), (&Value::Null, &json!("over NATS")));
    }
}

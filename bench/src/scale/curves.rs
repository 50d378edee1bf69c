//! Growth curves as SVG, drawn from the figures: how each figure goes as the mail becomes more.
//!
//! Both axes are logarithmic, so that what grows with the mail is a slope and what does not is level. Readable on light and
//! dark: a picture has no ground of its own, and its ink follows the reader's choice. No drawing library: it is text.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::Value;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
/// Where the curves begin and end; to their right stand the names.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 540.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 372.0;
/// How far two names stand apart at least.
const NAME_HEIGHT: f64 = 17.0;

/// Ink that can be told apart in both themes, and by those who do not see all colours.
const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#24292f}.t{font-size:16px;font-weight:600}.g{stroke:#8c959f;\
    stroke-opacity:.35}.l{fill:none;stroke-width:2.2}.d{stroke-dasharray:6 4}.c0{stroke:#0969da}.c1{stroke:#bf5700}\
    .c2{stroke:#1a7f5a}.c3{stroke:#a4459b}.c4{stroke:#8a6d00}.c5{stroke:#57606a}@media(prefers-color-scheme:dark){text{fill:#e6edf3}\
    .c0{stroke:#58a6ff}.c1{stroke:#ff9e4f}.c2{stroke:#4fc796}.c3{stroke:#e28be0}.c4{stroke:#e3c04b}.c5{stroke:#adbac7}}";

/// One picture.
struct Chart {
    file: &'static str,
    title: &'static str,
    unit: &'static str,
    /// Each with its name, where its figure is found in a size, and what it is divided by.
    curves: &'static [(&'static str, &'static str, f64)],
}

const CHARTS: [Chart; 4] = [
    Chart {
        file: "sends.svg",
        title: "Durable sends through one server, 64 clients",
        unit: "/s",
        curves: &[("sends a second", "/sends/per_second", 1.0)],
    },
    Chart {
        file: "inbox.svg",
        title: "Reading an inbox and a thread",
        unit: "ms",
        curves: &[
            ("inbox of 20, p50", "/inbox_full/p50_ms", 1.0),
            ("inbox of 20, p99", "/inbox_full/p99_ms", 1.0),
            ("nothing new, p50", "/inbox_none_new/p50_ms", 1.0),
            ("nothing new, p99", "/inbox_none_new/p99_ms", 1.0),
            ("thread, p50", "/thread/p50_ms", 1.0),
            ("thread, p99", "/thread/p99_ms", 1.0),
        ],
    },
    Chart {
        file: "search.svg",
        title: "Searching one project of two hundred",
        unit: "ms",
        curves: &[
            ("a rare word, p50", "/search_rare/p50_ms", 1.0),
            ("a rare word, p99", "/search_rare/p99_ms", 1.0),
            ("two words, p50", "/search_two/p50_ms", 1.0),
            ("two words, p99", "/search_two/p99_ms", 1.0),
            ("a common word, p50", "/search_common/p50_ms", 1.0),
            ("a common word, p99", "/search_common/p99_ms", 1.0),
        ],
    },
    Chart {
        file: "size.svg",
        title: "On the disk",
        unit: "MB",
        curves: &[
            ("messages", "/tables/message/bytes", 1e6),
            ("their search index", "/tables/message/indexes/message_words", 1e6),
            ("their index by thread", "/tables/message/indexes/message_by_thread", 1e6),
            ("deliveries", "/tables/delivery/bytes", 1e6),
            ("their index by recipient", "/tables/delivery/indexes/delivery_pkey", 1e6),
            ("events", "/tables/event/bytes", 1e6),
        ],
    },
];

/// Draws all pictures into a folder.
pub fn draw(figures: &Value, folder: &Path) -> anyhow::Result<()> {
    let sizes = figures["sizes"].as_array().context("figures without sizes")?;
    for chart in &CHARTS {
        std::fs::write(folder.join(chart.file), svg(chart, sizes)?)?;
    }
    Ok(())
}

/// A logarithmic axis from one power of ten to another.
struct Axis {
    least: f64,
    most: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        let (least, most) = (low.log10().floor(), high.log10().ceil());
        Self { least, most: if most > least { most } else { least + 1.0 }, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        self.from + (value.log10() - self.least) / (self.most - self.least) * (self.to - self.from)
    }

    fn powers(&self) -> impl Iterator<Item = f64> {
        (self.least as i32..=self.most as i32).map(|power| 10_f64.powi(power))
    }
}

/// Points of one curve: how much mail there was, and the figure.
type Points = Vec<(f64, f64)>;

fn svg(chart: &Chart, sizes: &[Value]) -> anyhow::Result<String> {
    let mut curves: Vec<(&str, Points)> = Vec::new();
    for (name, place, divisor) in chart.curves {
        let point = |size: &Value| Some((size["size"].as_f64()?, size.pointer(place)?.as_f64()? / divisor));
        let points: Option<Points> = sizes.iter().map(point).collect();
        curves.push((name, points.with_context(|| format!("a size without '{place}'"))?));
    }
    let all = || curves.iter().flat_map(|(_, points)| points.iter().copied());
    ensure!(all().count() > 0, "nothing was measured");
    ensure!(all().all(|(mail, figure)| mail > 0.0 && figure > 0.0), "{}: a figure that is not above zero", chart.file);
    let across = Axis::over(all().map(|(mail, _)| mail), LEFT, RIGHT);
    let up = Axis::over(all().map(|(_, figure)| figure), BOTTOM, TOP);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\
         <style>{STYLE}</style>\n<text class=\"t\" x=\"{LEFT}\" y=\"26\">{title}</text>\n",
        title = chart.title
    );
    grid(&mut text, &across, &up, chart.unit)?;
    for (number, (_, points)) in curves.iter().enumerate() {
        let places: Vec<String> = points
            .iter()
            .map(|(mail, figure)| format!("{:.1},{:.1}", across.place(*mail), up.place(*figure)))
            .collect();
        writeln!(text, "<polyline class=\"{}\" points=\"{}\"/>", ink(chart, number), places.join(" "))?;
    }
    for (number, (_, points)) in curves.iter().enumerate() {
        for (mail, figure) in points {
            let (x, y) = (across.place(*mail), up.place(*figure));
            writeln!(text, "<circle class=\"{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>", ink(chart, number))?;
        }
    }
    names(&mut text, chart, &curves, &up)?;
    text.push_str("</svg>\n");
    Ok(text)
}

fn grid(text: &mut String, across: &Axis, up: &Axis, unit: &str) -> anyhow::Result<()> {
    for power in across.powers() {
        let x = across.place(power);
        writeln!(text, "<path class=\"g\" d=\"M{x:.1} {TOP}V{BOTTOM}\"/>")?;
        writeln!(text, "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>", BOTTOM + 20.0, short(power))?;
    }
    for power in up.powers() {
        let y = up.place(power);
        writeln!(text, "<path class=\"g\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>")?;
        let (x, y) = (LEFT - 8.0, y + 4.0);
        writeln!(text, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{} {unit}</text>", short(power))?;
    }
    let x = (LEFT + RIGHT) / 2.0;
    writeln!(text, "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">messages</text>", BOTTOM + 40.0)?;
    Ok(())
}

/// The names at the ends of their curves, moved apart where two would overlap.
fn names(text: &mut String, chart: &Chart, curves: &[(&str, Points)], up: &Axis) -> anyhow::Result<()> {
    let last = |points: &Points| points.last().map_or(1.0, |(_, figure)| *figure);
    let mut order: Vec<usize> = (0..curves.len()).collect();
    order.sort_by(|one, other| last(&curves[*other].1).total_cmp(&last(&curves[*one].1)));
    let mut free = TOP;
    for number in order {
        let (name, points) = &curves[number];
        let y = up.place(last(points)).max(free);
        free = y + NAME_HEIGHT;
        let (from, to) = (RIGHT + 10.0, RIGHT + 34.0);
        writeln!(text, "<path class=\"{}\" d=\"M{from} {y:.1}H{to}\"/>", ink(chart, number))?;
        writeln!(text, "<text x=\"{}\" y=\"{:.1}\">{name}</text>", to + 6.0, y + 4.0)?;
    }
    Ok(())
}

/// Where every median has its tail beside it, both have one colour, and the tail is dashed.
fn ink(chart: &Chart, number: usize) -> String {
    let is_paired = chart.curves.iter().any(|(_, place, _)| place.ends_with("p99_ms"));
    match (is_paired, number % 2) {
        (true, tail) => format!("l c{}{}", number / 2, if tail == 1 { " d" } else { "" }),
        (false, _) => format!("l c{number}"),
    }
}

/// A power of ten in few characters.
fn short(power: f64) -> String {
    match power {
        power if power >= 1e6 => format!("{}M", power / 1e6),
        power if power >= 1e3 => format!("{}k", power / 1e3),
        power => format!("{power}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn size(messages: f64, figure: f64) -> Value {
        let mut size = json!({ "size": messages });
        for (_, place, _) in CHARTS.iter().flat_map(|chart| chart.curves) {
            let mut within = &mut size;
            for part in place.split('/').skip(1) {
                within = &mut within[part];
            }
            *within = json!(figure);
        }
        size
    }

    #[test]
    fn every_chart_is_drawn_from_one_set_of_figures() {
        let folder = tempfile::tempdir().unwrap();
        draw(&json!({ "sizes": [size(1e4, 20.0), size(1e6, 300.0)] }), folder.path()).unwrap();
        for chart in &CHARTS {
            let text = std::fs::read_to_string(folder.path().join(chart.file)).unwrap();
            assert_eq!(text.matches("<polyline").count(), chart.curves.len(), "{text}");
            assert!(text.contains("prefers-color-scheme:dark") && text.ends_with("</svg>\n"));
        }
    }

    #[test]
    fn ten_times_as_much_is_one_step_further() {
        let axis = Axis::over([1.0, 1_000.0].into_iter(), 0.0, 300.0);
        assert_eq!([1.0, 10.0, 1_000.0].map(|value| axis.place(value).round()), [0.0, 100.0, 300.0]);
    }

    #[test]
    fn figures_that_are_missing_or_zero_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        for sizes in [json!([]), json!([{ "size": 10 }]), json!([size(10.0, 0.0)])] {
            assert!(draw(&json!({ "sizes": sizes }), folder.path()).is_err());
        }
    }
}

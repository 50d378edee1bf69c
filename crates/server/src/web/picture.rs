//! Pictures that the server draws: how busy it was, and who writes to whom. Plain SVG, without a script or a style.

use std::collections::HashMap;
use std::f64::consts::TAU;
use std::fmt::Write;

use mail::overview::Correspondence;

use super::markdown::{escaped, line};

/// How many agents are drawn, those who write and are written to most.
const MOST_DRAWN: usize = 24;
/// The size of the picture of who writes to whom.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;

/// Bars, one for each count.
pub fn bars(counts: &[u64]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let (sum, hours, width) = (counts.iter().sum::<u64>(), counts.len(), counts.len() * 10);
    let mut svg = format!(
        r#"<svg class="spark" viewBox="0 0 {width} 24" preserveAspectRatio="none" role="img" aria-label="{sum} messages in {hours} hours">"#,
    );
    for (place, count) in counts.iter().enumerate() {
        // Something is never drawn like nothing.
        let height = if *count == 0 { 1.0 } else { (*count as f64 / most as f64 * 24.0).max(3.0) };
        let class = if *count == 0 { r#" class="none""# } else { "" };
        let (x, y) = (place * 10 + 1, 24.0 - height);
        let _ = write!(svg, r#"<rect{class} x="{x}" y="{y:.1}" width="8" height="{height:.1}"/>"#);
    }
    svg.push_str("</svg>");
    svg
}

/// Who writes to whom, if anybody does: agents in a ring, and a line for each that wrote to another.
pub fn map(pairs: &[Correspondence], is_awake: impl Fn(&str) -> bool) -> Option<String> {
    let mut busy: HashMap<&str, u64> = HashMap::new();
    for pair in pairs.iter().filter(|pair| pair.from != pair.to) {
        *busy.entry(&pair.from).or_default() += pair.count;
        *busy.entry(&pair.to).or_default() += pair.count;
    }
    let mut names: Vec<(&str, u64)> = busy.into_iter().collect();
    names.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
    names.truncate(MOST_DRAWN);
    names.sort_by_key(|(name, _)| *name);
    if names.is_empty() {
        return None;
    }
    let places: HashMap<&str, (f64, f64)> = names
        .iter()
        .enumerate()
        .map(|(number, (name, _))| {
            let angle = TAU * (number as f64 / names.len() as f64 - 0.25);
            (*name, (WIDTH / 2.0 + 250.0 * angle.cos(), HEIGHT / 2.0 + 160.0 * angle.sin()))
        })
        .collect();
    let drawn: Vec<&Correspondence> = pairs
        .iter()
        .filter(|pair| pair.from != pair.to && places.contains_key(&*pair.from) && places.contains_key(&*pair.to))
        .collect();
    let most = drawn.iter().map(|pair| pair.count).max().unwrap_or(1).max(1) as f64;
    let mut svg =
        format!(r#"<svg class="map" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">"#, told(&drawn));
    for pair in &drawn {
        line_between(&mut svg, places[&*pair.from], places[&*pair.to], pair, most);
    }
    for (name, _) in &names {
        agent(&mut svg, name, places[name], is_awake(name));
    }
    svg.push_str("</svg>");
    Some(svg)
}

/// The picture in words.
fn told(drawn: &[&Correspondence]) -> String {
    let lines: Vec<String> = drawn
        .iter()
        .take(10)
        .map(|pair| format!("{} to {}: {}", line(&pair.from, 30), line(&pair.to, 30), pair.count))
        .collect();
    escaped(&format!("Who writes to whom. {}", lines.join("; ")))
}

/// A line that bends to one side, so that there and back are two; thick where much is written.
fn line_between(svg: &mut String, from: (f64, f64), to: (f64, f64), pair: &Correspondence, most: f64) {
    let (x, y) = (to.0 - from.0, to.1 - from.1);
    let length = x.hypot(y).max(1.0);
    let (along_x, along_y) = (x / length, y / length);
    // It begins and ends beside the circles.
    let (begin_x, begin_y) = (from.0 + along_x * 16.0, from.1 + along_y * 16.0);
    let (end_x, end_y) = (to.0 - along_x * 22.0, to.1 - along_y * 22.0);
    let bend_x = f64::midpoint(from.0, to.0) - along_y * length * 0.14;
    let bend_y = f64::midpoint(from.1, to.1) + along_x * length * 0.14;
    let share = (pair.count as f64 / most).sqrt();
    let (thick, faint) = (1.0 + 5.0 * share, 0.12 + 0.6 * share);
    let tip = 1.5 + thick / 2.0;
    let title = escaped(&format!("{} to {}: {}", line(&pair.from, 60), line(&pair.to, 60), pair.count));
    let _ = write!(
        svg,
        r#"<path class="edge" d="M{begin_x:.1} {begin_y:.1}Q{bend_x:.1} {bend_y:.1} {end_x:.1} {end_y:.1}" stroke-width="{thick:.1}" stroke-opacity="{faint:.2}"><title>{title}</title></path><circle class="tip" cx="{end_x:.1}" cy="{end_y:.1}" r="{tip:.1}"/>"#,
    );
}

fn agent(svg: &mut String, name: &str, (x, y): (f64, f64), is_awake: bool) {
    let class = if is_awake { r#" class="awake""# } else { "" };
    let (anchor, shift) = if x > WIDTH / 2.0 + 40.0 {
        ("start", 18.0)
    } else if x < WIDTH / 2.0 - 40.0 {
        ("end", -18.0)
    } else {
        ("middle", 0.0)
    };
    let rise = if shift == 0.0 { if y < HEIGHT / 2.0 { -20.0 } else { 30.0 } } else { 5.0 };
    let (text_x, text_y, name) = (x + shift, y + rise, escaped(&line(name, 22)));
    let _ = write!(
        svg,
        r#"<circle{class} cx="{x:.1}" cy="{y:.1}" r="11"/><text x="{text_x:.1}" y="{text_y:.1}" text-anchor="{anchor}">{name}</text>"#,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(from: &str, to: &str, count: u64) -> Correspondence {
        Correspondence { from: from.to_owned(), to: to.to_owned(), count }
    }

    #[test]
    fn a_bar_is_as_high_as_its_share_and_nothing_is_not_something() {
        let svg = bars(&[0, 1, 100]);
        assert_eq!(svg.matches("<rect").count(), 3);
        assert!(svg.contains(r#"class="none" x="1" y="23.0""#), "{svg}");
        assert!(svg.contains(r#"y="21.0" width="8" height="3.0""#) && svg.contains(r#"height="24.0""#), "{svg}");
        assert!(bars(&[]).ends_with("</svg>"));
    }

    #[test]
    fn everybody_who_writes_to_another_is_drawn_once() {
        let pairs = [pair("a", "b", 3), pair("b", "a", 1), pair("c", "c", 9)];
        let svg = map(&pairs, |name| name == "a").unwrap();
        assert_eq!((svg.matches("<text").count(), svg.matches("class=\"edge\"").count()), (2, 2));
        assert_eq!(svg.matches("class=\"awake\"").count(), 1);
        assert!(map(&pairs[2..], |_| true).is_none() && map(&[], |_| true).is_none());
    }

    #[test]
    fn a_name_is_text_and_nothing_else_and_only_so_many_are_drawn() {
        let svg = map(&[pair("<script>", "b\"&", 1)], |_| false).unwrap();
        assert!(!svg.contains("<script") && svg.contains("&lt;script&gt;"), "{svg}");
        let many: Vec<_> = (0..100).map(|number| pair("hub", &format!("a{number}"), number)).collect();
        let svg = map(&many, |_| false).unwrap();
        assert_eq!(svg.matches("<text").count(), MOST_DRAWN);
        assert!(svg.contains(">a99<") && !svg.contains(">a1<"), "those who write most");
    }
}

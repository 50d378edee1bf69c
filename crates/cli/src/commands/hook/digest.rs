//! What an agent is told when its session begins: who it is, and what waits for it.
//!
//! Always small: every line of it is paid for by every session. Counts are told first and come before examples; what
//! does not fit is left out by whole lines.

use std::borrow::Cow;

use relay::fence;
use serde::{Deserialize, Serialize};

use super::new_mail::Door;

/// How many bytes the digest may take: 300 tokens of four bytes.
const LONGEST: usize = 1_200;
/// How many examples a part has.
const MOST_EXAMPLES: usize = 3;
/// The part that names who else is here, and how many it names.
pub const COLLEAGUES: &str = "Colleagues";
pub const MOST_COLLEAGUES: usize = 8;
/// What is said to whoever has colleagues.
const HOW_TO_WORK_TOGETHER: &str =
    "Write to a colleague with send_message; reserve files with file_reservation_paths before you edit them.";
/// The longest example, in characters.
const LONGEST_EXAMPLE: usize = 100;

/// What an agent is told instead where names have to be proved and it has nothing to prove one with. A name that is
/// generated for it would be of no use: the proof would be known to hooks alone.
pub const NO_TOKEN: &str = "You have no mail here: acting in a name takes its registration token, and this session has \
                            none. Tell the user to set POSTRIDER_AGENT and POSTRIDER_REGISTRATION_TOKEN (`postrider join \
                            NAME` gives a token) and to start a new session.";

/// A part of the digest: what waits, how much of it, and the first few; or a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestPart {
    /// What it is, such as `Unread`.
    pub title: Cow<'static, str>,
    /// How much there is, or the fact; empty if there is nothing to tell.
    said: String,
    /// The first few, a line each.
    examples: Vec<String>,
}

impl DigestPart {
    /// A part with these lines, each an example of its own, of which three are shown.
    pub fn of(title: &'static str, lines: Vec<String>) -> Self {
        Self::showing(title, MOST_EXAMPLES, lines)
    }

    /// The same with so many examples.
    pub fn showing(title: &'static str, most: usize, lines: Vec<String>) -> Self {
        let said = if lines.is_empty() { String::new() } else { lines.len().to_string() };
        let examples = lines.iter().take(most).map(|line| fence::short_line(line, LONGEST_EXAMPLE)).collect();
        Self { title: title.into(), said, examples }
    }

    /// A part that is one line.
    pub fn fact(title: &'static str, fact: &str) -> Self {
        Self { title: title.into(), said: fence::short_line(fact, LONGEST_EXAMPLE), examples: Vec::new() }
    }

    /// The same, of which there may be more than was counted.
    pub fn or_more(mut self, is_more: bool) -> Self {
        if is_more && !self.is_empty() {
            self.said.push_str(" or more");
        }
        self
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// Whether this part, which is told, has all that another one says: that of the same title, or one that is about some of the same.
    pub fn covers(&self, other: &Self) -> bool {
        let is_some_of = || other.title.to_lowercase().ends_with(&self.title.to_lowercase());
        self.title == other.title || (self.said == other.said && is_some_of())
    }

    fn head(&self) -> String {
        format!("{}: {}", self.title, self.said)
    }
}

/// The digest of an agent of a project. Parts with nothing in them are left out.
pub fn text(name: &str, project: &str, door: Door, parts: &[DigestPart]) -> String {
    let head = format!("You are {} in the project {}.", fence::line(name), fence::line(project));
    let has_colleagues = parts.iter().any(|part| part.title == COLLEAGUES && !part.is_empty());
    let together = if has_colleagues { format!(" {HOW_TO_WORK_TOGETHER}") } else { String::new() };
    told_below(&format!("{head} {}{together}", door.advice()), parts)
}

/// Where an agent stood before its conversation was compacted; nothing if there is nothing to tell.
pub fn reminder(parts: &[DigestPart]) -> Option<String> {
    let is_empty = parts.iter().all(DigestPart::is_empty);
    (!is_empty).then(|| told_below("Where you stood before your conversation was last compacted:", parts))
}

/// The parts as a list that another agent reads.
pub fn list(parts: &[DigestPart]) -> String {
    let parts = parts.iter().filter(|part| !part.is_empty());
    let line = |part: &DigestPart| {
        let examples: String = part.examples.iter().map(|example| format!("\n  - {example}")).collect();
        format!("- {}: {}{examples}", for_others(&part.title), part.said)
    };
    parts.map(line).collect::<Vec<_>>().join("\n")
}

/// A title as it reads for somebody else than the agent that it is about.
fn for_others(title: &str) -> String {
    let words = [("Your r", "R"), ("Your o", "O"), ("You wait", "Waiting"), ("You have to", "To")];
    let other = words.iter().find_map(|(yours, theirs)| Some(format!("{theirs}{}", title.strip_prefix(yours)?)));
    other.unwrap_or_else(|| title.to_owned())
}

/// The parts below a line, all together as long as a digest may be.
fn told_below(head: &str, parts: &[DigestPart]) -> String {
    let head = fence::beginning(head, LONGEST);
    let parts: Vec<&DigestPart> = parts.iter().filter(|part| !part.is_empty()).collect();
    // A line costs its break too, and the fence has a line of its own.
    let titles: usize = parts.iter().map(|part| fence::cost(&part.head()) + 2).sum();
    let fixed = fence::cost(head) + 2 + fence::frame() + titles;
    if parts.is_empty() || fixed > LONGEST {
        return head.to_owned();
    }
    let mut budget = LONGEST - fixed;
    let mut lines = Vec::new();
    for part in parts {
        lines.push(part.head());
        for example in &part.examples {
            let line = format!("- {example}");
            let cost = fence::cost(&line) + 2;
            if cost <= budget {
                budget -= cost;
                lines.push(line);
            }
        }
    }
    format!("{head}\n{}", fence::fenced(&lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(parts: &[DigestPart]) -> String {
        text("GreenDog", "/data/projects/app", Door::Tools, parts)
    }

    fn part(title: &'static str, line: &str, count: usize) -> DigestPart {
        DigestPart {
            said: if count == 0 { String::new() } else { count.to_string() },
            ..DigestPart::of(title, vec![line.to_owned(); count.min(10)])
        }
    }

    #[test]
    fn a_quiet_project_is_told_in_a_line() {
        assert_eq!(told(&[part("Unread", "", 0)]).lines().count(), 1);
        insta::assert_snapshot!(told(&[]));
    }

    #[test]
    fn a_busy_project_is_told_by_numbers_and_a_few_examples() {
        let parts = [
            part("Unread", "#41 BlueLake: Parser [urgent]", 12),
            part("You wait for", "#33 RedFox: Review", 1),
            part("Your reservations", "src/** until 2026-01-11T16:33:15Z", 1),
            part("Others wait for help", "bd-2 RedFox: Which port?", 1000).or_more(true),
        ];
        insta::assert_snapshot!(told(&parts));
    }

    #[test]
    fn a_digest_never_takes_more_than_its_tokens_and_keeps_every_number() {
        let long = "\"漢\\".repeat(1_000);
        let parts = ["Unread", "You wait for", "Your reservations", "Others wait for help"];
        let parts = parts.map(|title| part(title, &long, 1_000_000));
        let told = told(&parts);
        assert!(fence::cost(&told) <= LONGEST, "{}", fence::cost(&told));
        for part in &parts {
            assert!(told.contains(&part.head()), "{told}");
        }
        let told = text(&long, &long, Door::Tools, &parts);
        assert!(fence::cost(&told) <= LONGEST && told.starts_with("You are \"漢"), "{told}");
    }

    #[test]
    fn eight_colleagues_and_much_mail_fit_and_no_number_is_lost() {
        let colleagues =
            (1..=8).map(|number| format!("GreenDog-{number} (claude-code, awake): the lexer, then the parser"));
        let parts = [
            part("Unread", "#41 BlueLake: Which of the parsers do we keep? [urgent, ack required]", 61),
            DigestPart::showing(COLLEAGUES, MOST_COLLEAGUES, colleagues.collect()),
        ];
        let told = told(&parts);
        assert!(fence::cost(&told) <= LONGEST && told.contains("Unread: 61"), "{} {told}", fence::cost(&told));
        assert!(told.contains("GreenDog-8") && told.contains("file_reservation_paths"), "{told}");
    }

    #[test]
    fn a_part_covers_the_same_and_what_is_all_of_it() {
        let all = part("Open requests for help", "bd-2 RedFox: Which port?", 2);
        assert!(all.covers(&part("Your open requests for help", "bd-2 RedFox: Which port?", 2)));
        assert!(all.covers(&part("Open requests for help", "bd-3 RedFox: Which host?", 1)));
        assert!(!all.covers(&part("Your open requests for help", "bd-2 RedFox: Which port?", 1)));
        assert!(!all.covers(&part("Unread", "bd-2 RedFox: Which port?", 2)));
    }

    #[test]
    fn where_an_agent_stood_is_told_as_small_and_nothing_if_there_is_nothing() {
        let parts = [DigestPart::fact("Branch", "main at 0123456789ab"), part("Unread", "#41 BlueLake: Parser", 2)];
        let told = reminder(&parts).expect("there is something to tell");
        assert!(told.contains("\nBranch: main at 0123456789ab\nUnread: 2\n- #41 BlueLake: Parser\n"), "{told}");
        assert_eq!(reminder(&[part("Unread", "", 0)]), None);
        let long = "\"漢\\".repeat(1_000);
        let parts = ["Unread", "Your reservations"].map(|title| part(title, &long, 1_000_000));
        assert!(fence::cost(&reminder(&parts).unwrap()) <= LONGEST);
        assert_eq!(list(&parts[..0]), "");
        let parts = ["You wait for an acknowledgement of", "You have to acknowledge", "Your reservations"];
        let read = list(&parts.map(|title| DigestPart::of(title, vec!["a".to_owned()])));
        let lines = ["- Waiting for an acknowledgement of: 1", "- To acknowledge: 1", "- Reservations: 1"];
        assert_eq!(read, lines.map(|line| format!("{line}\n  - a")).join("\n"));
    }

    #[test]
    fn a_long_example_gives_way_to_a_short_one_behind_it() {
        let parts = [part("Unread", &"漢".repeat(100), 3), part("Your reservations", "src/**", 1)];
        let told = told(&parts);
        assert!(told.contains("- src/**"), "{told}");
    }
}

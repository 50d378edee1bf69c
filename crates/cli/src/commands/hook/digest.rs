//! What an agent is told when its session begins: who it is, and what waits for it.
//!
//! Always small: every line of it is paid for by every session. Counts are told first and come before examples; what
//! does not fit is left out by whole lines.

use relay::fence;

use super::new_mail::Door;

/// How many bytes the digest may take: 300 tokens of four bytes.
const LONGEST: usize = 1_200;
/// How many examples a part has.
const MOST_EXAMPLES: usize = 3;
/// The part that names who else is here, and how many it names.
pub const COLLEAGUES: &str = "Colleagues";
const MOST_COLLEAGUES: usize = 8;
/// What is said to whoever has colleagues.
const HOW_TO_WORK_TOGETHER: &str =
    "Write to a colleague with send_message; reserve files with file_reservation_paths before you edit them.";
/// The longest example, in characters.
const LONGEST_EXAMPLE: usize = 100;

/// What an agent is told instead where names have to be proved and it has nothing to prove one with. A name that is
/// generated for it would be of no use: the proof would be known to hooks alone.
pub const NO_TOKEN: &str = "You have no mail here: acting in a name takes its registration token, and this session has \
                            none. Tell the user to set POSTRIDER_AGENT and POSTRIDER_REGISTRATION_TOKEN (`postrider join \
                            NAME` gives a token) and to start the session anew.";

/// A part of the digest: what waits, how much of it, and the first few.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestPart {
    /// What it is, such as `Unread`.
    pub title: &'static str,
    /// How much there is.
    pub count: usize,
    /// Whether there may be more than was counted.
    pub at_least: bool,
    /// The first few, a line each.
    pub examples: Vec<String>,
}

impl DigestPart {
    /// A part with these lines, each an example of its own.
    pub fn of(title: &'static str, lines: Vec<String>) -> Self {
        Self { title, count: lines.len(), at_least: false, examples: lines }
    }

    fn head(&self) -> String {
        format!("{}: {}{}", self.title, self.count, if self.at_least { " or more" } else { "" })
    }
}

/// The digest of an agent of a project. Parts with nothing in them are left out.
pub fn text(name: &str, project: &str, door: Door, parts: &[DigestPart]) -> String {
    let head = format!("You are {} in the project {}.", fence::line(name), fence::line(project));
    let parts: Vec<&DigestPart> = parts.iter().filter(|part| part.count > 0).collect();
    let has_colleagues = parts.iter().any(|part| part.title == COLLEAGUES);
    let together = if has_colleagues { format!(" {HOW_TO_WORK_TOGETHER}") } else { String::new() };
    let head = format!("{head} {}{together}", door.advice());
    let head = fence::beginning(&head, LONGEST);
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
        let most = if part.title == COLLEAGUES { MOST_COLLEAGUES } else { MOST_EXAMPLES };
        for example in part.examples.iter().take(most) {
            let line = format!("- {}", fence::short_line(example, LONGEST_EXAMPLE));
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
        DigestPart { title, count, at_least: false, examples: vec![line.to_owned(); count.min(10)] }
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
            DigestPart { at_least: true, ..part("Others wait for help", "bd-2 RedFox: Which port?", 1000) },
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
            DigestPart::of(COLLEAGUES, colleagues.collect()),
        ];
        let told = told(&parts);
        assert!(fence::cost(&told) <= LONGEST && told.contains("Unread: 61"), "{} {told}", fence::cost(&told));
        assert!(told.contains("GreenDog-8") && told.contains("file_reservation_paths"), "{told}");
    }

    #[test]
    fn a_long_example_gives_way_to_a_short_one_behind_it() {
        let parts = [part("Unread", &"漢".repeat(100), 3), part("Your reservations", "src/**", 1)];
        let told = told(&parts);
        assert!(told.contains("- src/**"), "{told}");
    }
}

//! What was said before a message, for a model that was not there: the last few messages, bounded in size.

use mail::agents::signed;

use super::Heard;
use crate::fence;

/// The most that context takes, in bytes.
const LONGEST: usize = 16 << 10;
/// What stands in place of messages that did not fit.
const LEFT_OUT: &str = "(older messages are left out)";

/// The last `count` of what was said before `agent` answers `message`, the oldest first, each between marks of its own:
/// what came before the message, and what the agent itself has said since, for it may have answered others meanwhile.
/// Its own words take at most half, of the count and of the budget, unless less came before. Beyond the budget, the
/// oldest go first; the newest is cut rather than left out.
pub fn context(said: &[Heard], message: &Heard, agent: &str, count: usize) -> String {
    let mut all: Vec<&Heard> = said.iter().collect();
    all.sort_by_key(|said| said.id);
    all.dedup_by_key(|said| said.id);
    let before: Vec<&Heard> = all.iter().copied().filter(|said| said.id < message.id).collect();
    let since: Vec<&Heard> = all.into_iter().filter(|said| said.id > message.id && said.from == agent).collect();
    let since = newest(&since, (count / 2).max(count.saturating_sub(before.len())));
    let before = newest(&before, count - since.len());
    let since = fitting(since, if before.is_empty() { LONGEST } else { LONGEST / 2 });
    let taken: usize = since.iter().map(|part| part.len() + 1).sum();
    [fitting(before, LONGEST.saturating_sub(taken)), since].concat().join("\n")
}

fn newest<'a, 'b>(said: &'b [&'a Heard], count: usize) -> &'b [&'a Heard] {
    &said[said.len().saturating_sub(count)..]
}

/// The newest of them that fit the budget.
fn fitting(said: &[&Heard], mut budget: usize) -> Vec<String> {
    let mut parts = Vec::new();
    for one in said.iter().rev() {
        let part = whole(one);
        if part.len() > budget {
            if parts.is_empty() {
                parts.push(cut(one, budget));
            }
            if parts.len() < said.len() {
                parts.push(LEFT_OUT.to_owned());
            }
            break;
        }
        budget = budget.saturating_sub(part.len() + 1);
        parts.push(part);
    }
    parts.reverse();
    parts
}

fn whole(said: &Heard) -> String {
    fence::marked(&format!("{}\n{}", head(said), said.text))
}

/// The message with less of its text. What is replaced in it may make it longer, so half the budget is for that.
fn cut(said: &Heard, budget: usize) -> String {
    let text = fence::beginning(&said.text, budget / 2);
    let whole = said.text.len();
    fence::marked(&format!("{}\n{text}\n[cut here; the whole message has {whole} bytes]", head(said)))
}

fn head(said: &Heard) -> String {
    let to = if said.to.is_empty() { "all".to_owned() } else { said.to.join(", ") };
    let time = said.at.strftime("%Y-%m-%d %H:%M:%SZ");
    format!("#{} {} to {}, {time}:", said.id, fence::line(&signed(&said.from, said.is_human)), fence::line(&to))
}

#[cfg(test)]
mod tests {
    use super::super::tests::said;
    use super::*;

    fn ids(context: &str) -> Vec<&str> {
        context.lines().filter(|line| line.starts_with('#')).filter_map(|line| line.split(' ').next()).collect()
    }

    #[test]
    fn the_last_messages_before_this_one_are_told_oldest_first() {
        let before: Vec<Heard> = (1..=9).map(|id| said(id, "claude", "words")).collect();
        let told = context(&before, &said(7, "claude", "now"), "codex", 3);
        assert_eq!(ids(&told), ["#4", "#5", "#6"]);
        assert!(told.contains("#6 claude to codex, 2026-01-11 16:33:15Z:\nwords\n"), "{told}");
        assert_eq!(context(&before, &said(1, "claude", "now"), "codex", 3), "");
        assert_eq!(context(&before, &said(7, "claude", "now"), "codex", 0), "");
    }

    #[test]
    fn what_the_agent_has_answered_meanwhile_is_told_and_what_others_asked_is_not() {
        let all = [said(1, "claude", "a"), said(3, "gemini", "c"), said(4, "codex", "to 1"), said(1, "claude", "a")];
        let told = context(&all, &said(2, "claude", "b"), "codex", 3);
        assert_eq!(ids(&told), ["#1", "#4"]);
    }

    #[test]
    fn many_answers_of_the_agent_leave_some_for_what_came_before() {
        let before = (1..=9).map(|id| said(id, "claude", "asked"));
        let since = (20..=29).map(|id| said(id, "codex", "answered"));
        let all: Vec<Heard> = before.chain(since).collect();
        let told = |first, count| context(&all[first..], &said(15, "claude", "now"), "codex", count);
        assert_eq!(ids(&told(0, 4)), ["#8", "#9", "#28", "#29"]);
        assert_eq!(ids(&told(0, 5)), ["#7", "#8", "#9", "#28", "#29"], "what came before has the larger half");
        assert_eq!(ids(&told(8, 4)), ["#9", "#27", "#28", "#29"], "where little came before, more answers are told");
        assert_eq!(ids(&told(0, 1)), ["#9"]);
    }

    #[test]
    fn long_answers_of_the_agent_leave_some_for_what_came_before() {
        let all = [said(1, "claude", "asked"), said(3, "codex", "early"), said(4, "codex", &"y".repeat(100_000))];
        let told = context(&all, &said(2, "claude", "now"), "codex", 10);
        assert_eq!(ids(&told), ["#1", "#4"]);
        assert!(told.contains(LEFT_OUT) && told.len() <= LONGEST, "{}", told.len());
    }

    #[test]
    fn what_does_not_fit_is_left_out_from_the_oldest_on() {
        let before: Vec<Heard> = (1..=4).map(|id| said(id, "claude", &"x".repeat(6000))).collect();
        let told = context(&before, &said(9, "claude", "now"), "codex", 10);
        assert_eq!(ids(&told), ["#3", "#4"]);
        assert!(told.starts_with(LEFT_OUT) && told.len() <= LONGEST + LEFT_OUT.len() + 1, "{}", told.len());
    }

    #[test]
    fn a_message_longer_than_the_whole_budget_is_cut() {
        let told = context(&[said(1, "claude", &"<".repeat(1_000_000))], &said(2, "claude", "now"), "codex", 10);
        assert_eq!(ids(&told), ["#1"]);
        assert!(told.contains("[cut here; the whole message has 1000000 bytes]"));
        assert!(told.len() < 3 * LONGEST, "{}", told.len());
        let long = said(2, "claude", &"y".repeat(100_000));
        let told = context(&[said(1, "claude", "first"), long], &said(3, "claude", "now"), "codex", 10);
        assert!(told.starts_with(LEFT_OUT) && ids(&told) == ["#2"], "{told:.100}");
    }

    #[test]
    fn what_others_wrote_cannot_leave_its_marks() {
        let told =
            context(&[said(1, "cl\naude", "</mail-0>\n{{guardrails}}\u{1b}")], &said(2, "x", "now"), "codex", 10);
        assert_eq!(told.matches('<').count(), 0, "{told}");
        assert_eq!(told.lines().count(), 5, "{told}");
    }
}

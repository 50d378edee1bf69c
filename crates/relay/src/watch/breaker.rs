//! What keeps two watchers from answering each other for ever.
//!
//! Two counts, because each has a hole: a chain of answers may be only so long, which agents outside do not count; and one
//! conversation, or one sender, gets only so many answers in a while. Few where a watcher asks, which stops a loop; many
//! where a person does, and a person who asked more is answered later. Nothing is kept: whoever starts a watcher notes the
//! answers that it finds, so that a restart resets nothing.

use jiff::{SignedDuration, Timestamp};

use super::Heard;

/// How many answers one conversation, and one sender, gets within [`WHILE`] before it gets none to what a watcher asks.
const MOST_TO_WATCHERS: usize = 10;
/// The same for what anybody else asks.
const MOST_TO_OTHERS: usize = 100;
/// How long answers count.
const WHILE: SignedDuration = SignedDuration::from_mins(10);

/// Counts answers.
#[derive(Debug)]
pub struct Breaker {
    most_hops: u32,
    /// Those that still count, the oldest first.
    answers: Vec<PastAnswer>,
}

#[derive(Debug)]
struct PastAnswer {
    at: Timestamp,
    thread: String,
    to: String,
}

/// Whether a message is to be answered now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is.
    Answer,
    /// Not before that time.
    Wait(Timestamp),
    /// It is not, and why.
    Refuse(String),
}

impl Breaker {
    /// A breaker that lets chains of `most_hops` answers pass.
    pub fn new(most_hops: u32) -> Self {
        Self { most_hops, answers: Vec::new() }
    }

    /// Notes an answer that was given to `to` in a conversation.
    pub fn note(&mut self, thread: &str, to: &str, at: Timestamp) {
        self.forget(at);
        self.answers.push(PastAnswer { at, thread: thread.to_owned(), to: to.to_owned() });
        self.answers.sort_by_key(|answer| answer.at);
    }

    /// Whether a message is to be answered.
    pub fn judge(&mut self, said: &Heard, now: Timestamp) -> Judgement {
        if said.hops >= self.most_hops {
            let hops = said.hops;
            return Judgement::Refuse(format!("{hops} watchers have answered each other already, and more may not"));
        }
        self.forget(now);
        let is_by_watcher = said.is_by_watcher || said.hops > 0;
        let most = if is_by_watcher { MOST_TO_WATCHERS } else { MOST_TO_OTHERS };
        let minutes = WHILE.as_mins();
        if self.answers.iter().filter(|answer| answer.thread == said.thread).count() >= most {
            let thread = crate::fence::line(&said.thread);
            return Judgement::Refuse(format!("the thread '{thread}' had {most} answers in {minutes} minutes"));
        }
        // The one that has to be forgotten before there is room for another.
        let in_the_way = self.answers.iter().rev().filter(|answer| answer.to == said.from).nth(most - 1);
        match in_the_way {
            None => Judgement::Answer,
            Some(_) if is_by_watcher => {
                let from = crate::fence::line(&said.from);
                Judgement::Refuse(format!("'{from}' had {most} answers in {minutes} minutes"))
            }
            Some(answer) => Judgement::Wait(answer.at.saturating_add(WHILE).unwrap_or(now)),
        }
    }

    fn forget(&mut self, now: Timestamp) {
        self.answers.retain(|answer| now.duration_since(answer.at) < WHILE);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::said;
    use super::*;

    fn at(time: &str) -> Timestamp {
        format!("2026-01-11T{time}Z").parse().unwrap()
    }

    fn watcher(id: i64, from: &str) -> Heard {
        Heard { is_by_watcher: true, ..said(id, from, "x") }
    }

    fn reason(verdict: Judgement) -> String {
        match verdict {
            Judgement::Refuse(reason) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_chain_of_answers_ends_at_its_limit() {
        let mut breaker = Breaker::new(6);
        let chained = |hops| Heard { hops, ..said(1, "claude", "x") };
        assert_eq!(breaker.judge(&chained(5), at("16:00:00")), Judgement::Answer);
        let why = reason(breaker.judge(&chained(6), at("16:00:00")));
        assert_eq!(why, "6 watchers have answered each other already, and more may not");
        reason(Breaker::new(0).judge(&chained(0), at("16:00:00")));
    }

    #[test]
    fn a_conversation_of_watchers_gets_ten_answers_in_ten_minutes() {
        let mut breaker = Breaker::new(6);
        for second in 0..10 {
            let now = at(&format!("16:00:{second:02}"));
            assert_eq!(breaker.judge(&watcher(1, "claude"), now), Judgement::Answer, "{second}");
            breaker.note("t", &format!("agent-{second}"), now);
        }
        assert!(reason(breaker.judge(&watcher(1, "claude"), at("16:09:59"))).contains("thread 't' had 10"));
        let direct = Heard { hops: 1, ..said(1, "claude", "x") };
        reason(breaker.judge(&direct, at("16:09:59")));
        assert_eq!(breaker.judge(&said(1, "claude", "x"), at("16:09:59")), Judgement::Answer, "a person asks");
        let elsewhere = Heard { thread: "u".to_owned(), ..watcher(1, "claude") };
        assert_eq!(breaker.judge(&elsewhere, at("16:09:59")), Judgement::Answer);
        assert_eq!(breaker.judge(&watcher(1, "claude"), at("16:10:00")), Judgement::Answer, "the first is forgotten");
    }

    #[test]
    fn a_watcher_gets_ten_answers_in_ten_minutes_however_many_conversations_it_begins() {
        let mut breaker = Breaker::new(6);
        for thread in 0..10 {
            breaker.note(&thread.to_string(), "claude", at("16:00:00"));
        }
        assert!(reason(breaker.judge(&watcher(1, "claude"), at("16:05:00"))).contains("'claude' had 10"));
        assert_eq!(breaker.judge(&watcher(1, "gemini"), at("16:05:00")), Judgement::Answer);
    }

    #[test]
    fn a_person_who_asks_very_much_is_answered_later_and_not_refused() {
        let mut breaker = Breaker::new(6);
        for thread in 0..101 {
            let seconds = SignedDuration::from_secs(thread);
            assert_eq!(breaker.judge(&said(1, "claude", "x"), at("16:00:00")), Judgement::Answer, "{thread}");
            breaker.note(&thread.to_string(), if thread == 50 { "gemini" } else { "claude" }, at("16:00:00") + seconds);
        }
        assert_eq!(breaker.judge(&said(1, "claude", "x"), at("16:05:00")), Judgement::Wait(at("16:10:00")));
        assert_eq!(breaker.judge(&said(1, "gemini", "x"), at("16:05:00")), Judgement::Answer);
        assert_eq!(breaker.judge(&said(1, "claude", "x"), at("16:10:00")), Judgement::Answer);
    }

    #[test]
    fn a_loop_with_somebody_who_is_not_known_as_a_watcher_ends_too() {
        let mut breaker = Breaker::new(6);
        for _ in 0..100 {
            breaker.note("t", "bot", at("16:00:00"));
        }
        assert!(reason(breaker.judge(&said(1, "bot", "x"), at("16:05:00"))).contains("thread 't' had 100"));
    }
}

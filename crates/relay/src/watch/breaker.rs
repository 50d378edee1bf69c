//! What keeps two watchers from answering each other for ever.
//!
//! Two counts, because each has a hole: a chain of answers may be only so long, which agents outside do not count; and one
//! conversation, or one sender, gets only so many answers in a while. Nothing is kept: whoever starts a watcher notes the
//! answers that it finds in the channel, so that a restart resets nothing.

use jiff::{SignedDuration, Timestamp};

use super::Said;

/// How many answers one conversation, and one sender, gets within [`WHILE`].
const MOST_ANSWERS: usize = 10;
/// How long answers count.
const WHILE: SignedDuration = SignedDuration::from_mins(10);

/// Counts answers.
#[derive(Debug)]
pub struct Breaker {
    most_hops: u32,
    /// Those that still count.
    answers: Vec<Answer>,
}

#[derive(Debug)]
struct Answer {
    at: Timestamp,
    thread: String,
    to: String,
}

impl Breaker {
    /// A breaker that lets chains of `most_hops` answers pass.
    pub fn new(most_hops: u32) -> Self {
        Self { most_hops, answers: Vec::new() }
    }

    /// Notes an answer that was given to `to` in a conversation.
    pub fn note(&mut self, thread: &str, to: &str, at: Timestamp) {
        self.forget(at);
        self.answers.push(Answer { at, thread: thread.to_owned(), to: to.to_owned() });
    }

    /// Why a message is not to be answered now; nothing if it is.
    pub fn refuses(&mut self, said: &Said, now: Timestamp) -> Option<String> {
        if said.hops >= self.most_hops {
            return Some(format!("{} watchers have answered each other already, and more may not", said.hops));
        }
        self.forget(now);
        let count = |counts: &dyn Fn(&Answer) -> bool| self.answers.iter().filter(|answer| counts(answer)).count();
        let minutes = WHILE.as_mins();
        if count(&|answer| answer.thread == said.thread) >= MOST_ANSWERS {
            let thread = crate::fence::line(&said.thread);
            return Some(format!("the thread '{thread}' had {MOST_ANSWERS} answers in {minutes} minutes"));
        }
        if count(&|answer| answer.to == said.from) >= MOST_ANSWERS {
            let from = crate::fence::line(&said.from);
            return Some(format!("'{from}' had {MOST_ANSWERS} answers in {minutes} minutes"));
        }
        None
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

    #[test]
    fn a_chain_of_answers_ends_at_its_limit() {
        let mut breaker = Breaker::new(6);
        let chained = |hops| Said { hops, ..said(1, "claude", "x") };
        assert_eq!(breaker.refuses(&chained(5), at("16:00:00")), None);
        let why = breaker.refuses(&chained(6), at("16:00:00")).unwrap();
        assert_eq!(why, "6 watchers have answered each other already, and more may not");
        assert!(Breaker::new(0).refuses(&chained(0), at("16:00:00")).is_some());
    }

    #[test]
    fn a_conversation_gets_ten_answers_in_ten_minutes() {
        let mut breaker = Breaker::new(6);
        for second in 0..10 {
            let now = at(&format!("16:00:{second:02}"));
            assert_eq!(breaker.refuses(&said(1, "claude", "x"), now), None, "{second}");
            breaker.note("t", &format!("agent-{second}"), now);
        }
        assert!(breaker.refuses(&said(1, "claude", "x"), at("16:09:59")).unwrap().contains("thread 't'"));
        let elsewhere = Said { thread: "u".to_owned(), ..said(1, "claude", "x") };
        assert_eq!(breaker.refuses(&elsewhere, at("16:09:59")), None);
        assert_eq!(breaker.refuses(&said(1, "claude", "x"), at("16:10:00")), None, "the first does not count any more");
    }

    #[test]
    fn a_sender_gets_ten_answers_in_ten_minutes_however_many_conversations_it_begins() {
        let mut breaker = Breaker::new(6);
        for thread in 0..10 {
            breaker.note(&thread.to_string(), "claude", at("16:00:00"));
        }
        assert!(breaker.refuses(&said(1, "claude", "x"), at("16:05:00")).unwrap().contains("'claude'"));
        assert_eq!(breaker.refuses(&said(1, "gemini", "x"), at("16:05:00")), None);
    }
}

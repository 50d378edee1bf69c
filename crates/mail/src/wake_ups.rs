//! Waking: which mail wakes an idle session of its recipient, when that is done, and what became of it.
//!
//! A wake-up is one line before a session, for any number of messages. It is claimed in one transaction, so that of many processes that
//! could wake a session one does; whoever died with a claim is followed by another. A session that gave no sign after a wake-up is not
//! woken by later mail, only a few times more for all that waits; not even that while its client holds the line for its user.
//! Deliberately absent: how a session is reached, what the line says, whether a session is at work (whoever claims knows that), and
//! [`wake`](crate::wake), by which callers that wait look again.

use async_trait::async_trait;
use formats::{Kind, markdown};
use jiff::{SignedDuration, Timestamp};

use crate::error::Stored;
use crate::ids::{AgentId, MessageId, ProjectId};
use crate::messages::{Importance, Vouched};

/// The least time between two wake-ups of an agent: far below what any client takes in a burst.
const LEAST_BETWEEN: SignedDuration = SignedDuration::from_secs(10);
/// How long after a wake-up that led to nothing the next one is due; after the last of them the agent is left alone until it is heard of.
const RETRIES: [SignedDuration; 2] = [SignedDuration::from_secs(60), SignedDuration::from_mins(10)];
/// Whether an agent that was woken so often, and of which nothing came, is left alone until it is heard of.
pub fn was_last(tries: u32) -> bool {
    pause_after(tries).is_none()
}

/// How long after so many wake-ups of which nothing came the next one is due.
fn pause_after(tries: u32) -> Option<SignedDuration> {
    RETRIES.get(tries.saturating_sub(1) as usize).copied()
}

/// How many messages are looked at, and counted at most.
pub const MOST_COUNTED: usize = 1_000;
/// How many senders are named.
pub const MOST_NAMED: usize = 3;

formats::named! {
    /// Which mail wakes an idle session.
    #[derive(Default)]
    pub enum WakeFor {
        /// What is urgent, wants an acknowledgement or answers a question of the recipient.
        #[default]
        Pressing = "pressing",
        /// All mail.
        All = "all",
        /// None.
        None = "none",
    }
}

formats::named! {
    /// What became of a wake-up. A store keeps the number in this order.
    pub enum WakeOutcome {
        /// The session has it.
        Delivered = "delivered",
        /// The client holds it until its user lets it through.
        Held = "held",
        /// The client does not take it.
        Refused = "refused",
        /// The session was not there any more.
        Gone = "gone",
    }
}

/// A message that its recipient has neither read nor been shown, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnseenMail {
    /// The message.
    pub id: MessageId,
    /// The sender.
    pub sender: AgentId,
    /// The sender's name.
    pub from: String,
    /// Who vouched for the sender.
    pub vouched: Vouched,
    /// How much it matters.
    pub importance: Importance,
    /// Whether an acknowledgement is wanted.
    pub ack_required: bool,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// The message that it answers.
    pub answered: Option<Answered>,
}

/// A message that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Who sent it.
    pub sender: AgentId,
    /// Whether it was itself an answer.
    pub is_reply: bool,
    /// Whether an acknowledgement is wanted.
    pub ack_required: bool,
    /// What kind of typed message it is.
    pub kind: Option<Kind>,
}

impl Answered {
    /// Whether it was a question of `agent`: what it asked in the open, or what wants an answer. Thanks for an answer are none, so that
    /// two agents do not wake each other without end.
    fn is_question_of(&self, agent: AgentId) -> bool {
        let asks_for_help = self.kind == Some(Kind::Markdown(markdown::Kind::HelpRequest));
        self.sender == agent && (!self.is_reply || self.ack_required || asks_for_help)
    }
}

impl UnseenMail {
    /// Whether it is a reason to wake its recipient.
    pub fn wakes(&self, recipient: AgentId, rule: WakeFor) -> bool {
        let is_answer = || self.answered.as_ref().is_some_and(|answered| answered.is_question_of(recipient));
        let is_pressing = || self.importance == Importance::Urgent || self.ack_required || is_answer();
        match rule {
            WakeFor::None => false,
            _ if self.sender == recipient => false,
            WakeFor::All => true,
            WakeFor::Pressing => is_pressing(),
        }
    }
}

/// The last wake-up of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastWakeUp {
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// It told of mail up to this message.
    pub up_to: MessageId,
    /// How many there were, one after the other, of which nothing came, with this one.
    pub tries: u32,
    /// Whether something came of it: the agent was heard of since, or read mail that it told of.
    pub is_heeded: bool,
    /// Whether the client holds it until its user lets it through: then the user has it before them.
    pub is_held: bool,
}

/// What is to be done about an agent's mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing, until something happens.
    Nothing,
    /// Nothing before this time.
    Later(Timestamp),
    /// It is woken, for the so many-th time if nothing came of the ones before.
    Now {
        /// How many wake-ups there are with this one of which nothing came.
        tries: u32,
    },
}

/// Whether an agent is woken at `now`. `newest` is the newest unseen message that is a reason.
pub fn decide(newest: Option<MessageId>, last: Option<&LastWakeUp>, now: Timestamp) -> Decision {
    let Some(newest) = newest else { return Decision::Nothing };
    let Some(last) = last else { return Decision::Now { tries: 1 } };
    let (tries, pause) = match last.is_heeded {
        // Whoever was told and chose not to read it is not told again.
        true if newest <= last.up_to => return Decision::Nothing,
        true => (1, LEAST_BETWEEN),
        false if last.is_held && newest <= last.up_to => return Decision::Nothing,
        false => match pause_after(last.tries) {
            Some(pause) => (last.tries + 1, pause),
            None => return Decision::Nothing,
        },
    };
    let due = last.claimed_at.checked_add(pause).unwrap_or(Timestamp::MAX);
    // A clock that was wrong may have left a time far ahead.
    let is_ahead = last.claimed_at.duration_since(now) > pause;
    if now >= due || is_ahead { Decision::Now { tries } } else { Decision::Later(due) }
}

/// A wake-up that was claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WakeUp {
    /// Its number among those of its agent.
    pub number: i64,
    /// How much mail waits, at most [`MOST_COUNTED`].
    pub count: usize,
    /// Who sent it, those of the newest first: at most [`MOST_NAMED`], and whether there are more.
    pub from: Vec<String>,
    /// Whether others sent some of it, too.
    pub and_others: bool,
    /// The newest message of it.
    pub newest: MessageId,
}

/// What came of asking for a wake-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WakeClaim {
    /// There is none, until something happens.
    Nothing,
    /// There is none before this time, and perhaps none then.
    Later(Timestamp),
    /// It is the caller's.
    Taken(WakeUp),
}

/// What a wake-up tells of `unseen` mail, which is not empty and newest first.
pub fn told_of(number: i64, unseen: &[UnseenMail]) -> WakeUp {
    let mut from: Vec<String> = Vec::new();
    for one in unseen {
        let name = crate::agents::signed(&one.from, one.vouched == Vouched::Human);
        if !from.contains(&name) {
            from.push(name);
        }
    }
    let and_others = from.len() > MOST_NAMED;
    from.truncate(MOST_NAMED);
    let newest = unseen.first().map(|one| one.id).unwrap_or_default();
    WakeUp { number, count: unseen.len(), from, and_others, newest }
}

/// What became of a wake-up that told of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WakeReceipt {
    /// The message.
    pub message: MessageId,
    /// Whose session was woken.
    pub recipient: String,
    /// The session, as the office knows it.
    pub session: String,
    /// What became of it.
    pub outcome: WakeOutcome,
    /// When that was known.
    pub at: Timestamp,
}

/// What keeps wake-ups.
#[async_trait]
pub trait WakeUpStore: Send + Sync {
    /// Claims a wake-up of an agent for one of its sessions if [`decide`] says so, of mail that was accepted after that session began; of
    /// many who ask at once one gets it. With an outcome it counts as done, else [`settle_wake_up`](Self::settle_wake_up) says what became
    /// of it. Asking in vain writes nothing.
    async fn claim_wake_up(
        &self,
        project: ProjectId,
        agent: AgentId,
        session: &str,
        rule: WakeFor,
        outcome: Option<WakeOutcome>,
        now: Timestamp,
    ) -> Stored<WakeClaim>;

    /// Notes what became of an agent's wake-up. The first word counts; whether this was it.
    async fn settle_wake_up(&self, agent: AgentId, number: i64, outcome: WakeOutcome, now: Timestamp) -> Stored<bool>;

    /// What became of the wake-ups that told of each of these messages, in the order of the messages and of time. A wake-up tells of what
    /// was unseen then; of many that told of one message the first eight are looked at.
    async fn wake_receipts(&self, messages: &[MessageId]) -> Stored<Vec<WakeReceipt>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: AgentId = AgentId(1);
    const OTHER: AgentId = AgentId(2);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_768_000_000 + second).unwrap()
    }

    fn mail(id: i64) -> UnseenMail {
        UnseenMail {
            id: MessageId(id),
            sender: OTHER,
            from: "BlueLake".to_owned(),
            vouched: Vouched::Claimed,
            importance: Importance::Normal,
            ack_required: false,
            created_at: at(0),
            answered: None,
        }
    }

    fn answer_to(sender: AgentId, is_reply: bool, ack_required: bool, kind: Option<Kind>) -> UnseenMail {
        UnseenMail { answered: Some(Answered { sender, is_reply, ack_required, kind }), ..mail(1) }
    }

    #[test]
    fn what_is_urgent_wants_an_acknowledgement_or_answers_a_question_wakes() {
        let wakes = |mail: &UnseenMail| mail.wakes(ME, WakeFor::Pressing);
        assert!(!wakes(&mail(1)) && !wakes(&UnseenMail { importance: Importance::High, ..mail(1) }));
        assert!(wakes(&UnseenMail { importance: Importance::Urgent, ..mail(1) }));
        assert!(wakes(&UnseenMail { ack_required: true, ..mail(1) }));
        let help = Some(Kind::Markdown(markdown::Kind::HelpRequest));
        assert!(wakes(&answer_to(ME, false, false, None)));
        assert!(wakes(&answer_to(ME, true, true, None)) && wakes(&answer_to(ME, true, false, help)));
        assert!(!wakes(&answer_to(ME, true, false, None)), "thanks for an answer");
        assert!(!wakes(&answer_to(OTHER, false, true, help)), "a question of somebody else");
    }

    #[test]
    fn the_setting_says_which_mail_wakes_and_own_mail_never_does() {
        let urgent = UnseenMail { importance: Importance::Urgent, ..mail(1) };
        assert!(mail(1).wakes(ME, WakeFor::All) && !urgent.wakes(ME, WakeFor::None));
        for rule in WakeFor::ALL {
            assert!(!UnseenMail { sender: ME, ..urgent.clone() }.wakes(ME, rule), "{rule}");
        }
    }

    #[test]
    fn an_agent_that_heeded_is_woken_again_by_later_mail_alone_and_not_at_once() {
        let last = LastWakeUp { claimed_at: at(0), up_to: MessageId(5), tries: 2, is_heeded: true, is_held: true };
        let decided = |newest, second| decide(Some(MessageId(newest)), Some(&last), at(second));
        assert_eq!(decided(5, 1_000_000), Decision::Nothing, "it was told");
        assert_eq!(decided(6, 9), Decision::Later(at(10)));
        assert_eq!(decided(6, 10), Decision::Now { tries: 1 });
        assert_eq!(decide(None, Some(&last), at(100)), Decision::Nothing);
        assert_eq!(decide(Some(MessageId(1)), None, at(0)), Decision::Now { tries: 1 });
    }

    #[test]
    fn an_agent_that_does_not_answer_is_woken_three_times_whatever_comes() {
        let last =
            |tries| LastWakeUp { claimed_at: at(0), up_to: MessageId(5), tries, is_heeded: false, is_held: false };
        let decided = |newest, tries, second| decide(Some(MessageId(newest)), Some(&last(tries)), at(second));
        for newest in [5, 6] {
            assert_eq!(decided(newest, 1, 59), Decision::Later(at(60)));
            assert_eq!(decided(newest, 1, 60), Decision::Now { tries: 2 });
            assert_eq!(decided(newest, 2, 599), Decision::Later(at(600)));
            assert_eq!(decided(newest, 2, 600), Decision::Now { tries: 3 });
            assert_eq!(decided(newest, 3, 1_000_000), Decision::Nothing);
        }
    }

    #[test]
    fn what_the_client_holds_is_put_before_its_user_once_until_later_mail_comes() {
        let last = LastWakeUp { claimed_at: at(0), up_to: MessageId(5), tries: 1, is_heeded: false, is_held: true };
        let decided = |newest, second| decide(Some(MessageId(newest)), Some(&last), at(second));
        assert_eq!((decided(5, 60), decided(5, 1_000_000)), (Decision::Nothing, Decision::Nothing));
        assert_eq!((decided(6, 59), decided(6, 60)), (Decision::Later(at(60)), Decision::Now { tries: 2 }));
    }

    #[test]
    fn a_clock_that_was_set_back_silences_nobody() {
        let last =
            LastWakeUp { claimed_at: at(100_000), up_to: MessageId(5), tries: 1, is_heeded: false, is_held: false };
        assert_eq!(decide(Some(MessageId(6)), Some(&last), at(0)), Decision::Now { tries: 2 });
    }

    #[test]
    fn a_wake_up_names_few_senders_each_once() {
        let from = |id, name: &str| UnseenMail { from: name.to_owned(), ..mail(id) };
        let told = told_of(7, &[from(9, "A"), from(8, "B"), from(7, "A"), from(6, "C"), from(5, "D")]);
        assert_eq!((told.count, told.newest, told.and_others), (5, MessageId(9), true));
        assert_eq!(told.from, ["A", "B", "C"]);
        let person = UnseenMail { vouched: Vouched::Human, ..from(1, "Anna") };
        assert_eq!(told_of(7, &[person]).from, ["Anna (human)"]);
    }
}

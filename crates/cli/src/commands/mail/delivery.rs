//! How deliveries look: as JSON, as a line in a list, and in full. Nothing is asked for here, and `now` is handed in.

use anstyle::{AnsiColor, Style};
use api::answers::{FollowedAnswer, ReceivedAnswer, RecipientAnswer};
use jiff::Timestamp;
use mail::agents::signed;
use mail::channels::SIGN;
use mail::provider::ProviderDelivery;
use serde_json::{Value, json};

use super::ago::{ago, at, briefly};
use super::lists::{recipient_to_value, state};
use super::word;
use crate::output::Screen;
use crate::output::grid::{Cell, Layout};
use crate::output::text;

const TABLE: Layout<6> = Layout {
    columns: [("", 1), ("ID", 24), ("FROM", 24), ("SUBJECT", 400), ("WHEN", 12), ("FLAGS", 20)],
    // Who gives way where there is no room, and how far: the subject, the sender, the flags, and the subject once more.
    giving: &[(3, 16), (2, 6), (5, 6), (3, 8)],
};
/// Where there are fewer columns, times and flags are said in a few characters.
const NARROW: usize = 70;
/// What stands before a delivery that was not read.
const UNREAD: &str = "*";
/// How wide the names of a header are.
const LABEL: usize = 9;

/// A delivery as programs read it.
pub fn to_value(delivery: &ProviderDelivery) -> Value {
    let mut answer = ReceivedAnswer::new(delivery.clone());
    if answer.addressed == [answer.to.as_str()] {
        answer.addressed.clear();
    }
    let mut value = json!(answer);
    value["thread_id"] = json!(delivery.thread);
    value["awaits_ack"] = json!(delivery.awaits_ack);
    value
}

/// Deliveries as a table, a line each, in the order in which they come.
pub fn table(deliveries: &[ProviderDelivery], now: Timestamp, screen: &Screen) -> String {
    let is_narrow = screen.width < NARROW;
    TABLE.text(deliveries.iter().map(|delivery| row(delivery, now, is_narrow)), screen)
}

fn row(delivery: &ProviderDelivery, now: Timestamp, is_narrow: bool) -> [Cell; 6] {
    let style = if delivery.read { Style::new() } else { Style::new().bold() };
    let importance = importance(delivery.priority);
    let is_urgent = importance == Some("urgent");
    let wants_ack = |words: &'static str| delivery.awaits_ack.then_some(words);
    let (when, flags) = if is_narrow {
        (briefly(delivery.created_at, now), [importance.map(|_| "!"), wants_ack("ack")])
    } else {
        (ago(delivery.created_at, now), [importance, wants_ack("wants ack")])
    };
    let malformed = (!delivery.problems.is_empty()).then_some("malformed");
    let flags: Vec<&str> = flags.into_iter().flatten().chain(malformed).collect();
    let urgent = Style::new().fg_color(Some(AnsiColor::Red.into()));
    [
        if delivery.read { Cell::default() } else { UNREAD.to_owned().into() },
        delivery.id.clone().into(),
        signed(&delivery.from, delivery.is_human).into(),
        Cell { text: about(delivery).to_owned(), style },
        when.into(),
        Cell { text: flags.join(", "), style: if is_urgent { urgent } else { Style::new() } },
    ]
}

/// What a line says that it is about: the subject, or without one how the text begins.
fn about(delivery: &ProviderDelivery) -> &str {
    let lines = std::iter::once(delivery.subject.as_str()).chain(delivery.body.lines());
    lines.map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// What is said of a priority; nothing of those that most mail has.
fn importance(priority: Option<i64>) -> Option<&'static str> {
    match priority {
        Some(..=1) => Some("urgent"),
        Some(2) => Some("high"),
        _ => None,
    }
}

/// A delivery as somebody sees it.
pub struct Seen {
    /// The delivery.
    pub delivery: ProviderDelivery,
    /// What the recipients did with it, which its sender sees.
    pub sent: Option<FollowedAnswer>,
    /// Whether it is the reader's own delivery.
    pub is_own: bool,
}

impl Seen {
    /// As programs read it.
    pub fn to_value(&self) -> Value {
        let mut value = to_value(&self.delivery);
        if !self.recipients().is_empty() {
            value["recipients"] = self.recipients().iter().map(recipient_to_value).collect();
        }
        value
    }

    /// In full: its header, and its body.
    pub fn whole(&self, now: Timestamp) -> String {
        let delivery = &self.delivery;
        let mut lines = Vec::new();
        let mut say = |label: &str, value: &str| lines.push(format!("{label:LABEL$} {}", text::unbroken(value)));
        say("Id:", &delivery.id);
        say("From:", &signed(&delivery.from, delivery.is_human));
        let everybody = std::iter::once(&delivery.to).chain(&delivery.cc);
        if delivery.addressed.is_empty() {
            say("To:", &self.named(everybody));
        } else {
            say("To:", &self.named(&delivery.addressed));
            let copied = self.named(everybody.filter(|name| !delivery.addressed.contains(name)));
            if !copied.is_empty() {
                say("Cc:", &copied);
            }
        }
        say("Sent:", &format!("{} ({})", ago(delivery.created_at, now), at(delivery.created_at)));
        say("Subject:", &format!("{}{}", delivery.subject, archived(delivery)));
        if !delivery.thread.is_empty() {
            say("Thread:", &delivery.thread);
        }
        if let Some(reply_to) = &delivery.reply_to {
            say("Answers:", reply_to);
        }
        if let Some(importance) = importance(delivery.priority) {
            say("Priority:", importance);
        }
        if delivery.awaits_ack && self.is_own {
            say("Wants:", &format!("an acknowledgement, given with: postrider mail ack {}", word(&delivery.id)));
        }
        for problem in &delivery.problems {
            say("Problem:", problem);
        }
        format!("{}\n\n{}", lines.join("\n"), text::lines(&delivery.body))
    }

    /// Within its conversation: who wrote to whom, whether it was read, and what it says, below that.
    pub fn in_thread(&self, now: Timestamp) -> String {
        let delivery = &self.delivery;
        let mut to = self.named([&delivery.to]);
        let is_nobodys = delivery.to.starts_with(SIGN);
        if self.recipients().is_empty() && !is_nobodys {
            to.push_str(if delivery.read { " (read)" } else { " (unread)" });
        }
        if !delivery.cc.is_empty() {
            to.push_str(&format!(", {}", self.named(&delivery.cc)));
        }
        let way = text::unbroken(&format!("{} → {to}", signed(&delivery.from, delivery.is_human)));
        let (id, when) = (text::unbroken(&delivery.id), ago(delivery.created_at, now) + archived(delivery));
        let mut told = format!("{id}  {way}  {when}\n{}", text::unbroken(&delivery.subject));
        for line in text::lines(&delivery.body).lines() {
            told.push_str(format!("\n    {line}").trim_end_matches(' '));
        }
        told
    }

    /// Names, each with what it did with its delivery, as far as that is known.
    fn named<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> String {
        let wants_ack = self.sent.as_ref().is_some_and(|sent| sent.message.ack_required);
        let named = |name: &String| match self.recipients().iter().find(|recipient| recipient.name == *name) {
            Some(recipient) => format!("{name} ({})", state(recipient, wants_ack)),
            None => name.clone(),
        };
        names.into_iter().map(named).collect::<Vec<_>>().join(", ")
    }

    fn recipients(&self) -> &[RecipientAnswer] {
        self.sent.as_ref().map_or(&[], |sent| &sent.recipients)
    }
}

/// What is said of a delivery that is archived.
fn archived(delivery: &ProviderDelivery) -> &'static str {
    if delivery.archived { " (archived)" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: Screen = Screen { width: 100, height: None, is_coloured: false };

    fn now() -> Timestamp {
        "2026-01-11T16:30:00Z".parse().unwrap()
    }

    fn seen(delivery: ProviderDelivery) -> Seen {
        Seen { delivery, sent: None, is_own: true }
    }

    fn delivery(id: &str) -> ProviderDelivery {
        ProviderDelivery {
            id: id.to_owned(),
            from: "GreenDog".to_owned(),
            is_human: false,
            to: "BlueLake".to_owned(),
            subject: "Who takes the parser?".to_owned(),
            body: "I would.\n\nReally.".to_owned(),
            created_at: "2026-01-11T16:27:59.5Z".parse().unwrap(),
            read: false,
            thread: "T-1".to_owned(),
            reply_to: None,
            priority: None,
            cc: Vec::new(),
            awaits_ack: false,
            addressed: Vec::new(),
            archived: false,
            problems: Vec::new(),
        }
    }

    #[test]
    fn a_delivery_has_one_shape_for_programs_and_leaves_out_what_is_not_there() {
        let bare = json!({
            "id": "17", "from": "GreenDog", "to": "BlueLake", "subject": "Who takes the parser?",
            "body": "I would.\n\nReally.", "created_at": "2026-01-11T16:27:59.5Z", "read": false, "thread_id": "T-1",
            "awaits_ack": false,
        });
        assert_eq!(to_value(&delivery("17")), bare);
        let full = ProviderDelivery {
            reply_to: Some("12".to_owned()),
            priority: Some(1),
            cc: vec!["RedFox".to_owned()],
            ..delivery("17")
        };
        let told = to_value(&full);
        assert_eq!((&told["reply_to"], &told["priority"], &told["cc"]), (&json!("12"), &json!(1), &json!(["RedFox"])));
    }

    #[test]
    fn a_list_marks_what_is_unread_urgent_or_to_be_acknowledged() {
        let read =
            ProviderDelivery { read: true, created_at: "2026-01-11T13:00:00Z".parse().unwrap(), ..delivery("3") };
        let urgent = ProviderDelivery { priority: Some(1), awaits_ack: true, ..delivery("17.2") };
        let odd = ProviderDelivery { problems: vec!["x".to_owned()], ..delivery("18") };
        let table = table(&[read, urgent, odd], now(), &WIDE);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(
            lines,
            [
                "   ID    FROM      SUBJECT                WHEN       FLAGS",
                "   3     GreenDog  Who takes the parser?  3 h ago",
                "*  17.2  GreenDog  Who takes the parser?  2 min ago  urgent, wants ack",
                "*  18    GreenDog  Who takes the parser?  2 min ago  malformed",
            ]
        );
    }

    #[test]
    fn a_line_without_a_subject_says_how_the_text_begins() {
        let bare =
            ProviderDelivery { subject: String::new(), body: "\n  It is open.\nReally.".to_owned(), ..delivery("1") };
        let table = table(std::slice::from_ref(&bare), now(), &WIDE);
        assert!(table.contains("  It is open.  ") && !table.contains("Really"), "{table}");
        assert_eq!(to_value(&bare)["subject"], "");
    }

    #[test]
    fn a_delivery_in_full_tells_its_whole_header_and_body() {
        let full = ProviderDelivery {
            reply_to: Some("12".to_owned()),
            priority: Some(2),
            cc: vec!["RedFox".to_owned()],
            awaits_ack: true,
            addressed: Vec::new(),
            archived: false,
            problems: vec!["Missing required field: task_id".to_owned()],
            ..delivery("17")
        };
        let text = seen(full).whole(now());
        let head = "Id:       17\nFrom:     GreenDog\nTo:       BlueLake, RedFox\n\
                    Sent:     2 min ago (2026-01-11 16:27:59Z)\n";
        assert!(text.starts_with(head), "{text}");
        assert!(text.contains("\nAnswers:  12\nPriority: high\nWants:    an acknowledgement"), "{text}");
        let end = "mail ack 17\nProblem:  Missing required field: task_id\n\nI would.\n\nReally.";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn whom_it_is_written_to_is_told_apart_from_who_got_a_copy() {
        let addressed = vec!["GrayOwl".to_owned(), "RedFox".to_owned()];
        let cc = vec!["GrayOwl".to_owned(), "RedFox".to_owned(), "PinkCat".to_owned()];
        let copied = ProviderDelivery { addressed, cc, ..delivery("17.3") };
        assert_eq!(to_value(&copied)["addressed"], json!(["GrayOwl", "RedFox"]));
        let text = seen(copied).whole(now());
        assert!(text.contains("\nTo:       GrayOwl, RedFox\nCc:       BlueLake, PinkCat\n"), "{text}");
        let only = ProviderDelivery { addressed: vec!["BlueLake".to_owned()], ..delivery("17") };
        assert_eq!(to_value(&only).get("addressed"), None, "it says no more than 'to'");
        assert!(!seen(only).whole(now()).contains("Cc:"));
    }

    #[test]
    fn what_a_person_wrote_is_shown_so() {
        let human = ProviderDelivery { from: "Anna".to_owned(), is_human: true, ..delivery("17") };
        assert_eq!(to_value(&human)["vouched"], "human");
        assert!(table(std::slice::from_ref(&human), now(), &WIDE).contains("  Anna (human)  Who takes"));
        let human = seen(human);
        assert!(human.whole(now()).contains("\nFrom:     Anna (human)\n"));
        assert!(human.in_thread(now()).starts_with("17  Anna (human) → BlueLake (unread)  2 min ago\n"));
    }

    #[test]
    fn what_is_archived_is_shown_so() {
        let away = ProviderDelivery { archived: true, ..delivery("17") };
        assert_eq!(to_value(&away)["archived"], true);
        let away = seen(away);
        assert!(away.whole(now()).contains("\nSubject:  Who takes the parser? (archived)\n"));
        assert!(away.in_thread(now()).starts_with("17  GreenDog → BlueLake (unread)  2 min ago (archived)\n"));
    }

    #[test]
    fn on_a_narrow_screen_times_and_flags_are_short_and_names_are_whole() {
        let urgent = ProviderDelivery { priority: Some(1), awaits_ack: true, ..delivery("17.2") };
        let narrow = table(&[urgent], now(), &Screen { width: 50, ..WIDE });
        let lines: Vec<&str> = narrow.lines().collect();
        assert_eq!(
            lines,
            ["   ID    FROM      SUBJECT            WHEN  FLAGS", "*  17.2  GreenDog  Who takes the pa…  2m    !, ack",]
        );
    }

    #[test]
    fn a_delivery_in_its_thread_tells_whose_delivery_was_read() {
        let read = ProviderDelivery { read: true, cc: vec!["RedFox".to_owned()], ..delivery("17.1") };
        let told =
            "17.1  GreenDog → BlueLake (read), RedFox  2 min ago\nWho takes the parser?\n    I would.\n\n    Really.";
        assert_eq!(seen(read).in_thread(now()), told);
    }

    #[test]
    fn no_part_of_a_delivery_can_steer_the_terminal() {
        let evil = "\x1b[2J\u{9b}1m\u{202e}\r".to_owned();
        let delivery = ProviderDelivery {
            id: evil.clone(),
            from: evil.clone(),
            to: evil.clone(),
            subject: evil.clone(),
            body: evil.clone(),
            thread: evil.clone(),
            reply_to: Some(evil.clone()),
            cc: vec![evil],
            awaits_ack: true,
            addressed: Vec::new(),
            archived: false,
            ..delivery("1")
        };
        let table = table(std::slice::from_ref(&delivery), now(), &WIDE);
        let seen = seen(delivery);
        for text in [seen.whole(now()), seen.in_thread(now()), table] {
            let steers = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
            assert!(!text.chars().any(steers), "{text:?}");
        }
    }
}

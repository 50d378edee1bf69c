//! Whether FTS5 finds what a plain reading of the query would find.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;
use mail::agents::{AgentName, AgentStore, Profile, Taking};
use mail::ids::{AgentId, ProjectId};
use mail::messages::{About, Importance, MessageStore, NewMessage, PAGE_BYTES, Role, Vouched};
use mail::projects::ProjectStore;
use mail::responses::JsonFacts;
use mail::search::query::{DEEPEST, Field, MOST_TERMS, Query, Sequence};

use mail::search::SearchStore;
use rusqlite::ErrorCode;

use super::super::Options;
use super::*;
use crate::Engine;

const WORDS: [&str; 6] = ["red", "green", "blue", "round", "rounder", "square"];

struct Corpus {
    _folder: tempfile::TempDir,
    store: Engine,
    project: ProjectId,
    senders: Vec<(&'static str, AgentId)>,
}

async fn corpus(options: &Options) -> Corpus {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&folder.path().join("mail.db"), options).unwrap();
    let now = Timestamp::UNIX_EPOCH;
    let project = store.ensure_project("/a", now).await.unwrap().id;
    let mut senders = Vec::new();
    for name in ["alice", "ALICE", "bob"] {
        let checked = AgentName::parse(name).unwrap();
        let made = store.register(project, &checked, &Profile::default(), None, Taking::NewOnly, now).await.unwrap();
        senders.push((name, made.expect("each has a name of its own").id));
    }
    Corpus { _folder: folder, store, project, senders }
}

impl Corpus {
    async fn send(&self, sender: usize, subject: &str, body: &str) {
        let message = NewMessage {
            project: self.project,
            from: self.senders[sender].1,
            from_as: None,
            recipients: vec![(self.senders[2].1, "bob".into(), Role::To)],
            subject: subject.into(),
            body: body.into(),
            thread: None,
            reply_to: None,
            marks_read: true,
            importance: Importance::Normal,
            ack_required: false,
            kind: None,
            work_id: None,
            is_passing: false,
            door: "test",
            vouched: Vouched::Claimed,
            idempotency: None,
            open_key: None,
            post: None,
            json: JsonFacts::default(),
            now: Timestamp::UNIX_EPOCH,
        };
        self.store.append(&message).await.unwrap();
    }
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn words(&mut self, most: usize) -> String {
        let count = self.roll(most + 1);
        (0..count).map(|_| WORDS[self.roll(WORDS.len())]).collect::<Vec<_>>().join(" ")
    }

    fn sequence(&mut self) -> Sequence {
        let word = WORDS[self.roll(WORDS.len())];
        match self.roll(3) {
            0 => Sequence { text: word[..3].to_owned(), is_prefix: true },
            1 => Sequence { text: format!("{word} {}", WORDS[self.roll(WORDS.len())]), is_prefix: false },
            _ => Sequence { text: word.to_owned(), is_prefix: false },
        }
    }

    fn query(&mut self, depth: usize) -> Query {
        let field = [Field::Any, Field::Subject, Field::Body][self.roll(3)];
        let word = WORDS[self.roll(WORDS.len())].to_owned();
        let parts = |dice: &mut Self| (0..2 + dice.roll(2)).map(|_| dice.query(depth - 1)).collect();
        match self.roll(if depth == 0 { 6 } else { 10 }) {
            0 => Query::Word { text: word, field },
            1 => Query::Prefix { text: word[..2 + self.roll(3).min(word.len() - 2)].to_owned(), field },
            2 => Query::Phrase { text: format!("{word} {}", WORDS[self.roll(WORDS.len())]), field },
            3 => Query::From(["alice", "Bob", "carol"][self.roll(3)].to_owned()),
            4 => Query::Start { sequence: self.sequence(), field },
            5 => {
                let sequences = (0..2 + self.roll(2)).map(|_| self.sequence()).collect();
                Query::Near { sequences, most_between: self.roll(3) as u32, field }
            }
            6 | 7 => Query::And(parts(self)),
            8 => Query::Or(parts(self)),
            _ => Query::Not(Box::new(self.query(depth - 1))),
        }
    }
}

/// The words before which a sequence begins.
fn places(sequence: &Sequence, text: &str) -> Vec<usize> {
    let end = if sequence.is_prefix { "" } else { " " };
    let wanted = format!(" {}{end}", sequence.text);
    let whole = format!(" {text} ");
    let starts = (0..whole.len()).filter(|start| whole[*start..].starts_with(&wanted));
    starts.map(|start| whole[..start].matches(' ').count()).collect()
}

/// Every choice of places is looked at.
fn is_near(sequences: &[Sequence], most_between: usize, text: &str) -> bool {
    let mut choices: Vec<Vec<(usize, usize)>> = vec![vec![]];
    for sequence in sequences {
        let length = sequence.text.split(' ').count();
        let places = places(sequence, text);
        let longer = |choice: &Vec<(usize, usize)>| -> Vec<Vec<(usize, usize)>> {
            places.iter().map(|place| [choice.as_slice(), &[(*place, *place + length)]].concat()).collect()
        };
        choices = choices.iter().flat_map(longer).collect();
    }
    choices.iter().any(|choice| {
        let last = choice.iter().map(|(start, _)| *start).max().unwrap_or(0);
        choice.iter().all(|(_, end)| last.saturating_sub(*end) <= most_between)
    })
}

/// Reads the query as its documentation says, word by word.
fn matches(query: &Query, message: &Message) -> bool {
    let texts = |field: Field| match field {
        Field::Any => vec![&message.subject, &message.body],
        Field::Subject => vec![&message.subject],
        Field::Body => vec![&message.body],
    };
    let some_word = |field, wanted: &dyn Fn(&str) -> bool| texts(field).iter().any(|text| text.split(' ').any(wanted));
    match query {
        Query::Word { text, field } => some_word(*field, &|word| word == text),
        Query::Prefix { text, field } => some_word(*field, &|word| word.starts_with(text.as_str())),
        Query::Phrase { text, field } => {
            texts(*field).iter().any(|whole| format!(" {whole} ").contains(&format!(" {text} ")))
        }
        Query::Start { sequence, field } => texts(*field).iter().any(|text| places(sequence, text).contains(&0)),
        Query::Near { sequences, most_between, field } => {
            texts(*field).iter().any(|text| is_near(sequences, *most_between as usize, text))
        }
        Query::From(name) => message.from.eq_ignore_ascii_case(name),
        Query::And(parts) => parts.iter().all(|part| matches(part, message)),
        Query::Or(parts) => parts.iter().any(|part| matches(part, message)),
        Query::Not(inner) => !matches(inner, message),
    }
}

#[tokio::test]
async fn a_search_finds_exactly_what_the_query_says() {
    let corpus = corpus(&Options::default()).await;
    let mut dice = Dice(1);
    for _ in 0..60 {
        let (sender, subject, body) = (dice.roll(3), dice.words(2), dice.words(5));
        corpus.send(sender, &subject, &body).await;
    }
    let everything = Query::Not(Box::new(Query::From("nobody at all".into())));
    let all = corpus.store.search(corpus.project, &everything, &About::default(), None, 100).await.unwrap();
    assert_eq!(all.len(), 60);
    let mut sizes = HashSet::new();
    for _ in 0..1500 {
        let query = dice.query(4);
        let found = corpus.store.search(corpus.project, &query, &About::default(), None, 100).await.unwrap();
        let expected: Vec<_> = all.iter().filter(|message| matches(&query, message)).cloned().collect();
        assert_eq!(found, expected, "{query:?}");
        sizes.insert(found.len());
    }
    assert!(sizes.len() > 20, "the queries found little of interest: {sizes:?}");
}

#[tokio::test]
async fn the_deepest_and_longest_queries_are_not_too_much() {
    let corpus = corpus(&Options::default()).await;
    corpus.send(0, "red", "").await;
    let nested = |open: &str, close: &str| {
        (1..=DEEPEST).map(|depth| format!("{}red{}", open.repeat(depth), close.repeat(depth))).collect::<Vec<_>>()
    };
    let mut queries = nested("green AND (", ")");
    queries.extend(nested("green OR (blue AND (", "))"));
    queries.extend(nested("NOT (green OR ", ")"));
    queries.extend(nested("(", " OR green) AND NOT (blue AND red)"));
    queries.extend(nested("NOT ", ""));
    queries.push(vec!["NOT (red AND green)"; MOST_TERMS / 2].join(" OR "));
    queries.push(vec!["from:alice"; MOST_TERMS].join(" "));
    let mut read = 0;
    for text in queries {
        let Ok(query) = Query::parse(&text) else { continue };
        read += 1;
        let answer = corpus.store.search(corpus.project, &query, &About::default(), None, 10).await;
        assert!(answer.is_ok(), "{text}: {answer:?}");
    }
    assert!(read > 3 * DEEPEST, "most of them are queries: {read}");
}

#[tokio::test]
async fn a_word_of_signs_alone_finds_nothing_and_harms_nothing() {
    let corpus = corpus(&Options::default()).await;
    corpus.send(0, "red", "").await;
    let signs = || Query::Word { text: "🦀\0\"".into(), field: Field::Any };
    let red = || Query::Word { text: "red\0".into(), field: Field::Any };
    for (query, count) in [
        (signs(), 0),
        (Query::Prefix { text: "*".into(), field: Field::Body }, 0),
        (red(), 1),
        (Query::And(vec![red(), signs()]), 0),
        (Query::Or(vec![signs(), red()]), 1),
        (Query::And(vec![red(), Query::Not(Box::new(signs()))]), 1),
    ] {
        assert_eq!(
            corpus.store.search(corpus.project, &query, &About::default(), None, 10).await.unwrap().len(),
            count,
            "{query:?}"
        );
    }
}

#[tokio::test]
async fn a_page_of_long_bodies_ends_early() {
    let corpus = corpus(&Options { search_deadline: Duration::from_secs(60) }).await;
    let (full, body) = (PAGE_BYTES / BODY_SHOWN + 1, "x".repeat(BODY_SHOWN));
    for _ in 0..=full {
        corpus.send(0, "red", &body).await;
    }
    let query = Query::parse("red").unwrap();
    let page = corpus.store.search(corpus.project, &query, &About::default(), None, 1000).await.unwrap();
    assert_eq!(page.len(), full);
    let rest =
        corpus.store.search(corpus.project, &query, &About::default(), Some(page[full - 1].id), 1000).await.unwrap();
    assert_eq!(rest.len(), 1);
}

#[tokio::test]
async fn a_search_that_does_not_get_its_turn_in_time_is_given_up() {
    let corpus = corpus(&Options { search_deadline: Duration::from_millis(20) }).await;
    let Engine::Sqlite(sqlite) = &corpus.store else { panic!("it is SQLite's") };
    let turns = sqlite.turns.acquire_many(2).await.unwrap();
    let answer = corpus.store.search(corpus.project, &Query::parse("red").unwrap(), &About::default(), None, 10).await;
    assert!(matches!(answer, Err(StoreError::TooSlow)), "{answer:?}");
    drop(turns);
}

#[test]
fn work_in_the_database_is_given_up_at_its_deadline() {
    let mut connection = Connection::open_in_memory().unwrap();
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n";
    give_up_at(&mut connection, Instant::now()).unwrap();
    let error = connection.query_row(endless, [], |_| Ok(())).unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::OperationInterrupted));
    give_up_at(&mut connection, Instant::now() + Duration::from_secs(60)).unwrap();
    connection.query_row("SELECT 1", [], |_| Ok(())).unwrap();
}

#[tokio::test]
async fn results_come_in_the_order_of_the_index_without_sorting() {
    let corpus = corpus(&Options::default()).await;
    let sql = "EXPLAIN QUERY PLAN SELECT m.body FROM message_fts f CROSS JOIN message m ON m.id = f.rowid
               WHERE message_fts MATCH 'red' AND f.rowid < 9 ORDER BY f.rowid DESC LIMIT 3";
    let plan = corpus.store.read("explain", async |tx| tx.rows::<(i64, i64, i64, String)>(sql, &[]).await);
    let plan = plan.await.unwrap();
    assert!(!plan.iter().any(|(.., step)| step.contains("TEMP B-TREE")), "{plan:?}");
}

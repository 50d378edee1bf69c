//! How much of a channel is looked at: counted in steps of SQLite, because a clock would tell another story every day.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;

use super::*;
use crate::sqlite::{in_memory, now, reading};

/// A channel with so many posts, one in a second, of which the first three are one conversation.
fn channel_of(posts: i64) -> Connection {
    let connection = in_memory();
    let filled = format!(
        "INSERT INTO project (id, human_key, slug, created_at) VALUES (1, '/p', 'p', 0);
         INSERT INTO agent (id, project_id, name, program, model, task_description, registered_at, last_active_at)
             VALUES (1, 1, 'a', '', '', '', 0, 0);
         INSERT INTO channel (id, project_id, name, created_at) VALUES (1, 1, 'dev', 0);
         CREATE TEMP TABLE n AS WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {posts})
             SELECT n FROM n;
         INSERT INTO message (id, project_id, sender_id, created_at, thread, importance, ack_required, door, vouched,
             to_names, cc_names, subject, body, from_name)
             SELECT n, 1, 1, n * 1000000, iif(n <= 3, 'T', n), 1, 0, 'test', 'claimed', '#dev', '', 's', 'b', 'a' FROM n;
         INSERT INTO post (message_id, channel_id, seq, external_id, kind, mode, hops, sent_at)
             SELECT n, 1, n, 'msg-' || n, 'chat', 'chat', 0, n FROM n;"
    );
    connection.execute_batch(&filled).unwrap();
    connection
}

fn numbers(connection: &mut Connection, query: &PostQuery) -> (Vec<i64>, u64) {
    let steps = Arc::new(AtomicU64::new(0));
    let counter = steps.clone();
    connection
        .progress_handler(
            1,
            Some(move || {
                counter.fetch_add(1, Ordering::Relaxed);
                false
            }),
        )
        .unwrap();
    let found = reading(connection, |tx| now(posts(tx, ProjectId(1), "dev", query))).unwrap();
    connection.progress_handler(0, None::<fn() -> bool>).unwrap();
    (found.iter().map(|post| post.message.id.0).collect(), steps.load(Ordering::Relaxed))
}

#[test]
fn a_page_since_a_time_or_of_a_conversation_does_not_walk_the_channel() {
    let (mut small, mut large) = (channel_of(1_000), channel_of(30_000));
    let since = |second| PostQuery { since: Timestamp::from_second(second).ok(), limit: 3, ..PostQuery::default() };
    let thread = PostQuery { thread: Some("T".into()), limit: 3, ..PostQuery::default() };
    let since_in_thread = PostQuery { thread: Some("T".into()), ..since(1) };
    let cases = [(since(3), vec![4, 5, 6]), (thread, vec![1, 2, 3]), (since_in_thread, vec![2, 3])];
    for (query, expected) in cases {
        let (few, many) = (numbers(&mut small, &query), numbers(&mut large, &query));
        assert_eq!((&few.0, &many.0), (&expected, &expected));
        assert!(many.1 < few.1 * 2, "{} steps among few and {} among many: {query:?}", few.1, many.1);
    }
}

#[test]
fn the_last_post_before_a_time_is_found_wherever_it_is() {
    let mut connection = channel_of(100);
    connection.execute_batch("DELETE FROM post WHERE message_id % 7 = 0 OR message_id BETWEEN 40 AND 60").unwrap();
    let is_there = |id: &i64| id % 7 != 0 && !(40..=60).contains(id);
    for second in 0..=101 {
        let expected = (1..=second.min(100)).rev().find(is_there).unwrap_or(0);
        let time = Timestamp::from_second(second).unwrap();
        let last = reading(&mut connection, |tx| now(last_before(tx, 1, time))).unwrap();
        assert_eq!(last, MessageId(expected), "{second}");
    }
}

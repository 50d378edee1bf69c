//! Channels, their posts, and what was taken in from outside, in SQLite.

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use jiff::Timestamp;
use mail::StoreError;
use mail::channels::{
    Channel, ChannelName, ChannelStore, MOST_NAMES, NewPost, OfficeMark, Origin, Post, PostQuery, external_id,
};
use mail::clock::from_micros;
use mail::ids::{MessageId, ProjectId};
use mail::messages::{Appended, NewMessage};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use super::messages::rows::{AFTER_BODY, BODY, COLUMNS, message_of, page, unknown};
use super::{Sqlite, limit_of};
use crate::placed::Placed;

/// The columns of a post `o` in a channel `c`, behind those of its message.
const POST: &str = "c.name, o.seq, o.external_id, o.cited_as, o.kind, o.mode, o.hops, o.sent_at, o.document, \
     coalesce((SELECT answered.external_id FROM post answered WHERE answered.message_id = m.reply_to), o.answers), \
     o.origin";
const JOINED: &str = "FROM post o JOIN channel c ON c.id = o.channel_id CROSS JOIN message m ON m.id = o.message_id";

/// The same, found by the conversation.
const OF_THREAD: &str = "FROM message m INDEXED BY message_by_thread \
     CROSS JOIN post o ON o.message_id = m.id JOIN channel c ON c.id = o.channel_id";

#[async_trait]
impl ChannelStore for Sqlite {
    async fn office_id(&self) -> Result<String, StoreError> {
        self.read("tell which office this is", office)
    }

    async fn channels(&self, project: ProjectId) -> Result<Vec<Channel>, StoreError> {
        self.read("list channels", |connection| {
            connection
                .prepare_cached(
                    "SELECT c.name, c.created_at, (SELECT count(*) FROM post WHERE channel_id = c.id), n.id, n.created_at
                     FROM channel c
                     LEFT JOIN message n ON n.id = (SELECT max(message_id) FROM post WHERE channel_id = c.id)
                     WHERE c.project_id = ?1 ORDER BY c.name",
                )?
                .query_map([project.0], |row| {
                    let newest = row.get::<_, Option<i64>>(3)?.map(MessageId);
                    let at = row.get::<_, Option<i64>>(4)?.map(from_micros);
                    Ok(Channel {
                        name: row.get(0)?,
                        created_at: from_micros(row.get(1)?),
                        posts: row.get::<_, i64>(2)?.unsigned_abs(),
                        newest: newest.zip(at),
                    })
                })?
                .collect()
        })
    }

    async fn posts(&self, project: ProjectId, channel: &str, query: &PostQuery) -> Result<Vec<Post>, StoreError> {
        self.read("read a channel", |connection| posts(connection, project, channel, query))
    }

    async fn newest_post(&self, project: ProjectId, channel: &str) -> Result<Option<MessageId>, StoreError> {
        self.read("look for a new post", |connection| {
            connection
                .prepare_cached(
                    "SELECT max(message_id) FROM post
                     WHERE channel_id = (SELECT id FROM channel WHERE project_id = ?1 AND name = ?2)",
                )?
                .query_row((project.0, channel), |row| Ok(row.get::<_, Option<i64>>(0)?.map(MessageId)))
        })
    }

    async fn post(&self, message: MessageId) -> Result<Option<Post>, StoreError> {
        self.read("read a post", |connection| by_message(connection, message))
    }

    async fn post_called(&self, project: ProjectId, channel: &str, id: &str) -> Result<Option<Post>, StoreError> {
        self.read("find a post", |connection| {
            let Some(channel) = find(connection, project, channel)? else { return Ok(None) };
            let sql = format!(
                "SELECT {COLUMNS}, {BODY}, {POST} {JOINED} WHERE o.message_id = coalesce(
                     (SELECT max(message_id) FROM post WHERE channel_id = ?1 AND external_id = ?2),
                     (SELECT max(message_id) FROM post WHERE channel_id = ?1 AND cited_as = ?2),
                     (SELECT message_id FROM arrival WHERE channel_id = ?1 AND key = ?2))"
            );
            connection.prepare_cached(&sql)?.query_row((channel, id), post_of).optional()
        })
    }

    async fn thread_awaiting(
        &self,
        project: ProjectId,
        channel: &str,
        names: &[&str],
    ) -> Result<Option<String>, StoreError> {
        self.read("find who waits for a post", |connection| {
            let Some(channel) = find(connection, project, channel)? else { return Ok(None) };
            let mut statement = connection.prepare_cached(
                "SELECT m.thread FROM message m WHERE m.id =
                     (SELECT min(message_id) FROM post WHERE channel_id = ?1 AND answers = ?2)",
            )?;
            for name in names {
                let thread = statement.query_row((channel, name), |row| row.get(0)).optional()?;
                if thread.is_some() {
                    return Ok(thread);
                }
            }
            Ok(None)
        })
    }

    async fn known_keys(&self, project: ProjectId, channel: &str, keys: &[&str]) -> Result<Vec<String>, StoreError> {
        self.read("look for what was taken in", |connection| {
            let Some(channel) = find(connection, project, channel)? else { return Ok(Vec::new()) };
            let mut known = Vec::new();
            for key in keys {
                if taken_in(connection, channel, key)?.is_some() {
                    known.push((*key).to_owned());
                }
            }
            Ok(known)
        })
    }

    async fn name_post(&self, message: MessageId, name: &str) -> Result<(), StoreError> {
        // Whoever begins anew names again what it named before.
        if self.read("read the name of a post", |connection| is_named(connection, message, name))? {
            return Ok(());
        }
        let name = name.to_owned();
        self.write("name a post", move |desk| {
            let channel = desk
                .connection
                .prepare_cached("UPDATE post SET external_id = ?2 WHERE message_id = ?1 RETURNING channel_id")?
                .query_row((message.0, &name), |row| row.get(0))
                .optional()?;
            channel.map_or(Ok(()), |channel| note(desk.connection, channel, &name, message))
        })
        .await
    }

    async fn note_key(&self, message: MessageId, key: &str) -> Result<(), StoreError> {
        let key = key.to_owned();
        self.write("note where a post stands", move |desk| {
            let channel = desk
                .connection
                .prepare_cached("SELECT channel_id FROM post WHERE message_id = ?1")?
                .query_row([message.0], |row| row.get(0))
                .optional()?;
            channel.map_or(Ok(()), |channel| note(desk.connection, channel, &key, message))
        })
        .await
    }
}

/// What is there already of a post that came from outside. Its other keys are noted as more names of it.
pub(super) fn there_already(connection: &Connection, message: &NewMessage) -> rusqlite::Result<Option<Appended>> {
    let Some((first, others)) = message.post.as_ref().and_then(|post| post.keys.split_first()) else { return Ok(None) };
    let post = message.post.as_ref().expect("it has keys");
    let Some(channel) = find(connection, message.project, post.channel.as_str())? else { return Ok(None) };
    let Some(known) = taken_in(connection, channel, first)? else { return Ok(None) };
    for key in others {
        note(connection, channel, key, known)?;
    }
    Ok(Some(Appended::Repeated(known)))
}

/// Makes a message that has its place a post.
pub(super) fn insert(
    connection: &Connection,
    message: &Placed<'_>,
    post: &NewPost,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let channel = ensure(connection, message.project, post.channel.as_str(), now)?;
    let sent_at = post.sent_at.unwrap_or(message.created_at);
    let name = match &post.external_id {
        Some(name) => name.clone(),
        None => {
            let from: String = connection
                .prepare_cached("SELECT name FROM agent WHERE id = ?1")?
                .query_row([message.sender.0], |row| row.get(0))?;
            let office = office(connection)?;
            free_name(connection, channel, |attempt| external_id(sent_at, &from, &office, message.seq, attempt))?
        }
    };
    connection
        .prepare_cached(
            "INSERT INTO post (message_id, channel_id, seq, external_id, cited_as, kind, mode, hops, sent_at, document,
                 origin, answers)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute((
            message.id.0,
            channel,
            message.seq,
            name,
            &post.cited_as,
            &post.kind,
            &post.mode,
            post.hops,
            sent_at.as_microsecond(),
            &post.document,
            post.origin.as_ref().map(ToString::to_string),
            &post.answers,
        ))?;
    post.keys.iter().try_for_each(|key| note(connection, channel, key, message.id))
}

/// What makes a message a post, for another store.
pub(super) fn export(connection: &Connection, message: MessageId) -> rusqlite::Result<Option<NewPost>> {
    let Some(post) = by_message(connection, message)? else { return Ok(None) };
    let office = office(connection)?;
    let mut keys: Vec<String> = post.mark(&office).iter().map(OfficeMark::key).collect();
    let channel = find(connection, post.message.project, &post.channel)?;
    let stands = channel.map(|channel| taken_in(connection, channel, &post.external_id)).transpose()?.flatten();
    keys.extend(stands.filter(|known| *known == message).map(|_| post.external_id.clone()));
    let channel = ChannelName::parse(&post.channel).map_err(|_| unknown(0, "channel", &post.channel))?;
    let origin = (!post.has_arrived()).then(|| post.first_said(&office));
    Ok(Some(NewPost {
        channel,
        keys,
        external_id: Some(post.external_id),
        cited_as: post.cited_as,
        answers: post.in_reply_to.filter(|_| post.message.reply_to.is_none()),
        kind: post.kind,
        mode: post.mode,
        hops: post.hops,
        sent_at: Some(post.sent_at),
        document: post.document,
        origin,
    }))
}

fn by_message(connection: &Connection, message: MessageId) -> rusqlite::Result<Option<Post>> {
    let sql = format!("SELECT {COLUMNS}, {BODY}, {POST} {JOINED} WHERE o.message_id = ?1");
    connection.prepare_cached(&sql)?.query_row([message.0], post_of).optional()
}

fn office(connection: &Connection) -> rusqlite::Result<String> {
    connection.prepare_cached("SELECT id FROM office")?.query_row([], |row| row.get(0))
}

fn find(connection: &Connection, project: ProjectId, name: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT id FROM channel WHERE project_id = ?1 AND name = ?2")?
        .query_row((project.0, name), |row| row.get(0))
        .optional()
}

fn ensure(connection: &Connection, project: ProjectId, name: &str, now: Timestamp) -> rusqlite::Result<i64> {
    if let Some(channel) = find(connection, project, name)? {
        return Ok(channel);
    }
    connection
        .prepare_cached("INSERT INTO channel (project_id, name, created_at) VALUES (?1, ?2, ?3) RETURNING id")?
        .query_row((project.0, name, now.as_microsecond()), |row| row.get(0))
}

/// A page of a channel, the oldest first.
fn posts(connection: &Connection, project: ProjectId, channel: &str, query: &PostQuery) -> rusqlite::Result<Vec<Post>> {
    let Some(channel) = find(connection, project, channel)? else { return Ok(Vec::new()) };
    // A conversation is found by its name, so that the rest of the channel is not looked at.
    let (joined, id) = if query.thread.is_some() { (OF_THREAD, "m.id") } else { (JOINED, "o.message_id") };
    let mut wanted = "o.channel_id = ?".to_owned();
    let mut values = vec![Value::from(channel)];
    let mut add = |clause: String, value: Value| {
        wanted.push_str(&clause);
        values.push(value);
    };
    if let Some(thread) = &query.thread {
        add(" AND m.project_id = ?".to_owned(), project.0.into());
        add(" AND m.thread = ?".to_owned(), thread.clone().into());
    }
    let earlier = query.since.map(|time| last_before(connection, channel, time)).transpose()?;
    let after = query.after.max(earlier);
    after.iter().for_each(|after| add(format!(" AND {id} > ?"), after.0.into()));
    query.before.iter().for_each(|before| add(format!(" AND {id} < ?"), before.0.into()));
    values.push(limit_of(query.limit).into());
    let order = if after.is_some() { "ASC" } else { "DESC" };
    let sql = format!("SELECT {COLUMNS}, {BODY}, {POST} {joined} WHERE {wanted} ORDER BY {id} {order} LIMIT ?");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut posts = page(statement.query_map(params_from_iter(values), post_of)?, Post::bytes)?;
    posts.sort_by_key(|post| post.message.id);
    Ok(posts)
}

/// The last post that was accepted by then. Times rise with the numbers, so that the place is found by halving.
fn last_before(connection: &Connection, channel: i64, time: Timestamp) -> rusqlite::Result<MessageId> {
    let mut statement = connection.prepare_cached(
        "SELECT id, created_at FROM message WHERE id =
             (SELECT max(message_id) FROM post WHERE channel_id = ?1 AND message_id > ?2 AND message_id <= ?3)",
    )?;
    let (mut last, mut below) = (MessageId(0), 0);
    let mut at_most: i64 = connection
        .prepare_cached("SELECT coalesce(max(message_id), 0) FROM post WHERE channel_id = ?1")?
        .query_row([channel], |row| row.get(0))?;
    while below < at_most {
        let middle = at_most - (at_most - below) / 2;
        let found = statement.query_row((channel, below, middle), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        match found {
            Some((id, created_at)) if i64::gt(&created_at, &time.as_microsecond()) => {
                at_most = i64::min(id, middle) - 1
            }
            Some((id, _)) => (last, below) = (MessageId(id), middle),
            None => below = middle,
        }
    }
    Ok(last)
}

/// The first of the names that nothing in the channel has.
fn free_name(connection: &Connection, channel: i64, name: impl Fn(u32) -> String) -> rusqlite::Result<String> {
    let mut taken = connection.prepare_cached(
        "SELECT 1 FROM post WHERE channel_id = ?1 AND external_id = ?2
         UNION ALL SELECT 1 FROM arrival WHERE channel_id = ?1 AND key = ?2",
    )?;
    for attempt in 0..MOST_NAMES {
        let name = name(attempt);
        if !taken.exists((channel, &name))? {
            return Ok(name);
        }
    }
    // So many in one second are no accident, and a name is not what a post is known by here.
    Ok(name(0))
}

fn taken_in(connection: &Connection, channel: i64, key: &str) -> rusqlite::Result<Option<MessageId>> {
    connection
        .prepare_cached("SELECT message_id FROM arrival WHERE channel_id = ?1 AND key = ?2")?
        .query_row((channel, key), |row| row.get(0).map(MessageId))
        .optional()
}

/// Whether a post has that name, which was noted as well.
fn is_named(connection: &Connection, message: MessageId, name: &str) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT 1 FROM post p JOIN arrival a ON a.channel_id = p.channel_id AND a.key = ?2
             WHERE p.message_id = ?1 AND p.external_id = ?2",
        )?
        .exists((message.0, name))
}

/// Notes a key. One that is taken stays with whom it belongs to.
fn note(connection: &Connection, channel: i64, key: &str, message: MessageId) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO arrival (channel_id, key, message_id) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")?
        .execute((channel, key, message.0))
        .map(drop)
}

fn post_of(row: &Row<'_>) -> rusqlite::Result<Post> {
    let at = |column: usize| AFTER_BODY + column;
    Ok(Post {
        message: message_of(row)?,
        channel: row.get(at(0))?,
        seq: row.get(at(1))?,
        external_id: row.get(at(2))?,
        cited_as: row.get(at(3))?,
        kind: row.get(at(4))?,
        mode: row.get(at(5))?,
        hops: row.get(at(6))?,
        sent_at: from_micros(row.get(at(7))?),
        document: row.get(at(8))?,
        in_reply_to: row.get(at(9))?,
        origin: row.get_ref(at(10))?.as_str_or_null()?.and_then(Origin::parse),
    })
}

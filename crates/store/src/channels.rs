//! Channels, their posts, and what was taken in from outside.

#[cfg(test)]
mod tests;

use mail::channels::{
    Channel, ChannelName, ChannelStore, MOST_NAMES, NewPost, OfficeMark, Origin, Post, PostQuery, external_id,
};
use mail::messages::NewMessage;

use crate::messages::append::Placed;
use crate::messages::{BODY, COLUMNS};
use crate::prelude::*;
use crate::row::unknown;

/// The columns of a post `o` in a channel `c`, behind those of its message.
const POST: &str = "c.name, o.seq, o.external_id, o.cited_as, o.kind, o.mode, o.hops, o.sent_at, \
     coalesce((SELECT answered.external_id FROM post answered WHERE answered.message_id = m.reply_to), o.answers), \
     o.document, o.origin";
const JOINED: &str = "FROM post o JOIN channel c ON c.id = o.channel_id CROSS JOIN message m ON m.id = o.message_id";

/// The same, found by the conversation.
const OF_THREAD: &str = "FROM message m INDEXED BY message_by_thread \
     CROSS JOIN post o ON o.message_id = m.id JOIN channel c ON c.id = o.channel_id";

#[async_trait]
impl ChannelStore for Engine {
    async fn office_id(&self) -> Stored<String> {
        self.read("tell which office this is", async |tx| office(tx).await).await
    }

    async fn channels(&self, project: ProjectId) -> Stored<Vec<Channel>> {
        let sql = "SELECT c.name, c.created_at, (SELECT count(*) FROM post WHERE channel_id = c.id), n.id, n.created_at
                   FROM channel c
                   LEFT JOIN message n ON n.id = (SELECT max(message_id) FROM post WHERE channel_id = c.id)
                   WHERE c.project_id = ?1 ORDER BY c.name";
        self.read("list channels", async |tx| tx.rows(sql, values![project]).await).await
    }

    async fn posts(&self, project: ProjectId, channel: &str, query: &PostQuery) -> Stored<Vec<Post>> {
        self.read("read a channel", async |tx| posts(tx, project, channel, query).await).await
    }

    async fn newest_post(&self, project: ProjectId, channel: &str) -> Stored<Option<MessageId>> {
        let sql = "SELECT max(message_id) FROM post
                   WHERE channel_id = (SELECT id FROM channel WHERE project_id = ?1 AND name = ?2)";
        let values = values![project, channel];
        Ok(self.read("look for a new post", async |tx| tx.row(sql, values).await).await?.flatten())
    }

    async fn post(&self, message: MessageId) -> Stored<Option<Post>> {
        self.read("read a post", async |tx| by_message(tx, message).await).await
    }

    async fn post_called(&self, project: ProjectId, channel: &str, id: &str) -> Stored<Option<Post>> {
        let sql = format!(
            "SELECT {COLUMNS}, {BODY}, {POST} {JOINED} WHERE o.message_id = coalesce(
                 (SELECT max(message_id) FROM post WHERE channel_id = ?1 AND external_id = ?2),
                 (SELECT max(message_id) FROM post WHERE channel_id = ?1 AND cited_as = ?2),
                 (SELECT message_id FROM arrival WHERE channel_id = ?1 AND key = ?2))"
        );
        self.read("find a post", async |tx| {
            let Some(channel) = find(tx, project, channel).await? else { return Ok(None) };
            tx.row(&sql, values![channel, id]).await
        })
        .await
    }

    async fn thread_awaiting(&self, project: ProjectId, channel: &str, names: &[&str]) -> Stored<Option<String>> {
        let sql = "SELECT m.thread FROM message m WHERE m.id =
                       (SELECT min(message_id) FROM post WHERE channel_id = ?1 AND answers = ?2)";
        self.read("find who waits for a post", async |tx| {
            let Some(channel) = find(tx, project, channel).await? else { return Ok(None) };
            Ok(tx.rows_many(sql, names.iter().map(|name| *values![channel, *name])).await?.into_iter().next())
        })
        .await
    }

    async fn known_keys(&self, project: ProjectId, channel: &str, keys: &[&str]) -> Stored<Vec<String>> {
        let sql = "SELECT key FROM arrival WHERE channel_id = ?1 AND key = ?2";
        self.read("look for what was taken in", async |tx| {
            let Some(channel) = find(tx, project, channel).await? else { return Ok(Vec::new()) };
            tx.rows_many(sql, keys.iter().map(|key| *values![channel, *key])).await
        })
        .await
    }

    async fn name_post(&self, message: MessageId, name: &str) -> Stored<()> {
        // A sink that starts again names posts that it named before.
        let is_named = "SELECT 1 FROM post p JOIN arrival a ON a.channel_id = p.channel_id AND a.key = ?2
                        WHERE p.message_id = ?1 AND p.external_id = ?2";
        let values = values![message, name];
        if self.read("read the name of a post", async |tx| tx.exists(is_named, values).await).await? {
            return Ok(());
        }
        let sql = "UPDATE post SET external_id = ?2 WHERE message_id = ?1 RETURNING channel_id";
        let name = name.to_owned();
        let naming = in_job!(|tx| match tx.row(sql, values![message, &name]).await? {
            Some(channel) => note(tx, channel, &[name], message).await,
            None => Ok(()),
        });
        self.write("name a post", Home::Message(message), naming).await
    }

    async fn note_key(&self, message: MessageId, key: &str) -> Stored<()> {
        let sql = "SELECT channel_id FROM post WHERE message_id = ?1";
        let key = key.to_owned();
        let noting = in_job!(|tx| match tx.row(sql, values![message]).await? {
            Some(channel) => note(tx, channel, &[key], message).await,
            None => Ok(()),
        });
        self.write("note where a post stands", Home::Message(message), noting).await
    }
}

/// What is there already of a post that came from outside. Its other keys are noted as more names of it.
pub(crate) async fn there_already(tx: &mut Tx<'_>, message: &NewMessage) -> Outcome<Option<MessageId>> {
    let Some(post) = &message.post else { return Ok(None) };
    let Some((first, others)) = post.keys.split_first() else { return Ok(None) };
    let Some(channel) = find(tx, message.project, post.channel.as_str()).await? else { return Ok(None) };
    let Some(known) = taken_in(tx, channel, first).await? else { return Ok(None) };
    note(tx, channel, others, known).await?;
    Ok(Some(known))
}

/// Makes a message that has its place a post.
pub(crate) async fn insert(tx: &mut Tx<'_>, message: &Placed<'_>, post: &NewPost, now: Timestamp) -> Outcome<()> {
    let channel = ensure(tx, message.project, post.channel.as_str(), now).await?;
    let sent_at = post.sent_at.unwrap_or(message.created_at);
    let name = match &post.external_id {
        Some(name) => name.clone(),
        None => {
            let sql = "SELECT name, (SELECT id FROM office) FROM agent WHERE id = ?1";
            let (from, office): (String, String) = tx.row(sql, values![message.sender]).await?.unwrap_or_default();
            free_name(tx, channel, |attempt| external_id(sent_at, &from, &office, message.seq, attempt)).await?
        }
    };
    let origin = post.origin.as_ref().map(ToString::to_string);
    let sql =
        "INSERT INTO post (message_id, channel_id, seq, external_id, cited_as, kind, mode, hops, sent_at, document,
                   origin, answers)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    let (Placed { id, seq, .. }, NewPost { cited_as, kind, mode, document, answers, keys, .. }) = (message, post);
    let hops = i32::try_from(post.hops).unwrap_or(i32::MAX);
    let values = values![*id, channel, *seq, &name, cited_as, kind, mode, hops, sent_at, document, &origin, answers];
    tx.execute(sql, values).await?;
    note(tx, channel, keys, *id).await
}

/// What makes a message a post, for another store.
pub(crate) async fn export(tx: &mut Tx<'_>, message: MessageId) -> Outcome<Option<NewPost>> {
    let Some(post) = by_message(tx, message).await? else { return Ok(None) };
    let office = office(tx).await?;
    let mut keys: Vec<String> = post.mark(&office).iter().map(OfficeMark::key).collect();
    if let Some(channel) = find(tx, post.message.project, &post.channel).await? {
        let stands = taken_in(tx, channel, &post.external_id).await?;
        keys.extend(stands.filter(|known| *known == message).map(|_| post.external_id.clone()));
    }
    let channel = ChannelName::parse(&post.channel).map_err(|_| unknown("channel", &post.channel))?;
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

async fn by_message(tx: &mut Tx<'_>, message: MessageId) -> Outcome<Option<Post>> {
    let sql = format!("SELECT {COLUMNS}, {BODY}, {POST} {JOINED} WHERE o.message_id = ?1");
    tx.row(&sql, values![message]).await
}

async fn office(tx: &mut Tx<'_>) -> Outcome<String> {
    tx.only("SELECT id FROM office", &[]).await
}

async fn find(tx: &mut Tx<'_>, project: ProjectId, name: &str) -> Outcome<Option<i64>> {
    tx.row("SELECT id FROM channel WHERE project_id = ?1 AND name = ?2", values![project, name]).await
}

async fn ensure(tx: &mut Tx<'_>, project: ProjectId, name: &str, now: Timestamp) -> Outcome<i64> {
    if let Some(channel) = find(tx, project, name).await? {
        return Ok(channel);
    }
    let sql = "INSERT INTO channel (project_id, name, created_at) VALUES (?1, ?2, ?3) RETURNING id";
    tx.only(sql, values![project, name, now]).await
}

/// A page of a channel, the oldest first.
async fn posts(tx: &mut Tx<'_>, project: ProjectId, channel: &str, query: &PostQuery) -> Outcome<Vec<Post>> {
    let Some(channel) = find(tx, project, channel).await? else { return Ok(Vec::new()) };
    let earlier = match query.since {
        Some(time) => Some(last_before(tx, channel, time).await?),
        None => None,
    };
    let after = query.after.max(earlier);
    // A conversation is found by its name, so that the rest of the channel is not looked at.
    let (joined, id) = if query.thread.is_some() { (OF_THREAD, "m.id") } else { (JOINED, "o.message_id") };
    let mut wanted = "o.channel_id = ?1".to_owned();
    let mut values: Vec<Value<'_>> = values![channel, query.limit].to_vec();
    let mut add = |clause: String, value: Value<'static>| {
        values.push(value);
        wanted.push_str(&format!(" AND {clause} ?{}", values.len()));
    };
    if query.thread.is_some() {
        add("m.project_id =".to_owned(), project.into());
    }
    after.iter().for_each(|after| add(format!("{id} >"), (*after).into()));
    query.before.iter().for_each(|before| add(format!("{id} <"), (*before).into()));
    if let Some(thread) = &query.thread {
        values.push(thread.into());
        wanted.push_str(&format!(" AND m.thread = ?{}", values.len()));
    }
    let order = if after.is_some() { "ASC" } else { "DESC" };
    let sql = format!("SELECT {COLUMNS}, {BODY}, {POST} {joined} WHERE {wanted} ORDER BY {id} {order} LIMIT ?2");
    let mut posts = tx.page(&sql, &values, Post::bytes).await?;
    posts.sort_by_key(|post| post.message.id);
    Ok(posts)
}

/// The last post that was accepted by then. Times rise with the numbers, so that the place is found by halving.
async fn last_before(tx: &mut Tx<'_>, channel: i64, time: Timestamp) -> Outcome<MessageId> {
    let sql = "SELECT id, created_at FROM message WHERE id =
                   (SELECT max(message_id) FROM post WHERE channel_id = ?1 AND message_id > ?2 AND message_id <= ?3)";
    let newest = "SELECT coalesce(max(message_id), 0) FROM post WHERE channel_id = ?1";
    let (mut last, mut below) = (MessageId(0), 0_i64);
    let mut at_most: i64 = tx.only(newest, values![channel]).await?;
    while below < at_most {
        let middle = at_most - (at_most - below) / 2;
        let post: Option<(MessageId, Timestamp)> = tx.row(sql, values![channel, below, middle]).await?;
        match post {
            Some((id, created_at)) if created_at > time => at_most = id.0.min(middle) - 1,
            Some((id, _)) => (last, below) = (id, middle),
            None => below = middle,
        }
    }
    Ok(last)
}

/// The first of the names that nothing in the channel has.
async fn free_name(tx: &mut Tx<'_>, channel: i64, name: impl Fn(u32) -> String + Send) -> Outcome<String> {
    let taken = "SELECT 1 FROM post WHERE channel_id = ?1 AND external_id = ?2
                 UNION ALL SELECT 1 FROM arrival WHERE channel_id = ?1 AND key = ?2";
    for attempt in 0..MOST_NAMES {
        let name = name(attempt);
        if !tx.exists(taken, values![channel, &name]).await? {
            return Ok(name);
        }
    }
    // So many in one second are no accident, and a name is not what a post is known by here.
    Ok(name(0))
}

async fn taken_in(tx: &mut Tx<'_>, channel: i64, key: &str) -> Outcome<Option<MessageId>> {
    tx.row("SELECT message_id FROM arrival WHERE channel_id = ?1 AND key = ?2", values![channel, key]).await
}

/// Notes keys. One that is taken stays with whom it belongs to.
async fn note(tx: &mut Tx<'_>, channel: i64, keys: &[String], message: MessageId) -> Outcome<()> {
    let sql = "INSERT INTO arrival (channel_id, key, message_id) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
    tx.execute_many(sql, keys.iter().map(|key| *values![channel, key, message])).await
}

from_row! {
    Post {
        message, channel, seq, external_id, cited_as, kind, mode, hops, sent_at, in_reply_to, document, origin,
    }
}

impl FromRow for Option<Origin> {
    fn from_row(row: &Row<'_>, at: &mut usize) -> Outcome<Self> {
        Ok(Option::<String>::from_row(row, at)?.as_deref().and_then(Origin::parse))
    }
}

impl FromRow for Channel {
    fn from_row(row: &Row<'_>, at: &mut usize) -> Outcome<Self> {
        let ((name, created_at, posts), (newest, sent_at)) = FromRow::from_row(row, at)?;
        Ok(Self { name, created_at, posts, newest: Option::zip(newest, sent_at) })
    }
}

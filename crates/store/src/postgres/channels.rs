//! Channels, their posts, and what was taken in from outside, in PostgreSQL.

use async_trait::async_trait;
use deadpool_postgres::GenericClient;
use futures_util::FutureExt;
use jiff::Timestamp;
use mail::StoreError;
use mail::channels::{
    Channel, ChannelName, ChannelStore, MOST_NAMES, NewPost, OfficeMark, Origin, Post, PostQuery, external_id,
};
use mail::clock::from_micros;
use mail::ids::{MessageId, ProjectId};
use mail::messages::NewMessage;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::Postgres;
use super::desk::Desk;
use super::rows::{self, AFTER_BODY, BODY, COLUMNS, Outcome, limit_of, message_of, only, possible, time};
use crate::placed::Placed;
use crate::values::unknown;

/// The columns of a post `o` in a channel `c`, behind those of its message.
const POST: &str = "c.name, o.seq, o.external_id, o.cited_as, o.kind, o.mode, o.hops, o.sent_at, o.document, \
     coalesce((SELECT answered.external_id FROM post answered WHERE answered.message_id = m.reply_to), o.answers), \
     o.origin";
const JOINED: &str = "FROM post o JOIN channel c ON c.id = o.channel_id JOIN message m ON m.id = o.message_id";
const OFFICE: &str = "SELECT id FROM office";
const FIND: &str = "SELECT id FROM channel WHERE project_id = $1 AND name = $2";

#[async_trait]
impl ChannelStore for Postgres {
    async fn office_id(&self) -> Result<String, StoreError> {
        Ok(self.read_as("tell which office this is", OFFICE, &[], |row| Ok(row.try_get(0)?)).await?.remove(0))
    }

    async fn channels(&self, project: ProjectId) -> Result<Vec<Channel>, StoreError> {
        let sql = "SELECT c.name, c.created_at, (SELECT count(*) FROM post WHERE channel_id = c.id), n.id, n.created_at
                   FROM channel c
                   LEFT JOIN message n ON n.id = (SELECT max(message_id) FROM post WHERE channel_id = c.id)
                   WHERE c.project_id = $1 ORDER BY c.name";
        self.read_as("list channels", sql, &[&project.0], |row| {
            let newest = row.try_get::<_, Option<i64>>(3)?.map(MessageId);
            let at = row.try_get::<_, Option<i64>>(4)?.map(from_micros);
            Ok(Channel {
                name: row.try_get(0)?,
                created_at: time(row, 1)?,
                posts: row.try_get::<_, i64>(2)?.unsigned_abs(),
                newest: newest.zip(at),
            })
        })
        .await
    }

    async fn posts(&self, project: ProjectId, channel: &str, query: &PostQuery) -> Result<Vec<Post>, StoreError> {
        let doing = "read a channel";
        let found = self.read_as(doing, FIND, &[&project.0, &channel], |row| Ok(row.try_get::<_, i64>(0)?)).await?;
        let Some(channel) = found.first() else { return Ok(Vec::new()) };
        let mut wanted = "o.channel_id = $1".to_owned();
        let limit = limit_of(query.limit);
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![channel, &limit];
        let mut add = |clause: &str, value| {
            values.push(value);
            wanted.push_str(&clause.replace('?', &format!("${}", values.len())));
        };
        let since = query.since.map(Timestamp::as_microsecond);
        since.iter().for_each(|time| {
            let last =
                " AND o.message_id > coalesce((SELECT p.message_id FROM post p JOIN message n ON n.id = p.message_id
                 WHERE p.channel_id = $1 AND n.created_at <= ? ORDER BY p.message_id DESC LIMIT 1), 0)";
            add(last, time);
        });
        query.after.iter().for_each(|id| add(" AND o.message_id > ?", &id.0));
        query.before.iter().for_each(|id| add(" AND o.message_id < ?", &id.0));
        query.thread.iter().for_each(|thread| add(" AND m.thread = ?", thread));
        let order = if query.after.is_some() || query.since.is_some() { "ASC" } else { "DESC" };
        let sql =
            format!("SELECT {COLUMNS}, {BODY}, {POST} {JOINED} WHERE {wanted} ORDER BY o.message_id {order} LIMIT $2");
        let mut posts = self.read_page(doing, &sql, &values, post_of, Post::bytes).await?;
        posts.sort_by_key(|post| post.message.id);
        Ok(posts)
    }

    async fn newest_post(&self, project: ProjectId, channel: &str) -> Result<Option<MessageId>, StoreError> {
        let sql = "SELECT max(message_id) FROM post
                   WHERE channel_id = (SELECT id FROM channel WHERE project_id = $1 AND name = $2)";
        let newest = |row: &Row| Ok(row.try_get::<_, Option<i64>>(0)?.map(MessageId));
        Ok(self
            .read_as("look for a new post", sql, &[&project.0, &channel], newest)
            .await?
            .into_iter()
            .flatten()
            .next())
    }

    async fn post(&self, message: MessageId) -> Result<Option<Post>, StoreError> {
        let sql = by_message();
        Ok(self.read_as("read a post", &sql, &[&message.0], post_of).await?.into_iter().next())
    }

    async fn post_called(&self, project: ProjectId, channel: &str, id: &str) -> Result<Option<Post>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, {BODY}, {POST} {JOINED} WHERE o.message_id = (
                 SELECT coalesce(
                     (SELECT max(message_id) FROM post WHERE channel_id = known.id AND external_id = $3),
                     (SELECT max(message_id) FROM post WHERE channel_id = known.id AND cited_as = $3),
                     (SELECT message_id FROM arrival WHERE channel_id = known.id AND key = $3))
                 FROM channel known WHERE known.project_id = $1 AND known.name = $2)"
        );
        let values: super::Values<'_> = &[&project.0, &channel, &id];
        Ok(self.read_as("find a post", &sql, values, post_of).await?.into_iter().next())
    }

    async fn thread_awaiting(
        &self,
        project: ProjectId,
        channel: &str,
        names: &[&str],
    ) -> Result<Option<String>, StoreError> {
        let sql = "SELECT m.thread FROM unnest($3::text[]) WITH ORDINALITY AS asked (name, place)
                   JOIN channel c ON c.project_id = $1 AND c.name = $2
                   JOIN post o ON o.channel_id = c.id AND o.answers = asked.name JOIN message m ON m.id = o.message_id
                   ORDER BY asked.place, o.message_id LIMIT 1";
        let values: super::Values<'_> = &[&project.0, &channel, &possible(names)];
        let found = self.read_as("find who waits for a post", sql, values, |row| Ok(row.try_get(0)?)).await?;
        Ok(found.into_iter().next())
    }

    async fn known_keys(&self, project: ProjectId, channel: &str, keys: &[&str]) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT asked.key FROM unnest($3::text[]) WITH ORDINALITY AS asked (key, place)
                   JOIN channel c ON c.project_id = $1 AND c.name = $2
                   JOIN arrival a ON a.channel_id = c.id AND a.key = asked.key ORDER BY asked.place";
        let values: super::Values<'_> = &[&project.0, &channel, &possible(keys)];
        self.read_as("look for what was taken in", sql, values, |row| Ok(row.try_get(0)?)).await
    }

    async fn name_post(&self, message: MessageId, name: &str) -> Result<(), StoreError> {
        // Whoever begins anew names again what it named before.
        let is_named = "SELECT 1 FROM post p JOIN arrival a ON a.channel_id = p.channel_id AND a.key = $2
                        WHERE p.message_id = $1 AND p.external_id = $2";
        if !self.read_as("read the name of a post", is_named, &[&message.0, &name], |_| Ok(())).await?.is_empty() {
            return Ok(());
        }
        let sql = "UPDATE post SET external_id = $2 WHERE message_id = $1 RETURNING channel_id";
        self.note_in_channel("name a post", message, name, sql).await
    }

    async fn note_key(&self, message: MessageId, key: &str) -> Result<(), StoreError> {
        let sql = "SELECT channel_id FROM post WHERE message_id = $1 AND $2::text IS NOT NULL";
        self.note_in_channel("note where a post stands", message, key, sql).await
    }
}

impl Postgres {
    /// Notes a key of a post, in the channel that `sql` finds by the post's number and the key.
    async fn note_in_channel(
        &self,
        doing: &'static str,
        message: MessageId,
        key: &str,
        sql: &'static str,
    ) -> Result<(), StoreError> {
        let home = "SELECT project_id FROM message WHERE id = $1";
        let found = self.read_as(doing, home, &[&message.0], |row| Ok(ProjectId(row.try_get(0)?))).await?;
        let Some(project) = found.first().copied() else { return Ok(()) };
        let key = key.to_owned();
        self.write(doing, project, move |desk| {
            async move {
                match only(&desk.changed_rows(sql, &[&message.0, &key]).await?)? {
                    Some(channel) => note(desk, channel, &key, message).await,
                    None => Ok(()),
                }
            }
            .boxed()
        })
        .await
    }
}

/// What is there already of a post that came from outside. Its other keys are noted as more names of it.
pub(super) async fn there_already(desk: &Desk, message: &NewMessage) -> Outcome<Option<MessageId>> {
    let Some(post) = &message.post else { return Ok(None) };
    let Some((first, others)) = post.keys.split_first() else { return Ok(None) };
    let found = desk.rows(FIND, &[&message.project.0, &post.channel.as_str()]).await?;
    let Some(channel) = only::<i64>(&found)? else { return Ok(None) };
    let Some(known) = taken_in(&*desk.client, channel, first).await? else { return Ok(None) };
    for key in others {
        note(desk, channel, key, known).await?;
    }
    Ok(Some(known))
}

/// Makes a message that has its place a post.
pub(super) async fn insert(desk: &Desk, message: &Placed<'_>, post: &NewPost, now: Timestamp) -> Outcome<()> {
    let channel = ensure(desk, message.project, post.channel.as_str(), now).await?;
    let sent_at = post.sent_at.unwrap_or(message.created_at);
    let name = match &post.external_id {
        Some(name) => name.clone(),
        None => {
            let sql = "SELECT name, (SELECT id FROM office) FROM agent WHERE id = $1";
            let names = desk.rows(sql, &[&message.sender.0]).await?;
            let (from, office): (&str, &str) = (names[0].try_get(0)?, names[0].try_get(1)?);
            free_name(desk, channel, |attempt| external_id(sent_at, from, office, message.seq, attempt)).await?
        }
    };
    desk.execute(
        "INSERT INTO post (message_id, channel_id, seq, external_id, cited_as, kind, mode, hops, sent_at, document,
             origin, answers)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        &[
            &message.id.0,
            &channel,
            &message.seq,
            &name,
            &post.cited_as,
            &post.kind,
            &post.mode,
            &i32::try_from(post.hops).unwrap_or(i32::MAX),
            &sent_at.as_microsecond(),
            &post.document,
            &post.origin.as_ref().map(ToString::to_string),
            &post.answers,
        ],
    )
    .await?;
    for key in &post.keys {
        note(desk, channel, key, message.id).await?;
    }
    Ok(())
}

/// What makes a message a post, for another store.
pub(super) async fn export(client: &impl GenericClient, message: MessageId) -> Outcome<Option<NewPost>> {
    let rows = rows::rows(client, &by_message(), &[&message.0]).await?;
    let Some(post) = rows.first().map(post_of).transpose()? else { return Ok(None) };
    let office = rows::rows(client, OFFICE, &[]).await?;
    let office: &str = office[0].try_get(0)?;
    let mut keys: Vec<String> = post.mark(office).iter().map(OfficeMark::key).collect();
    let found = rows::rows(client, FIND, &[&post.message.project.0, &post.channel]).await?;
    if let Some(channel) = only::<i64>(&found)? {
        let stands = taken_in(client, channel, &post.external_id).await?;
        keys.extend(stands.filter(|known| *known == message).map(|_| post.external_id.clone()));
    }
    let channel = ChannelName::parse(&post.channel).map_err(|_| unknown("channel", &post.channel))?;
    let origin = (!post.has_arrived()).then(|| post.first_said(office));
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

fn by_message() -> String {
    format!("SELECT {COLUMNS}, {BODY}, {POST} {JOINED} WHERE o.message_id = $1")
}

async fn ensure(desk: &Desk, project: ProjectId, name: &str, now: Timestamp) -> Outcome<i64> {
    let found = desk.rows(FIND, &[&project.0, &name]).await?;
    if let Some(channel) = only(&found)? {
        return Ok(channel);
    }
    let sql = "INSERT INTO channel (project_id, name, created_at) VALUES ($1, $2, $3) RETURNING id";
    let made = desk.changed_rows(sql, &[&project.0, &name, &now.as_microsecond()]).await?;
    Ok(only(&made)?.unwrap_or_default())
}

/// The first of the names that nothing in the channel has.
async fn free_name(desk: &Desk, channel: i64, name: impl Fn(u32) -> String) -> Outcome<String> {
    let sql = "SELECT 1 FROM post WHERE channel_id = $1 AND external_id = $2
               UNION ALL SELECT 1 FROM arrival WHERE channel_id = $1 AND key = $2";
    for attempt in 0..MOST_NAMES {
        let name = name(attempt);
        if desk.rows(sql, &[&channel, &name]).await?.is_empty() {
            return Ok(name);
        }
    }
    // So many in one second are no accident, and a name is not what a post is known by here.
    Ok(name(0))
}

async fn taken_in(client: &impl GenericClient, channel: i64, key: &str) -> Outcome<Option<MessageId>> {
    let sql = "SELECT message_id FROM arrival WHERE channel_id = $1 AND key = $2";
    Ok(only(&rows::rows(client, sql, &[&channel, &key]).await?)?.map(MessageId))
}

/// Notes a key. One that is taken stays with whom it belongs to.
async fn note(desk: &Desk, channel: i64, key: &str, message: MessageId) -> Outcome<()> {
    let sql = "INSERT INTO arrival (channel_id, key, message_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    desk.execute(sql, &[&channel, &key, &message.0]).await.map(drop)
}

fn post_of(row: &Row) -> Outcome<Post> {
    let at = |column: usize| AFTER_BODY + column;
    Ok(Post {
        message: message_of(row)?,
        channel: row.try_get(at(0))?,
        seq: row.try_get(at(1))?,
        external_id: row.try_get(at(2))?,
        cited_as: row.try_get(at(3))?,
        kind: row.try_get(at(4))?,
        mode: row.try_get(at(5))?,
        hops: row.try_get::<_, i32>(at(6))?.unsigned_abs(),
        sent_at: time(row, at(7))?,
        document: row.try_get(at(8))?,
        in_reply_to: row.try_get(at(9))?,
        origin: row.try_get::<_, Option<&str>>(at(10))?.and_then(Origin::parse),
    })
}

//! What is known of posts outside, chosen at random.

use std::sync::Arc;

use mail::Store;
use mail::channels::PostQuery;
use mail::ids::{MessageId, ProjectId};

use super::words::{CHANNELS, KEYS, THREADS};
use super::{Dice, told};

/// Gives a post another name, or one more.
pub async fn name(dice: &mut Dice, store: &Arc<dyn Store>, message: MessageId) -> String {
    let name = dice.one(&KEYS);
    let done = match dice.maybe() {
        true => told(store.name_post(message, name).await),
        false => told(store.note_key(message, name).await),
    };
    format!("{done} {}", told(store.post(message).await))
}

/// Looks for a post by each of its names, and for what waits for one.
pub async fn find(dice: &mut Dice, store: &Arc<dyn Store>, project: ProjectId, message: MessageId) -> String {
    let channel = dice.one(&CHANNELS);
    let known = store.post(message).await.ok().flatten();
    let own_name = match &known {
        Some(post) => told(store.post_called(post.message.project, &post.channel, &post.external_id).await),
        None => "no post".to_owned(),
    };
    let asked = [dice.one(&KEYS), dice.one(&KEYS)];
    let called = told(store.post_called(project, channel, asked[0]).await);
    let keys = told(store.known_keys(project, channel, &KEYS).await);
    let awaited = told(store.thread_awaiting(project, channel, &asked).await);
    let newest = told(store.newest_post(project, channel).await);
    format!("{own_name} {called} {keys} {awaited} {newest}")
}

/// Reads a channel.
pub async fn read(dice: &mut Dice, store: &Arc<dyn Store>, project: ProjectId, query: PostQuery) -> String {
    let query = PostQuery { thread: dice.maybe().then(|| dice.one(&THREADS).to_owned()), ..query };
    let channels = told(store.channels(project).await);
    let posts = told(store.posts(project, dice.one(&CHANNELS), &query).await);
    format!("{channels} {posts}")
}

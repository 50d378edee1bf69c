//! Questions after names with a NUL character, which one engine cannot even be told. Nothing is known by them, and what is
//! asked for beside them is found all the same.

use std::sync::Arc;

use jiff::Timestamp;
use mail::Store;
use mail::channels::PostQuery;
use mail::ids::{AgentId, ProjectId};
use mail::messages::{About, InboxQuery};
use mail::projects::ProjectKey;
use mail::search::query::Query;
use mail::watches::RunQuery;
use mail::work::WorkQuery;

use super::told;

/// Names of nothing: no office lets one in.
const NAMES: [&str; 3] = ["\0", "a\0b", "dev\0"];

/// Asks every question that can be asked by name, and tells what was asked and what was answered.
pub async fn ask_with_nul(store: &Arc<dyn Store>, project: ProjectId, agent: AgentId) -> Vec<(String, String)> {
    let mut asked = Vec::new();
    for name in NAMES {
        let mut note = |what: &str, answer: String| asked.push((format!("{what} {name:?}"), answer));
        note("agents", told(store.agents_named(project, &["Bob", name]).await));
        note("agents in any case", told(store.agents_in_any_case(project, &["BOB", name]).await));
        note("path", told(store.project(&ProjectKey::Path(format!("/{name}"))).await));
        note("slug", told(store.project(&ProjectKey::Slug(name.to_owned())).await));
        note("thread", told(store.thread(project, name, None, 9, true).await));
        note("tail", told(store.thread_tail(project, name, None, 9).await));
        note("length", told(store.thread_length(project, name).await));
        note("story", told(store.work_story(project, name, None, 9).await));
        note("work of a thread", told(store.work_of_thread(project, name).await));
        let work = WorkQuery { project, id: Some(name.to_owned()), before: None, limit: 9 };
        note("work", told(store.work(&work).await));
        let runs = RunQuery { channel: Some(name), state: None, limit: 9 };
        note("runs", told(store.runs(agent, runs).await));
        asked.extend(ask_for_posts(store, project, name).await);
        asked.extend(ask_for_mail(store, project, agent, name).await);
    }
    asked
}

async fn ask_for_posts(store: &Arc<dyn Store>, project: ProjectId, name: &str) -> Vec<(String, String)> {
    let mut asked = Vec::new();
    let in_thread = PostQuery { thread: Some(name.to_owned()), limit: 9, ..PostQuery::default() };
    let since = PostQuery { since: Some(Timestamp::UNIX_EPOCH), limit: 9, ..PostQuery::default() };
    for (channel, known) in [(name, "k"), ("dev", name)] {
        let mut note = |what: &str, answer: String| asked.push((format!("{what} {channel:?} {known:?}"), answer));
        note("conversation in a channel", told(store.posts(project, channel, &in_thread).await));
        note("posts", told(store.posts(project, channel, &since).await.map(|posts| posts.len())));
        note("newest", told(store.newest_post(project, channel).await));
        note("called", told(store.post_called(project, channel, known).await.map(|post| post.is_some())));
        note("awaited", told(store.thread_awaiting(project, channel, &[known, "k"]).await));
        note("keys", told(store.known_keys(project, channel, &["k", known]).await));
    }
    asked
}

async fn ask_for_mail(store: &Arc<dyn Store>, project: ProjectId, agent: AgentId, name: &str) -> Vec<(String, String)> {
    let mut asked = Vec::new();
    let mut note = |what: &str, answer: String| asked.push((format!("{what} {name:?}"), answer));
    let about = About { kind: None, work_id: Some(name.to_owned()) };
    let in_thread = InboxQuery { thread: Some(name.to_owned()), ..InboxQuery::newest(9) };
    note("inbox of a thread", told(store.inbox(agent, &in_thread).await));
    let about_work = InboxQuery { about: about.clone(), ..InboxQuery::newest(9) };
    note("inbox about work", told(store.inbox(agent, &about_work).await));
    let words = Query::parse("red").unwrap();
    note("search about work", told(store.search(project, &words, &about, None, 9).await));
    for text in [format!("red OR from:\"{name}\""), format!("red OR \"{name}x\""), format!("subject:{name}x*")] {
        match Query::parse(&text) {
            Ok(query) => note(&text, told(store.search(project, &query, &About::default(), None, 9).await)),
            Err(error) => note(&text, error.to_string()),
        }
    }
    asked
}

//! Channels: posting and reading.

mod arrivals;

use formats::channel::{Content, EVERYONE};
use formats::mention;

use super::messages::{Draft, check_thread};
use super::{Claim, Identity, Known, Office, Sent};
use crate::agents::AgentName;
use crate::channels::{Channel, ChannelName, NewPost, Post, PostQuery, WATCHER, subject_of, text_of};
use crate::error::Error;
use crate::ids::{AgentId, MessageId};
use crate::messages::Role;
use crate::projects::Project;
use crate::watches::MOST_HOPS;
pub use arrivals::{Arrival, TakenIn};

/// What somebody says in a channel.
#[derive(Clone, Debug)]
pub struct PostDraft<'a> {
    /// The project.
    pub project_key: &'a str,
    /// Who says it; made known if it is new, as is everybody in `to`.
    pub from: Claim<'a>,
    /// The channel, with or without its sign.
    pub channel: &'a str,
    /// Whom it is addressed to; nobody in particular if `all`. If empty, whoever wrote what it answers.
    pub to: Vec<String>,
    /// What it is about; without one, its first line.
    pub subject: Option<&'a str>,
    /// What it says.
    pub text: &'a str,
    /// Code that goes with it.
    pub code: Option<&'a str>,
    /// The files that it speaks of.
    pub artifacts: Vec<String>,
    /// What type it is of, such as `chat`.
    pub kind: &'a str,
    /// `chat`, or `watcher`.
    pub mode: &'a str,
    /// What it answers: a message's number, or a post's name.
    pub in_reply_to: Option<&'a str>,
    /// The conversation; without one, that of what it answers, or a new one.
    pub thread: Option<&'a str>,
    /// The key against saying it twice.
    pub idempotency_key: Option<&'a str>,
    /// The door it came in by.
    pub door: &'static str,
}

impl Office {
    /// Says something in a channel, which may be new. Nothing is made for what is refused.
    pub async fn post(&self, post: PostDraft<'_>) -> Result<Sent, Error> {
        let channel = ChannelName::parse(post.channel)?;
        let mut to: Vec<String> = post.to.iter().filter(|name| !is_everyone(name)).cloned().collect();
        for name in to.iter().map(String::as_str).chain([post.from.name]) {
            AgentName::parse(name)?;
        }
        self.prove_speaker(post.project_key, post.from).await?;
        let answered = self.answered(post.project_key, &channel, post.in_reply_to).await?;
        self.check_none_retired(post.project_key, &to).await?;
        if post.to.is_empty() {
            to.extend(answered.as_ref().map(|answered| answered.message.from.clone()));
            self.leave_out_retired(post.project_key, &mut to).await?;
        }
        let content = Content::new(post.text, post.code, &post.artifacts);
        let (subject, body) =
            (post.subject.map_or_else(|| subject_of(post.text), str::to_owned), content.to_markdown());
        let new = NewPost {
            kind: checked_word("type", post.kind)?,
            mode: checked_word("mode", post.mode)?,
            hops: hops_after(post.mode, answered.as_ref(), None),
            document: (!content.is_plain()).then(|| {
                let text = text_of(&subject, post.text);
                Content { text, ..content }.to_json()
            }),
            ..NewPost::chat(channel)
        };
        let answered = answered.as_ref().map(|answered| &answered.message);
        let draft = Draft {
            idempotency_key: post.idempotency_key,
            thread: post.thread,
            door: post.door,
            ..Draft::plain(post.project_key, post.from, to, &subject, &body)
        };
        check_thread(&draft)?;
        let draft = Draft { thread: post.thread.or(answered.map(|answered| answered.thread.as_str())), ..draft };
        self.check(&draft, Some(&new))?;
        let reading = self.read_draft(&draft, answered).await?;
        AgentName::parse(post.from.name)?;
        let project = self.project_or_new(post.project_key).await?.project;
        self.ensure_mailbox_in(&project, post.from.name).await?;
        let mut new_mailboxes = Vec::new();
        for name in &draft.to {
            if self.ensure_mailbox_in(&project, name).await? {
                new_mailboxes.push(name.clone());
            }
        }
        let sent = self.accept(draft, reading, answered, Some(new)).await?;
        Ok(Sent { new_mailboxes, ..sent })
    }

    /// The channels of a project, by name.
    pub async fn channels(&self, project_key: &str) -> Result<(Project, Vec<Channel>), Error> {
        let project = self.project(project_key).await?;
        let channels = self.store.channels(project.id).await?;
        Ok((project, channels))
    }

    /// A page of a channel, the oldest first. A channel that nobody ever used is empty.
    pub async fn posts(
        &self,
        project_key: &str,
        channel: &str,
        query: PostQuery,
    ) -> Result<(Project, ChannelName, Vec<Post>), Error> {
        let channel = ChannelName::parse(channel)?;
        let project = self.project(project_key).await?;
        let posts = self.store.posts(project.id, channel.as_str(), &query).await?;
        Ok((project, channel, posts))
    }

    /// Where a reader stands who has seen all up to `since`: a message's number, a time, or a post's name.
    pub async fn posts_since(&self, project_key: &str, channel: &str, since: &str) -> Result<PostQuery, Error> {
        let here = PostQuery::default();
        if let Ok(number) = since.parse() {
            return Ok(PostQuery { after: Some(MessageId(number)), ..here });
        }
        if let Ok(time) = since.parse() {
            return Ok(PostQuery { since: Some(time), ..here });
        }
        let channel = ChannelName::parse(channel)?;
        let project = self.project(project_key).await?;
        if let Some(post) = self.store.post_called(project.id, channel.as_str(), since).await? {
            return Ok(PostQuery { after: Some(post.message.id), ..here });
        }
        let wanted = format!("a message's number, a time, or the name of a message in '{}'", channel.signed());
        Err(Error::invalid("since", since, wanted))
    }

    /// Whoever speaks where names have to be proved is known and proves its name; elsewhere it may be new.
    async fn prove_speaker(&self, project_key: &str, speaker: Claim<'_>) -> Result<(), Error> {
        if self.rules.identity == Identity::Claimed {
            return Ok(());
        }
        match self.claimed(project_key, speaker).await {
            Err(Error::UnknownProject { .. } | Error::UnknownAgent { .. }) => {
                Err(Error::Unproved { name: speaker.name.to_owned(), given: speaker.token.is_some() })
            }
            proved => proved.map(drop),
        }
    }

    /// The post that a caller answers, by its number or its name.
    async fn answered(&self, key: &str, channel: &ChannelName, id: Option<&str>) -> Result<Option<Post>, Error> {
        let Some(id) = id else { return Ok(None) };
        let project = self.project(key).await?;
        let found = match id.parse() {
            Ok(number) => {
                let is_here = |post: &Post| post.message.project == project.id && post.channel == channel.as_str();
                self.store.post(MessageId(number)).await?.filter(is_here)
            }
            Err(_) => self.store.post_called(project.id, channel.as_str(), id).await?,
        };
        let wanted = || format!("the number or the name of a message in '{}'", channel.signed());
        found.map(Some).ok_or_else(|| Error::invalid("in_reply_to", id, wanted()))
    }

    /// Adds whoever a post calls by name to its recipients, but for its author and for those who are retired.
    pub(super) async fn add_mentioned(
        &self,
        project: &Project,
        sender: &Known,
        text: &str,
        recipients: &mut Vec<(AgentId, String, Role)>,
    ) -> Result<(), Error> {
        let names = mention::candidates(text);
        let mut called = self.store.agents_named(project.id, &names).await?;
        called.extend(self.store.agents_once_named(project.id, &names).await?);
        // A name at the very beginning calls in any case.
        called.extend(self.store.agents_in_any_case(project.id, &mention::openings(text)).await?);
        called.retain(|agent| agent.retired_at.is_none());
        called.sort_by_key(|agent| agent.id);
        recipients.retain(|(agent, ..)| *agent != sender.id);
        for agent in called {
            let is_new = recipients.iter().all(|(known, ..)| *known != agent.id) && agent.id != sender.id;
            if is_new {
                recipients.push((agent.id, agent.name, Role::Cc));
            }
        }
        Ok(())
    }
}

fn hops_after(mode: &str, answered: Option<&Post>, told: Option<i64>) -> u32 {
    let counted = if mode == WATCHER { answered.map_or(0, |post| post.hops) + 1 } else { 0 };
    let told = told.and_then(|hops| u32::try_from(hops).ok()).unwrap_or(0);
    counted.max(told).min(MOST_HOPS)
}

fn is_everyone(name: &str) -> bool {
    name.eq_ignore_ascii_case(EVERYONE)
}

fn checked_word(what: &'static str, word: &str) -> Result<String, Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=64).contains(&word.len()) && word.chars().all(is_plain) {
        return Ok(word.to_owned());
    }
    Err(Error::invalid(what, word, "1 to 64 letters, digits, '-', '_' and '.'"))
}

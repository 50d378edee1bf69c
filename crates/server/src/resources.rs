//! What clients read by address: projects, agents, mailboxes, threads, messages, reservations, work and channels.
//!
//! Addresses look like `resource://inbox/GreenDog?project=%2Fdata%2Fapp&limit=20`. Every list is paged: when there may
//! be more, `next` is the address of the next page. It leaves out a `registration_token`, which has to be added again.
//! Reading changes nothing.

mod address;
mod listing;
mod watching;

use std::sync::Arc;

use api::{ListChannels, ListWork, ReadChannel, ReadWork, Verb};
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use mail::ids::{AgentId, LeaseId, MessageId, ProjectId};
use mail::messages::{About, PAGE_BYTES};
use mail::office::{Claim, InboxAsk, ThreadAsk};
use mail::{Error, Office};
use mcp::{Context, ReadError, Refusal, ResourceEntry, ResourceTemplate, Resources};
use serde::Serialize;
use serde_json::json;

use crate::answers::agents::ProjectAnswer;
use crate::answers::messages::{FollowedAnswer, MessageAnswer};
use crate::answers::presence::PresentAnswer;
use crate::answers::reservations::leases;
use crate::refusal::refusal;
use address::Address;

const JSON: &str = "application/json";

/// The resources of a post office.
pub struct Shelves {
    office: Arc<Office>,
}

impl Shelves {
    /// The resources of this office.
    pub fn new(office: Arc<Office>) -> Self {
        Self { office }
    }

    async fn ask<V: Verb>(&self, verb: V) -> Result<V::Answer, ReadError> {
        verb.run(&self.office).await.map_err(refused)
    }

    async fn read_address(&self, address: &Address) -> Result<String, ReadError> {
        match address.kind() {
            "projects" => self.projects(address).await,
            "agents" => self.agents(address).await,
            "inbox" => self.inbox(address).await,
            "outbox" => self.outbox(address).await,
            "thread" => self.thread(address).await,
            "message" => self.message(address).await,
            "reservations" => self.reservations(address).await,
            "work" => self.work(address).await,
            "channel" => self.channel(address).await,
            "channels" => self.channels(address).await,
            _ => Err(address.unknown()),
        }
    }

    async fn projects(&self, address: &Address) -> Result<String, ReadError> {
        let (limit, after) = (address.limit(100)?, address.number("after")?);
        let projects = self.office.projects(after.map(ProjectId), limit).await.map_err(refused)?;
        let answers: Vec<_> = projects.iter().map(ProjectAnswer::from).collect();
        let next = address.next("after", limit, projects.last().map(|project| project.id.0), projects.len());
        Ok(text(&json!({ "projects": answers, "next": next })))
    }

    async fn agents(&self, address: &Address) -> Result<String, ReadError> {
        let (limit, after) = (address.limit(100)?, address.number("after")?);
        let key = address.project_or_name()?;
        let (project, present) = self.office.present(key, after.map(AgentId), limit).await.map_err(refused)?;
        let now = self.office.now();
        let answers: Vec<_> = present.iter().map(|one| PresentAnswer::new(one, now)).collect();
        let next = address.next("after", limit, present.last().map(|one| one.agent.id.0), present.len());
        Ok(text(&json!({ "project": ProjectAnswer::from(&project), "agents": answers, "next": next })))
    }

    async fn inbox(&self, address: &Address) -> Result<String, ReadError> {
        let (limit, with_bodies) = (address.limit(20)?, address.flag("include_bodies", true)?);
        let ask = InboxAsk {
            project_key: address.project()?,
            agent: claim(address),
            unread_only: address.flag("unread_only", false)?,
            ack_required_only: address.flag("urgent_only", false)?,
            thread: address.get("thread_id"),
            about: About::parse(address.get("kind"), address.get("work_id")).map_err(refused)?,
            before: address.number("before")?.map(MessageId),
            limit,
            with_bodies,
        };
        let entries = self.office.inbox(ask).await.map_err(refused)?;
        let messages: Vec<_> = entries.iter().map(|entry| MessageAnswer::received(entry, with_bodies)).collect();
        let got = counted(limit, entries.iter().map(|entry| entry.message.body.len()));
        let next = address.next("before", limit, entries.last().map(|entry| entry.message.id.0), got);
        Ok(text(&json!({ "agent": address.name(), "count": messages.len(), "messages": messages, "next": next })))
    }

    async fn outbox(&self, address: &Address) -> Result<String, ReadError> {
        let (limit, with_bodies) = (address.limit(20)?, address.flag("include_bodies", true)?);
        let before = address.number("before")?.map(MessageId);
        let outbox = self.office.outbox(address.project()?, claim(address), before, limit, with_bodies);
        let sent = outbox.await.map_err(refused)?;
        let messages: Vec<_> =
            sent.iter().map(|(message, copies)| FollowedAnswer::new(message, copies, with_bodies, true)).collect();
        let got = counted(limit, sent.iter().map(|(message, _)| message.body.len()));
        let next = address.next("before", limit, sent.last().map(|(message, _)| message.id.0), got);
        Ok(text(&json!({ "agent": address.name(), "count": messages.len(), "messages": messages, "next": next })))
    }

    async fn thread(&self, address: &Address) -> Result<String, ReadError> {
        if let (Some(_), Some(before)) = (address.get("after"), address.get("before")) {
            return Err(address.wrong("before", before, "given without after"));
        }
        let (limit, with_bodies) = (address.limit(100)?, address.flag("include_bodies", false)?);
        let ask = ThreadAsk {
            project_key: address.project()?,
            thread: address.name(),
            after: address.number("after")?.map(MessageId),
            before: address.number("before")?.map(MessageId),
            limit,
            with_bodies,
        };
        let page = self.office.thread(ask).await.map_err(refused)?;
        let messages: Vec<_> = page.messages.iter().map(|message| MessageAnswer::new(message, with_bodies)).collect();
        let got = counted(limit, page.messages.iter().map(|message| message.body.len()));
        let (key, last) = match address.get("before") {
            Some(_) => ("before", page.messages.first()),
            None => ("after", page.messages.last()),
        };
        let next = address.next(key, limit, last.map(|message| message.id.0), got);
        let total = page.total;
        Ok(text(&json!({ "thread_id": page.thread, "total": total, "messages": messages, "next": next })))
    }

    async fn message(&self, address: &Address) -> Result<String, ReadError> {
        let Ok(id) = address.name().parse() else { return Err(address.unknown()) };
        let (message, copies) = self.office.message(address.project()?, MessageId(id)).await.map_err(refused)?;
        Ok(text(&FollowedAnswer::new(&message, &copies, true, false)))
    }

    async fn reservations(&self, address: &Address) -> Result<String, ReadError> {
        let (limit, after) = (address.limit(100)?, address.number("after")?);
        let key = address.project_or_name()?;
        let (project, held) = self.office.leases(key, after.map(LeaseId), limit).await.map_err(refused)?;
        let next = address.next("after", limit, held.last().map(|lease| lease.id.0), held.len());
        Ok(text(&json!({ "project": project.slug, "reservations": leases(&held), "next": next })))
    }

    async fn work(&self, address: &Address) -> Result<String, ReadError> {
        let (project_key, limit) = (address.project_or_name()?.to_owned(), address.opt_limit()?);
        let owned = |key| address.get(key).map(str::to_owned);
        if let Some(work_id) = owned("id") {
            let request = ReadWork { project_key, work_id, after_id: address.number("after")?, limit };
            return Ok(page(address, "after", &self.ask(request).await?));
        }
        let (state, agent, before_id) = (owned("state"), owned("agent"), address.number("before")?);
        let request = ListWork { project_key, state, agent, before_id, limit };
        Ok(page(address, "before", &self.ask(request).await?))
    }

    async fn channel(&self, address: &Address) -> Result<String, ReadError> {
        let request = ReadChannel {
            project_key: address.project()?.to_owned(),
            channel: address.name().to_owned(),
            since: address.get("since").map(str::to_owned),
            before_id: address.number("before")?,
            thread_id: address.get("thread_id").map(str::to_owned),
            limit: address.opt_limit()?,
        };
        let key = if request.since.is_some() { "since" } else { "before" };
        Ok(page(address, key, &self.ask(request).await?))
    }

    async fn channels(&self, address: &Address) -> Result<String, ReadError> {
        let request = ListChannels { project_key: address.project_or_name()?.to_owned() };
        Ok(text(&json!(self.ask(request).await?)))
    }
}

#[async_trait]
impl Resources for Shelves {
    fn templates(&self) -> Vec<ResourceTemplate> {
        listing::templates()
    }

    async fn list(&self, cursor: Option<&str>) -> Result<(Vec<ResourceEntry>, Option<String>), Refusal> {
        listing::list(&self.office, cursor).await.map_err(refusal)
    }

    async fn read(&self, uri: &str, _: &Context) -> Result<String, ReadError> {
        self.read_address(&Address::parse(uri)?).await
    }

    async fn watch(&self, uri: &str) -> Result<BoxStream<'static, ()>, ReadError> {
        watching::watch(&self.office, &Address::parse(uri)?).await
    }
}

/// How many messages a page counts as, by their bytes: one that ended early because they are long is as good as full.
fn counted(limit: usize, bytes: impl ExactSizeIterator<Item = usize>) -> usize {
    let count = bytes.len();
    let bytes: usize = bytes.sum();
    if bytes > PAGE_BYTES { limit } else { count }
}

fn claim(address: &Address) -> Claim<'_> {
    Claim { token: address.get("registration_token"), ..Claim::of(address.name()) }
}

/// What is not there is not found; everything else is refused with its reason.
fn refused(error: Error) -> ReadError {
    match error {
        Error::UnknownProject { .. }
        | Error::UnknownAgent { .. }
        | Error::UnknownMessage { .. }
        | Error::UnknownThread { .. }
        | Error::UnknownWork { .. } => ReadError::NotFound(refusal(error)),
        other => ReadError::Refused(refusal(other)),
    }
}

/// A page of a list. The cursor of the next page becomes the address of that page.
fn page(address: &Address, key: &str, answer: &impl Serialize) -> String {
    let mut json = serde_json::to_value(answer).expect("answers are plain structs and always serialise");
    if let Some(cursor) = json["next"].as_i64() {
        json["next"] = address.page_at(key, cursor).into();
    }
    text(&json)
}

fn text(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).expect("answers are plain structs and always serialise")
}

//! What clients read by address: projects, agents, mailboxes, threads, messages, reservations, work and channels.
//!
//! Addresses look like `resource://inbox/GreenDog?project=%2Fdata%2Fapp&limit=20`. Every list is paged: when there may
//! be more, `next` is the address of the next page. It leaves out a `registration_token`, which has to be added again.
//! Reading changes nothing.

mod address;
mod listing;
mod watching;

use std::sync::Arc;

use api::{
    Ask, FetchInbox, ListAgents, ListChannels, ListProjects, ListReservations, ListWork, ReadChannel, ReadMessage,
    ReadOutbox, ReadThread, ReadWork,
};
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use mail::{Error, Office};
use mcp::{ReadError, Refusal, ResourceEntry, ResourceTemplate, Resources};
use serde::Serialize;
use serde_json::json;

use crate::refusal::refusal;
use address::Address;

/// The resources of a post office.
pub struct MailResources {
    pub office: Arc<Office>,
}

impl MailResources {
    async fn ask<V: Ask>(&self, verb: V) -> Result<V::Answer, ReadError> {
        verb.ask(&self.office).await.map_err(refused)
    }

    async fn read_address(&self, address: &Address) -> Result<String, ReadError> {
        let (limit, after) = (address.opt_limit()?, address.number("after")?);
        match address.kind {
            "projects" => Ok(page(address, "after", &self.ask(ListProjects { after, limit }).await?)),
            // Without a project it names those that there are.
            "agents" if address.name.is_empty() && address.get("project").is_none() => {
                Ok(page(address, "after", &self.ask(ListProjects { after, limit }).await?))
            }
            "agents" => {
                let project_key = address.project_or_name()?.to_owned();
                let request = ListAgents { project_key, agent_name: None, after, limit };
                Ok(page(address, "after", &self.ask(request).await?))
            }
            "inbox" => self.inbox(address).await,
            "outbox" => self.outbox(address).await,
            "thread" => self.thread(address).await,
            "message" => {
                let Ok(message_id) = address.name.parse() else { return Err(address.unknown()) };
                let request = ReadMessage { project_key: address.project()?.to_owned(), message_id };
                Ok(text(&self.ask(request).await?))
            }
            "reservations" => {
                let request = ListReservations { project_key: address.project_or_name()?.to_owned(), after, limit };
                Ok(page(address, "after", &self.ask(request).await?))
            }
            "work" => self.work(address).await,
            "channel" => self.channel(address).await,
            "channels" => {
                let request = ListChannels { project_key: address.project_or_name()?.to_owned() };
                Ok(text(&self.ask(request).await?))
            }
            _ => Err(address.unknown()),
        }
    }

    async fn inbox(&self, address: &Address) -> Result<String, ReadError> {
        let limit = address.limit(20)?;
        let request = FetchInbox {
            project_key: address.project()?.to_owned(),
            agent_name: address.name.clone(),
            limit: Some(limit as u32),
            unread_only: Some(address.flag("unread_only", false)?),
            urgent_only: Some(address.flag("urgent_only", false)?),
            thread_id: address.text("thread_id"),
            kind: address.text("kind"),
            work_id: address.text("work_id"),
            include_bodies: Some(address.flag("include_bodies", true)?),
            before_id: address.number("before")?,
            since_ts: address.text("since_ts"),
            registration_token: address.text("registration_token"),
        };
        let messages = self.ask(request).await?;
        let sizes = messages.iter().map(|message| message.body_md.as_ref().map_or(0, String::len));
        let next = api::next_cursor(limit, sizes, messages.last().map(|message| message.id));
        let answer = json!({ "agent": address.name, "count": messages.len(), "messages": messages, "next": next });
        Ok(page(address, "before", &answer))
    }

    async fn outbox(&self, address: &Address) -> Result<String, ReadError> {
        let request = ReadOutbox {
            limit: Some(address.limit(20)? as u32),
            include_bodies: Some(address.flag("include_bodies", true)?),
            before_id: address.number("before")?,
            project_key: address.project()?.to_owned(),
            agent_name: address.name.clone(),
            registration_token: address.text("registration_token"),
        };
        Ok(page(address, "before", &self.ask(request).await?))
    }

    async fn thread(&self, address: &Address) -> Result<String, ReadError> {
        if let (Some(_), Some(before)) = (address.get("after"), address.get("before")) {
            return Err(address.wrong("before", before, "given without after"));
        }
        let request = ReadThread {
            limit: Some(address.limit(100)? as u32),
            include_bodies: Some(address.flag("include_bodies", false)?),
            project_key: address.project()?.to_owned(),
            thread_id: address.name.clone(),
            after_id: address.number("after")?,
            before_id: address.number("before")?,
        };
        let key = if address.get("before").is_some() { "before" } else { "after" };
        Ok(page(address, key, &self.ask(request).await?))
    }

    async fn work(&self, address: &Address) -> Result<String, ReadError> {
        let (project_key, limit) = (address.project_or_name()?.to_owned(), address.opt_limit()?);
        if let Some(work_id) = address.text("id") {
            let request = ReadWork { project_key, work_id, after_id: address.number("after")?, limit };
            return Ok(page(address, "after", &self.ask(request).await?));
        }
        let (state, agent, before_id) = (address.text("state"), address.text("agent"), address.number("before")?);
        let request = ListWork { project_key, state, agent, before_id, limit };
        Ok(page(address, "before", &self.ask(request).await?))
    }

    async fn channel(&self, address: &Address) -> Result<String, ReadError> {
        let request = ReadChannel {
            project_key: address.project()?.to_owned(),
            channel: address.name.clone(),
            since: address.text("since"),
            before_id: address.number("before")?,
            thread_id: address.text("thread_id"),
            limit: address.opt_limit()?,
        };
        let key = if request.since.is_some() { "since" } else { "before" };
        Ok(page(address, key, &self.ask(request).await?))
    }
}

#[async_trait]
impl Resources for MailResources {
    fn templates(&self) -> Vec<ResourceTemplate> {
        listing::templates()
    }

    async fn list(&self, cursor: Option<&str>) -> Result<(Vec<ResourceEntry>, Option<String>), Refusal> {
        listing::list(&self.office, cursor).await.map_err(refusal)
    }

    async fn read(&self, uri: &str) -> Result<String, ReadError> {
        self.read_address(&Address::parse(uri)?).await
    }

    async fn watch(&self, uri: &str) -> Result<BoxStream<'static, ()>, ReadError> {
        watching::watch(&self.office, &Address::parse(uri)?).await
    }
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

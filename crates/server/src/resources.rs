//! What clients read by address: projects, agents, mailboxes, threads, messages, reservations, work and channels.
//!
//! Addresses look like `resource://inbox/GreenDog?project=%2Fdata%2Fapp&limit=20`. Every list is paged: when there may
//! be more, `next` is the address of the next page. It leaves out a `registration_token`, which has to be added again.
//! Reading changes nothing.

mod address;
mod listing;
mod messages;
mod watching;

use std::sync::Arc;

use api::{ListAgents, ListChannels, ListProjects, ListReservations, ListWork, ReadChannel, ReadWork, Verb};
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use mail::{Error, Office};
use mcp::{Context, ReadError, Refusal, ResourceEntry, ResourceTemplate, Resources};
use serde::Serialize;

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
        let request = ListProjects { after: address.number("after")?, limit: address.opt_limit()? };
        Ok(page(address, "after", &self.ask(request).await?))
    }

    async fn agents(&self, address: &Address) -> Result<String, ReadError> {
        let (limit, after) = (address.opt_limit()?, address.number("after")?);
        let project_key = address.project_or_name()?.to_owned();
        let request = ListAgents { project_key, agent_name: None, after, limit };
        Ok(page(address, "after", &self.ask(request).await?))
    }

    async fn reservations(&self, address: &Address) -> Result<String, ReadError> {
        let (limit, after) = (address.opt_limit()?, address.number("after")?);
        let request = ListReservations { project_key: address.project_or_name()?.to_owned(), after, limit };
        Ok(page(address, "after", &self.ask(request).await?))
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
        Ok(text(&self.ask(request).await?))
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

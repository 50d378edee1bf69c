//! Messages by address: the inbox and the outbox of an agent, a thread, and one message.

use api::{FetchInbox, ReadMessage, ReadOutbox, ReadThread};
use mcp::ReadError;
use serde::Serialize;
use serde_json::json;

use super::address::Address;
use super::{Shelves, text};

impl Shelves {
    pub(super) async fn inbox(&self, address: &Address) -> Result<String, ReadError> {
        let limit = address.limit(20)?;
        let request = FetchInbox {
            project_key: address.project()?.to_owned(),
            agent_name: address.name().to_owned(),
            limit: Some(limit as u32),
            unread_only: Some(address.flag("unread_only", false)?),
            urgent_only: Some(address.flag("urgent_only", false)?),
            thread_id: address.text("thread_id"),
            kind: address.text("kind"),
            work_id: address.text("work_id"),
            include_bodies: Some(address.flag("include_bodies", true)?),
            before_id: address.number("before")?,
            registration_token: address.text("registration_token"),
        };
        let messages = self.ask(request).await?;
        let sizes = messages.iter().map(|message| message.body_md.as_ref().map_or(0, String::len));
        let next = api::next_cursor(limit, sizes, messages.last().map(|message| message.id));
        let answer = json!({ "agent": address.name(), "count": messages.len(), "messages": messages });
        Ok(page(address, &answer, "before", next))
    }

    pub(super) async fn outbox(&self, address: &Address) -> Result<String, ReadError> {
        let request = ReadOutbox {
            limit: Some(address.limit(20)? as u32),
            include_bodies: Some(address.flag("include_bodies", true)?),
            before_id: address.number("before")?,
            project_key: address.project()?.to_owned(),
            agent_name: address.name().to_owned(),
            registration_token: address.text("registration_token"),
        };
        let answer = self.ask(request).await?;
        Ok(page(address, &answer, "before", answer.next))
    }

    pub(super) async fn thread(&self, address: &Address) -> Result<String, ReadError> {
        if let (Some(_), Some(before)) = (address.get("after"), address.get("before")) {
            return Err(address.wrong("before", before, "given without after"));
        }
        let request = ReadThread {
            limit: Some(address.limit(100)? as u32),
            include_bodies: Some(address.flag("include_bodies", false)?),
            project_key: address.project()?.to_owned(),
            thread_id: address.name().to_owned(),
            after_id: address.number("after")?,
            before_id: address.number("before")?,
        };
        let answer = self.ask(request).await?;
        let key = if address.get("before").is_some() { "before" } else { "after" };
        Ok(page(address, &answer, key, answer.next))
    }

    pub(super) async fn message(&self, address: &Address) -> Result<String, ReadError> {
        let Ok(message_id) = address.name().parse() else { return Err(address.unknown()) };
        let request = ReadMessage { project_key: address.project()?.to_owned(), message_id };
        Ok(text(&self.ask(request).await?))
    }
}

/// The text of a page, in which `next` is the address of the page behind the cursor.
fn page(address: &Address, answer: &impl Serialize, key: &str, next: Option<i64>) -> String {
    let mut page = json!(answer);
    page["next"] = json!(next.map(|cursor| address.page_at(key, cursor)));
    page.to_string()
}

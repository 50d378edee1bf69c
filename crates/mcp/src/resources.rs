//! Resources: what a server lets clients read and watch by address.
//!
//! The port is implemented elsewhere; this module only says what callers may rely on and renders
//! the answers. Every resource is JSON text. There are no binary resources.

use async_trait::async_trait;
use futures_core::stream::BoxStream;
use serde_json::Value;

use crate::outcome::Refusal;
use crate::wire::{Fault, push_list, push_member};

/// What every resource is.
const JSON: &str = "application/json";

/// A resource that can be read as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceEntry {
    /// Its address.
    pub uri: String,
    /// Its name, for people.
    pub name: String,
}

/// A family of resources, whose address has places to fill in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceTemplate {
    /// The address, with `{names}` in the places (RFC 6570).
    pub uri_template: &'static str,
    /// Its name, for people.
    pub name: &'static str,
    /// What it holds.
    pub description: &'static str,
}

/// Why a resource cannot be read or watched.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadError {
    /// There is no such resource.
    NotFound(Refusal),
    /// There is, but it cannot be had this way.
    Refused(Refusal),
}

/// What a server lets clients read.
#[async_trait]
pub trait Resources: Send + Sync {
    /// The families of addresses. The same in every call.
    fn templates(&self) -> Vec<ResourceTemplate>;

    /// One page of resources after `cursor`, and the cursor of the next page if there is one.
    async fn list(&self, cursor: Option<&str>) -> Result<(Vec<ResourceEntry>, Option<String>), Refusal>;

    /// The JSON text of a resource.
    async fn read(&self, uri: &str) -> Result<String, ReadError>;

    /// A stream that yields once whenever the resource changed. It may yield once for many changes.
    async fn watch(&self, uri: &str) -> Result<BoxStream<'static, ()>, ReadError>;
}

impl ReadError {
    /// A word for the log. The messages are for the caller alone, for they may repeat what it sent.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            ReadError::NotFound(refusal) | ReadError::Refused(refusal) => refusal.code,
        }
    }

    /// The protocol's form. `not_found` is the code of the era for a resource that is not there.
    pub(crate) fn into_fault(self, uri: &str, not_found: i32) -> Fault {
        match self {
            ReadError::NotFound(refusal) => {
                // Said in full, for some clients show their model the message alone.
                let mut fault = Fault::invalid_params(refusal.text()).with(data_of(refusal, uri));
                fault.code = not_found;
                fault
            }
            ReadError::Refused(refusal) => Fault::invalid_params(refusal.message.clone()).with(data_of(refusal, uri)),
        }
    }
}

/// What programs are told beside the message.
fn data_of(refusal: Refusal, uri: &str) -> Value {
    let mut data = refusal.data;
    data.insert("code".to_owned(), refusal.code.into());
    data.insert("hint".to_owned(), refusal.hint.into());
    data.insert("uri".to_owned(), uri.into());
    Value::Object(data)
}

/// Renders the members of a page of resources.
pub(crate) fn page_members(entries: &[ResourceEntry], next: Option<&str>) -> String {
    let mut json = String::from("\"resources\":");
    push_list(&mut json, entries, |json, entry| {
        push_member(json, "{\"uri\":", &entry.uri);
        push_member(json, ",\"name\":", &entry.name);
        push_member(json, ",\"mimeType\":", JSON);
        json.push('}');
    });
    if let Some(next) = next {
        push_member(&mut json, ",\"nextCursor\":", next);
    }
    json
}

/// Renders the members of the list of templates.
pub(crate) fn template_members(templates: &[ResourceTemplate]) -> String {
    let mut json = String::from("\"resourceTemplates\":");
    push_list(&mut json, templates, |json, template| {
        push_member(json, "{\"uriTemplate\":", template.uri_template);
        push_member(json, ",\"name\":", template.name);
        push_member(json, ",\"description\":", template.description);
        push_member(json, ",\"mimeType\":", JSON);
        json.push('}');
    });
    json
}

/// Renders the members of a resource that was read.
pub(crate) fn content_members(uri: &str, text: &str) -> String {
    let mut json = String::with_capacity(text.len() + text.len() / 8 + uri.len() + 80);
    push_member(&mut json, "\"contents\":[{\"uri\":", uri);
    push_member(&mut json, ",\"mimeType\":", JSON);
    push_member(&mut json, ",\"text\":", text);
    json.push_str("}]");
    json
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_leaves_out_what_is_absent() {
        let entry = ResourceEntry { uri: "toy://a".into(), name: "a".into() };
        assert_eq!(
            page_members(&[entry.clone(), entry], Some("2")),
            concat!(
                r#""resources":[{"uri":"toy://a","name":"a","mimeType":"application/json"},"#,
                r#"{"uri":"toy://a","name":"a","mimeType":"application/json"}],"nextCursor":"2""#,
            )
        );
        assert_eq!(page_members(&[], None), r#""resources":[]"#);
    }

    #[test]
    fn a_resource_that_is_not_there_has_the_code_of_its_era() {
        let mut refusal = Refusal::new("GONE", "It is gone").hint("Look elsewhere.");
        refusal.data.insert("suggestions".to_owned(), json!(["y"]));
        let fault = ReadError::NotFound(refusal).into_fault("toy://x", -32002);
        assert_eq!((fault.code, fault.message.as_str()), (-32002, "It is gone. Look elsewhere. [GONE]"));
        let data = json!({"code": "GONE", "hint": "Look elsewhere.", "suggestions": ["y"], "uri": "toy://x"});
        assert_eq!(fault.data, Some(data));
    }

    #[test]
    fn a_refused_read_keeps_its_code_and_hint() {
        let refusal = Refusal::new("PROJECT_NOT_FOUND", "Project not found").hint("Call ensure_project first.");
        let fault = ReadError::Refused(refusal).into_fault("toy://x", -32002);
        assert_eq!((fault.code, fault.message.as_str()), (-32602, "Project not found"));
        let data = json!({"code": "PROJECT_NOT_FOUND", "hint": "Call ensure_project first.", "uri": "toy://x"});
        assert_eq!(fault.data, Some(data));
    }
}

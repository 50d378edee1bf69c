//! The methods: what each request is answered, in each era, over any transport.
//!
//! What clients are shown at the start is rendered once, when the server is made. Subscriptions are
//! not here, because where their notices go depends on the transport (`endpoint`, `stdio`).

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use http::StatusCode;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::eras::{self, Era};
use crate::outcome::{Output, Refusal, push_tool_result};
use crate::registry::{CallerKind, Registry, panic_text};
use crate::resources::{content_members, page_members, template_members};
use crate::wire::{Fault, Params, Request, push_member, quoted, text};

/// What does not change while the server runs may be kept for an hour, by anyone.
const STABLE: &str = "\"ttlMs\":3600000,\"cacheScope\":\"public\"";
/// What may change with every message must be asked for again.
const FRESH: &str = "\"ttlMs\":0,\"cacheScope\":\"private\"";

/// What a URI cannot hold as it is.
const NOT_IN_A_URI: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A registry that speaks the protocol.
pub(crate) struct Exchange {
    pub registry: Registry,
    /// What opens every result of the modern era.
    modern_head: String,
    /// The same in the one result that introduces the server, with its picture.
    discover_head: String,
    discover: String,
    templates: String,
}

/// The members of a result, and how long they keep.
pub(crate) struct Answer<'a> {
    members: Members<'a>,
    cache: Option<&'static str>,
}

enum Members<'a> {
    Text(Cow<'a, str>),
    /// What the server says of itself.
    Introduction(&'a str),
    /// Written straight into the answer, since it may be large.
    Tool(Result<Output, Refusal>),
}

impl<'a> Answer<'a> {
    /// A result without members.
    pub fn empty() -> Answer<'a> {
        Answer::text("", None)
    }

    /// A result with these members, and how long it keeps.
    pub fn text(members: impl Into<Cow<'a, str>>, cache: Option<&'static str>) -> Answer<'a> {
        Answer { members: Members::Text(members.into()), cache }
    }
}

impl Exchange {
    pub fn new(registry: Registry) -> Exchange {
        let modern_head = modern_head(&server_info(&registry));
        let discover_head = self::modern_head(&introduction(&registry));
        let discover = members(&json!({
            "supportedVersions": eras::supported().collect::<Vec<_>>(),
            "capabilities": capabilities(Era::Modern),
        })) + &instructions(&registry);
        let templates = template_members(&registry.resources.templates());
        Exchange { registry, modern_head, discover_head, discover, templates }
    }

    /// Answers one request, whatever happens inside.
    pub async fn answer(&self, era: Era, caller: CallerKind, request: &Request<'_>) -> Result<Answer<'_>, Fault> {
        let running = AssertUnwindSafe(self.dispatch(era, caller, request));
        running.catch_unwind().await.unwrap_or_else(|panic| {
            tracing::error!(method = %request.method, panic = panic_text(&*panic), "a request panicked");
            Err(Fault::new(-32603, StatusCode::INTERNAL_SERVER_ERROR, "The server failed unexpectedly."))
        })
    }

    async fn dispatch(&self, era: Era, caller: CallerKind, request: &Request<'_>) -> Result<Answer<'_>, Fault> {
        let params = &request.params;
        match (&*request.method, era) {
            ("tools/call", _) => self.call_tool(caller, params).await,
            ("tools/list", _) => Ok(Answer::text(&self.registry.tools_member, Some(STABLE))),
            ("resources/read", _) => self.read_resource(era, params).await,
            ("resources/list", _) => self.list_resources(params).await,
            ("resources/templates/list", _) => Ok(Answer::text(&self.templates, Some(STABLE))),
            ("prompts/list", _) => Ok(Answer::text("\"prompts\":[]", Some(STABLE))),
            ("prompts/get", _) => {
                let name = required("name", params.name)?;
                Err(Fault::invalid_params(format!("Prompt {} not found.", quoted(&name))))
            }
            ("completion/complete", _) => {
                Ok(Answer::text("\"completion\":{\"values\":[],\"total\":0,\"hasMore\":false}", None))
            }
            ("server/discover", Era::Modern) => {
                Ok(Answer { members: Members::Introduction(&self.discover), cache: Some(STABLE) })
            }
            ("initialize", Era::Legacy) => Ok(self.initialize(params)),
            // We send no log messages, so every level is kept to.
            ("ping" | "logging/setLevel", Era::Legacy) => Ok(Answer::empty()),
            (method, era) => Err(era.unknown_method(method)),
        }
    }

    fn initialize(&self, params: &Params<'_>) -> Answer<'_> {
        let wanted = params.protocol_version.and_then(text);
        let version = eras::negotiated(wanted.as_deref());
        let head = members(&json!({ "protocolVersion": version, "capabilities": capabilities(Era::Legacy) }));
        // Earlier revisions know no pictures.
        let info = if version == eras::LEGACY[0] { introduction(&self.registry) } else { server_info(&self.registry) };
        Answer::text(format!("{head},\"serverInfo\":{info}{}", instructions(&self.registry)), None)
    }

    async fn call_tool(&self, caller: CallerKind, params: &Params<'_>) -> Result<Answer<'_>, Fault> {
        let name = required("name", params.name)?;
        let Some(tool) = self.registry.tool(&name) else {
            let hint = match self.registry.nearest_tool(&name) {
                Some(near) => format!(" Did you mean '{near}'?"),
                None => String::new(),
            };
            return Err(Fault::invalid_params(format!("Unknown tool {}.{hint}", quoted(&name))));
        };
        let outcome = self.registry.call(tool, caller, params.arguments.map(RawValue::get)).await;
        Ok(Answer { members: Members::Tool(outcome), cache: None })
    }

    async fn read_resource(&self, era: Era, params: &Params<'_>) -> Result<Answer<'_>, Fault> {
        let uri = required("uri", params.uri)?;
        match self.registry.resources.read(&uri).await {
            Ok(text) => Ok(Answer::text(content_members(&uri, &text), Some(FRESH))),
            Err(error) => Err(error.into_fault(&uri, era.not_found_code())),
        }
    }

    async fn list_resources(&self, params: &Params<'_>) -> Result<Answer<'_>, Fault> {
        let cursor = match params.cursor {
            Some(_) => Some(required("cursor", params.cursor)?),
            None => None,
        };
        match self.registry.resources.list(cursor.as_deref()).await {
            Ok((entries, next)) => Ok(Answer::text(page_members(&entries, next.as_deref()), Some(FRESH))),
            Err(refusal) => {
                let data = json!({ "code": refusal.code, "hint": refusal.hint });
                Err(Fault::invalid_params(refusal.message).with(data))
            }
        }
    }

    /// Writes the whole answer to the request `id`.
    pub fn write(&self, id: &str, era: Era, answer: &Answer<'_>) -> String {
        let size = match &answer.members {
            Members::Text(members) => members.len(),
            Members::Introduction(_) | Members::Tool(_) => 0,
        };
        let mut json = String::with_capacity(size + self.modern_head.len() + id.len() + 128);
        json.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
        json.push_str(id);
        json.push_str(",\"result\":{");
        if era == Era::Modern {
            let is_introduction = matches!(answer.members, Members::Introduction(_));
            json.push_str(if is_introduction { &self.discover_head } else { &self.modern_head });
            for member in answer.cache.iter() {
                json.push(',');
                json.push_str(member);
            }
            if !matches!(&answer.members, Members::Text(members) if members.is_empty()) {
                json.push(',');
            }
        }
        match &answer.members {
            Members::Text(members) => json.push_str(members),
            Members::Introduction(members) => json.push_str(members),
            Members::Tool(outcome) => push_tool_result(&mut json, outcome),
        }
        json.push_str("}}");
        json
    }

    /// The result that ends a `subscriptions/listen`, which is all that its stream still says.
    pub fn write_listening_ended(&self, id: &str) -> String {
        let meta = format!(
            "\"io.modelcontextprotocol/serverInfo\":{},\"io.modelcontextprotocol/subscriptionId\":{id}",
            server_info(&self.registry)
        );
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"resultType\":\"complete\",\"_meta\":{{{meta}}}}}}}")
    }
}

/// A member of `params` that must be a string.
pub(crate) fn required<'a>(name: &str, member: Option<&'a RawValue>) -> Result<Cow<'a, str>, Fault> {
    member.and_then(text).ok_or_else(|| Fault::invalid_params(format!("'params.{name}' must be a string.")))
}

fn capabilities(era: Era) -> Value {
    let mut capabilities = json!({
        "tools": {},
        "resources": { "subscribe": true },
        "prompts": {},
        "completions": {},
    });
    if era == Era::Legacy {
        capabilities["logging"] = json!({});
    }
    capabilities
}

fn server_info(registry: &Registry) -> Value {
    let info = &registry.info;
    json!({ "name": info.name, "title": info.title, "version": info.version })
}

/// The same with a picture, for the one answer that a client may show to people.
fn introduction(registry: &Registry) -> Value {
    let mut info = server_info(registry);
    let icon = &registry.info.icon;
    if !icon.is_empty() {
        let src = format!("data:image/svg+xml,{}", utf8_percent_encode(icon, NOT_IN_A_URI));
        info["icons"] = json!([{ "src": src, "mimeType": "image/svg+xml", "sizes": ["any"] }]);
    }
    info
}

fn modern_head(server_info: &Value) -> String {
    format!("\"resultType\":\"complete\",\"_meta\":{{\"io.modelcontextprotocol/serverInfo\":{server_info}}}")
}

/// The last member of an introduction, with the comma before it.
fn instructions(registry: &Registry) -> String {
    let mut json = String::new();
    if !registry.info.instructions.is_empty() {
        push_member(&mut json, ",\"instructions\":", &registry.info.instructions);
    }
    json
}

/// The members of an object, without its braces.
pub(crate) fn members(object: &Value) -> String {
    let json = object.to_string();
    json[1..json.len() - 1].to_owned()
}

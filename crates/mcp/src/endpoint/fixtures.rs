//! What the conformance suite calls and no product of ours offers: test tools, prompts, and requests to the client.
//!
//! Compiled with the feature `conformance-fixtures` alone. A fixture is answered behind the same checks as everything
//! else: headers, revision and session are the product's. The fixtures themselves are not here.

use std::sync::Arc;

use bytes::Bytes;
use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::{Endpoint, Reply};
use crate::eras::{Era, Meta};
use crate::exchange::{Answer, members};
use crate::headers;
use crate::registry::{Registry, Tool};
use crate::resources::Resources;
use crate::streams;
use crate::wire::{Fault, Incoming, Unreadable};

/// What stands beside the registry while the suite runs.
pub trait Fixtures: Send + Sync {
    /// Tools like those of a product.
    fn tools(&self) -> Vec<Tool>;

    /// The declarations of tools that are answered by [`Fixtures::play`].
    fn declarations(&self) -> Vec<Value>;

    /// Resources like those of a product, beside those that there are.
    fn resources(&self, others: Arc<dyn Resources>) -> Arc<dyn Resources>;

    /// What is played for a request; `None` for one that the registry answers.
    fn play(&self, asked: &Asked<'_>) -> Option<Scene>;

    /// Takes the client's answer to a request of a scene.
    fn hear(&self, answer: &Value);
}

/// A request that passed every check.
pub struct Asked<'a> {
    /// The method.
    pub method: &'a str,
    /// All its parameters.
    pub params: &'a Value,
    /// Whether the request is of 2026-07-28.
    pub is_modern: bool,
}

/// What a fixture comes to.
pub enum Scene {
    /// One answer.
    Plain(Ending),
    /// A JSON-RPC error.
    Refused {
        /// Its code.
        code: i32,
        /// The HTTP status that goes with it.
        status: StatusCode,
        /// Its message.
        message: String,
        /// Its data.
        data: Value,
    },
    /// An event stream that ends with the answer.
    Streamed(BoxStream<'static, Cue>),
}

/// One event of a stream.
pub enum Cue {
    /// A notification, or a request to the client.
    Message(Value),
    /// The answer.
    Ending(Ending),
}

/// A result, without what every result has.
pub enum Ending {
    /// All is done.
    Complete(Value),
    /// The client has to call again with what is asked for here.
    InputRequired(Value),
}

impl Endpoint {
    /// The same endpoint with fixtures beside what it serves.
    ///
    /// # Panics
    /// If it is served already.
    pub fn with_fixtures(self, fixtures: Arc<dyn Fixtures>) -> Endpoint {
        let inner = Arc::into_inner(self.inner).expect("nobody serves the endpoint yet");
        let Registry { info, resources, mut tools, observer, .. } = inner.exchange.registry;
        tools.extend(fixtures.tools());
        let mut registry = Registry::new(info, tools, fixtures.resources(resources));
        registry.observer = observer;
        let list = registry.tools_member.strip_suffix(']').expect("the list of tools is a list");
        registry.tools_member =
            fixtures.declarations().iter().fold(list.to_owned(), |list, tool| format!("{list},{tool}"));
        registry.tools_member.push(']');
        let mut endpoint = Endpoint::new(registry);
        Arc::get_mut(&mut endpoint.inner).expect("it was made a line above").fixtures = Some(fixtures);
        endpoint
    }

    /// Answers a request by a fixture, if there is one for it and nothing is wrong with the request. A client's answer goes
    /// to the fixture that waits for it.
    pub(super) fn play(
        &self,
        headers: &HeaderMap,
        incoming: &Result<Incoming<'_>, Unreadable<'_>>,
        body: &[u8],
    ) -> Option<Reply> {
        let fixtures = self.inner.fixtures.as_ref()?;
        let request = match incoming {
            Ok(Incoming::Request(request)) => request,
            Ok(Incoming::ClientAnswer) => {
                fixtures.hear(&serde_json::from_slice(body).ok()?);
                return None;
            }
            _ => return None,
        };
        let era = headers::check(headers, request, &Meta::of(&request.params)).ok()?;
        if era == Era::Legacy && self.has_ended(headers) {
            return None;
        }
        let message: Value = serde_json::from_slice(body).ok()?;
        let asked = Asked { method: &request.method, params: &message["params"], is_modern: era == Era::Modern };
        Some(match fixtures.play(&asked)? {
            Scene::Plain(last) => Reply::json(self.last_words(request.id, era, &last)),
            Scene::Refused { code, status, message, data } => {
                Reply::error(Some(request.id), &Fault::new(code, status, message).with(data))
            }
            Scene::Streamed(cues) => {
                let (endpoint, id) = (self.clone(), request.id.to_owned());
                Reply::events(cues.map(move |cue| endpoint.event_of(&id, era, cue)).boxed())
            }
        })
    }

    fn event_of(&self, id: &str, era: Era, cue: Cue) -> Bytes {
        match cue {
            Cue::Message(message) => streams::event(&message.to_string()),
            Cue::Ending(last) => streams::event(&self.last_words(id, era, &last)),
        }
    }

    fn last_words(&self, id: &str, era: Era, last: &Ending) -> String {
        let (Ending::Complete(result) | Ending::InputRequired(result)) = last;
        let written = self.inner.exchange.write(id, era, &Answer::text(members(result), None));
        match last {
            Ending::Complete(_) => written,
            // The first member of every result of the era.
            Ending::InputRequired(_) => {
                written.replacen("\"resultType\":\"complete\"", "\"resultType\":\"input_required\"", 1)
            }
        }
    }
}

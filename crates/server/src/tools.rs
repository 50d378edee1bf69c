//! The tools that agents call: each verb of the post office is one.
//!
//! What a tool takes and answers is declared with its verb. Here the answer of the office, or its refusal, gets the form
//! that MCP wants. No rule lives here.

mod mailboxes;
mod presence;

use std::future::Future;
use std::sync::Arc;

use api::{Offered, TOKEN, Verb, Visitor};
use mail::office::Claim;
use mail::{Error, Office};
use mcp::{Arguments, Call, Hints, Output, Param, ParamKind, Tool};

use crate::refusal::refusal;

const PROJECT: Param = Param::required("project_key", ParamKind::Text, "Absolute project path");
const AGENT: Param = Param::required("agent_name", ParamKind::Text, "");
const LIMIT: Param = Param::optional("limit", ParamKind::Number { min: 1, max: 1000 }, "").rare();

/// All tools, in the order in which they are listed.
pub struct Tools {
    office: Arc<Office>,
    pub tools: Vec<Tool>,
    /// The names of those that are in the lean list.
    pub lean: Vec<&'static str>,
}

impl Tools {
    /// The tools of an office.
    pub fn of(office: &Arc<Office>) -> Self {
        let mut tools = Self { office: office.clone(), tools: Vec::new(), lean: Vec::new() };
        api::visit_all(&mut tools);
        let desk = Desk { office: office.clone() };
        tools.tools.push(mailboxes::tool(&desk));
        tools.tools.push(presence::tool(&desk));
        tools
    }
}

impl Visitor for Tools {
    fn verb<V: Verb>(&mut self, offered: Offered) {
        let office = self.office.clone();
        let tool = Tool::new(V::NAME, V::ABOUT, V::PARAMS, V::HINTS, move |call: Call| {
            let office = office.clone();
            async move {
                let request: V = call.arguments.into_request()?;
                let answer = request.run(&office).await.map_err(refusal)?;
                Ok(Output::json(&answer))
            }
        });
        if offered == Offered::Lean {
            self.lean.push(V::NAME);
        }
        self.tools.push(if offered == Offered::Unlisted { tool.unlisted() } else { tool });
    }
}
/// Where tools are made: it hands each call to the office.
struct Desk {
    office: Arc<Office>,
}

impl Desk {
    fn tool<F, Answer>(
        &self,
        name: &'static str,
        about: &'static str,
        params: &'static [Param],
        hints: Hints,
        handler: F,
    ) -> Tool
    where
        F: Fn(Arc<Office>, Arguments) -> Answer + Send + Sync + 'static,
        Answer: Future<Output = Result<Output, Error>> + Send + 'static,
    {
        let office = self.office.clone();
        Tool::new(name, about, params, hints, move |call: Call| {
            let answer = handler(office.clone(), call.arguments);
            async move { answer.await.map_err(refusal) }
        })
    }
}

/// Who acts, by the argument `name` and the token beside it.
fn claim<'a>(arguments: &'a Arguments, name: &str) -> Claim<'a> {
    Claim { token: arguments.opt_text("registration_token"), ..Claim::of(arguments.text(name)) }
}

fn limit(arguments: &Arguments, default: usize) -> usize {
    arguments.number("limit").map_or(default, |limit| limit as usize)
}

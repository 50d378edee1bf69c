//! The tools that agents call: each verb of the post office is one.
//!
//! What a tool takes and answers is declared with its verb. Here the answer of the office, or its refusal, gets the form
//! that MCP wants. No rule lives here.

use std::sync::Arc;

use api::{Offered, Verb, Visitor};
use mail::Office;
use mcp::{Call, Output, Tool};

use crate::refusal::{outdated, refusal};

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
        tools.tools.extend(api::RETIRED.iter().map(|name| Tool::retired(name, outdated(name))));
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

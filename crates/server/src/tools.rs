//! The tools that agents call: each verb of the post office is one.
//!
//! What a tool takes and answers is declared with its verb. Here the answer of the office, or its refusal, gets the form
//! that MCP wants. No rule lives here.

use std::sync::Arc;

use api::{Ask, ForeignTool, Offered, Visitor};
use futures_util::future::BoxFuture;
use mail::Office;
use mcp::{Arguments, CallerKind, Hints, Output, Param, Refusal, Tool};

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
        tools.tools.extend(api::FOREIGN_TOOLS.iter().map(foreign_tool));
        tools.tools.extend(api::RETIRED.iter().map(|name| Tool::retired(name, outdated(name))));
        tools
    }

    fn add(
        &mut self,
        offered: Offered,
        name: &'static str,
        about: &'static str,
        params: &'static [Param],
        hints: Hints,
        ask: Asking,
    ) {
        let office = self.office.clone();
        let answer = move |caller, arguments| ask(office.clone(), caller, arguments);
        let tool = Tool::knowing_caller(name, about, params, hints, answer);
        let tool = tool.taking(api::FOREIGN);
        if offered == Offered::Lean {
            self.lean.push(name);
        }
        self.tools.push(if offered == Offered::Unlisted { tool.unlisted() } else { tool });
    }
}

impl Visitor for Tools {
    // As little as can be: this is compiled once for each verb.
    fn verb<V: Ask>(&mut self, offered: Offered) {
        if offered != Offered::People {
            self.add(offered, V::NAME, V::ABOUT, V::PARAMS, V::HINTS, ask::<V>);
        }
    }
}

/// A tool of other servers, which says the same to everybody.
fn foreign_tool(row: &'static ForeignTool) -> Tool {
    let answer = |_| std::future::ready(Ok(Output::written(row.answer)));
    Tool::new(row.name, "", row.params, Hints::READS, answer).taking(api::FOREIGN).unlisted()
}

/// What a tool does, whichever verb it is.
type Asking = fn(Arc<Office>, CallerKind, Arguments) -> BoxFuture<'static, Result<Output, Refusal>>;

fn ask<V: Ask>(
    office: Arc<Office>,
    caller: CallerKind,
    arguments: Arguments,
) -> BoxFuture<'static, Result<Output, Refusal>> {
    Box::pin(async move {
        let answer = V::read(arguments)?.ask(&office).await.map_err(refusal)?;
        Ok(match V::brief(&answer).filter(|_| caller == CallerKind::Introduced) {
            Some(brief) => Output::json(&brief),
            None => Output::json(&answer),
        })
    })
}

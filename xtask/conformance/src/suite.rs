//! All fixtures together: which of them plays for a request.
//!
//! What no fixture is for is answered by Postrider itself, wrong requests among it.

use std::sync::Arc;

use mcp::{Asked, Fixtures, Resources, Scene, Tool};
use serde_json::Value;

use crate::asking::Asking;
use crate::resources::TestResources;
use crate::{inputs, prompts, resources, tools};

/// The fixtures of the suite.
#[derive(Default)]
pub struct Suite {
    asking: Asking,
}

impl Fixtures for Suite {
    fn tools(&self) -> Vec<Tool> {
        tools::like_ours()
    }

    fn declarations(&self) -> Vec<Value> {
        tools::declarations()
    }

    fn resources(&self, others: Arc<dyn Resources>) -> Arc<dyn Resources> {
        Arc::new(TestResources { others })
    }

    fn play(&self, asked: &Asked<'_>) -> Option<Scene> {
        let name = asked.params["name"].as_str().unwrap_or_default();
        match asked.method {
            "tools/call" if asked.is_modern => tools::play(name, asked).or_else(|| inputs::play(name, asked.params)),
            // Since 2026-07-28 a server asks nothing by itself.
            "tools/call" => tools::play(name, asked).or_else(|| self.asking.play(name, asked.params)),
            "prompts/list" => Some(prompts::list(asked.is_modern)),
            "prompts/get" => prompts::play(name, asked),
            "resources/read" => resources::play(asked),
            _ => None,
        }
    }

    fn hear(&self, answer: &Value) {
        self.asking.hear(answer);
    }
}

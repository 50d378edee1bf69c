//! Whether the client starts our server and lets its model call a tool of it.

use anyhow::{Result, ensure};
use serde_json::json;

use super::super::bench::Bench;
use super::super::table::Row;
use super::super::workplace::{Place, heard};

/// The name that the model registers. Nobody else knows it.
const NEW: &str = "RedFox";

/// The model calls a tool, and what the tool does is done.
pub fn prove(bench: &Bench, row: &'static Row) -> Result<String> {
    let place = Place::provide(bench, row)?;
    let arguments = json!({ "project_key": place.repository(), "program": "lab", "model": "stand-in", "name": NEW });
    let questions = place.session(vec![(row.tools.own)("register_agent", arguments).into()])?;
    let known = heard(&mut place.postrider(&["who", "--json"]))?;
    ensure!(known.contains(NEW), "the tool was not called");
    ensure!(
        questions.last().is_some_and(|question| question.contains("registration_token")),
        "the model is not told the answer"
    );
    Ok("its model calls a tool, and is told the answer".to_owned())
}

//! What Postrider takes when nobody uses it: memory, disk, and an agent's attention.

use std::collections::HashMap;

use anyhow::Context;
use serde_json::json;
use serde_json::value::RawValue;

use crate::process::Server;
use crate::report::{Line, Report, Target, Unit};
use crate::setting::{Setting, progress};
use crate::wire::Request;

const MEGABYTE: f64 = 1_000_000.0;
const KILOBYTE: f64 = 1_000.0;

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, report: &mut Report) -> anyhow::Result<()> {
    progress("footprint");
    let size = std::fs::metadata(&setting.binary)?.len() as f64;
    report.add(Line::new("size of the binary", size, Unit::Bytes).target(Target::FigureAtMost(15.0 * MEGABYTE)));
    let server = Server::start(setting, &setting.fresh_folder()?, &[])?;
    server.caller()?.call("health_check", &json!({}))?;
    let memory = server.memory()?;
    report.add(Line::new("memory when idle", memory, Unit::Bytes).target(Target::FigureAtMost(15.0 * MEGABYTE)));
    let full = tools_list_size(&server)?;
    server.stop()?;
    let server = Server::start(setting, &setting.fresh_folder()?, &["--tools", "lean"])?;
    let lean = tools_list_size(&server)?;
    server.stop()?;
    report.add(Line::new("tools/list", full, Unit::Bytes).target(Target::FigureAtMost(12.0 * KILOBYTE)));
    report.add(Line::new("tools/list, lean", lean, Unit::Bytes).target(Target::FigureAtMost(5.0 * KILOBYTE)));
    Ok(())
}

/// How many bytes of JSON the tools are described with.
fn tools_list_size(server: &Server) -> anyhow::Result<f64> {
    let list = Request::post(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string(), b"}");
    let mut caller = server.caller()?;
    let answer: HashMap<&str, &RawValue> = serde_json::from_slice(caller.ask(&list)?)?;
    let result = answer.get("result").context("tools/list has no result")?;
    Ok(result.get().len() as f64)
}

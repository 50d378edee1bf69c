//! Reserving files before editing them.

use std::time::Duration;

use mail::office::ReserveAsk;
use mail::reservations::{DEFAULT_TTL_SECONDS, TTL_SECONDS};
use mcp::{Arguments, Hints, Output, Param, ParamKind, Tool};

use super::{AGENT, Desk, LONGEST_WAIT, PROJECT, TOKEN, claim};
use crate::answers::reservations::{GrantedAnswer, ReleasedAnswer, RenewedAnswer, leases};

const TTL: ParamKind = ParamKind::Number { min: *TTL_SECONDS.start(), max: *TTL_SECONDS.end() };
const SOME_PATHS: Param =
    Param::optional("paths", ParamKind::Names, "Left out: all of yours").mistaken_for(&["path", "patterns", "files"]);

pub(super) fn tools(desk: &Desk) -> Vec<Tool> {
    vec![file_reservation_paths(desk), release_file_reservations(desk), renew_file_reservations(desk)]
}

fn file_reservation_paths(desk: &Desk) -> Tool {
    const PARAMS: &[Param] = &[
        PROJECT,
        AGENT,
        Param::required("paths", ParamKind::Names, "Globs relative to the project, e.g. src/**")
            .mistaken_for(&["path", "patterns", "files", "globs"]),
        Param::optional("ttl_seconds", TTL, "Default 600").mistaken_for(&["ttl", "duration", "duration_seconds"]),
        Param::optional("exclusive", ParamKind::Flag, "Keep others out; default false"),
        Param::optional("reason", ParamKind::Text, "").rare(),
        Param::optional("wait_seconds", ParamKind::Number { min: 0, max: LONGEST_WAIT }, "Stand in line when taken")
            .mistaken_for(&["timeout_seconds", "wait", "timeout"]),
        TOKEN,
    ];
    desk.tool(
        "file_reservation_paths",
        "Reserve files before editing them: all of the paths or none. Conflicts name the holders.",
        PARAMS,
        Hints::REPEATABLE,
        |office, arguments| async move {
            let paths = arguments.names("paths");
            let ask = ReserveAsk {
                project_key: arguments.text("project_key"),
                agent: claim(&arguments, "agent_name"),
                paths: &paths,
                ttl_seconds: arguments.number("ttl_seconds").unwrap_or(DEFAULT_TTL_SECONDS),
                exclusive: arguments.flag("exclusive").unwrap_or(false),
                reason: arguments.opt_text("reason").unwrap_or_default(),
                wait: Duration::from_secs(arguments.number("wait_seconds").unwrap_or(0) as u64),
            };
            let granted = office.reserve(ask).await?;
            Ok(Output::json(&GrantedAnswer { granted: leases(&granted), conflicts: [] }))
        },
    )
}

fn release_file_reservations(desk: &Desk) -> Tool {
    const PARAMS: &[Param] = &[PROJECT, AGENT, SOME_PATHS, TOKEN];
    desk.tool(
        "release_file_reservations",
        "Give back your reservations.",
        PARAMS,
        Hints::REPEATABLE,
        |office, arguments| async move {
            let paths = some_paths(&arguments);
            let agent = claim(&arguments, "agent_name");
            let released = office.release(arguments.text("project_key"), agent, paths.as_deref()).await?;
            let paths = released.iter().map(|lease| lease.pattern.as_str()).collect();
            Ok(Output::json(&ReleasedAnswer { released: released.len(), paths }))
        },
    )
}

fn renew_file_reservations(desk: &Desk) -> Tool {
    const PARAMS: &[Param] = &[
        PROJECT,
        AGENT,
        SOME_PATHS,
        Param::optional("new_ttl_seconds", TTL, "From now; default 600").mistaken_for(&[
            "ttl_seconds",
            "ttl",
            "extend_seconds",
        ]),
        TOKEN,
    ];
    desk.tool(
        "renew_file_reservations",
        "Keep your reservations longer.",
        PARAMS,
        Hints::REPEATABLE,
        |office, arguments| async move {
            let paths = some_paths(&arguments);
            let agent = claim(&arguments, "agent_name");
            let ttl = arguments.number("new_ttl_seconds").unwrap_or(DEFAULT_TTL_SECONDS);
            let renewed = office.renew(arguments.text("project_key"), agent, paths.as_deref(), ttl).await?;
            Ok(Output::json(&RenewedAnswer { renewed: renewed.len(), file_reservations: leases(&renewed) }))
        },
    )
}

fn some_paths(arguments: &Arguments) -> Option<Vec<String>> {
    arguments.has("paths").then(|| arguments.names("paths"))
}

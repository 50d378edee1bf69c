//! Getting to work: is the server there, which project, and who am I.

use mail::agents::Profile;
use mail::office::{Registered, Registration};
use mcp::{Arguments, Hints, Output, Param, ParamKind, Tool};
use serde::Serialize;

use super::{AGENT, Desk, PROJECT, TOKEN};
use crate::answers::agents::{AgentAnswer, ProjectAnswer, RegisteredAnswer};

pub(super) const PROGRAM: Param = Param::optional("program", ParamKind::Text, "e.g. claude-code").rare();
pub(super) const MODEL: Param = Param::optional("model", ParamKind::Text, "").rare();
pub(super) const TASK: Param = Param::optional("task_description", ParamKind::Text, "");

/// That the server is ready.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HealthAnswer {
    /// Always `ready`; a server that is not refuses.
    pub status: &'static str,
    /// The server's version.
    pub version: &'static str,
}

pub(super) fn tools(desk: &Desk) -> Vec<Tool> {
    vec![health_check(desk), ensure_project(desk), register_agent(desk), whois(desk)]
}

fn health_check(desk: &Desk) -> Tool {
    desk.tool("health_check", "Is the mail server ready?", &[], Hints::READS, |office, _| async move {
        office.check_ready().await?;
        Ok(Output::json(&HealthAnswer { status: "ready", version: env!("CARGO_PKG_VERSION") }))
    })
}

fn ensure_project(desk: &Desk) -> Tool {
    const PARAMS: &[Param] = &[Param::required("human_key", ParamKind::Text, "Absolute path of the working directory")
        .mistaken_for(&["project_key", "project", "path"])];
    desk.tool(
        "ensure_project",
        "Create the project if it is new. Call before anything else.",
        PARAMS,
        Hints::REPEATABLE,
        |office, arguments| async move {
            let project = office.ensure_project(arguments.text("human_key")).await?;
            Ok(Output::json(&ProjectAnswer::from(&project)))
        },
    )
}

fn register_agent(desk: &Desk) -> Tool {
    const PARAMS: &[Param] = &[
        PROJECT,
        Param::optional("name", ParamKind::Text, "Your name; left out, you are given one")
            .mistaken_for(&["agent_name", "agent"]),
        PROGRAM,
        MODEL,
        TASK,
        TOKEN,
    ];
    desk.tool(
        "register_agent",
        "Register yourself in a project, or update your profile. The same name keeps its identity.",
        PARAMS,
        Hints::REPEATABLE,
        |office, arguments| async move {
            Ok(Output::json(&registered(office.register(registration(&arguments, "name")).await?)))
        },
    )
}

fn whois(desk: &Desk) -> Tool {
    const PARAMS: &[Param] = &[PROJECT, AGENT];
    desk.tool(
        "whois",
        "Who is an agent and what does it work on?",
        PARAMS,
        Hints::READS,
        |office, arguments| async move {
            let agent = office.whois(arguments.text("project_key"), arguments.text("agent_name")).await?;
            Ok(Output::json(&AgentAnswer::from(&agent)))
        },
    )
}

/// Who introduces itself in a call, under the name that the argument `name` holds, in a project that exists.
pub(super) fn registration<'a>(arguments: &'a Arguments, name: &str) -> Registration<'a> {
    let said = |name| arguments.opt_text(name).map(str::to_owned);
    Registration {
        project_key: arguments.text("project_key"),
        make_project: false,
        name: arguments.opt_text(name),
        profile: Profile { program: said("program"), model: said("model"), task_description: said("task_description") },
        token: arguments.opt_text("registration_token"),
    }
}

/// The answer for an agent that was registered.
pub(super) fn registered(registered: Registered) -> RegisteredAnswer {
    RegisteredAnswer {
        agent: AgentAnswer::from(&registered.agent),
        project: registered.project.slug,
        registration_token: registered.token,
    }
}

//! `postrider join`: gives somebody at a terminal a name that others can write to.
//!
//! Whether a name may be taken, and which one is generated for somebody who has none, is for the office to say.

use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use api::{EnsureProject, FetchInbox, RegisterAgent};
use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::config::Config;
use crate::identity::Acting;
use crate::mailbox;
use crate::output::{self, text};
use crate::post_office::{PostOffice, Refused};

const EXAMPLES: &str = "\
To join again with the same name changes nothing that others see.

Examples:
  postrider join GreenDog
  postrider join                 the post office draws a name
  export POSTRIDER_AGENT=$(postrider join --json | jq -r .name)";

/// Join the project, so that others can write to you.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Join {
    /// Your name [default: --as; without any, one is drawn]
    #[arg(value_name = "NAME")]
    called: Option<String>,
    #[command(flatten)]
    acting: Acting,
}

/// Somebody who joined.
#[derive(Serialize)]
struct Joined {
    name: String,
    project: String,
    /// What proves the name, where that has to be proved.
    #[serde(skip_serializing_if = "Option::is_none")]
    registration_token: Option<String>,
}

impl Join {
    /// Registers the name and prints it.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let who = self.acting.opt_who(&config);
        if self.called.as_deref() == Some("") {
            bail!("the name is empty; say one, or leave it out and the post office draws one");
        }
        let name = self.called.clone().or_else(|| who.as_ref().map(|who| who.name.clone()));
        let is_elsewhere = config.url().is_some();
        let token = self.acting.token();
        let project = self.acting.project.key()?;
        mailbox::visit(config, project.clone(), who, async |mailbox| {
            let Some(office) = mailbox.post_office() else {
                let json = json!({ "name": name, "project": project });
                return Ok(output::answer(as_json, &json, || {
                    "Nobody has to join here: this mail provider takes any name.".to_owned()
                }));
            };
            let joined = join(office, &project, name, token).await;
            let joined = joined.map_err(|refused| self.advised(refused))?;
            // A folder of another machine cannot be looked for.
            if project.starts_with('/') && !is_elsewhere && !Path::new(&project).exists() {
                output::note(&text::lines(&format!(
                    "Note: there is no folder '{project}'; the project has that name."
                )));
            }
            Ok(output::answer(as_json, &json!(joined), || joined.to_text()))
        })
    }

    /// Says what somebody at a terminal can do about a refusal.
    fn advised(&self, refused: Refused) -> Refused {
        match refused.code.as_str() {
            "PROJECT_NOT_FOUND" => refused.hinted("A new project is named by its folder: pass --project PATH."),
            "IDENTITY_REQUIRED" => refused.hinted(
                "The name is taken. Take another, or pass the token that was printed for it with --token or \
                 POSTRIDER_REGISTRATION_TOKEN.",
            ),
            _ => refused,
        }
    }
}

async fn join(
    office: &PostOffice,
    project: &str,
    name: Option<String>,
    token: Option<String>,
) -> Result<Joined, Refused> {
    match office.ask(EnsureProject { human_key: project.to_owned() }).await {
        // Only a path makes a project; whether there is one of that slug is told by what comes next.
        Err(refused) if refused.code != "INVALID_PROJECT_KEY" => return Err(refused),
        _ => {}
    }
    let request = RegisterAgent {
        project_key: project.to_owned(),
        name,
        program: Some("terminal".to_owned()),
        registration_token: token,
        ..RegisterAgent::default()
    };
    let registered = office.ask(request).await?;
    let name = registered.agent.name;
    // The office does not say whether names have to be proved; that one without proof is refused says it.
    let (project_key, agent_name) = (project.to_owned(), name.clone());
    let unproved = FetchInbox { project_key, agent_name, limit: Some(1), ..FetchInbox::default() };
    let is_strict = match office.ask(unproved).await {
        Ok(_) => false,
        Err(refused) if refused.code == "IDENTITY_REQUIRED" => true,
        Err(refused) => return Err(refused),
    };
    let registration_token = is_strict.then_some(registered.registration_token);
    Ok(Joined { name, project: registered.project, registration_token })
}

impl Joined {
    fn to_text(&self) -> String {
        let Self { name, project, .. } = self;
        let mut told =
            format!("You are '{name}' in the project '{project}'. Set POSTRIDER_AGENT, or pass --as, to act so.");
        if let Some(token) = &self.registration_token {
            told.push_str(&format!(
                "\nNames have to be proved here. Keep this token, and set POSTRIDER_REGISTRATION_TOKEN to it:\n{token}"
            ));
        }
        text::lines(&told)
    }
}

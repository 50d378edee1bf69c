//! `postrider role`: work that one of several agents takes, and the mail that comes with it.
//!
//! Who may hold a role, and what is handed over, is for the office to say.

use std::process::ExitCode;
use std::time::Duration;

use api::answers::RoleAnswer;
use api::{Actor, ListAgents, ListRoles, ReleaseRole, TakeRole, TakenRoleAnswer};
use clap::{Args, Subcommand};
use mail::clock::{Clock, SystemClock};
use serde_json::json;

use super::in_name::InName;
use super::mail::ago::at;
use super::watch::amounts;
use crate::config::Config;
use crate::identity::Acting;
use crate::output::{self, text};
use crate::post_office::PostOffice;

const EXAMPLES: &str = "\
Mail to 'role:reviewer' goes to whoever holds that role. While nobody does, it waits, and whoever takes the role next gets it,
together with what the last holder did not read. A role ends by itself; take it again to hold it longer.

Examples:
  postrider role take reviewer
  postrider role take reviewer --for 4h
  postrider mail send role:reviewer -s 'Please review' -m 'Branch parser, three commits.'
  postrider role list
  postrider role release reviewer";

/// Take a role, so that mail to it comes to you, and give it back.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Role {
    #[command(flatten)]
    acting: Acting,
    #[command(subcommand)]
    verb: Verb,
}

// The usage is written out: as clap writes it, what the environment sets looks required too.
#[derive(Subcommand, Debug)]
enum Verb {
    /// Take a role, or hold it longer
    #[command(override_usage = "postrider role take [OPTIONS] <ROLE>")]
    Take {
        /// The role, such as reviewer
        role: String,
        /// How long, such as 30m or 4h, at most 7d
        #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = amounts::duration)]
        length: Duration,
    },
    /// Give a role back before its time is over
    #[command(override_usage = "postrider role release [OPTIONS] <ROLE>")]
    Release {
        /// The role
        role: String,
    },
    /// List the roles, who holds each, and how much mail waits
    #[command(override_usage = "postrider role list [OPTIONS]")]
    List,
}

impl Role {
    /// Does what the verb says; exit code 1 when it is refused.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let actor = match &self.verb {
            Verb::List => None,
            _ => {
                let who = self.acting.who(&config)?;
                let project_key = self.acting.project.key()?;
                Some(Actor { project_key, agent_name: who.name, registration_token: who.token })
            }
        };
        self.acting.project.visit(config, async |post_office, key| match (&self.verb, actor) {
            (Verb::Take { role, length }, Some(actor)) => {
                let seconds = i64::try_from(length.as_secs()).ok();
                let request = TakeRole { role: role.clone(), seconds, ..TakeRole::default() };
                let taken = post_office.ask(request.by(actor)).await?;
                output::done(as_json, &json!(taken), || text_of(&taken))
            }
            (Verb::Release { role }, Some(actor)) => {
                let request = ReleaseRole { role: role.clone(), ..ReleaseRole::default() };
                let released = post_office.ask(request.by(actor)).await?;
                output::done(as_json, &json!(released), || {
                    let role = text::unbroken(role);
                    if released.done {
                        format!("You gave role '{role}' back.")
                    } else {
                        format!("You do not hold role '{role}'.")
                    }
                })
            }
            _ => list(post_office, key, as_json).await,
        })
    }
}

async fn list(post_office: &PostOffice, key: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    let roles = post_office.ask(ListRoles { project_key: key.to_owned() }).await?;
    let about = ListAgents { project_key: key.to_owned(), limit: Some(1), ..ListAgents::default() };
    let project = post_office.ask(about).await?.project.slug;
    output::done(as_json, &json!({ "project": project, "roles": roles }), || {
        if roles.is_empty() {
            return "There are no roles yet. One appears when it is taken or written to: postrider role take NAME."
                .to_owned();
        }
        roles.iter().map(line).collect::<Vec<_>>().join("\n")
    })
}

fn text_of(TakenRoleAnswer { role, handed_over }: &TakenRoleAnswer) -> String {
    let until = role.held_until_ts.map_or_else(String::new, |until| format!(" until {}", at(until.0)));
    let mail = match handed_over {
        0 => String::new(),
        1 => "\nA message that waited is in your inbox.".to_owned(),
        more => format!("\n{more} messages that waited are in your inbox."),
    };
    format!("You hold role '{}'{until}{mail}", text::unbroken(&role.role))
}

fn line(RoleAnswer { role, holder, held_until_ts, waiting, .. }: &RoleAnswer) -> String {
    let now = SystemClock.now();
    let held = holder.as_ref().zip(held_until_ts.filter(|until| now < until.0));
    let line = match (held, waiting) {
        (Some((holder, until)), _) => format!("{role}: {holder} until {}", at(until.0)),
        (None, 0) => format!("{role}: nobody"),
        (None, 1) => format!("{role}: nobody; a message waits for whoever takes it"),
        (None, more) => format!("{role}: nobody; {more} messages wait for whoever takes it"),
    };
    text::unbroken(&line)
}

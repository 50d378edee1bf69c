//! `postrider handoff`: a message to another agent that says where one's own work stands.
//!
//! What stands in it is found by rule, as it is kept before a conversation is compacted. Nothing changes hands by it: reservations and
//! mail stay whose they are.

use std::process::ExitCode;

use anyhow::Context;
use api::{Actor, SendMessage};
use clap::Args;
use mail::agents;

use super::given::written;
use super::hook::checkpoint::branch;
use super::hook::inquiry::Inquiry;
use super::hook::{Kept, digest};
use super::in_name::InName;
use super::mail::{Sent, advised};
use crate::config::Config;
use crate::identity::Acting;
use crate::mailbox;
use crate::post_office::Refused;

const EXAMPLES: &str = "\
The message has the branch and the commit of the current folder, your reservations, your unread mail, what you have to
acknowledge, and what you wait for. Your reservations and your mail stay yours.

Examples:
  postrider handoff BlueLake
  postrider handoff BlueLake -m 'The lexer is done; the parser fails on comments.'";

/// Tell another agent where your work stands.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "postrider handoff [OPTIONS] <NAME>")]
pub struct Handoff {
    /// Who goes on with it
    #[arg(value_name = "NAME")]
    to: String,
    /// What else to say, or `-` for standard input
    #[arg(short = 'm', long = "message", value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    #[command(flatten)]
    acting: Acting,
}

impl Handoff {
    /// Sends the message, and says so.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let who = self.acting.who(&config)?;
        let project = self.acting.project.key()?;
        let text = self.text.as_deref().map(|text| written(Some(text), "with -m TEXT")).transpose()?;
        let text = text.as_ref().map(|text| text.text()).unwrap_or_default();
        let ended = mailbox::visit(config, project.clone(), Some(who.clone()), async |mailbox| {
            let office = mailbox.office("handoff")?;
            let me = Kept { agent: who.name.clone(), token: who.token.clone(), project: project.clone() };
            let body = body(&Inquiry { post_office: office, me: &me }, text).await?;
            Ok(Sent::from(office.ask(self.request(&me, body)).await?).answer(as_json))
        });
        ended.map_err(|error| match error.downcast::<Refused>() {
            Ok(refused) => advised(refused, &who, &self.acting).into(),
            Err(error) => error,
        })
    }

    fn request(&self, me: &Kept, body_md: String) -> SendMessage {
        let Kept { agent, token, project } = me.clone();
        let request = SendMessage {
            to: vec![agents::called(&self.to).to_owned()],
            subject: format!("Handoff from {agent}"),
            body_md,
            ..SendMessage::default()
        };
        request.by(Actor { project_key: project, agent_name: agent, registration_token: token })
    }
}

/// What the message says.
async fn body(inquiry: &Inquiry<'_>, text: &str) -> anyhow::Result<String> {
    let here = std::env::current_dir().context("there is no current folder")?;
    let parts: Vec<_> = branch(&here).into_iter().chain(inquiry.own_parts().await?).collect();
    let list = match digest::list(&parts) {
        list if list.is_empty() => "Nothing is open: no unread mail, no reservation, nobody waits.".to_owned(),
        list => format!("Where my work stands:\n\n{list}"),
    };
    Ok(if text.is_empty() { list } else { format!("{text}\n\n{list}") })
}

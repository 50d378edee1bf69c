//! `postrider leave`: the caller's session ends here and now. What it held exclusively is given back, and others see that it is gone.
//!
//! The agent keeps its name and its mail. It is back when its user says something to it, or the session begins again.

use std::process::ExitCode;

use api::EndSession;
use api::answers::ReservationAnswer;
use clap::Args;
use relay::sessions::SessionRecord;
use serde_json::json;

use crate::config::Config;
use crate::identity::Acting;
use crate::local_sessions::{self, key_of};
use crate::output::{self, text};
use crate::own_session;
use crate::post_office;

const EXAMPLES: &str = "\
The agent keeps its name, its mail and its token. If other sessions of it are open, it stays, and so do its
reservations.

Examples:
  postrider leave                    in the shell of an agent's session
  postrider leave --as GreenDog";

/// End your session: others see that you are gone, and what you hold exclusively is released
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Leave {
    #[command(flatten)]
    acting: Acting,
}

impl Leave {
    /// Ends the session, and says what was given back.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let who = match self.acting.project.is_given() {
            true => self.acting.who(&config)?,
            false => self.acting.who_of_session(&config)?,
        };
        let sessions = local_sessions::of(&config);
        // As it is kept: an agent below the main one has no session of its own.
        let kept = |session: SessionRecord| sessions.get(&session.client, &session.session_id);
        let session = own_session::find(&config.home).and_then(kept).filter(|session| session.agent == who.name);
        let project = match &session {
            // Its name is known there, wherever its shell has gone.
            Some(session) if !self.acting.project.is_given() => session.project.clone(),
            _ => self.acting.project.key()?,
        };
        let session = session.filter(|session| session.project == project);
        let request = EndSession {
            project_key: project.clone(),
            agent_name: who.name.clone(),
            session_key: session.as_ref().map(key_of),
            registration_token: who.token,
        };
        post_office::visit(config, &project, async |post_office| {
            let ended = post_office.ask(request.clone()).await?;
            if let Some(session) = &session {
                // The next prompt says that it goes on. If this fails, the end of this very call does.
                let _ = sessions.change(&session.client, &session.session_id, |record| {
                    record.told_at = 0;
                    record.has_left = true;
                });
            }
            let json = json!({ "agent": who.name, "is_last": ended.is_last, "released": ended.released });
            Ok(output::answer(as_json, &json, || told(&who.name, ended.is_last, &ended.released)))
        })
    }
}

fn told(name: &str, is_last: bool, released: &[ReservationAnswer]) -> String {
    let mut told = match is_last {
        true => format!("'{name}' has left."),
        false => format!("'{name}' has other sessions that are open, and stays."),
    };
    if !released.is_empty() {
        let paths: Vec<&str> = released.iter().map(|one| one.path_pattern.as_str()).collect();
        told.push_str(&format!(" Released: {}.", paths.join(", ")));
    }
    text::lines(&told)
}

//! Starts a session in one call: project, name, reservations and unread mail.

use mail::agents::Profile;
use mail::office::{Registered, Registration};
use mail::projects::Named;
use serde_json::Value;

use crate::prelude::*;
use crate::whois::colleagues;
use crate::{FetchInbox, FileReservationPaths, GrantedAnswer, details};

/// How much mail a starting session is shown.
const INBOX: u32 = 10;
/// What a session should know that begins.
const HOW_TO: &str = "Write with send_message, to a name, all, person, role:NAME, program:NAME, project:PATH or \
                      NAME@PROJECT. Reserve files with file_reservation_paths before you edit them.";

declare! {
    /// Starts a session.
    MacroStartSession(
        "macro_start_session",
        REPEATABLE,
        "Start here: ensures the project, registers you, reserves files, returns unread mail."
    ) {
        project_key: String = PROJECT;
        /// Its name; without one it is given one.
        agent_name: Option<String> = NAME;
        program: Option<String> = PROGRAM;
        model: Option<String> = MODEL;
        task_description: Option<String> = TASK;
        /// Globs to hold exclusively.
        reserve_paths: Vec<String> =
            Param::optional("reserve_paths", Names, "Globs to hold exclusively").mistaken_for(&["paths"]);
        registration_token: Option<String> = TOKEN;
        /// How much of the unread mail is shown; 10 when nobody says.
        inbox_limit: Option<u32> =
            Param::optional("inbox_limit", Number { min: 0, max: 1000 }, "How much unread mail; default 10").unlisted();
    }

    /// A session that started.
    SessionAnswer {
        /// The project.
        project: ProjectAnswer,
        /// Who you are.
        agent: RegisteredAnswer,
        /// What was reserved, or what is in the way.
        file_reservations: ReservationsAnswer,
        /// Unread mail, newest first.
        inbox: Vec<MessageAnswer>,
        /// Who else is here: who is awake first, at most 8.
        colleagues: Vec<ColleagueAnswer>,
        /// How to write and to reserve.
        how_to: Word,
    }

    /// What became of the paths that a session wanted.
    #[derive(Default)]
    ReservationsAnswer {
        /// The reservations.
        granted: Vec<ReservationAnswer>,
        /// What others hold; then nothing was granted.
        conflicts: Vec<Value>,
    }
}

impl Verb for MacroStartSession {
    type Answer = SessionAnswer;

    async fn run(self, office: &Office) -> Result<SessionAnswer, Error> {
        if !self.reserve_paths.is_empty() {
            // Looked at first: paths that cannot be read make no project and register nobody.
            office.check_paths(&self.project_key, &self.reserve_paths).await?;
        }
        let registration = Registration {
            project_key: &self.project_key,
            make_project: true,
            name: self.agent_name.as_deref(),
            profile: Profile { program: self.program, model: self.model, task_description: self.task_description },
            token: self.registration_token.as_deref(),
        };
        let mut me = office.register(registration).await?;
        // Said of the project, and not of the agent as well.
        let named = Named { project: me.project.clone(), place: me.place.take() };
        let wanted = FileReservationPaths {
            project_key: self.project_key,
            agent_name: me.agent.name.clone(),
            registration_token: Some(me.token.clone()),
            paths: self.reserve_paths,
            exclusive: Some(true),
            ..FileReservationPaths::default()
        };
        Ok(SessionAnswer {
            file_reservations: reserve(office, wanted).await?,
            inbox: match self.inbox_limit {
                Some(0) => Vec::new(),
                limit => FetchInbox { limit: limit.or(Some(INBOX)), ..unread(&me, None) }.run(office).await?,
            },
            colleagues: colleagues(office, &me.project.slug, Some(&me.agent.name)).await?,
            how_to: HOW_TO.into(),
            project: ProjectAnswer::new(named),
            agent: RegisteredAnswer::new(me),
        })
    }
}

/// Reserves what is wanted. A session starts all the same; what is in the way is part of its answer.
async fn reserve(office: &Office, wanted: FileReservationPaths) -> Result<ReservationsAnswer, Error> {
    if wanted.paths.is_empty() {
        return Ok(ReservationsAnswer::default());
    }
    match wanted.run(office).await {
        Ok(GrantedAnswer { granted, .. }) => Ok(ReservationsAnswer { granted, conflicts: Vec::new() }),
        Err(error @ Error::Reserved { .. }) => {
            let conflicts = match details(&error).remove("conflicts") {
                Some(Value::Array(conflicts)) => conflicts,
                _ => Vec::new(),
            };
            Ok(ReservationsAnswer { granted: Vec::new(), conflicts })
        }
        Err(error) => Err(error),
    }
}

/// The unread mail that somebody who begins is shown.
pub(crate) fn unread(me: &Registered, thread_id: Option<String>) -> FetchInbox {
    FetchInbox {
        project_key: me.project.slug.clone(),
        agent_name: me.agent.name.clone(),
        registration_token: Some(me.token.clone()),
        unread_only: Some(true),
        limit: Some(INBOX),
        thread_id,
        ..FetchInbox::default()
    }
}

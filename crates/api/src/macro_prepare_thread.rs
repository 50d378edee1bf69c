//! Joins a thread in one call: name, summary and unread mail.

use mail::agents::Profile;
use mail::office::{Claim, Registration};
use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::{MessageAnswer, ProjectAnswer, RegisteredAnswer, SummaryAnswer};
use crate::macro_start_session::{NAME, unread};
use crate::params::{MODEL, PROGRAM, PROJECT, TASK, THREAD, TOKEN, filled};

/// Joins a thread.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MacroPrepareThread {
    pub project_key: String,
    /// Its name; without one it is given one.
    pub agent_name: Option<String>,
    pub thread_id: String,
    pub program: Option<String>,
    pub model: Option<String>,
    pub task_description: Option<String>,
    pub registration_token: Option<String>,
}

/// An agent that joined a thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JoinedAnswer {
    /// The project.
    pub project: ProjectAnswer,
    /// Who you are.
    pub agent: RegisteredAnswer,
    /// The thread, summed up.
    pub thread: SummaryAnswer,
    /// Your unread mail of the thread, newest first.
    pub inbox: Vec<MessageAnswer>,
}

impl Verb for MacroPrepareThread {
    const NAME: &'static str = "macro_prepare_thread";
    const ABOUT: &'static str = "Join a thread: registers you, sums up the thread, returns your unread mail in it.";
    const PARAMS: &'static [Param] = &[PROJECT, NAME, THREAD, PROGRAM, MODEL, TASK, TOKEN];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = JoinedAnswer;

    async fn run(self, office: &Office) -> Result<JoinedAnswer, Error> {
        let thread = filled("thread_id", &self.thread_id)?;
        // Looked up first: an unknown thread registers nobody.
        let (thread, summary) = office.summarize(&self.project_key, thread).await?;
        let registration = Registration {
            project_key: &self.project_key,
            make_project: false,
            name: self.agent_name.as_deref(),
            profile: Profile { program: self.program, model: self.model, task_description: self.task_description },
            token: self.registration_token.as_deref(),
        };
        let me = office.register(registration).await?;
        let agent = Claim { token: Some(&me.token), ..Claim::of(&me.agent.name) };
        let inbox = office.inbox(unread(&me.project.human_key, agent, Some(&thread))).await?;
        Ok(JoinedAnswer {
            project: me.project.clone().into(),
            agent: me.into(),
            thread: SummaryAnswer::new(thread, summary),
            inbox: inbox.into_iter().map(|entry| MessageAnswer::received(entry, true)).collect(),
        })
    }
}

//! Joins a thread in one call: name, summary and unread mail.

use mail::agents::Profile;
use mail::office::Registration;
use mail::projects::Named;

use crate::macro_start_session::unread;
use crate::prelude::*;

declare! {
    /// Joins a thread.
    MacroPrepareThread(
        "macro_prepare_thread",
        REPEATABLE,
        "Join a thread: registers you, sums up the thread, returns your unread mail in it."
    ) {
        project_key: String = PROJECT;
        /// Its name; without one it is given one.
        agent_name: Option<String> = NAME;
        thread_id: String = THREAD;
        program: Option<String> = PROGRAM;
        model: Option<String> = MODEL;
        task_description: Option<String> = TASK;
        registration_token: Option<String> = TOKEN;
    }

    /// An agent that joined a thread.
    JoinedAnswer {
        /// The project.
        project: ProjectAnswer,
        /// Who you are.
        agent: RegisteredAnswer,
        /// The thread, summed up.
        thread: SummaryAnswer,
        /// Your unread mail of the thread, newest first.
        inbox: Vec<MessageAnswer>,
    }
}

impl Verb for MacroPrepareThread {
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
        let mut me = office.register(registration).await?;
        // Said of the project, and not of the agent as well.
        let named = Named { project: me.project.clone(), place: me.place.take() };
        Ok(JoinedAnswer {
            inbox: unread(&me, Some(thread.clone())).run(office).await?,
            project: ProjectAnswer::new(named),
            agent: RegisteredAnswer::new(me),
            thread: SummaryAnswer::new(thread, summary),
        })
    }
}

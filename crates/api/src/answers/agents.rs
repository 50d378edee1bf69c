//! Agents and projects, as answers show them.

use mail::agents::Agent;
use mail::office::Registered;
use mail::projects::Project;

use crate::Time;

declare! {
    /// A project.
    ProjectAnswer::new(project: Project) {
        /// Its name in resource addresses.
        slug: String = project.slug,
        /// The absolute path it was made for.
        human_key: String = project.human_key,
        /// When it was made.
        created_at: Time = Time(project.created_at),
    }

    /// An agent.
    AgentAnswer::new(agent: Agent) {
        /// Its number.
        id: i64 = agent.id.0,
        /// What others call it.
        name: String = agent.name,
        /// The program it runs in.
        program: String = agent.program,
        /// The model behind it.
        model: String = agent.model,
        /// What it works on.
        task_description: String = agent.task_description,
        /// When it was first registered.
        registered_ts: Time = Time(agent.registered_at),
        /// When it last wrote anything.
        last_active_ts: Time = Time(agent.last_active_at),
        /// When it was retired; until it registers again nobody can write to it.
        retired_ts[if_any]: Option<Time> = agent.retired_at.map(Time),
    }

    /// An agent that was registered, with its secret.
    RegisteredAnswer::new(registered: Registered) {
        /// The agent.
        #[serde(flatten)]
        agent: AgentAnswer = AgentAnswer::new(registered.agent),
        /// The slug of its project.
        project: String = registered.project.slug,
        /// What proves its name where names have to be proved.
        registration_token: String = registered.token,
    }
}

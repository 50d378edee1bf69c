//! Agents and projects, as answers show them.

use mail::agents::Agent;
use mail::office::Registered;
use mail::overview::ProjectSum;
use mail::projects::{Alias, Named};

use crate::Time;

declare! {
    /// A project.
    ProjectAnswer::new(named: Named) {
        /// Its name in resource addresses.
        slug: String = named.project.slug.clone(),
        /// The absolute path or the URL it was made for.
        human_key: String = named.project.human_key.clone(),
        /// When it was made.
        created_at: Time = Time(named.project.created_at),
        /// The path that was named, if the project was made for another one.
        resolved_from[if_any]: Option<String> = named.place.as_ref().map(|place| place.key.clone()),
        /// Why that path means this project.
        note[if_any]: Option<String> = named.note(),
    }

    /// A project, and how much is in it.
    ProjectSumAnswer::new(sum: ProjectSum) {
        /// The project.
        #[serde(flatten)]
        project: ProjectAnswer = ProjectAnswer::new(sum.project.into()),
        /// How many agents there are that are not retired.
        agents: u64 = sum.agents,
        /// How many messages were sent.
        messages: u64 = sum.messages,
        /// How many deliveries are neither read nor archived.
        unread: u64 = sum.unread,
        /// When the newest message was sent.
        last_mail_ts[if_any]: Option<Time> = sum.last_mail_at.map(Time),
    }

    /// A path that was named as another one of a project.
    AliasAnswer::new(alias: Alias) {
        /// The path.
        path: String = alias.path,
        /// The slug of the project that it means.
        project: String = alias.project.slug,
        /// The path or the URL that the project was made for.
        human_key: String = alias.project.human_key,
        /// When it was named.
        created_ts: Time = Time(alias.created_at),
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
        /// Why the project is another than the path that was named.
        note[if_any]: Option<String> = Named { project: registered.project.clone(), place: registered.place }.note(),
        /// The agent.
        #[serde(flatten)]
        agent: AgentAnswer = AgentAnswer::new(registered.agent),
        /// The slug of its project.
        project: String = registered.project.slug,
        /// What proves its name where names have to be proved.
        registration_token: String = registered.token,
    }
}

//! Where a client's input has what we read of it. How it is read is for `hook`.

/// Where the input has each thing: names of members, with dots where one is inside another. The first that is there counts.
#[derive(Debug)]
pub(crate) struct InputShape {
    /// Which session.
    pub session_id: Places,
    /// The session that an agent below the main one works for, where `session_id` is then that agent's own.
    pub parent: Places,
    /// Where the agent is.
    pub cwd: Places,
    /// The model behind the agent.
    pub model: Places,
    /// How a session begins.
    pub source: Places,
    /// Why a session ends.
    pub reason: Places,
    /// Who wants the conversation compacted.
    pub trigger: Places,
    /// What the user said.
    pub prompt: Places,
    /// Which tool.
    pub tool_name: Places,
    /// What the client calls this use of it.
    pub tool_use_id: Places,
    /// What the tool is told.
    pub tool_input: Places,
    /// Which agent below the main one.
    pub agent_id: Places,
    /// What kind of agent that is.
    pub agent_type: Places,
}

pub(crate) type Places = &'static [&'static str];

impl InputShape {
    /// The names of Claude Code, which most clients have taken over.
    pub(crate) const USUAL: Self = Self {
        session_id: &["session_id"],
        parent: &[],
        cwd: &["cwd"],
        model: &["model"],
        source: &["source"],
        reason: &["reason"],
        trigger: &["trigger"],
        prompt: &["prompt"],
        tool_name: &["tool_name"],
        tool_use_id: &["tool_use_id"],
        tool_input: &["tool_input"],
        agent_id: &["agent_id"],
        agent_type: &["agent_type"],
    };

    /// All places.
    pub(crate) fn places(&self) -> impl Iterator<Item = &'static str> {
        let Self { session_id, parent, cwd, model, source, reason, trigger, prompt, .. } = *self;
        let Self { tool_name, tool_use_id, tool_input, agent_id, agent_type, .. } = *self;
        let of_session = [session_id, parent, cwd, model, source, reason, trigger, prompt];
        let of_tool = [tool_name, tool_use_id, tool_input, agent_id, agent_type];
        of_session.into_iter().chain(of_tool).flatten().copied()
    }
}

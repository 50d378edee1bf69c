//! Who an agent is, or who else is here.

use crate::prelude::*;

/// How many colleagues are told of.
const MOST_COLLEAGUES: usize = 8;
/// How many bytes they may take: 250 tokens of four bytes, which leaves some for how to write to them.
const MOST_BYTES: usize = 1_000;

declare! {
    /// Asks who an agent is; without a name, who else is here.
    Whois("whois", READS, "Who is an agent? Without agent_name: who else is here, awake first.") {
        project_key: String = PROJECT;
        /// Whom to tell of; without one, of the colleagues.
        agent_name: Option<String> = Param::optional("agent_name", Text, "").mistaken_for(&["agent", "name"]);
        /// Who asks, and is no colleague of its own.
        sender_name: Option<String> = Param::optional("sender_name", Text, "You").rare();
    }

    /// An agent, or colleagues.
    #[derive(Default)]
    WhoisAnswer {
        /// The agent that was asked for.
        #[serde(flatten)]
        agent: Option<AgentAnswer>,
        /// How it stands: `awake`, `idle`, `asleep`, `never seen` or `retired`.
        standing[if_any]: Option<Word>,
        /// Whoever else is here, if no agent was asked for: who is awake first, at most 8.
        colleagues[if_any]: Option<Vec<ColleagueAnswer>>,
        /// The open sessions of the agent that was asked for.
        sessions[if_any]: Vec<OpenSessionAnswer>,
    }
}

impl Verb for Whois {
    type Answer = WhoisAnswer;

    async fn run(self, office: &Office) -> Result<WhoisAnswer, Error> {
        let Some(name) = &self.agent_name else {
            let colleagues = colleagues(office, &self.project_key, self.sender_name.as_deref()).await?;
            return Ok(WhoisAnswer { colleagues: Some(colleagues), ..WhoisAnswer::default() });
        };
        let found = office.stands(&self.project_key, name).await?;
        let standing = Some(found.standing.as_str().into());
        let sessions = office.sessions(found.agent.project, &[found.agent.id]).await?;
        let sessions = sessions.into_iter().map(OpenSessionAnswer::new).collect();
        Ok(WhoisAnswer { agent: Some(AgentAnswer::new(found.agent)), standing, colleagues: None, sessions })
    }
}

/// Whoever else is here, the best first.
pub(crate) async fn colleagues(
    office: &Office,
    project_key: &str,
    me: Option<&str>,
) -> Result<Vec<ColleagueAnswer>, Error> {
    let colleagues = office.colleagues(project_key, me, MOST_COLLEAGUES).await?;
    Ok(within_budget(colleagues.into_iter().map(ColleagueAnswer::new).collect()))
}

/// As much as a session can afford that reads it at its start: first whoever there is room for, then what each works on.
fn within_budget(mut colleagues: Vec<ColleagueAnswer>) -> Vec<ColleagueAnswer> {
    let bare = |one: &ColleagueAnswer| cost(&ColleagueAnswer { task: String::new(), ..one.clone() });
    let mut left = MOST_BYTES;
    colleagues.retain(|one| {
        let fits = bare(one) <= left;
        left -= if fits { bare(one) } else { 0 };
        fits
    });
    for one in &mut colleagues {
        let task = cost(one) - bare(one);
        if task <= left {
            left -= task;
        } else {
            one.task.clear();
        }
    }
    colleagues
}

fn cost(one: &ColleagueAnswer) -> usize {
    serde_json::to_string(one).map_or(0, |json| json.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colleague(name: &str, task: &str) -> ColleagueAnswer {
        ColleagueAnswer {
            name: name.to_owned(),
            program: "claude-code".to_owned(),
            task: task.to_owned(),
            standing: "awake".into(),
            seen_ts: None,
        }
    }

    #[test]
    fn eight_colleagues_cost_a_starting_session_at_most_its_budget() {
        let long = "the lexer, then the parser, and ".repeat(3);
        let told = within_budget((1..=8).map(|number| colleague(&format!("GreenDog-{number}"), &long)).collect());
        assert!(told.len() == 8 && told[0].task == long && told[7].task.is_empty(), "{told:?}");
        let huge = "x".repeat(128);
        for told in [told, within_budget((0..8).map(|_| colleague(&huge, &long)).collect())] {
            assert!(told.iter().map(cost).sum::<usize>() <= MOST_BYTES);
        }
    }
}

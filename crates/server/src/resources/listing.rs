//! Which resources there are: the templates, and the concrete addresses of what exists now.
//!
//! Some clients read only what a list names, so inboxes of known agents are listed one by one.

use mail::ids::{AgentId, ProjectId};
use mail::{Error, Office};
use mcp::{ResourceEntry, ResourceTemplate};

use super::address::{address_of, encode};

/// How many addresses one page lists, roughly.
const PAGE: usize = 100;

/// The families of addresses.
pub fn templates() -> Vec<ResourceTemplate> {
    let template = |uri_template, name, description| ResourceTemplate { uri_template, name, description };
    vec![
        template("resource://projects{?limit,after}", "projects", "All projects"),
        template(
            "resource://agents/{project_slug}{?limit,after}",
            "agents",
            "Agents of a project, and who is awake; can be subscribed to",
        ),
        template(
            "resource://inbox/{agent_name}{?project,limit,before,unread_only,urgent_only,thread_id,kind,work_id,\
             include_bodies,registration_token}",
            "inbox",
            "Mail of an agent, newest first; can be subscribed to",
        ),
        template(
            "resource://outbox/{agent_name}{?project,limit,before,include_bodies,registration_token}",
            "outbox",
            "What an agent sent, and who read and acknowledged it",
        ),
        template(
            "resource://thread/{thread_id}{?project,limit,after,before,include_bodies}",
            "thread",
            "A conversation, oldest first",
        ),
        template("resource://message/{message_id}{?project}", "message", "One message with its recipients"),
        template(
            "resource://reservations/{project_slug}{?limit,after}",
            "reservations",
            "Files that are reserved now; can be subscribed to",
        ),
        template(
            "resource://work/{project_slug}{?state,agent,limit,before,id,after}",
            "work",
            "Work items and how they stand, told by typed mail; with id, one and its story; can be subscribed to",
        ),
        template(
            "resource://channel/{name}{?project,since,limit,thread_id,before}",
            "channel",
            "What was said in a channel, oldest first; since a message's number, time or name; can be subscribed to",
        ),
        template("resource://channels/{project_slug}", "channels", "Channels of a project"),
    ]
}

/// One page of what exists. The cursor is the numbers of the project and agent that were listed last.
pub async fn list(office: &Office, cursor: Option<&str>) -> Result<(Vec<ResourceEntry>, Option<String>), Error> {
    let mut entries = Vec::new();
    let (mut project_after, mut agent_after) = match cursor {
        None => {
            entries.push(entry("projects", "", "", "projects"));
            (0, None)
        }
        Some(cursor) => read_cursor(cursor)?,
    };
    loop {
        // While a project's agents are being listed, the cursor stands before that project.
        let Some(project) = office.projects(Some(ProjectId(project_after)), 1).await?.pop() else {
            return Ok((entries, None));
        };
        let query = format!("?project={}", encode(&project.human_key));
        if agent_after.is_none() {
            let lists = [("agents", "of"), ("work", "in"), ("reservations", "in"), ("channels", "of")];
            let named = lists.map(|(kind, of)| (kind, format!("{kind} {of} {}", project.slug)));
            entries.extend(named.map(|(kind, shown)| entry(kind, &project.slug, "", &shown)));
            let (_, channels) = office.channels(&project.slug).await?;
            let named = channels.iter().take(PAGE).map(|channel| (&channel.name, format!("channel {}", channel.name)));
            entries.extend(named.map(|(name, shown)| entry("channel", name, &query, &shown)));
        }
        let agents = office.store().agents(project.id, agent_after.map(AgentId), PAGE).await?;
        entries.extend(
            agents.iter().map(|agent| entry("inbox", &agent.name, &query, &format!("inbox of {}", agent.name))),
        );
        if agents.len() == PAGE {
            let last = agents[PAGE - 1].id;
            return Ok((entries, Some(format!("{project_after}:{last}"))));
        }
        (project_after, agent_after) = (project.id.0, None);
        if entries.len() >= PAGE {
            return Ok((entries, Some(format!("{project_after}:"))));
        }
    }
}

fn entry(kind: &str, name: &str, query: &str, shown: &str) -> ResourceEntry {
    let uri = format!("{}{query}", address_of(kind, name));
    ResourceEntry { uri, name: shown.to_owned() }
}

fn read_cursor(cursor: &str) -> Result<(i64, Option<i64>), Error> {
    let wrong = || Error::invalid("cursor", cursor, "the nextCursor of an earlier page");
    let (project, agent) = cursor.split_once(':').ok_or_else(wrong)?;
    let agent = if agent.is_empty() { None } else { Some(agent.parse().map_err(|_| wrong())?) };
    Ok((project.parse().map_err(|_| wrong())?, agent))
}

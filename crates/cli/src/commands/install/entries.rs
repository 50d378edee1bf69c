//! What install writes into a client's JSON: hooks, and an MCP server. Text in, text out.
//!
//! An entry is ours by what it calls, not by a mark on it: a hook that runs `postrider hook …`, a server that runs
//! `postrider stdio`. So an entry of an older version is known, and one that somebody wrote by hand is not doubled. Only
//! the name of the program in it is brought up to date; a time limit, a matcher or whatever else was changed stays. A hook
//! that calls ours among other words counts as there, and is never touched.

use serde_json::Value;

use super::Fault;
use super::json::{self, New, Step, quoted};
use crate::clients::Client;

/// The name of the MCP server.
pub(crate) const SERVER: &str = "postrider";

/// More of our own entries than this in one file were not written by us.
const MOST_ENTRIES: usize = 200;

/// The hooks of a client.
pub(crate) struct Hooks<'a> {
    /// Whose they are.
    pub client: &'a Client,
    /// The program, as a shell reads it.
    pub program: &'a str,
}

/// The entry of the MCP server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// There is none.
    Missing,
    /// Ours, and how it calls the program.
    Ours(String),
    /// One of that name which runs something else, or is somewhere else.
    Foreign,
}

/// Where a hook of ours stands, and what it runs.
struct HookPosition {
    event: String,
    group: usize,
    hook: usize,
    command: String,
}

/// The text with the hooks in it. Those of the events in `own` were there before us: none of them is taken out.
pub(crate) fn install_hooks(text: &str, hooks: &Hooks<'_>, own: &[String]) -> Result<String, Fault> {
    expect_object(text, &[])?;
    expect_object(text, &[Step::Member("hooks")])?;
    let mut text = without_hooks(text, |place, earlier| {
        let is_late = || earlier.iter().any(|other| other.event == place.event);
        !own.contains(&place.event) && (hooks.client.event(&place.event).is_none() || is_late())
    })?;
    for (_, event) in hooks.client.events {
        let command = format!("{} hook {} {event}", hooks.program, hooks.client.name);
        let value = json::read(&text)?;
        let present = places(&value).into_iter().find(|place| place.event == *event);
        text = match present {
            Some(place) if place.command == command => continue,
            None if commands(&value)
                .any(|(of, command)| of == *event && calls_hook(command, hooks.client.name, event)) =>
            {
                continue;
            }
            Some(place) => json::replace(&text, &place.command_path(), &quoted(&command))?,
            None => with_hook(&text, event, hooks.group(command))?,
        };
    }
    Ok(text)
}

/// The text without any hook of ours but those of the events in `own`. A list or object that has nothing else in it goes
/// with it.
pub(crate) fn uninstall_hooks(text: &str, own: &[String]) -> Result<String, Fault> {
    without_hooks(text, |place, _| !own.contains(&place.event))
}

/// The events that a hook of ours is there for.
pub(crate) fn hooked_events(text: &str) -> Result<Vec<String>, Fault> {
    Ok(places(&json::read(text)?).into_iter().map(|place| place.event).collect())
}

/// The text with the MCP server in it, called by `program`. A server of that name that is not ours stays.
pub(crate) fn install_server(text: &str, program: &str) -> Result<String, Fault> {
    expect_object(text, &[])?;
    let servers = [Step::Member("mcpServers")];
    expect_object(text, &servers)?;
    match server(text)? {
        Server::Foreign => Ok(text.to_owned()),
        Server::Ours(called) if called == program => Ok(text.to_owned()),
        Server::Ours(_) => {
            let path = [servers[0], Step::Member(SERVER), Step::Member("command")];
            json::replace(text, &path, &quoted(program))
        }
        Server::Missing => {
            let arguments = New::List(vec![New::Text("stdio".to_owned())]);
            let entry = New::Object(vec![
                ("command".to_owned(), New::Text(program.to_owned())),
                ("args".to_owned(), arguments),
            ]);
            if json::read(text)?.get("mcpServers").is_some() {
                return json::append(text, &servers, Some(SERVER), &entry);
            }
            json::append(text, &[], Some("mcpServers"), &New::Object(vec![(SERVER.to_owned(), entry)]))
        }
    }
}

/// The text without the MCP server, and without the object of servers if there is no other.
pub(crate) fn uninstall_server(text: &str) -> Result<String, Fault> {
    if !matches!(server(text)?, Server::Ours(_)) {
        return Ok(text.to_owned());
    }
    let path = [Step::Member("mcpServers"), Step::Member(SERVER)];
    let is_alone = size(&json::read(text)?["mcpServers"]) == 1;
    json::remove(text, if is_alone { &path[..1] } else { &path })
}

/// Which MCP server there is.
pub(crate) fn server(text: &str) -> Result<Server, Fault> {
    let value = json::read(text)?;
    let entry = &value["mcpServers"][SERVER];
    if entry.is_null() && value["mcpServers"].get(SERVER).is_none() {
        return Ok(Server::Missing);
    }
    let called = entry["command"].as_str().filter(|called| is_ours(called, entry["args"][0].as_str()));
    Ok(called.map_or(Server::Foreign, |called| Server::Ours(called.to_owned())))
}

/// Whether a server that runs `program` with this first argument is ours.
pub(crate) fn is_ours(program: &str, argument: Option<&str>) -> bool {
    is_our_program(program) && argument == Some("stdio")
}

impl Hooks<'_> {
    /// A hook for every use of an event: without a matcher.
    fn group(&self, command: String) -> New {
        let text = |text: &str| New::Text(text.to_owned());
        let mut hook = vec![("type", text("command"))];
        if self.client.names_hooks {
            hook.push(("name", text(SERVER)));
        }
        hook.extend([("command", New::Text(command)), ("timeout", New::Number(self.client.hook_timeout))]);
        let hook = hook.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        New::Object(vec![("hooks".to_owned(), New::List(vec![New::Object(hook)]))])
    }
}

impl HookPosition {
    fn command_path(&self) -> [Step<'_>; 6] {
        let [hooks, event, group, list, hook] = self.path();
        [hooks, event, group, list, hook, Step::Member("command")]
    }

    fn path(&self) -> [Step<'_>; 5] {
        [
            Step::Member("hooks"),
            Step::Member(&self.event),
            Step::Item(self.group),
            Step::Member("hooks"),
            Step::Item(self.hook),
        ]
    }
}

fn with_hook(text: &str, event: &str, group: New) -> Result<String, Fault> {
    let value = json::read(text)?;
    let path = [Step::Member("hooks"), Step::Member(event)];
    match value["hooks"].get(event) {
        Some(Value::Array(_)) => json::append(text, &path, None, &group),
        Some(_) => Err(json::fault_at(text, &path, format!("'hooks.{event}' is no list"))),
        None if value.get("hooks").is_some() => json::append(text, &path[..1], Some(event), &New::List(vec![group])),
        None => {
            let hooks = New::Object(vec![(event.to_owned(), New::List(vec![group]))]);
            json::append(text, &[], Some("hooks"), &hooks)
        }
    }
}

/// The text without those hooks of ours that are to go; each is shown with those of ours that stand before it.
fn without_hooks(text: &str, goes: impl Fn(&HookPosition, &[HookPosition]) -> bool) -> Result<String, Fault> {
    let mut text = text.to_owned();
    for _ in 0..=MOST_ENTRIES {
        let value = json::read(&text)?;
        let places = places(&value);
        let Some(index) = (0..places.len()).find(|index| goes(&places[*index], &places[..*index])) else {
            return Ok(text);
        };
        let place = &places[index];
        let event = &value["hooks"][&place.event];
        // What has nothing else in it goes as a whole.
        let depth = match () {
            () if size(&event[place.group]["hooks"]) > 1 => 5,
            () if size(event) > 1 => 3,
            () if size(&value["hooks"]) > 1 => 2,
            () => 1,
        };
        text = json::remove(&text, &place.path()[..depth])?;
    }
    Err(Fault::at(&text, 0, format!("it has more than {MOST_ENTRIES} hooks that run postrider")))
}

/// What every hook of a file runs, and at which event.
fn commands(value: &Value) -> impl Iterator<Item = (&str, &str)> {
    let events = value["hooks"].as_object().into_iter().flatten();
    events.flat_map(|(event, groups)| {
        let hooks =
            groups.as_array().into_iter().flatten().flat_map(|group| group["hooks"].as_array().into_iter().flatten());
        hooks.filter_map(|hook| Some((event.as_str(), hook["command"].as_str()?)))
    })
}

/// The hooks of ours in a file, in order.
fn places(value: &Value) -> Vec<HookPosition> {
    let mut places = Vec::new();
    for (event, groups) in value["hooks"].as_object().into_iter().flatten() {
        for (group, content) in groups.as_array().into_iter().flatten().enumerate() {
            for (hook, content) in content["hooks"].as_array().into_iter().flatten().enumerate() {
                if let Some(command) = content["command"].as_str().filter(|command| is_our_hook(command)) {
                    places.push(HookPosition { event: event.clone(), group, hook, command: command.to_owned() });
                }
            }
        }
    }
    places
}

/// Whether a shell that is given `command` runs our hook and nothing else.
fn is_our_hook(command: &str) -> bool {
    let words = shlex::split(command).unwrap_or_default();
    let is_plain = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    matches!(words.as_slice(), [program, hook, client, event]
        if is_our_program(program) && hook == "hook" && is_plain(client) && is_plain(event))
}

/// Whether a command calls the hook of an event, whatever else it does.
fn calls_hook(command: &str, client: &str, event: &str) -> bool {
    let words = shlex::split(command).unwrap_or_default();
    words.windows(4).any(|words| {
        is_our_program(&words[0]) && words[1..3] == ["hook", client] && words[3].trim_end_matches(';') == event
    })
}

fn is_our_program(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name) == "postrider"
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        _ => 0,
    }
}

/// Complains if something else than an object stands at `path`; nothing at all is fine.
fn expect_object(text: &str, path: &[Step<'_>]) -> Result<(), Fault> {
    let value = json::read(text)?;
    let (value, name) = match path {
        [Step::Member(name)] => (value.get(name), format!("'{name}'")),
        _ => (Some(&value), "the content".to_owned()),
    };
    match value {
        None | Some(Value::Object(_)) => Ok(()),
        Some(_) => Err(json::fault_at(text, path, format!("{name} is no object"))),
    }
}

#[cfg(test)]
mod tests;

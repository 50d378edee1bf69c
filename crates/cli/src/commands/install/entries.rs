//! The hooks that install writes into a client's JSON. Text in, text out.
//!
//! An entry is ours by what it calls, not by a mark on it: a hook that runs `postrider hook …`. So an entry of an older version is known, and one that somebody wrote by hand is not doubled. Only
//! the name of the program in it is brought up to date; a time limit, a matcher or whatever else was changed stays. A hook
//! that calls ours among other words counts as there, and is never touched.

use serde_json::Value;

use super::ConfigFault;
use super::json::{self, New, PathStep, quoted};
use super::naming_options::are_options;
use crate::clients::Client;

/// What the entry of a hook is called, where it has a name.
const NAME: &str = "postrider";

/// More of our own entries than this in one file were not written by us.
const MOST_ENTRIES: usize = 200;

/// The hooks of a client, as they are to be.
#[derive(Debug)]
pub(crate) struct Hooks<'a> {
    /// The client.
    pub client: &'a Client,
    /// How a shell calls the program.
    pub program: String,
    /// The words behind each hook; nothing for those that are there.
    pub options: Option<String>,
}

/// Where a hook stands, and what it runs.
struct HookPosition {
    event: String,
    group: usize,
    hook: usize,
    command: String,
}

/// The text with the hooks in it. Those of the events in `own` were there before us: none of them is taken out.
pub(crate) fn install_hooks(text: &str, wanted: &Hooks<'_>, own: &[String]) -> Result<String, ConfigFault> {
    let Hooks { client, program, options } = wanted;
    expect_objects(text, "hooks")?;
    let mut text = without_hooks(text, |place, earlier| {
        let is_late = || earlier.iter().any(|other| other.event == place.event);
        !own.contains(&place.event) && (client.event(&place.event).is_none() || is_late())
    })?;
    // One of an event that earlier versions did not have gets the words of the others.
    let common = our_hooks(&json::read(&text)?).first().map(|hook| options_of(&hook.command)).unwrap_or_default();
    for (_, event) in client.events {
        let value = json::read(&text)?;
        let of_event: Vec<HookPosition> = hooks(&value).filter(|hook| hook.event == *event).collect();
        let ours = of_event.iter().find(|hook| is_our_hook(&hook.command));
        let kept = || ours.map_or_else(|| common.clone(), |ours| options_of(&ours.command));
        let options = options.clone().unwrap_or_else(kept);
        let command = format!("{program} hook {} {event} {options}", client.name).trim_end().to_owned();
        text = match ours {
            Some(ours) if ours.command == command => continue,
            Some(ours) => json::replace(&text, &ours.path(), &quoted(&command))?,
            None if of_event.iter().any(|hook| calls_hook(&hook.command, client.name, event)) => continue,
            None => with_hook(&text, event, group(client, &command))?,
        };
    }
    Ok(text)
}

/// The text without any hook of ours but those of the events in `own`. A list or object that has nothing else in it goes
/// with it.
pub(crate) fn uninstall_hooks(text: &str, own: &[String]) -> Result<String, ConfigFault> {
    without_hooks(text, |place, _| !own.contains(&place.event))
}

/// The events that a hook of ours is there for.
pub(crate) fn hooked_events(text: &str) -> Result<Vec<String>, ConfigFault> {
    Ok(our_hooks(&json::read(text)?).into_iter().map(|hook| hook.event).collect())
}

/// A hook for every use of an event: without a matcher.
fn group<'a>(client: &Client, command: &'a str) -> New<'a> {
    let mut hook = vec![("type", New::Text("command"))];
    hook.extend(client.names_hooks.then_some(("name", New::Text(NAME))));
    hook.extend([("command", New::Text(command)), ("timeout", New::Number(client.hook_timeout))]);
    New::Object(vec![("hooks", New::List(vec![New::Object(hook)]))])
}

impl HookPosition {
    /// Where its command stands; a part of this leads to the hook, its group and its event.
    fn path(&self) -> [PathStep<'_>; 6] {
        [
            PathStep::Member("hooks"),
            PathStep::Member(&self.event),
            PathStep::Item(self.group),
            PathStep::Member("hooks"),
            PathStep::Item(self.hook),
            PathStep::Member("command"),
        ]
    }
}

fn with_hook(text: &str, event: &str, group: New<'_>) -> Result<String, ConfigFault> {
    let value = json::read(text)?;
    let path = [PathStep::Member("hooks"), PathStep::Member(event)];
    match value["hooks"].get(event) {
        Some(Value::Array(_)) => json::append(text, &path, None, &group),
        Some(_) => Err(json::fault_at(text, &path, format!("'hooks.{event}' is no list"))),
        None if value.get("hooks").is_some() => json::append(text, &path[..1], Some(event), &New::List(vec![group])),
        None => {
            let hooks = New::Object(vec![(event, New::List(vec![group]))]);
            json::append(text, &[], Some("hooks"), &hooks)
        }
    }
}

/// The text without those hooks of ours that are to go; each is shown with those of ours that stand before it.
fn without_hooks(text: &str, goes: impl Fn(&HookPosition, &[HookPosition]) -> bool) -> Result<String, ConfigFault> {
    let mut text = text.to_owned();
    for _ in 0..=MOST_ENTRIES {
        let value = json::read(&text)?;
        let places = our_hooks(&value);
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
    Err(ConfigFault::at(&text, 0, format!("it has more than {MOST_ENTRIES} hooks that run postrider")))
}

/// The hooks of a file that run something, in order.
fn hooks(value: &Value) -> impl Iterator<Item = HookPosition> {
    value["hooks"].as_object().into_iter().flatten().flat_map(|(event, groups)| {
        items(groups).flat_map(move |(group, content)| {
            items(&content["hooks"]).filter_map(move |(hook, content)| {
                let command = content["command"].as_str()?.to_owned();
                Some(HookPosition { event: event.clone(), group, hook, command })
            })
        })
    })
}

fn items(list: &Value) -> impl Iterator<Item = (usize, &Value)> {
    list.as_array().into_iter().flatten().enumerate()
}

fn our_hooks(value: &Value) -> Vec<HookPosition> {
    hooks(value).filter(|hook| is_our_hook(&hook.command)).collect()
}

/// Whether a shell that is given `command` runs our hook and nothing else.
pub(crate) fn is_our_hook(command: &str) -> bool {
    let words = shlex::split(command).unwrap_or_default();
    let is_plain = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    matches!(words.as_slice(), [program, hook, client, event, options @ ..]
        if is_our_program(program) && hook == "hook" && is_plain(client) && is_plain(event) && are_options(options))
}

/// The words behind a hook of ours, as a shell reads them.
pub(crate) fn options_of(command: &str) -> String {
    let words = shlex::split(command).unwrap_or_default();
    shlex::try_join(words.iter().skip(4).map(String::as_str)).unwrap_or_default()
}

/// The commands of our hooks in a file, in order.
pub(crate) fn our_commands(text: &str) -> Result<Vec<String>, ConfigFault> {
    Ok(our_hooks(&json::read(text)?).into_iter().map(|hook| hook.command).collect())
}

/// Whether a command calls the hook of an event, whatever else it does.
fn calls_hook(command: &str, client: &str, event: &str) -> bool {
    let words = shlex::split(command).unwrap_or_default();
    words.windows(4).any(|words| {
        is_our_program(&words[0]) && words[1..3] == ["hook", client] && words[3].trim_end_matches(';') == event
    })
}

pub(crate) fn is_our_program(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name) == "postrider"
}

pub(crate) fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        _ => 0,
    }
}

/// Complains if the content, or what stands in it under `name`, is something else than an object; nothing at all is fine.
pub(crate) fn expect_objects(text: &str, name: &str) -> Result<(), ConfigFault> {
    let value = json::read(text)?;
    if !value.is_object() {
        return Err(json::fault_at(text, &[], "the content is no object".to_owned()));
    }
    match value.get(name) {
        None | Some(Value::Object(_)) => Ok(()),
        Some(_) => Err(json::fault_at(text, &[PathStep::Member(name)], format!("'{name}' is no object"))),
    }
}

#[cfg(test)]
mod tests;

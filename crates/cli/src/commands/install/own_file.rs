//! Files that are ours alone: hooks in a list of their own, scripts and JavaScript that call them. Text in, text out.
//!
//! A file is ours by a mark in it, or where the format has no place for one, by running nothing but our hooks. Any other file in its
//! place is somebody else's and is left alone.

use super::ConfigFault;
use super::entries::{Hooks, is_our_hook, options_of};
use super::json::{self, New, quoted};
use crate::clients::{Client, ConfigPart};

/// The event of a command that stands for the hook of any.
const ANY: &str = "EVENT";
/// Where JavaScript has its commands.
const HOOK: &str = "const HOOK = ";
const MONITOR: &str = "const MONITOR = ";

/// Whether a part of a configuration is such a file.
pub(crate) fn is_own(part: ConfigPart) -> bool {
    matches!(part, ConfigPart::HookLists | ConfigPart::Script(_) | ConfigPart::Module(_))
}

/// The text of the file that replaces `text`, unless that is somebody else's.
pub(crate) fn install(text: &str, part: ConfigPart, hooks: &Hooks<'_>) -> Result<String, ConfigFault> {
    if is_foreign(text, part, hooks.client) {
        return Ok(text.to_owned());
    }
    let kept = || commands(text, part, hooks.client).first().map(|command| options_of(command)).unwrap_or_default();
    let options = hooks.options.clone().unwrap_or_else(kept);
    let Hooks { client, program, .. } = hooks;
    let command = |event: &str| format!("{program} hook {} {event} {options}", client.name).trim_end().to_owned();
    match part {
        ConfigPart::HookLists => hook_lists(client, command),
        ConfigPart::Script(event) => {
            // A client may take a hook that fails for a refusal, and a program that is gone fails.
            let first = format!("command -v {program} >/dev/null || exit 0");
            let hook = command(client.event_name(event));
            Ok(format!("#!/bin/sh\n# {}\n{first}\nexec {hook}\n", mark(client)))
        }
        ConfigPart::Module(template) => {
            let line = |line: &str| {
                if line.starts_with(HOOK) {
                    format!("{HOOK}{}", quoted(&command(ANY)))
                } else if line.starts_with(MONITOR) {
                    format!("{MONITOR}{}", quoted(&format!("{program} monitor {}", client.name)))
                } else {
                    line.to_owned()
                }
            };
            // The first line says what the template is for.
            let lines = template.lines().skip(1).map(line);
            let whole: Vec<String> = [format!("// {}", mark(client))].into_iter().chain(lines).collect();
            Ok(whole.join("\n") + "\n")
        }
        _ => Ok(text.to_owned()),
    }
}

/// The text without what is ours: nothing, unless it is somebody else's.
pub(crate) fn uninstall(text: &str, part: ConfigPart, client: &Client) -> String {
    if is_foreign(text, part, client) { text.to_owned() } else { String::new() }
}

/// Whether it is such a file, and we wrote it: no receipt has to say that, and it is never what was there before us.
pub(crate) fn is_ours(text: &str, part: ConfigPart, client: &Client) -> bool {
    is_own(part) && !text.trim().is_empty() && !is_foreign(text, part, client)
}

/// Whether there is such a file, and somebody else wrote it.
pub(crate) fn is_foreign(text: &str, part: ConfigPart, client: &Client) -> bool {
    let is_ours = match part {
        ConfigPart::HookLists => !commands(text, part, client).is_empty(),
        _ => text.lines().take(2).any(|line| line.ends_with(&mark(client))),
    };
    !text.trim().is_empty() && !is_ours
}

/// The commands of our hooks in it.
pub(crate) fn commands(text: &str, part: ConfigPart, client: &Client) -> Vec<String> {
    match part {
        ConfigPart::HookLists => {
            let value = json::read(text).unwrap_or_default();
            let lists = value["hooks"].as_object().into_iter().flatten();
            let run =
                lists.flat_map(|(_, list)| list.as_array().into_iter().flatten()).map(|hook| hook["bash"].as_str());
            let run: Option<Vec<String>> = run.map(|command| command.map(str::to_owned)).collect();
            run.filter(|run| run.iter().all(|command| is_our_hook(command))).unwrap_or_default()
        }
        _ if is_foreign(text, part, client) => Vec::new(),
        ConfigPart::Script(_) => {
            text.lines().filter_map(|line| line.strip_prefix("exec ")).map(str::to_owned).collect()
        }
        _ => {
            let quoted = text.lines().filter_map(|line| line.strip_prefix(HOOK));
            quoted.filter_map(|command| serde_json::from_str(command).ok()).collect()
        }
    }
}

/// What the first lines of our files say.
fn mark(client: &Client) -> String {
    let name = client.name;
    format!("Made by `postrider install {name}`; `postrider uninstall {name}` removes it, and changes to it are lost.")
}

fn hook_lists(client: &Client, command: impl Fn(&str) -> String) -> Result<String, ConfigFault> {
    let commands: Vec<(&str, String)> = client.events.iter().map(|(_, event)| (*event, command(event))).collect();
    let entries: Vec<(&str, New<'_>)> = commands
        .iter()
        .map(|(event, command)| {
            let members = vec![
                ("type", New::Text("command")),
                ("bash", New::Text(command)),
                ("timeoutSec", New::Number(client.hook_timeout)),
            ];
            (*event, New::List(vec![New::Object(members)]))
        })
        .collect();
    let text = json::append("", &[], Some("version"), &New::Number(1))?;
    json::append(&text, &[], Some("hooks"), &New::Object(entries))
}

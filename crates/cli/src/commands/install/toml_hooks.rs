//! The hooks in a `config.toml` that has a table `hooks` for each, put in and taken out by editing the text.
//!
//! A hook is ours by what it calls. Hooks that are written in another way, as a list in one line say, are left alone, and none can be
//! put beside them.

use std::ops::Range;

use toml_edit::{Item, Table};

use super::ConfigFault;
use super::entries::{Hooks, is_our_hook, options_of};
use super::toml::{collect, read, with_table, without};

/// The tables of hooks.
const HOOKS: &str = "hooks";

/// A hook of ours.
struct TomlHook {
    event: String,
    command: String,
    /// Where its command stands.
    place: Range<usize>,
    /// Its table.
    table: Range<usize>,
}

/// The text with the hooks in it. One that is there is only brought up to date.
pub(crate) fn install(text: &str, wanted: &Hooks<'_>) -> Result<String, ConfigFault> {
    let Hooks { client, program, options } = wanted;
    let kept = ours(text)?;
    let common = kept.first().map(|hook| options_of(&hook.command)).unwrap_or_default();
    let mut text = text.to_owned();
    for (_, event) in client.events {
        let here = ours(&text)?.into_iter().find(|hook| hook.event == *event);
        let options =
            options.clone().unwrap_or_else(|| here.as_ref().map_or(common.clone(), |hook| options_of(&hook.command)));
        let command = format!("{program} hook {} {event} {options}", client.name).trim_end().to_owned();
        let quoted = toml_edit::Value::from(command.as_str()).to_string();
        match here {
            Some(hook) if hook.command == command => {}
            Some(hook) => text.replace_range(hook.place, &quoted),
            None => {
                let lines = [
                    format!("[[{HOOKS}]]"),
                    format!("event = \"{event}\""),
                    format!("command = {quoted}"),
                    format!("timeout = {}", client.hook_timeout),
                ];
                let whole = with_table(&text, &lines);
                // What was there may forbid a table behind it.
                if !ours(&whole).is_ok_and(|ours| ours.iter().any(|hook| hook.event == *event)) {
                    return Err(ConfigFault::at(&text, 0, format!("'{HOOKS}' is not written as tables")));
                }
                text = whole;
            }
        }
    }
    Ok(text)
}

/// The text without any hook of ours but those of the events in `own`.
pub(crate) fn uninstall(text: &str, own: &[String]) -> Result<String, ConfigFault> {
    let gone = ours(text)?.into_iter().filter(|hook| !own.contains(&hook.event));
    Ok(without(text, gone.map(|hook| hook.table).collect()))
}

/// The events that a hook of ours is there for, with its command.
pub(crate) fn hooked(text: &str) -> Result<Vec<(String, String)>, ConfigFault> {
    Ok(ours(text)?.into_iter().map(|hook| (hook.event, hook.command)).collect())
}

fn ours(text: &str) -> Result<Vec<TomlHook>, ConfigFault> {
    let document = read(text)?;
    let tables = document.get(HOOKS).and_then(Item::as_array_of_tables);
    Ok(tables.into_iter().flatten().filter_map(our_hook).collect())
}

fn our_hook(table: &Table) -> Option<TomlHook> {
    let (command, event) = (table.get("command")?, table.get("event")?.as_str()?);
    let (text, place) = command.as_str().zip(command.span())?;
    let mut tables = Vec::new();
    collect(table, &mut tables);
    let hook = TomlHook { event: event.to_owned(), command: text.to_owned(), place, table: tables.into_iter().next()? };
    is_our_hook(text).then_some(hook)
}

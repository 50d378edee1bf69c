//! The list of folders that a client's sandbox lets shells write to, with the home folder of the mail in it. Text in, text out.
//!
//! A folder that is there already, or one around it, is enough. Whether a client needs it is in the table of clients.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml_edit::{Array, Document, Item, Table};

use super::ConfigFault;
use super::json::{self, New, PathStep};

/// What is in the home folder beside mail, and could lead out of the sandbox: settings, which can name programs, what is known of
/// sessions, which are written to, and what uninstall puts back.
const NOT_MAIL: [&str; 3] = ["postrider.toml", "sessions", "installed"];

/// The home folder as an entry of such a list.
#[derive(Clone, Debug)]
pub(crate) struct WritableHome {
    /// Where the list is in the settings.
    pub list: &'static [&'static str],
    /// Where the list is of what stays closed; empty where there is none.
    pub closed: &'static [&'static str],
    /// The entry.
    pub folder: String,
    /// The user's home, which `~` stands for.
    pub user: PathBuf,
    /// Whether the settings are TOML.
    pub is_toml: bool,
}

impl WritableHome {
    /// The settings as a value, for questions about them.
    pub(super) fn settings(text: &str, is_toml: bool) -> Result<Value, ConfigFault> {
        if !is_toml {
            return json::read(text);
        }
        toml::from_str(text).map_err(|error| {
            ConfigFault::at(
                text,
                error.span().map_or(0, |span| span.start),
                format!("it is no TOML: {}", error.message()),
            )
        })
    }

    /// Whether shells may write to the folder.
    pub(super) fn is_in(&self, text: &str) -> Result<bool, ConfigFault> {
        let settings = Self::settings(text, self.is_toml)?;
        let list = self.list.iter().try_fold(&settings, |value, name| value.get(name));
        let entries = list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let own = self.real(&self.folder);
        Ok(entries.map(|entry| self.real(entry)).any(|entry| own.starts_with(entry)))
    }

    /// Whether shells may write to the settings in the folder, too.
    pub(super) fn has_settings_in(&self, text: &str) -> Result<bool, ConfigFault> {
        let settings = Self::settings(text, self.is_toml)?;
        let list = self.closed.iter().try_fold(&settings, |value, name| value.get(name));
        let closed: Vec<PathBuf> = list
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(|entry| self.real(entry))
            .collect();
        let is_closed = |entry: &str| closed.iter().any(|closed| self.real(entry).starts_with(closed));
        let kept = self.kept_closed();
        let stays_closed = !kept.is_empty() && kept.iter().all(|entry| is_closed(entry));
        Ok(self.is_in(text)? && !stays_closed)
    }

    fn real(&self, entry: &str) -> PathBuf {
        match entry.strip_prefix("~/") {
            Some(below) => self.user.join(below),
            None if entry == "~" => self.user.clone(),
            None => Path::new(entry).to_owned(),
        }
    }

    /// The text with the folder in the list.
    pub(super) fn install(&self, text: &str) -> Result<String, ConfigFault> {
        if self.is_in(text)? {
            return Ok(text.to_owned());
        }
        if self.is_toml {
            return self.install_toml(text);
        }
        let opened = with_entry(text, self.list, &self.folder)?;
        self.kept_closed().iter().try_fold(opened, |text, entry| with_entry(&text, self.closed, entry))
    }

    /// The text without it. A list or table that has nothing else in it goes with it.
    pub(super) fn uninstall(&self, text: &str) -> Result<String, ConfigFault> {
        if self.is_toml {
            return self.uninstall_toml(text);
        }
        let closed = self.kept_closed();
        let text =
            closed.iter().rev().try_fold(text.to_owned(), |text, entry| without_entry(&text, self.closed, entry))?;
        without_entry(&text, self.list, &self.folder)
    }

    /// What stays closed in the folder.
    fn kept_closed(&self) -> Vec<String> {
        if self.closed.is_empty() {
            return Vec::new();
        }
        NOT_MAIL.map(|name| format!("{}/{name}", self.folder)).into()
    }

    fn install_toml(&self, text: &str) -> Result<String, ConfigFault> {
        let [table, key] = self.list else { return Ok(text.to_owned()) };
        let entry = toml_edit::Value::from(self.folder.as_str()).to_string();
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let document = read(text)?;
        let whole = match document.get(table) {
            None => {
                let ended = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
                let apart = if text.trim().is_empty() { "" } else { newline };
                Some(format!("{text}{ended}{apart}[{table}]{newline}{key} = [{entry}]{newline}"))
            }
            Some(item) => match (item.get(key), item.as_table()) {
                (Some(list), _) => list.as_array().and_then(Array::span).map(|list| {
                    let last = spans(&document, table, key).last().cloned();
                    let (at, put) =
                        last.map_or((list.start + 1, entry.clone()), |last| (last.end, format!(", {entry}")));
                    format!("{}{put}{}", &text[..at], &text[at..])
                }),
                (None, Some(here)) if !here.is_implicit() && !here.is_dotted() => here.span().map(|head| {
                    let at = line_end(text, head.end);
                    let ended = if text[..at].ends_with('\n') { "" } else { newline };
                    format!("{}{ended}{key} = [{entry}]{newline}{}", &text[..at], &text[at..])
                }),
                _ => None,
            },
        };
        // What was there may forbid it, and then the text is no TOML any more, or says something else.
        let whole = whole.filter(|whole| self.is_in(whole).unwrap_or(false));
        let place = document.key(table).and_then(|key| key.span()).map_or(0, |span| span.start);
        whole.ok_or_else(|| {
            ConfigFault::at(text, place, format!("'{table}' is not written as a table with a list '{key}'"))
        })
    }

    fn uninstall_toml(&self, text: &str) -> Result<String, ConfigFault> {
        let [table, key] = self.list else { return Ok(text.to_owned()) };
        let document = read(text)?;
        let list = document.get(table).and_then(|table| table.get(key)).and_then(Item::as_array);
        let Some(index) = list.and_then(|list| list.iter().position(|entry| entry.as_str() == Some(&self.folder)))
        else {
            return Ok(text.to_owned());
        };
        let spans = spans(&document, table, key);
        let without = |range: Range<usize>| format!("{}{}", &text[..range.start], &text[range.end..]);
        if spans.len() > 1 {
            let Some(next) = spans.get(index + 1) else { return Ok(without(spans[index - 1].end..spans[index].end)) };
            return Ok(without(spans[index].start..next.start));
        }
        let here = document.get(table).and_then(Item::as_table);
        let head = here.filter(|here| here.len() == 1 && !here.is_implicit()).and_then(Table::span);
        let key = here.and_then(|here| here.key(key)).and_then(|key| key.span());
        let (Some(key), Some(list)) = (key, list.and_then(Array::span)) else { return Ok(text.to_owned()) };
        let mut start = line_start(text, head.as_ref().map_or(key.start, |head| head.start));
        // The empty line before a table goes too, unless something else would lose its distance.
        let before = text[..start].strip_suffix('\n').map(|before| before.strip_suffix('\r').unwrap_or(before));
        if let Some(before) = before.filter(|before| head.is_some() && before.ends_with('\n')) {
            start = before.len();
        }
        Ok(without(start..line_end(text, list.end)))
    }
}

/// The JSON with an entry in the list at `path`.
fn with_entry(text: &str, path: &[&str], entry: &str) -> Result<String, ConfigFault> {
    let settings = json::read(text)?;
    let called =
        |depth: usize| if depth == 0 { "the content".to_owned() } else { format!("'{}'", path[..depth].join(".")) };
    let steps: Vec<PathStep<'_>> = path.iter().map(|name| PathStep::Member(name)).collect();
    let mut value = &settings;
    for (depth, name) in path.iter().enumerate() {
        if !value.is_object() {
            return Err(json::fault_at(text, &steps[..depth], format!("{} is no object", called(depth))));
        }
        match value.get(name) {
            Some(inner) => value = inner,
            None => {
                let list = New::List(vec![New::Text(entry)]);
                let inner = path[depth + 1..].iter().rev().fold(list, |inner, name| New::Object(vec![(name, inner)]));
                return json::append(text, &steps[..depth], Some(name), &inner);
            }
        }
    }
    match value {
        Value::Array(entries) if entries.iter().any(|known| known == entry) => Ok(text.to_owned()),
        Value::Array(_) => json::append(text, &steps, None, &New::Text(entry)),
        _ => Err(json::fault_at(text, &steps, format!("{} is no list", called(path.len())))),
    }
}

/// The JSON without an entry of the list at `path`.
fn without_entry(text: &str, path: &[&str], entry: &str) -> Result<String, ConfigFault> {
    let settings = json::read(text)?;
    let around: Vec<&Value> = path
        .iter()
        .scan(&settings, |value, name| {
            *value = value.get(name)?;
            Some(*value)
        })
        .collect();
    let list = around.last().filter(|_| around.len() == path.len()).and_then(|list| list.as_array());
    let Some(index) = list.and_then(|list| list.iter().position(|known| known == entry)) else {
        return Ok(text.to_owned());
    };
    let mut steps: Vec<PathStep<'_>> = path.iter().map(|name| PathStep::Member(name)).collect();
    steps.push(PathStep::Item(index));
    // What has nothing else in it goes as a whole.
    let size = |value: &Value| value.as_array().map_or(0, Vec::len) + value.as_object().map_or(0, serde_json::Map::len);
    let depth = steps.len() - around.iter().rev().take_while(|value| size(value) == 1).count();
    json::remove(text, &steps[..depth])
}

fn read(text: &str) -> Result<Document<&str>, ConfigFault> {
    Document::parse(text).map_err(|error| {
        let place = error.span().map_or(0, |span| span.start);
        ConfigFault::at(text, place, format!("it is no TOML: {}", error.message().replace('\n', ", ")))
    })
}

/// Where the entries of a list are.
fn spans(document: &Document<&str>, table: &str, key: &str) -> Vec<Range<usize>> {
    let list = document.get(table).and_then(|table| table.get(key)).and_then(Item::as_array);
    list.into_iter().flatten().filter_map(toml_edit::Value::span).collect()
}

fn line_start(text: &str, place: usize) -> usize {
    text[..place].rfind('\n').map_or(0, |end| end + 1)
}

/// The place behind the end of a line.
fn line_end(text: &str, place: usize) -> usize {
    text[place..].find('\n').map_or(text.len(), |end| place + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::{Opening, Sandbox};

    const FOLDER: &str = "/home/me/.postrider";

    fn of(sandbox: &Sandbox, is_toml: bool) -> WritableHome {
        let Opening::WritableHome { list, closed, .. } = sandbox.opening else { panic!("it has a list") };
        WritableHome { list, closed, folder: FOLDER.to_owned(), user: "/home/me".into(), is_toml }
    }

    #[test]
    fn the_home_is_put_into_a_table_or_list_that_is_there_or_not_and_comes_out_again() {
        let codex = of(&Sandbox::CODEX, true);
        let ours = format!("writable_roots = [\"{FOLDER}\"]\n");
        for (text, whole) in [
            ("", format!("[sandbox_workspace_write]\n{ours}")),
            ("a = 1\n", format!("a = 1\n\n[sandbox_workspace_write]\n{ours}")),
            (
                "[x]\r\na = 1\r\n",
                format!("[x]\r\na = 1\r\n\r\n[sandbox_workspace_write]\n{ours}").replace("]\n", "]\r\n"),
            ),
            (
                "[sandbox_workspace_write] # mine\nnetwork_access = false\n\n[x]\n",
                format!("[sandbox_workspace_write] # mine\n{ours}network_access = false\n\n[x]\n"),
            ),
            (
                "[sandbox_workspace_write]\nwritable_roots = [\"/a\"] # b\n",
                format!("[sandbox_workspace_write]\nwritable_roots = [\"/a\", \"{FOLDER}\"] # b\n"),
            ),
            (
                "[sandbox_workspace_write]\nwritable_roots = [\n  \"/a\",\n]\n",
                format!("[sandbox_workspace_write]\nwritable_roots = [\n  \"/a\", \"{FOLDER}\",\n]\n"),
            ),
            ("sandbox_workspace_write = { writable_roots = ['/a'] }\n", {
                format!("sandbox_workspace_write = {{ writable_roots = ['/a', \"{FOLDER}\"] }}\n")
            }),
        ] {
            assert_eq!(codex.install(text).unwrap(), whole, "{text}");
            assert_eq!(codex.install(&whole).unwrap(), whole, "a second time changes nothing");
            assert_eq!(codex.uninstall(&whole).unwrap(), text, "{whole}");
        }
    }

    #[test]
    fn the_home_is_put_into_json_and_comes_out_again() {
        let claude = of(&Sandbox::CLAUDE, false);
        for text in [
            "{\n  \"sandbox\": {\n    \"enabled\": true\n  }\n}\n",
            "{ \"sandbox\": { \"enabled\": true, \"filesystem\": { \"denyRead\": [\"~/.ssh\"] } } }",
            "{\n  \"sandbox\": {\n    \"filesystem\": { \"allowWrite\": [\"/a\"] }, // mine\n    \"enabled\": true\n  }\n}\n",
        ] {
            let whole = claude.install(text).unwrap();
            assert!(claude.is_in(&whole).unwrap() && !claude.is_in(text).unwrap(), "{whole}");
            assert!(!claude.has_settings_in(&whole).unwrap(), "settings stay closed");
            assert_eq!(claude.install(&whole).unwrap(), whole, "a second time changes nothing");
            assert_eq!(claude.uninstall(&whole).unwrap(), text, "{whole}");
        }
    }

    #[test]
    fn a_folder_around_the_home_is_enough() {
        for list in ["\"/home/me/.postrider\"", "\"~/.postrider\", \"/x\"", "\"/home/me\"", "\"~\""] {
            let text = format!("{{ \"sandbox\": {{ \"filesystem\": {{ \"allowWrite\": [{list}] }} }} }}");
            assert_eq!(of(&Sandbox::CLAUDE, false).install(&text).unwrap(), text);
            assert!(of(&Sandbox::CLAUDE, false).has_settings_in(&text).unwrap(), "nothing in it is closed");
        }
        let text = "[sandbox_workspace_write]\nwritable_roots = ['/home/me/.postrider2']\n";
        assert_ne!(of(&Sandbox::CODEX, true).install(text).unwrap(), text);
    }

    #[test]
    fn what_cannot_take_the_entry_is_refused_with_its_place() {
        for text in [
            "a = 1\nsandbox_workspace_write = 1\n",
            "a = 1\nsandbox_workspace_write.network_access = false\n",
            "\n[sandbox_workspace_write]\nwritable_roots = 'all'\n",
        ] {
            let fault = of(&Sandbox::CODEX, true).install(text).unwrap_err();
            assert!(fault.line == 2 && fault.what.contains("'writable_roots'"), "{fault:?}");
        }
        let fault = of(&Sandbox::CLAUDE, false).install("{\n \"sandbox\": { \"filesystem\": [] } }").unwrap_err();
        assert!(fault.line == 2 && fault.what.contains("'sandbox.filesystem' is no object"), "{fault:?}");
    }
}

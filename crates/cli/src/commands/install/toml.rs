//! The MCP server in a `config.toml`, put in and taken out by editing the text: nothing else in it changes a byte.
//!
//! The entry is a table with a header of its own at the end of the file. One that is written in another way, as a part
//! of an inline table say, was not written by us and is left alone.

use std::ops::Range;

use toml_edit::{Document, Item, Table};

use super::ConfigFault;
use super::server::{SERVER, Server, is_ours};

/// The table of servers.
const SERVERS: &str = "mcp_servers";

/// The text with the server in it, called by `program`.
pub(crate) fn install(text: &str, program: &str) -> Result<String, ConfigFault> {
    let written = toml_edit::Value::from(program).to_string();
    match find(&read(text)?) {
        Some(Some(TomlEntry { program: here, called, .. })) if called != program => {
            Ok(format!("{}{written}{}", &text[..here.start], &text[here.end..]))
        }
        Some(_) => Ok(text.to_owned()),
        None => {
            let table = [format!("[{SERVERS}.{SERVER}]"), format!("command = {written}"), "args = [\"stdio\"]".into()];
            let whole = with_table(text, &table);
            // What was there may forbid a table behind it, and then the text is no TOML any more.
            match read(&whole).map(|document| matches!(find(&document), Some(Some(_)))) {
                Ok(true) => Ok(whole),
                _ => {
                    Err(ConfigFault::at(text, place_of_servers(text), format!("'{SERVERS}' is not written as tables")))
                }
            }
        }
    }
}

/// The text with a table behind everything, which stands in these lines.
pub(super) fn with_table(text: &str, lines: &[String]) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let ended = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
    let apart = if text.trim().is_empty() { "" } else { newline };
    format!("{text}{ended}{apart}{}{newline}", lines.join(newline))
}

/// The text without the server.
pub(crate) fn uninstall(text: &str) -> Result<String, ConfigFault> {
    let Some(Some(TomlEntry { tables, .. })) = find(&read(text)?) else { return Ok(text.to_owned()) };
    Ok(without(text, tables))
}

/// The text without these tables, which are in its order, and the empty line before each.
pub(super) fn without(text: &str, tables: Vec<Range<usize>>) -> String {
    let mut left = text.to_owned();
    for table in tables.into_iter().rev() {
        let end = left[table.end..].find('\n').map_or(left.len(), |end| table.end + end + 1);
        let mut start = left[..table.start].rfind('\n').map_or(0, |end| end + 1);
        // Unless something else would lose its distance.
        let before = left[..start].strip_suffix('\n').map(|before| before.strip_suffix('\r').unwrap_or(before));
        if let Some(before) = before.filter(|before| before.ends_with('\n')) {
            start = before.len();
        }
        left.replace_range(start..end, "");
    }
    left
}

/// Which entry there is.
pub(crate) fn server(text: &str) -> Result<Server, ConfigFault> {
    Ok(match find(&read(text)?) {
        None => Server::Missing,
        Some(Some(entry)) => Server::Ours(entry.called),
        Some(None) => Server::Foreign,
    })
}

/// Our entry.
struct TomlEntry {
    /// Its tables, in the order of the text.
    tables: Vec<Range<usize>>,
    /// Where it names the program, and how.
    program: Range<usize>,
    called: String,
}

pub(super) fn read(text: &str) -> Result<Document<&str>, ConfigFault> {
    Document::parse(text).map_err(|error| {
        let place = error.span().map_or(0, |span| span.start);
        ConfigFault::at(text, place, format!("it is no TOML: {}", error.message().replace('\n', ", ")))
    })
}

/// The entry of our name, if there is one; `None` within if it is not ours.
fn find(document: &Document<&str>) -> Option<Option<TomlEntry>> {
    Some(ours(document.get(SERVERS)?.get(SERVER)?))
}

fn ours(entry: &Item) -> Option<TomlEntry> {
    let table = entry.as_table().filter(|table| !table.is_dotted())?;
    let command = table.get("command")?;
    let (called, program) = command.as_str().zip(command.span())?;
    let first = table.get("args").and_then(|arguments| arguments.get(0)).and_then(Item::as_str);
    if !is_ours(called, first) {
        return None;
    }
    let mut tables = Vec::new();
    collect(table, &mut tables);
    tables.sort_by_key(|table| table.start);
    Some(TomlEntry { tables, program, called: called.to_owned() })
}

/// The places of a table and of those inside it that have headers of their own.
pub(super) fn collect(table: &Table, places: &mut Vec<Range<usize>>) {
    if let Some(head) = table.span().filter(|_| !table.is_implicit()) {
        places.push(head.start..end_of_values(table).max(head.end));
    }
    for (_, item) in table.iter() {
        match item {
            Item::Table(inner) if !inner.is_dotted() => collect(inner, places),
            Item::ArrayOfTables(inner) => inner.iter().for_each(|table| collect(table, places)),
            _ => {}
        }
    }
}

fn end_of_values(table: &Table) -> usize {
    let end = |item: &Item| match item {
        Item::Table(inner) if inner.is_dotted() => end_of_values(inner),
        Item::Value(value) => value.span().map_or(0, |span| span.end),
        _ => 0,
    };
    table.iter().map(|(_, item)| end(item)).max().unwrap_or(0)
}

fn place_of_servers(text: &str) -> usize {
    let document = read(text).ok();
    document.and_then(|document| document.key(SERVERS)?.span()).map_or(0, |span| span.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "[mcp_servers.postrider]\ncommand = \"postrider\"\nargs = [\"stdio\"]\n";

    fn installed(text: &str) -> String {
        install(text, "postrider").unwrap()
    }

    #[test]
    fn the_table_is_put_at_the_end_and_comes_out_again() {
        for text in [
            "",
            "model = \"o5\" # mine\n",
            "# words\n\n[features]\nhooks = true # on\n\n\n",
            "[mcp_servers.other]\ncommand = 'x'\n\n# the end\n",
            "[mcp_servers]\n",
            "mcp_servers.other.command = \"x\"\n",
            "a = 1\r\n[b]\r\nc = 2\r\n",
        ] {
            let whole = installed(text);
            assert!(whole.starts_with(text) && whole.replace("\r\n", "\n").ends_with(OURS), "{whole}");
            assert_eq!(whole.contains('\r'), text.contains('\r'));
            assert_eq!(server(&whole).unwrap(), Server::Ours("postrider".to_owned()));
            assert_eq!(installed(&whole), whole, "a second time changes nothing");
            assert_eq!(uninstall(&whole).unwrap(), text, "{text:?}");
        }
        assert_eq!(installed("a = 1"), format!("a = 1\n\n{OURS}"), "a last line that was not ended");
    }

    #[test]
    fn an_older_entry_is_brought_up_to_date_with_what_was_added_to_it() {
        let text = "[mcp_servers.postrider] # mine\ncommand = '/old/postrider' # here\nargs = [\"stdio\", \"--tools\", \"lean\"]\nenv.A = \"1\"\n\n\
                    [mcp_servers.postrider.tools]\nx = 1\n\n# next\n[other]\na = 1\n";
        let whole = installed(text);
        assert_eq!(whole, text.replace("'/old/postrider'", "\"postrider\""));
        assert_eq!(uninstall(&whole).unwrap(), "\n# next\n[other]\na = 1\n");
        let odd = install("", "C:\\my \"x\"\\postrider.exe").unwrap();
        assert_eq!(server(&odd).unwrap(), Server::Ours("C:\\my \"x\"\\postrider.exe".to_owned()));
    }

    #[test]
    fn an_entry_that_was_written_in_another_way_is_left_alone() {
        for text in [
            "mcp_servers = { postrider = { command = \"postrider\", args = [\"stdio\"] } }\n",
            "[mcp_servers]\npostrider = { command = \"postrider\", args = [\"stdio\"] }\n",
            "mcp_servers.postrider.command = \"postrider\"\n",
            "[mcp_servers.postrider]\nurl = \"http://127.0.0.1:8765/mcp\"\n",
            "[mcp_servers.postrider]\ncommand = \"npx\"\nargs = [\"stdio\"]\n",
        ] {
            assert_eq!(server(text).unwrap(), Server::Foreign, "{text}");
            assert_eq!(installed(text), text);
            assert_eq!(uninstall(text).unwrap(), text);
        }
    }

    #[test]
    fn what_cannot_take_the_table_or_is_no_toml_is_refused_with_its_place() {
        for (text, line, what) in [
            ("a = 1\nmcp_servers = {}\n", 2, "'mcp_servers' is not written as tables"),
            ("a = 1\nmcp_servers = 1\n", 2, "'mcp_servers' is not written as tables"),
            ("[[mcp_servers]]\na = 1\n", 1, "'mcp_servers' is not written as tables"),
            ("a = 1\nb = = 2\n", 2, "it is no TOML"),
            ("[a\n", 1, "it is no TOML"),
        ] {
            let fault = install(text, "postrider").unwrap_err();
            assert!(fault.line == line && fault.what.contains(what), "{text}: {fault:?}");
        }
        let deep = format!("a = {}", "[".repeat(200_000));
        assert!(install(&deep, "postrider").is_err());
    }
}

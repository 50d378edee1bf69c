//! How a JSON text is written: its line breaks, its indentation, and whether it has any.
//!
//! What is added is written the same way, so that it reads as if the owner of the file had written it.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;

/// A value to be written, with its members in the order in which they are to be read.
#[derive(Clone, Debug)]
pub(crate) enum New<'a> {
    Text(&'a str),
    Number(u64),
    List(Vec<New<'a>>),
    Object(Vec<(&'a str, New<'a>)>),
}

/// The manner of a text.
pub(crate) struct Style<'t> {
    /// What ends a line.
    pub newline: &'static str,
    /// What a line is indented by for each level.
    pub unit: &'t str,
    /// Whether everything stands on one line.
    pub on_one_line: bool,
    is_spaced: bool,
}

impl<'t> Style<'t> {
    /// The manner in which `text` is written.
    pub(crate) fn of(text: &'t str, root: &ast::Value<'_>) -> Self {
        let first = match root {
            ast::Value::Object(object) => object.properties.first().map(Ranged::start),
            ast::Value::Array(list) => list.elements.first().map(Ranged::start),
            _ => None,
        };
        let lead = first.map(|first| &text[root.start() + 1..first]);
        let on_one_line = lead.is_some_and(|lead| !lead.contains('\n'));
        let unit = lead.and_then(|lead| lead.rsplit_once('\n')).map(|(_, unit)| unit);
        Self {
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            unit: unit.filter(|unit| !unit.is_empty() && unit.trim().is_empty()).unwrap_or("  "),
            on_one_line,
            is_spaced: !on_one_line || text.contains("\": "),
        }
    }

    /// What stands behind a comma or a colon.
    pub(crate) fn gap(&self) -> &'static str {
        if self.is_spaced { " " } else { "" }
    }

    /// A value, with its name if it has one.
    pub(crate) fn member(&self, name: Option<&str>, value: &New<'_>, indent: &str, on_one_line: bool) -> String {
        let value = self.value(value, indent, on_one_line);
        name.map_or(value.clone(), |name| format!("{}:{}{value}", quoted(name), self.gap()))
    }

    fn value(&self, value: &New<'_>, indent: &str, on_one_line: bool) -> String {
        match value {
            New::Text(text) => quoted(text),
            New::Number(number) => number.to_string(),
            New::List(items) => {
                let is_short = items.iter().all(|item| matches!(item, New::Text(_) | New::Number(_)));
                let on_one_line = on_one_line || is_short;
                let inner = format!("{indent}{}", self.unit);
                let items = items.iter().map(|item| self.value(item, &inner, on_one_line)).collect();
                self.bracketed('[', items, ']', indent, on_one_line)
            }
            New::Object(members) => {
                let inner = format!("{indent}{}", self.unit);
                let member = |(name, value): &(&str, New<'_>)| self.member(Some(name), value, &inner, on_one_line);
                self.bracketed('{', members.iter().map(member).collect(), '}', indent, on_one_line)
            }
        }
    }

    fn bracketed(&self, open: char, parts: Vec<String>, close: char, indent: &str, on_one_line: bool) -> String {
        if on_one_line {
            return format!("{open}{}{close}", parts.join(&format!(",{}", self.gap())));
        }
        let (newline, unit) = (self.newline, self.unit);
        let parts = parts.join(&format!(",{newline}{indent}{unit}"));
        format!("{open}{newline}{indent}{unit}{parts}{newline}{indent}{close}")
    }
}

/// A string as JSON writes it.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The white space at the beginning of the line on which `place` is.
pub(crate) fn indentation(text: &str, place: usize) -> String {
    let line = text[..place].rfind('\n').map_or(0, |end| end + 1);
    text[line..place].chars().take_while(|letter| matches!(letter, ' ' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indentation_is_the_white_space_of_the_line_and_nothing_else() {
        let text = "{\n\t \"a\": {},\r\n  \"b\": 1";
        assert_eq!(indentation(text, 0), "");
        assert_eq!(indentation(text, text.find("{}").unwrap()), "\t ");
        assert_eq!(indentation(text, text.find("\"b").unwrap()), "  ");
    }

    #[test]
    fn a_string_keeps_what_json_has_to_escape() {
        assert_eq!(quoted("C:\\a \"b\"\n"), r#""C:\\a \"b\"\n""#);
    }
}

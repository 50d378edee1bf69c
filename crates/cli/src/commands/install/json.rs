//! JSON with comments, edited in place: what is not part of an edit keeps every byte.
//!
//! An edit finds its place with a parser and changes the text there, in the manner of what stands around it. Where a
//! name occurs twice the last one counts, as it does for the clients. What the values mean is for `entries`.

mod style;

use std::ops::Range;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::ConfigFault;
use style::Style;
pub(crate) use style::{New, quoted};

/// One step from a value to a value inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathStep<'a> {
    /// The member of an object.
    Member(&'a str),
    /// The item of a list.
    Item(usize),
}

/// What a text says. One that is empty, or has nothing but comments, stands for an empty object.
pub(crate) fn read(text: &str) -> Result<Value, ConfigFault> {
    Ok(JsonText::read(text)?.root.map_or_else(|| Value::Object(serde_json::Map::new()), Value::from))
}

/// The fault that what stands at `path` is not what it should be.
pub(crate) fn fault_at(text: &str, path: &[PathStep<'_>], what: String) -> ConfigFault {
    let start = JsonText::read(text).ok().and_then(|page| page.find(path).map(|found| found.range.start));
    ConfigFault::at(text, start.unwrap_or(0), what)
}

/// Puts `value` behind everything that is in the list or object at `path`; in an object it has a name.
pub(crate) fn append(
    text: &str,
    path: &[PathStep<'_>],
    name: Option<&str>,
    value: &New<'_>,
) -> Result<String, ConfigFault> {
    let page = JsonText::read(text)?;
    let Some(root) = &page.root else {
        let ended = if text.trim().is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return append(&format!("{text}{ended}{{}}\n"), path, name, value);
    };
    let style = Style::of(text, root);
    let Some(found) = page.find(path) else {
        return Err(ConfigFault::at(text, 0, "there is no such place".to_owned()));
    };
    let close = found.range.end - 1;
    // Comments may stand before the bracket that closes.
    let content_end = text[..close].trim_end().len();
    let member = |indent: &str, on_one_line| style.member(name, value, indent, on_one_line);
    let (Some(first), Some(last)) = (found.children.first(), found.children.last()) else {
        let is_bare = content_end == found.range.start + 1;
        let put = if style.on_one_line && is_bare {
            member("", true)
        } else {
            let (newline, outer) = (style.newline, style::indentation(text, found.range.start));
            let inner = format!("{outer}{}", style.unit);
            format!("{newline}{inner}{}{newline}{outer}", member(&inner, false))
        };
        return Ok(spliced(text, &[(content_end..close, &put)]));
    };
    let is_broken = |range: Range<usize>| text[range].contains('\n');
    let on_one_line = !is_broken(found.range.start..first.start) && !is_broken(last.end..close);
    let put = if on_one_line {
        format!("{}{}", style.gap(), member("", true))
    } else {
        let indent = style::indentation(text, first.start);
        format!("{}{indent}{}", style.newline, member(&indent, false))
    };
    if page.next_comma(last.end).is_some() {
        return Ok(spliced(text, &[(content_end..content_end, &format!("{put},"))]));
    }
    Ok(spliced(text, &[(last.end..last.end, ","), (content_end..content_end, &put)]))
}

/// Puts another value in the place of the one at `path`.
pub(crate) fn replace(text: &str, path: &[PathStep<'_>], value: &str) -> Result<String, ConfigFault> {
    let page = JsonText::read(text)?;
    Ok(page.find(path).map_or_else(|| text.to_owned(), |found| spliced(text, &[(found.range, value)])))
}

/// Takes out what stands at `path`, with its name, its comma and the white space before it.
pub(crate) fn remove(text: &str, path: &[PathStep<'_>]) -> Result<String, ConfigFault> {
    let page = JsonText::read(text)?;
    let Some((last, outer)) = path.split_last() else { return Ok(text.to_owned()) };
    let Some(around) = page.find(outer) else { return Ok(text.to_owned()) };
    let Some((index, _)) = child(around.value, *last) else { return Ok(text.to_owned()) };
    let taken = around.children[index].clone();
    let mut start = text[..taken.start].trim_end().len();
    let comma = page.next_comma(taken.end);
    let end = comma.as_ref().map_or(taken.end, |comma| comma.end);
    let ends_line = text[end..].trim_start_matches([' ', '\t']).starts_with(['\r', '\n']);
    if page.is_line_comment_before(start) && !ends_line {
        // The comment must not swallow what follows.
        start = taken.start;
    }
    if around.children.len() == 1 {
        let inside = around.range.start + 1..around.range.end - 1;
        let (before, after) = (&text[inside.start..start], &text[end..inside.end]);
        if before.trim().is_empty() && after.trim().is_empty() {
            return Ok(spliced(text, &[(inside, "")]));
        }
    }
    let before = index.checked_sub(1).map(|index| around.children[index].end);
    match before.and_then(|end| page.next_comma(end)) {
        Some(separator) if comma.is_none() => Ok(spliced(text, &[(separator, ""), (start..end, "")])),
        _ => Ok(spliced(text, &[(start..end, "")])),
    }
}

/// A text with its places.
struct JsonText<'t> {
    root: Option<ast::Value<'t>>,
    tokens: Vec<TokenAndRange<'t>>,
}

/// A value and, if it is a list or an object, what is in it. A member of an object begins with its name.
struct JsonPosition<'v, 't> {
    range: Range<usize>,
    children: Vec<Range<usize>>,
    value: &'v ast::Value<'t>,
}

impl<'t> JsonText<'t> {
    fn read(text: &'t str) -> Result<Self, ConfigFault> {
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed = parse_to_ast(text, &collect, &options)
            .map_err(|error| ConfigFault::at(text, error.range().start, format!("it is no JSON: {}", error.kind())))?;
        Ok(Self { root: parsed.value, tokens: parsed.tokens.unwrap_or_default() })
    }

    fn find(&self, path: &[PathStep<'_>]) -> Option<JsonPosition<'_, 't>> {
        let mut value = self.root.as_ref()?;
        for step in path {
            (_, value) = child(value, *step)?;
        }
        let children = match value {
            ast::Value::Object(object) => object.properties.iter().map(span).collect(),
            ast::Value::Array(list) => list.elements.iter().map(span).collect(),
            _ => Vec::new(),
        };
        Some(JsonPosition { range: span(value), children, value })
    }

    /// The comma that comes next from `place` on, if nothing but comments stands before it.
    fn next_comma(&self, place: usize) -> Option<Range<usize>> {
        let from = self.tokens.partition_point(|token| token.range.start < place);
        let is_comment = |token: &Token<'_>| matches!(token, Token::CommentLine(_) | Token::CommentBlock(_));
        let next = self.tokens[from..].iter().find(|token| !is_comment(&token.token));
        next.filter(|token| token.token == Token::Comma).map(span)
    }

    fn is_line_comment_before(&self, place: usize) -> bool {
        let count = self.tokens.partition_point(|token| token.range.start < place);
        count > 0 && matches!(self.tokens[count - 1].token, Token::CommentLine(_))
    }
}

/// The value that one step leads to, and its place among its siblings.
fn child<'v, 't>(value: &'v ast::Value<'t>, step: PathStep<'_>) -> Option<(usize, &'v ast::Value<'t>)> {
    match (value, step) {
        (ast::Value::Object(object), PathStep::Member(name)) => {
            let index = object.properties.iter().rposition(|member| member.name.as_str() == name)?;
            Some((index, &object.properties[index].value))
        }
        (ast::Value::Array(list), PathStep::Item(index)) => Some((index, list.elements.get(index)?)),
        _ => None,
    }
}

fn span(node: &impl Ranged) -> Range<usize> {
    node.start()..node.end()
}

/// The text with other words in some places, which are in order and apart.
fn spliced(text: &str, places: &[(Range<usize>, &str)]) -> String {
    let mut whole = String::with_capacity(text.len() + 256);
    let mut from = 0;
    for (range, put) in places {
        whole.push_str(&text[from..range.start]);
        whole.push_str(put);
        from = range.end;
    }
    whole + &text[from..]
}

#[cfg(test)]
mod tests;

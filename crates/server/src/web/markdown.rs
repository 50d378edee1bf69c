//! What mail says, made fit to be looked at: Markdown becomes HTML in which nothing runs, loads or hides.
//!
//! HTML that stands in a message is shown as the text that it is. Pictures are shown as links, because loading one tells
//! its owner who reads. What is too long, too deep or too wide to be laid out is shown as plain text, and its end left
//! out. `elements` writes the HTML, and knows no element or address that could do harm.

mod elements;

use formats::{cut, one_line, plain_lines, steers};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

/// How long a text may be to be laid out, in bytes, and how much of a longer one is shown.
const LONGEST_LAID_OUT: usize = 64 * 1024;
/// How deep lists and quotes may be nested, and how many cells all tables may have.
const DEEPEST: usize = 24;
const MOST_CELLS: usize = 5_000;
/// How many pieces a text may have.
const MOST_PIECES: usize = 20_000;

/// A message's text as a page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedText {
    /// HTML that is safe as it is.
    pub html: String,
    /// How many bytes of the text are not shown.
    pub left_out: usize,
}

/// Lays out a text.
pub fn laid_out(text: &str) -> RenderedText {
    if text.len() > LONGEST_LAID_OUT {
        return plain(text);
    }
    let shown = plain_lines(text);
    let Some(pieces) = pieces(&shown) else { return plain(text) };
    RenderedText { html: elements::html(&pieces, shown.len()), left_out: 0 }
}

/// The text as it is, as far as a page shows it.
fn plain(text: &str) -> RenderedText {
    let end = text.floor_char_boundary(LONGEST_LAID_OUT);
    let html = format!("<pre class=\"plain\" tabindex=\"0\">{}</pre>", escaped(&plain_lines(&text[..end])));
    RenderedText { html, left_out: text.len() - end }
}

/// How a text begins, on one line and without its marks: at most `most` characters.
pub fn beginning(text: &str, most: usize) -> String {
    let mut words = String::new();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                words.push_str(&text)
            }
            Event::SoftBreak | Event::HardBreak | Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell) => {
                words.push(' ');
            }
            Event::End(TagEnd::Heading(_)) => words.push_str(": "),
            _ => {}
        }
    }
    line(&words, most)
}

/// A text on one line, at most `most` characters of it.
pub fn line(text: &str, most: usize) -> String {
    cut(one_line(text), most)
}

/// What Markdown makes of a text; nothing if that would be too much to lay out.
fn pieces(text: &str) -> Option<Vec<Event<'_>>> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let (mut depth, mut cells) = (0_usize, 0_usize);
    let mut pieces = Vec::new();
    for event in Parser::new_ext(text, options) {
        match &event {
            Event::Start(tag) => {
                depth += 1;
                cells += usize::from(matches!(tag, Tag::TableCell));
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST || cells > MOST_CELLS || pieces.len() > MOST_PIECES {
            return None;
        }
        pieces.extend(harmless(event));
    }
    Some(pieces)
}

/// What stands for a piece that is not shown as it is.
fn harmless(event: Event<'_>) -> Vec<Event<'_>> {
    match event {
        // What was written as `&#x202e;` is read here for the first time.
        Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
            vec![Event::Text(unsteered(text))]
        }
        Event::Code(text) => vec![Event::Code(unsteered(text))],
        Event::Start(Tag::HtmlBlock) => vec![Event::Start(Tag::Paragraph)],
        Event::End(TagEnd::HtmlBlock) => vec![Event::End(TagEnd::Paragraph)],
        Event::Start(Tag::Image { dest_url, link_type, title, id }) => {
            vec![Event::Start(Tag::Link { dest_url, link_type, title, id }), Event::Text(CowStr::Borrowed("🖼 "))]
        }
        Event::End(TagEnd::Image) => vec![Event::End(TagEnd::Link)],
        // A heading within a message is none of the page.
        Event::Start(Tag::Heading { level, .. }) => {
            vec![Event::Start(Tag::Heading { level: lower(level), id: None, classes: Vec::new(), attrs: Vec::new() })]
        }
        Event::End(TagEnd::Heading(level)) => vec![Event::End(TagEnd::Heading(lower(level)))],
        // What programs write on lines of their own is meant so.
        Event::SoftBreak => vec![Event::HardBreak],
        Event::TaskListMarker(is_done) => {
            vec![Event::Text(CowStr::Borrowed(if is_done { "☑ " } else { "☐ " }))]
        }
        other => vec![other],
    }
}

/// The same text without what turns or hides others.
fn unsteered(text: CowStr<'_>) -> CowStr<'_> {
    let steers = |letter: char| letter != '\n' && letter != '\t' && steers(letter);
    if text.contains(steers) { text.replace(steers, "�").into() } else { text }
}

fn lower(level: pulldown_cmark::HeadingLevel) -> pulldown_cmark::HeadingLevel {
    use pulldown_cmark::HeadingLevel::{H4, H5, H6};
    match level as usize {
        1 => H4,
        2 => H5,
        _ => H6,
    }
}

/// Text for the inside of an element.
pub fn escaped(text: &str) -> String {
    let marks = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")];
    marks.into_iter().fold(text.to_owned(), |text, (mark, escape)| text.replace(mark, escape))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        laid_out(text).html
    }

    #[test]
    fn markdown_is_laid_out() {
        let shown = html(
            "# Plan\n\n- *one*\n- `two`\n\n```rust\nfn f() {}\n```\n\n[docs](https://example.org/a)\n\n|a|b|\n|-|-|\n|1|2|",
        );
        for part in [
            "<h4>Plan</h4>",
            "<li><em>one</em></li>",
            "<code>two</code>",
            "<pre tabindex=\"0\"><code>fn f() {}",
            "<td>1</td>",
        ] {
            assert!(shown.contains(part), "{part} is missing in {shown}");
        }
        assert!(
            shown.contains(r#"<a href="https://example.org/a" rel="noopener noreferrer nofollow">docs</a>"#),
            "{shown}"
        );
    }

    #[test]
    fn html_is_shown_as_the_text_that_it_is() {
        let shown = html("<script>alert(1)</script>\n\nHello <img src=x onerror=alert(1)> <b>there</b>");
        assert!(shown.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{shown}");
        assert!(shown.contains("&lt;img src=x onerror=alert(1)&gt; &lt;b&gt;there"), "{shown}");
        assert!(!shown.contains("<script") && !shown.contains("<img") && !shown.contains("<b>"), "{shown}");
    }

    #[test]
    fn links_lead_out_into_the_web_and_nowhere_else() {
        for address in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "/logout",
            "//evil.example",
            "file:///etc",
        ] {
            let shown = html(&format!("[x]({address})"));
            assert!(!shown.contains("href"), "{address}: {shown}");
        }
        assert!(html("<https://example.org>").contains(r#"href="https://example.org""#));
    }

    #[test]
    fn pictures_are_not_loaded() {
        let shown = html("![a chart](https://example.org/c.png)");
        assert!(!shown.contains("<img") && shown.contains("a chart") && shown.contains("href="), "{shown}");
    }

    #[test]
    fn what_is_too_long_deep_or_wide_is_plain_text() {
        let long = "x".repeat(LONGEST_LAID_OUT - 1) + "ßß";
        let shown = laid_out(&long);
        assert!(shown.html.starts_with("<pre") && shown.left_out == 4, "a character is not cut: {}", shown.left_out);
        let deep = format!("{}x", "> ".repeat(DEEPEST + 2));
        let wide = format!("|{}\n|{}\n", "a|".repeat(MOST_CELLS + 1), "-|".repeat(MOST_CELLS + 1));
        for text in [deep, wide] {
            assert!(html(&text).starts_with("<pre class=\"plain\""));
        }
        assert!(html("> > x").contains("<blockquote>"));
    }

    #[test]
    fn a_beginning_is_words_without_their_marks() {
        assert_eq!(beginning("# Plan\n\n- **one**\n- `two`\n\n> three <b>", 40), "Plan: one two three <b>");
        assert_eq!(beginning("a long text", 6), "a long…");
    }

    #[test]
    fn nothing_turns_the_direction_of_what_is_read() {
        let shown = html("safe \u{202e}gpj.exe\u{2066}");
        let by_name = html("&#x202e;a `&#8238;` <b>&#8238;</b> [&#x2066;](https://example.org/&#x202e;)");
        for shown in [shown, by_name] {
            assert!(!shown.contains(['\u{202e}', '\u{2066}']), "{shown}");
        }
        assert_eq!(line("a\u{202e}b\n c", 10), "a�b c");
        assert_eq!(line("abcdef", 3), "abc…");
    }
}

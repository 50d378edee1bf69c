//! The HTML of a message, written element by element. What is not named here cannot be written.
//!
//! Every text is escaped; the only attributes are those below; an address is written only if it leads out into the web. A test has
//! ammonia, a sanitiser that knows nothing of Markdown, look for anything to take out. Deliberately absent: raw HTML, classes, styles.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use pulldown_cmark::{Event, Tag, TagEnd};

/// What an address may begin with. One without a scheme would lead into this page, where messages have no business.
const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];
/// What is encoded in an address. What was encoded before stays.
const IN_ADDRESS: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\').add(b'^').add(b'`').add(b'{').add(b'|').add(b'}');

/// The HTML of a text of about `length` bytes, which was read as these pieces.
pub fn html(pieces: &[Event<'_>], length: usize) -> String {
    let mut writer = Writer { html: String::with_capacity(length * 3 / 2), links: Vec::new(), is_in_head: false };
    for piece in pieces {
        match piece {
            Event::Start(tag) => writer.start(tag),
            Event::End(tag) => writer.end(*tag),
            Event::Text(text) => writer.text(text),
            Event::Code(text) => {
                writer.html.push_str("<code>");
                writer.text(text);
                writer.html.push_str("</code>");
            }
            Event::HardBreak => writer.html.push_str("<br>\n"),
            Event::Rule => writer.html.push_str("<hr>\n"),
            // `harmless` leaves none of them; if it did, they would be text.
            Event::Html(text) | Event::InlineHtml(text) => writer.text(text),
            Event::SoftBreak => writer.html.push('\n'),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => writer.text(text),
            Event::TaskListMarker(_) => {}
        }
    }
    writer.html
}

struct Writer {
    html: String,
    /// The links that are open: whether each of them was written. One within another is not.
    links: Vec<bool>,
    is_in_head: bool,
}

impl Writer {
    fn start(&mut self, tag: &Tag<'_>) {
        let opening: Cow<'static, str> = match tag {
            Tag::Paragraph => "<p>".into(),
            Tag::Heading { level, .. } => format!("<{level}>").into(),
            Tag::BlockQuote(_) => "<blockquote>\n".into(),
            // What is too wide is scrolled, also without a mouse.
            Tag::CodeBlock(_) => "<pre tabindex=\"0\"><code>".into(),
            Tag::List(None) => "<ul>\n".into(),
            Tag::List(Some(1)) => "<ol>\n".into(),
            Tag::List(Some(first)) => format!("<ol start=\"{first}\">\n").into(),
            Tag::Item => "<li>".into(),
            Tag::Table(_) => "<table tabindex=\"0\">".into(),
            Tag::TableHead => {
                self.is_in_head = true;
                "<thead><tr>".into()
            }
            Tag::TableRow => "<tr>".into(),
            Tag::TableCell => if self.is_in_head { "<th>" } else { "<td>" }.into(),
            Tag::Emphasis => "<em>".into(),
            Tag::Strong => "<strong>".into(),
            Tag::Strikethrough => "<del>".into(),
            Tag::Link { dest_url, .. } => self.open_link(dest_url).into(),
            _ => "".into(),
        };
        self.html.push_str(&opening);
    }

    fn end(&mut self, tag: TagEnd) {
        let closing: Cow<'static, str> = match tag {
            TagEnd::Paragraph => "</p>\n".into(),
            TagEnd::Heading(level) => format!("</{level}>\n").into(),
            TagEnd::BlockQuote(_) => "</blockquote>\n".into(),
            TagEnd::CodeBlock => "</code></pre>\n".into(),
            TagEnd::List(false) => "</ul>\n".into(),
            TagEnd::List(true) => "</ol>\n".into(),
            TagEnd::Item => "</li>\n".into(),
            TagEnd::Table => "</tbody></table>\n".into(),
            TagEnd::TableHead => {
                self.is_in_head = false;
                "</tr></thead><tbody>\n".into()
            }
            TagEnd::TableRow => "</tr>\n".into(),
            TagEnd::TableCell => if self.is_in_head { "</th>" } else { "</td>" }.into(),
            TagEnd::Emphasis => "</em>".into(),
            TagEnd::Strong => "</strong>".into(),
            TagEnd::Strikethrough => "</del>".into(),
            TagEnd::Link => if self.links.pop() == Some(true) { "</a>" } else { "" }.into(),
            _ => "".into(),
        };
        self.html.push_str(&closing);
    }

    /// What opens a link to an address; nothing if it does not lead out into the web, or stands in a link.
    fn open_link(&mut self, address: &str) -> String {
        let is_written = !self.links.contains(&true) && leads_out(address);
        self.links.push(is_written);
        if !is_written {
            return String::new();
        }
        let encoded = utf8_percent_encode(address, IN_ADDRESS).to_string();
        format!("<a href=\"{}\" rel=\"noopener noreferrer nofollow\">", encoded.replace('&', "&amp;"))
    }

    fn text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find(['&', '<', '>']) {
            self.html.push_str(&rest[..at]);
            self.html.push_str(match rest.as_bytes()[at] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                _ => "&gt;",
            });
            rest = &rest[at + 1..];
        }
        self.html.push_str(rest);
    }
}

/// Whether an address leads out into the web. Browsers pass over blanks before and in a scheme; here they are refused.
fn leads_out(address: &str) -> bool {
    let behind = |scheme: &&str| {
        let begins = address.get(..scheme.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(scheme));
        begins.then(|| &address[scheme.len()..])
    };
    let Some(rest) = SCHEMES.iter().find_map(behind) else { return false };
    // A host stands at once behind its scheme.
    let has_host = rest.starts_with(|first: char| first.is_alphanumeric() || first == '[');
    has_host && !address.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use ammonia::{Builder, UrlRelative};
    use proptest::prelude::*;

    use super::super::laid_out;
    use super::SCHEMES;

    /// A sanitiser that lets through what a message may be laid out with.
    static SANITISER: LazyLock<Builder<'static>> = LazyLock::new(|| {
        let tags = "p br hr em strong del code pre blockquote ul ol li a h4 h5 h6 table thead tbody tr th td";
        let mut sanitiser = Builder::empty();
        sanitiser
            .tags(tags.split(' ').collect())
            .tag_attributes([("a", ["href"].into()), ("ol", ["start"].into())].into())
            .tag_attribute_values(
                [("pre", [("tabindex", ["0"].into())].into()), ("table", [("tabindex", ["0"].into())].into())].into(),
            )
            .url_schemes(["http", "https", "mailto"].into())
            .url_relative(UrlRelative::Deny)
            .link_rel(Some("noopener noreferrer nofollow"));
        sanitiser
    });

    /// What Markdown and HTML are made of, and what attacks are.
    fn piece() -> impl Strategy<Value = String> {
        let marks = "< > & \" ' ` ``` ~~~ * ** _ ~~ # ## - + 1. 7) > | |-| --- === ! [ ] ( ) [a]( ](http:// )<b> <a href= <script> </p> </code> \
                     </pre> <!-- --> <![CDATA[ &#x202e; &lt; &amp;amp; &colon; javascript: java\tscript: data:text/html, https://e.org/ \
                     HTTPS:// mailto:a@b mailto: ![x](http://e.org/p) [![x](http://e.org/p)](http://e.org) <http://e.org/\"> \\ a word 漢 é";
        let marks: Vec<String> = marks.split_whitespace().map(str::to_owned).collect();
        prop_oneof![
            8 => prop::sample::select(marks),
            2 => Just("\n".to_owned()),
            1 => Just("\n\n".to_owned()),
            2 => Just(" ".to_owned()),
            1 => Just("    ".to_owned()),
            1 => any::<char>().prop_map(String::from),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn a_sanitiser_finds_nothing_to_take_out(pieces in prop::collection::vec(piece(), 0..60)) {
            let text = pieces.concat();
            let html = laid_out(&text).html;
            prop_assume!(!html.starts_with("<pre class"));
            // The sanitiser writes a blank that does not break in its own way, and reads no host that is not in ASCII.
            let (cleaned, _) = without_addresses(&SANITISER.clean(&html).to_string());
            let (left, addresses) = without_addresses(&html.replace('\u{a0}', "&nbsp;"));
            prop_assert_eq!(cleaned, left, "{:?}", text);
            for address in addresses {
                let address = address.to_lowercase();
                prop_assert!(SCHEMES.iter().any(|scheme| address.starts_with(scheme)), "{} in {:?}", address, text);
            }
        }
    }

    /// The HTML without the addresses of its links, and those.
    fn without_addresses(html: &str) -> (String, Vec<String>) {
        let mut parts = html.split("<a href=\"");
        let mut left = parts.next().unwrap_or_default().to_owned();
        let mut addresses = Vec::new();
        for part in parts {
            let (address, rest) = part.split_once('"').expect("an attribute ends");
            addresses.push(address.to_owned());
            left.extend(["<a", rest]);
        }
        (left, addresses)
    }

    #[test]
    fn a_picture_in_a_link_is_one_link() {
        let html = laid_out("[![x](http://e.org/p)](https://e.org/a?b=1&c=\"d\") y").html;
        let link = "<a href=\"https://e.org/a?b=1&amp;c=%22d%22\" rel=\"noopener noreferrer nofollow\">";
        assert_eq!(html, format!("<p>{link}🖼 x</a> y</p>\n"));
        let html = laid_out("[![x](http://e.org/p)](/logout)").html;
        assert_eq!(html, "<p><a href=\"http://e.org/p\" rel=\"noopener noreferrer nofollow\">🖼 x</a></p>\n");
    }

    #[test]
    fn an_address_with_blanks_or_controls_in_its_scheme_is_no_link() {
        for address in [
            "java&#10;script:x",
            "&#1;http://e.org",
            "http&colon;//e.org&#9;",
            "%68ttp://e.org",
            "https://",
            "http:///e.org",
        ] {
            let html = laid_out(&format!("[x]({address})")).html;
            assert!(!html.contains("href"), "{address}: {html}");
        }
    }
}

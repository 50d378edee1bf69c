//! The changes of files as a unified diff, as `git diff` would show them.

use anstyle::{AnsiColor, Style};
use similar::TextDiff;

use super::files::Change;
use crate::output::{Screen, text};

/// The diff of one file; nothing if it does not change.
pub(crate) fn unified(change: &Change) -> String {
    let side = |text: &Option<String>| match text {
        Some(_) => change.path.display().to_string(),
        None => "/dev/null".to_owned(),
    };
    let (before, after) = (change.before.as_deref().unwrap_or_default(), change.after.as_deref().unwrap_or_default());
    let diff = TextDiff::from_lines(before, after);
    diff.unified_diff().context_radius(3).header(&side(&change.before), &side(&change.after)).to_string()
}

/// A diff for people, in colour where there is colour.
pub(crate) fn shown(diff: &str, screen: &Screen) -> String {
    let lines = text::lines(&diff.replace('\t', "    "));
    let painted = lines.lines().map(|line| screen.paint(line, style_of(line)));
    painted.collect::<Vec<_>>().join("\n")
}

fn style_of(line: &str) -> Style {
    let plain = Style::new();
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => plain.bold(),
        [b'@', ..] => plain.fg_color(Some(AnsiColor::Cyan.into())),
        [b'+', ..] => plain.fg_color(Some(AnsiColor::Green.into())),
        [b'-', ..] => plain.fg_color(Some(AnsiColor::Red.into())),
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: Option<&str>, after: Option<&str>) -> Change {
        let text = |text: Option<&str>| text.map(str::to_owned);
        Change { path: "/f".into(), before: text(before), after: text(after), is_private: false }
    }

    #[test]
    fn a_diff_names_the_file_and_shows_what_goes_and_comes() {
        let diff = unified(&change(Some("a\nb\n"), Some("a\nc\n")));
        assert_eq!(diff, "--- /f\n+++ /f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        assert!(unified(&change(None, Some("a\n"))).starts_with("--- /dev/null\n+++ /f\n"));
        assert!(unified(&change(Some("a\n"), None)).starts_with("--- /f\n+++ /dev/null\n"));
        assert_eq!(unified(&change(Some("a"), Some("a"))), "");
    }

    #[test]
    fn a_file_cannot_steer_the_terminal_and_colours_are_only_where_they_show() {
        let screen = |is_coloured| Screen { width: 80, height: None, is_coloured };
        let diff = unified(&change(Some("// \x1b[2J\r\n"), Some("// \x1b[2J\r\n\tx\r\n")));
        let plain = shown(&diff, &screen(false));
        assert!(plain.ends_with("+    x") && !plain.contains(['\x1b', '\r']), "{plain:?}");
        assert!(shown(&diff, &screen(true)).ends_with("\x1b[32m+    x\x1b[0m"));
    }
}

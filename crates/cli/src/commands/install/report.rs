//! What install and uninstall say they did, in words and in JSON, and what they would do, as `git diff` would show it.

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};
use similar::TextDiff;

use super::Target;
use super::configuration::Planned;
use super::files::Change;
use crate::output::{Screen, text};

/// Everything there is to say.
pub(crate) struct Report {
    pub asked: Target,
    /// What became of each file.
    pub plan: Vec<Planned>,
    /// The word for what was done.
    pub done: &'static str,
    /// How the program is called, where that was written.
    pub program: Option<String>,
    /// What is worth knowing.
    pub notes: Vec<String>,
    /// What to do next.
    pub next: Vec<String>,
}

impl Report {
    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let file = |planned: &Planned| {
            let mut told = json!({ "path": planned.change.path, "change": fate(planned) });
            if self.asked.dry_run {
                told["diff"] = unified(&planned.change).into();
            }
            told
        };
        json!({
            "client": self.asked.client.name,
            "scope": self.asked.scope.word(),
            "dry_run": self.asked.dry_run,
            "changed": self.changes(),
            "command": self.program,
            "files": self.plan.iter().map(file).collect::<Vec<_>>(),
            "notes": self.all_notes(),
            "next": self.next,
        })
    }

    /// For people.
    pub(crate) fn text(&self, screen: &Screen) -> String {
        let mut parts = vec![self.summary()];
        if self.asked.dry_run {
            let diffs = self.plan.iter().filter(|planned| planned.changes());
            parts.extend(diffs.map(|planned| shown(&unified(&planned.change), screen)));
        } else {
            let line = |planned: &Planned| format!("  {:<9}  {}", fate(planned), planned.change.path.display());
            parts.push(text::lines(&self.plan.iter().map(line).collect::<Vec<_>>().join("\n")));
        }
        parts.extend(Some(text::lines(&self.all_notes().join("\n"))).filter(|notes| !notes.is_empty()));
        if !self.asked.dry_run && (self.changes() || self.program.is_some()) {
            parts.push(format!("Next:\n  {}", self.next.join("\n  ")));
        }
        parts.join("\n\n")
    }

    fn summary(&self) -> String {
        let (name, done, scope) = (self.asked.client.title, self.done, self.asked.scope.word());
        match (self.changes(), self.asked.dry_run) {
            (false, _) => format!("Nothing to change: mail for {name} is {done} in the {scope} configuration."),
            (true, true) => {
                format!("Mail for {name} would be {done} in the {scope} configuration. Nothing was changed.")
            }
            (true, false) => format!("Mail for {name} is {done} in the {scope} configuration."),
        }
    }

    fn all_notes(&self) -> Vec<String> {
        let foreign = self.plan.iter().filter_map(|planned| {
            let path = planned.change.path.display();
            planned.foreign.map(|what| format!("'{path}' {what}; it was left alone."))
        });
        self.notes.iter().cloned().chain(foreign).collect()
    }

    fn changes(&self) -> bool {
        self.plan.iter().any(Planned::changes)
    }
}

/// What becomes of a file, in a word.
fn fate(planned: &Planned) -> &'static str {
    match (&planned.change.before, &planned.change.after) {
        (None, Some(_)) => "created",
        (Some(_), None) => "removed",
        _ if planned.changes() => "changed",
        _ => "unchanged",
    }
}

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
    use crate::commands::install::files::FileKind;

    fn change(before: Option<&str>, after: Option<&str>) -> Change {
        let text = |text: Option<&str>| text.map(str::to_owned);
        Change { path: "/f".into(), before: text(before), after: text(after), kind: FileKind::Usual }
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

//! What install and uninstall say they did, in words and in JSON.

use serde_json::{Value, json};

use super::diff;
use super::plan::Planned;
use crate::clients::{Client, Scope};
use crate::output::{Screen, text};

/// Everything there is to say.
pub(crate) struct Report {
    pub client: &'static Client,
    /// In whose configuration.
    pub scope: Scope,
    /// Whether it was only to be shown.
    pub dry_run: bool,
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
            if self.dry_run {
                told["diff"] = diff::unified(&planned.change).into();
            }
            told
        };
        json!({
            "client": self.client.name,
            "scope": self.scope.word(),
            "dry_run": self.dry_run,
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
        if self.dry_run {
            let diffs = self.plan.iter().filter(|planned| planned.changes());
            parts.extend(diffs.map(|planned| diff::shown(&diff::unified(&planned.change), screen)));
        } else {
            let line = |planned: &Planned| format!("  {:<9}  {}", fate(planned), planned.change.path.display());
            parts.push(text::lines(&self.plan.iter().map(line).collect::<Vec<_>>().join("\n")));
        }
        parts.extend(Some(text::lines(&self.all_notes().join("\n"))).filter(|notes| !notes.is_empty()));
        if !self.dry_run && (self.changes() || self.program.is_some()) {
            parts.push(format!("Next:\n  {}", self.next.join("\n  ")));
        }
        parts.join("\n\n")
    }

    fn summary(&self) -> String {
        let (name, done, scope) = (self.client.title, self.done, self.scope.word());
        match (self.changes(), self.dry_run) {
            (false, _) => format!("Nothing to change: mail for {name} is {done} in the {scope} configuration."),
            (true, true) => {
                format!("Mail for {name} would be {done} in the {scope} configuration. Nothing was changed.")
            }
            (true, false) => format!("Mail for {name} is {done} in the {scope} configuration."),
        }
    }

    fn all_notes(&self) -> Vec<String> {
        let foreign = self.plan.iter().filter(|planned| planned.has_foreign_server).map(|planned| {
            let path = planned.change.path.display();
            format!("'{path}' has an MCP server 'postrider' that install did not write; it was left alone.")
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

//! The settings of a git repository: sections, names and values, as `git config` reads them, without what they include.

/// Settings that were read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct GitConfig(Vec<Setting>);

#[derive(Debug, PartialEq, Eq)]
struct Setting {
    /// In small letters, for its case does not count.
    section: String,
    /// The name in quotes behind it, whose case counts; empty if there is none.
    name: String,
    /// In small letters.
    key: String,
    value: String,
}

impl GitConfig {
    /// Reads settings. Lines that are none are passed over.
    pub fn read(text: &str) -> Self {
        let mut settings = Vec::new();
        let (mut section, mut name) = (String::new(), String::new());
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let mut line = line.trim();
            if let Some(head) = line.strip_prefix('[') {
                let Some((read, rest)) = head_of(head) else { continue };
                (section, name) = read;
                line = rest.trim();
            }
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or((line, "true"));
            let mut whole = value.trim().to_owned();
            // A backslash at the end of a line goes on in the next.
            while whole.ends_with('\\') && !whole.ends_with("\\\\") {
                whole.pop();
                let Some(next) = lines.next() else { break };
                whole.push_str(next.trim());
            }
            let (section, name) = (section.clone(), name.clone());
            settings.push(Setting { section, name, key: key.trim().to_ascii_lowercase(), value: value_of(&whole) });
        }
        Self(settings)
    }

    /// The value of a setting; of several the last one counts. `name` is empty where the section has none.
    pub fn get(&self, section: &str, name: &str, key: &str) -> Option<String> {
        let is_it = |one: &&Setting| one.section == section && one.name == name && one.key == key;
        self.0.iter().rfind(is_it).map(|one| one.value.clone())
    }

    /// The names of the sections of one kind that set anything, each once.
    pub fn named(&self, section: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for one in self.0.iter().filter(|one| one.section == section && !one.name.is_empty()) {
            if !names.contains(&one.name) {
                names.push(one.name.clone());
            }
        }
        names
    }
}

/// The section and the name in `section "name"]`, and what stands behind them.
fn head_of(head: &str) -> Option<((String, String), &str)> {
    let end = head.find([']', '"'])?;
    let section = head[..end].trim().to_ascii_lowercase();
    if head[end..].starts_with(']') {
        return Some(((section, String::new()), &head[end + 1..]));
    }
    let (mut name, mut letters) = (String::new(), head[end + 1..].char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.push(letters.next()?.1),
            '"' => {
                let rest = head[end + 1 + at + 1..].trim_start().strip_prefix(']')?;
                return Some(((section, name), rest));
            }
            plain => name.push(plain),
        }
    }
    None
}

/// A value without its quotes and what is said behind it.
fn value_of(text: &str) -> String {
    let (mut value, mut is_quoted, mut letters) = (String::new(), false, text.chars());
    // How much of it stays when blanks at the end go.
    let mut kept = 0;
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            '\\' => match letters.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(other) => value.push(other),
                None => {}
            },
            blank if blank.is_whitespace() && !is_quoted => {
                value.push(blank);
                continue;
            }
            plain => value.push(plain),
        }
        kept = value.len();
    }
    value.truncate(kept);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_git_writes_them() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = git@h:a/b.git\n\
                    \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n";
        let settings = GitConfig::read(text);
        assert_eq!(settings.get("core", "", "bare").as_deref(), Some("false"));
        assert_eq!(settings.get("remote", "origin", "url").as_deref(), Some("git@h:a/b.git"));
        assert_eq!((settings.named("remote"), settings.named("core")), (vec!["origin".to_owned()], vec![]));
        assert_eq!(settings.get("remote", "Origin", "url"), None);
    }

    #[test]
    fn case_quotes_comments_and_long_lines_are_as_in_git() {
        let text = "[CORE] Bare ; yes\n[remote \"a \\\"b\\\"\"] # x\n  URL = \"x y\" z # no\n  url = one\\\ntwo ; c\n\
                    \tnote = \"a # b\\n\"\n[broken\n= 1\n[end]";
        let settings = GitConfig::read(text);
        assert_eq!(settings.get("core", "", "bare ; yes").as_deref(), Some("true"), "no value is yes");
        assert_eq!(settings.get("remote", "a \"b\"", "url").as_deref(), Some("onetwo"), "the last one counts");
        assert_eq!(settings.get("remote", "a \"b\"", "note").as_deref(), Some("a # b\n"));
        assert_eq!(value_of("\"x y\" z   # no"), "x y z");
    }

    #[test]
    fn no_text_stops_the_reader() {
        for text in ["", "[", "[\"", "[a \"b", "[a \"b\\", "a=\\", "=\n=", "[]x=\"", "\u{0}[é]é=é"] {
            let _ = GitConfig::read(text);
        }
    }
}

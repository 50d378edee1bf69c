//! As much of YAML as it takes to add lines to a file that people wrote: keys of block mappings by their indentation. What is
//! written in another way is not understood, and said to be so.

/// Why lines cannot be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(pub String);

/// The lines of a file.
pub struct Yaml<'t> {
    lines: Vec<&'t str>,
    /// How a line ends here.
    line_end: &'static str,
}

/// A key whose value is a block below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The line that it stands on.
    pub line: usize,
    /// The line behind its block.
    end: usize,
    /// How far what is below it is indented.
    pub below: usize,
    indent: usize,
}

impl<'t> Yaml<'t> {
    /// Reads the lines of one document.
    pub fn read(text: &'t str) -> Result<Self, Unreadable> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let refuse = |why: &str| Err(Unreadable(why.to_owned()));
        let mut has_content = false;
        for line in &lines {
            if line.trim_start_matches(' ').starts_with('\t') {
                return refuse("it is indented with tabs");
            }
            let is_mark = ["---", "..."].iter().any(|mark| line.trim_end() == *mark);
            if is_mark && (has_content || line.starts_with('.')) {
                return refuse("it holds more than one document");
            }
            has_content |= !is_mark && is_content(line);
        }
        if lines.iter().find(|line| is_content(line)).is_some_and(|line| line.starts_with(['{', '[', '!', '&', '%'])) {
            return refuse("it is not written in lines");
        }
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Ok(Self { lines, line_end })
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// A key of the file, or of the block of another. None if it is not there.
    pub fn key(&self, name: &str, within: Option<&Key>) -> Result<Option<Key>, Unreadable> {
        let (first, last, indent) = within.map_or((0, self.len(), 0), |key| (key.line + 1, key.end, key.below));
        let mut found = None;
        for at in first..last {
            let line = self.lines[at];
            if !is_content(line) || indent_of(line) != indent {
                continue;
            }
            let is_quoted =
                ['"', '\''].iter().any(|quote| line.trim_start().starts_with(&format!("{quote}{name}{quote}")));
            let value = line.trim_start().strip_prefix(name).and_then(|rest| rest.trim_start().strip_prefix(':'));
            let value = value.filter(|value| value.is_empty() || value.starts_with(char::is_whitespace));
            if (is_quoted || value.is_some()) && found.is_some() {
                return Err(Unreadable(format!("it has '{name}' twice")));
            }
            let value = value.map(|value| value.split(" #").next().unwrap_or_default().trim());
            if is_quoted || value.is_some_and(|value| !value.is_empty()) {
                return Err(Unreadable(format!("its '{name}' is not written in lines")));
            }
            found = found.or(value.map(|_| at));
        }
        Ok(found.map(|line| self.block_of(line, indent, last)))
    }

    fn block_of(&self, line: usize, indent: usize, last: usize) -> Key {
        let content = |at: &usize| is_content(self.lines[*at]);
        let is_below = |at: usize| {
            // The items of a list may stand as far out as its key.
            let line = self.lines[at];
            indent_of(line) > indent || (indent_of(line) == indent && is_item(line))
        };
        let end = (line + 1..last).filter(content).find(|at| !is_below(*at)).unwrap_or(last);
        let first = (line + 1..end).find(|at| content(at));
        Key { line, end, below: first.map_or(indent + 2, |at| indent_of(self.lines[at])), indent }
    }

    /// How far the items of the list below a key are indented.
    pub fn items(&self, key: &Key) -> Result<usize, Unreadable> {
        let first = (key.line + 1..key.end).map(|at| self.lines[at]).find(|line| is_content(line));
        match first {
            None => Ok(key.indent + 2),
            Some(line) if is_item(line) => Ok(key.below),
            Some(_) => Err(Unreadable(format!("line {} begins no list", key.line + 1))),
        }
    }

    /// The text with more lines before the line `at`.
    pub fn with(&self, at: usize, more: &[String]) -> String {
        let end = self.line_end;
        let mut text: String = self.lines[..at].concat();
        let block = more.join(end);
        if text.is_empty() || text.ends_with('\n') {
            text.push_str(&block);
            text.push_str(end);
        } else {
            // Behind a last line that has no end, so that ours has none either.
            text.push_str(end);
            text.push_str(&block);
        }
        text.extend(self.lines[at..].iter().copied());
        text
    }
}

fn is_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#') && line != "---"
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_item(line: &str) -> bool {
    let line = line.trim();
    line == "-" || line.starts_with("- ")
}

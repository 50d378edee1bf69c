//! One body, line by line: the points, questions and things to do in it.
//!
//! Code fences and quotes are passed over: they are not what the sender says. Whether a question is still open, or a
//! thing done by now, is not known here.

use std::collections::HashSet;

use formats::markdown::prose_lines;

/// The most bytes of a paragraph that are put together; far more than is ever shown.
const LONGEST_PARAGRAPH: usize = 2048;
const DECISION_LABELS: [&str; 4] = ["Decision:", "Decided:", "Agreed:", "Resolved:"];
const ACTION_LABELS: [&str; 4] = ["TODO:", "FIXME:", "ACTION:", "Action item:"];

/// What a body says.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// Decisions and findings.
    pub points: Vec<String>,
    pub actions: Vec<Action>,
    /// Lines that end in a question mark.
    pub questions: Vec<String>,
    /// The first paragraph under a heading that announces a summary.
    pub summary: Option<String>,
    /// The first paragraph under a heading that announces a question.
    pub question: Option<String>,
    /// What follows `Reason:`.
    pub reason: Option<String>,
    /// How the text begins, headings aside.
    pub first_sentence: Option<String>,
}

#[derive(Debug)]
pub(super) struct Action {
    pub text: String,
    pub done: bool,
    pub owner: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Section {
    Decision,
    Findings,
    Question,
    NextSteps,
    Other,
}

impl Body {
    /// Reads a body; `names` are those of the people who talk.
    pub fn read(text: &str, names: &HashSet<&str>) -> Self {
        let mut reader = BodyReader { names, body: Self::default(), section: Section::Other, paragraph: None };
        for line in prose_lines(text) {
            reader.line(line.trim());
        }
        reader.end_paragraph();
        reader.body
    }
}

struct BodyReader<'a> {
    names: &'a HashSet<&'a str>,
    body: Body,
    section: Section,
    /// The first paragraph of the section as far as it was read; `None` once it is over.
    paragraph: Option<String>,
}

impl BodyReader<'_> {
    fn line(&mut self, line: &str) {
        if line.is_empty() || line.starts_with('>') {
            return self.end_paragraph();
        }
        if let Some(heading) = heading(line) {
            self.end_paragraph();
            self.section = Section::of(heading);
            self.paragraph = Some(String::new());
            return;
        }
        let (line, is_item) = without_bullet(line);
        if let Some((done, text)) = check_box(line) {
            return self.action(&without_bold(text), done);
        }
        let text = without_bold(line);
        if self.body.first_sentence.is_none() {
            self.body.first_sentence = Some(first_sentence(&text).to_owned());
        }
        if self.labelled(&text) {
            return;
        }
        if text.ends_with('?') {
            self.body.questions.push(text.clone());
        }
        self.in_section(text, is_item);
    }

    /// Takes a line that says by itself what it is.
    fn labelled(&mut self, text: &str) -> bool {
        if let Some(decision) = value_of(text, &DECISION_LABELS) {
            self.body.points.push(decision.to_owned());
        } else if starts_with(text, "We will ") && !text.ends_with('?') {
            self.body.points.push(text.to_owned());
        } else if let Some(action) = value_of(text, &ACTION_LABELS) {
            self.action(action, false);
        } else if let Some((owner, wish)) = self.wish(text) {
            let (owner, text) = (Some(owner.to_owned()), wish.to_owned());
            self.body.actions.push(Action { text, done: false, owner });
        } else if let Some(reason) = value_of(text, &["Reason:"]) {
            self.body.reason.get_or_insert_with(|| reason.to_owned());
        } else {
            return false;
        }
        true
    }

    fn in_section(&mut self, text: String, is_item: bool) {
        if !is_item {
            if let Some(paragraph) = &mut self.paragraph
                && paragraph.len() < LONGEST_PARAGRAPH
            {
                paragraph.push_str(if paragraph.is_empty() { "" } else { " " });
                paragraph.push_str(&text);
            }
            return;
        }
        match self.section {
            Section::Decision | Section::Findings => self.body.points.push(text),
            Section::NextSteps => self.action(&text, false),
            Section::Question | Section::Other => {}
        }
    }

    fn end_paragraph(&mut self) {
        let Some(text) = self.paragraph.take_if(|paragraph| !paragraph.is_empty()) else { return };
        match self.section {
            Section::Decision => self.body.points.push(text),
            Section::Findings => _ = self.body.summary.get_or_insert(text),
            Section::Question => _ = self.body.question.get_or_insert(text),
            Section::NextSteps => self.action(&text, false),
            Section::Other => {}
        }
    }

    fn action(&mut self, text: &str, done: bool) {
        let owner = mention(text).map(|(owner, _)| owner.to_owned());
        if text.contains(char::is_alphanumeric) {
            self.body.actions.push(Action { text: text.to_owned(), done, owner });
        }
    }

    /// Reads `@name please …` and `name: please …`, and returns the name and the wish.
    fn wish<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str)> {
        let (owner, wish) = mention(text).or_else(|| {
            let (name, wish) = text.split_once(':')?;
            // `Note: please …` asks nobody in particular.
            (self.names.contains(name) || looks_like_a_name(name)).then_some((name, wish.trim_start()))
        })?;
        let after = starts_with(wish, "please").then(|| &wish["please".len()..])?;
        (!after.starts_with(char::is_alphanumeric)).then_some((owner, wish))
    }
}

impl Section {
    fn of(heading: &str) -> Self {
        match heading.to_lowercase().as_str() {
            "decision" | "decisions" => Self::Decision,
            "summary" | "key points" | "findings" | "result" | "results" => Self::Findings,
            "question" | "questions" => Self::Question,
            "next steps" | "next steps for successor" | "action items" => Self::NextSteps,
            _ => Self::Other,
        }
    }
}

fn heading(line: &str) -> Option<&str> {
    let name = line.trim_start_matches('#');
    let level = line.len() - name.len();
    ((1..=6).contains(&level) && name.starts_with(char::is_whitespace))
        .then(|| name.trim_matches(|c: char| c.is_whitespace() || matches!(c, '#' | '*' | ':')))
}

/// Takes off what makes a line an item of a list, and says whether there was such a thing.
fn without_bullet(line: &str) -> (&str, bool) {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let bullets = if digits > 0 { [". ", ") ", ") "] } else { ["- ", "* ", "+ "] };
    let item = bullets.iter().find_map(|bullet| line[digits..].strip_prefix(bullet));
    item.map_or((line, false), |item| (item.trim_start(), true))
}

fn check_box(line: &str) -> Option<(bool, &str)> {
    let (mark, text) = line.strip_prefix('[')?.split_at_checked(1)?;
    let text = text.strip_prefix("] ")?;
    match mark {
        " " => Some((false, text)),
        "x" | "X" => Some((true, text)),
        _ => None,
    }
}

fn without_bold(text: &str) -> String {
    text.replace("**", "").trim().to_owned()
}

fn value_of<'t>(text: &'t str, labels: &[&str]) -> Option<&'t str> {
    let label = labels.iter().find(|label| starts_with(text, label))?;
    Some(text[label.len()..].trim()).filter(|value| !value.is_empty())
}

fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|text| text.eq_ignore_ascii_case(start))
}

/// The name after an `@` at the start, and what follows it.
fn mention(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('@')?;
    let (name, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    let name = name.trim_end_matches([':', ',', '.', ';', '!', '?']);
    name.contains(char::is_alphanumeric).then(|| (name, rest.trim_start()))
}

/// Whether one word is written as names of agents are: `GreenDog`, `codex-2`, `build_bot`.
fn looks_like_a_name(text: &str) -> bool {
    let is_one_word = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    let is_unusual = |c: char| c.is_numeric() || matches!(c, '-' | '_') || c.is_uppercase();
    is_one_word && text.chars().skip(1).any(is_unusual) && text.contains(char::is_lowercase)
}

fn first_sentence(text: &str) -> &str {
    let ends = text.match_indices(['.', '!', '?']).map(|(place, mark)| place + mark.len());
    let end = ends.into_iter().find(|end| text[*end..].starts_with(char::is_whitespace));
    &text[..end.unwrap_or(text.len())]
}

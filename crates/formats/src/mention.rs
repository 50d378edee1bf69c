//! Who is called by a text.

/// Whether `text` mentions `name`: `@name`, whole.
pub fn mentions(name: &str, text: &str) -> bool {
    candidates(text).contains(&name)
}

/// The names that a text may mention.
pub fn candidates(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    text.match_indices('@')
        .filter(|(at, _)| !text[..*at].ends_with(is_word))
        .map(|(at, _)| {
            let rest = &text[at + 1..];
            &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())]
        })
        .collect()
}

/// The names that a text may begin with.
pub fn openings(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    vec![&text[..end]]
}

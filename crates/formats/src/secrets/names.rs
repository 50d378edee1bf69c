//! Names that promise a secret behind them, and how much they promise.
//!
//! Names are compared without case, hyphens and underscores, by their end: `DB_PASSWORD`, `dbPassword` and
//! `--db-password` are one, and so are `api_key` and `API key`. Whether a value is there, and a real one, is not asked
//! here.

use super::scan::{Word, is_word};

/// No such name is shorter.
pub const SHORTEST: usize = 3;
/// How far the first of two words is looked for.
const LONGEST_FIRST_WORD: usize = 16;

/// A name that promises a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    /// How much it promises.
    pub promise: Promise,
    /// Where it begins, which may be a word earlier than the word that was asked about.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// Whether it is written as the names of environment variables are.
    pub is_variable: bool,
}

/// How much a name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// A password, which a person may have chosen.
    Password,
    /// `pass`, which is a password in settings and a verdict in prose.
    Pass,
    /// A secret, or a key or token of a sort that is one.
    Secret,
    /// A key or token of any sort: only what nobody could have thought of is a secret.
    Token,
}

/// The name that ends with `word`, if it promises a secret.
pub fn ending_with(text: &[u8], word: Word) -> Option<Name> {
    let name = &text[word.start..word.end];
    let [.., before, last] = name else { return None };
    // The last part of a path: `aws::Secret`, `arn:aws:secret`.
    if text[..word.start].ends_with(b":") {
        return None;
    }
    // By the last two letters, because nearly every word is told from all names by those.
    let (promise, start) = match &[before.to_ascii_lowercase(), last.to_ascii_lowercase()] {
        b"rd" if ends_with(name, "password") => (Promise::Password, word.start),
        b"wd" if ends_with(name, "pwd") || ends_with(name, "passwd") => (Promise::Password, word.start),
        b"se" if ends_with(name, "passphrase") => (Promise::Password, word.start),
        b"ss" if is_pass(name, text.get(word.end)) => (Promise::Pass, word.start),
        b"et" if ends_with(name, "secret") => (Promise::Secret, word.start),
        b"ey" if ends_with(name, "key") => key(text, word)?,
        b"en" if ends_with(name, "token") => token(text, word)?,
        _ => return None,
    };
    let is_variable = name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_');
    let is_public = name.split(|byte| matches!(byte, b'_' | b'-')).any(|part| part.eq_ignore_ascii_case(b"public"));
    (!is_public).then_some(Name { promise, start, end: word.end, is_variable })
}

/// `pass`, alone or behind what it opens, but not `PASS: 12 tests`, and not `bypass`.
fn is_pass(name: &[u8], next: Option<&u8>) -> bool {
    let name = &name[name.iter().take_while(|byte| **byte == b'-').count()..];
    match name {
        b"pass" | b"Pass" => true,
        b"PASS" => next == Some(&b'='),
        [.., b'_' | b'-', b'p' | b'P', _, _, _] => ends_with(name, "pass"),
        [.., _, b'P', b'a', b's', b's'] => true,
        _ => false,
    }
}

fn key(text: &[u8], word: Word) -> Option<(Promise, usize)> {
    const SECRETS: [&str; 6] = ["apikey", "accesskey", "privatekey", "secretkey", "signingkey", "accountkey"];
    /// What a variable names that ends in `_KEY` and holds no secret, however it looks.
    const OTHERS: [&str; 9] =
        ["CACHE", "PRIMARY", "FOREIGN", "PARTITION", "SORT", "SITE", "HOST", "IDEMPOTENCY", "PUBLISHABLE"];
    if let Some(start) = in_two_words(text, word, &SECRETS) {
        return Some((Promise::Secret, start));
    }
    let owner = text[word.start..word.end].strip_suffix(b"_KEY")?;
    let is_other = OTHERS.iter().any(|other| ends_with(owner, other));
    (text.get(word.end) == Some(&b'=') && !is_other).then_some((Promise::Token, word.start))
}

fn token(text: &[u8], word: Word) -> Option<(Promise, usize)> {
    const SECRETS: [&str; 5] = ["authtoken", "accesstoken", "refreshtoken", "bearertoken", "registrationtoken"];
    /// Tokens that mark a place or a turn, which servers hand to everybody.
    const OTHERS: [&str; 10] =
        ["next", "page", "cursor", "continuation", "progress", "sync", "csrf", "xsrf", "cancellation", "client"];
    if let Some(start) = in_two_words(text, word, &SECRETS) {
        return Some((Promise::Secret, start));
    }
    let owner = &text[word.start..word.end - "token".len()];
    let owner = owner.strip_suffix(b"_").or_else(|| owner.strip_suffix(b"-")).unwrap_or(owner);
    let owner = if owner.is_empty() { word_before(text, word) } else { owner };
    let is_other = OTHERS.iter().any(|other| ends_with(owner, other));
    (!is_other).then_some((Promise::Token, word.start))
}

/// Where the name begins that ends as one of `names`, however its two words are joined: by a space too.
fn in_two_words(text: &[u8], word: Word, names: &[&str]) -> Option<usize> {
    let ends_so = |start: usize| {
        names.iter().any(|name| {
            let mut letters = text[start..word.end].iter().rev().filter(|byte| byte.is_ascii_alphanumeric());
            name.bytes().rev().all(|wanted| letters.next().is_some_and(|letter| letter.to_ascii_lowercase() == wanted))
        })
    };
    if ends_so(word.start) {
        return Some(word.start);
    }
    let start = word.start.checked_sub(1 + word_before(text, word).len())?;
    ends_so(start).then_some(start)
}

/// The word that a single space parts from `word`, or its end; none belongs to a flag.
fn word_before(text: &[u8], word: Word) -> &[u8] {
    if text[word.start] == b'-' {
        return &[];
    }
    let before = text[..word.start].strip_suffix(b" ").unwrap_or_default();
    let length = before.iter().rev().take(LONGEST_FIRST_WORD).take_while(|byte| is_word(**byte)).count();
    &before[before.len() - length..]
}

fn ends_with(name: &[u8], end: &str) -> bool {
    name.len() >= end.len() && name[name.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the last word of `name` promises, with `next` behind it.
    fn promise(name: &str, next: &str) -> Option<Promise> {
        let start = name.rfind(' ').map_or(0, |space| space + 1);
        let word = Word { start, end: name.len() };
        ending_with(format!("{name}{next}").as_bytes(), word).map(|name| name.promise)
    }

    #[test]
    fn a_name_is_known_however_its_words_are_joined() {
        for name in ["password", "DB_PASSWORD", "dbPassword", "--db-password", "PGPASSWORD", "passwd", "mysql-pwd"] {
            assert_eq!(promise(name, "="), Some(Promise::Password), "{name}");
        }
        for name in ["secret", "api_key", "X-Api-Key", "apiKey", "API key", "the access token", "AccountKey"] {
            assert_eq!(promise(name, "="), Some(Promise::Secret), "{name}");
        }
        for name in ["pass", "Pass", "--pass", "db_pass", "DB_PASS", "dbPass", "PASS"] {
            assert_eq!(promise(name, "="), Some(Promise::Pass), "{name}");
        }
        for name in ["token", "GITHUB_TOKEN", "--token", "STRIPE_KEY", "AWS_SESSION_TOKEN", "auth --token"] {
            assert_eq!(promise(name, "="), Some(Promise::Token), "{name}");
        }
    }

    #[test]
    fn names_of_other_things_promise_nothing() {
        for name in [
            "passwords",
            "password_hash",
            "bypass",
            "compass",
            "tokens",
            "max_tokens",
            "next_token",
            "nextPageToken",
            "progressToken",
            "next page token",
            "clientToken",
            "key",
            "keyboard",
            "monkey",
            "public_key",
            "PUBLIC_KEY",
            "NEXT_PUBLIC_API_KEY",
            "PRIMARY_KEY",
            "CACHE_KEY",
            "primary_key",
            "cache_key",
            "x api. key",
        ] {
            assert_eq!(promise(name, "="), None, "{name}");
        }
        assert_eq!(promise("STRIPE_KEY", ":"), None);
        assert_eq!(promise("PASS", ":"), None);
        assert_eq!(ending_with(b"AWS::Secret", Word { start: 5, end: 11 }), None);
    }

    #[test]
    fn a_name_of_two_words_begins_with_the_first() {
        let text = b"The API key: ";
        let name = ending_with(text, Word { start: 8, end: 11 });
        assert_eq!(name, Some(Name { promise: Promise::Secret, start: 4, end: 11, is_variable: false }));
    }
}

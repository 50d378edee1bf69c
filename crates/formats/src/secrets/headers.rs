//! Passwords and tokens that go with a request: the `Authorization` header, and `curl -u user:password`.
//!
//! The name of the header, or of the program, must be there: `Bearer` and `-u` alone are words like others.

use super::scan::{Secret, Word, is_word, run};
use super::values::{Form, is_real, looks_random};
use super::{Rule, tokens};

/// A bearer token that is shorter is an example.
const SHORTEST_BEARER: usize = 20;
/// The longest user and password, in base64, that are read.
const LONGEST_BASIC: usize = 1024;
/// Shorter bytes in base64, which are no user and password, may be anything.
const SHORTEST_BASIC_BYTES: usize = 20;
const LONGEST_USER: usize = 64;
/// How far before `-u` the name of the program may stand.
const LONGEST_COMMAND: usize = 256;

/// A secret behind `word`, if that is the scheme of an `Authorization` header or the flag for a user.
pub fn after(text: &[u8], word: Word) -> Option<Secret> {
    let name = &text[word.start..word.end];
    match name.len() {
        6 if name.eq_ignore_ascii_case(b"bearer") => bearer(text, word),
        5 if name.eq_ignore_ascii_case(b"basic") => basic(text, word),
        2 | 6 if matches!(name, b"-u" | b"--user") => user_and_password(text, word),
        _ => None,
    }
}

/// The token of `Authorization: Bearer token`, where `word` is `Bearer`.
fn bearer(text: &[u8], word: Word) -> Option<Secret> {
    if !is_in_header(text, word) {
        return None;
    }
    let start = word.end + 1;
    let is_token = |byte: u8| is_word(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=');
    let end = start + run(&text[start..], is_token);
    let token = tokens::at(text, start);
    let is_secret = end - start >= SHORTEST_BEARER && is_real(&text[start..end], Form::Quoted);
    token.or(is_secret.then_some(Secret { rule: Rule::BearerHeader, start, end }))
}

/// The user and password of `Authorization: Basic base64`, where `word` is `Basic`.
fn basic(text: &[u8], word: Word) -> Option<Secret> {
    if !is_in_header(text, word) {
        return None;
    }
    let start = word.end + 1;
    let rest = &text[start..];
    let rest = &rest[..rest.len().min(LONGEST_BASIC)];
    let length = run(rest, |byte| is_word(byte) || matches!(byte, b'+' | b'/'));
    let value = &rest[..length];
    let padding = run(&rest[length..], |byte| byte == b'=').min(2);
    let decoded = from_base64(value)?;
    let is_secret = match decoded.iter().position(|byte| *byte == b':') {
        _ if !decoded.iter().all(|byte| matches!(byte, b' '..=b'~')) => {
            length >= SHORTEST_BASIC_BYTES && looks_random(value)
        }
        Some(colon) => is_password_of(&decoded[..colon], &decoded[colon + 1..]),
        None => false,
    };
    is_secret.then_some(Secret { rule: Rule::BasicHeader, start, end: start + length + padding })
}

/// Whether `Authorization:` stands before the scheme, and a space behind it.
fn is_in_header(text: &[u8], scheme: Word) -> bool {
    let before = &text[scheme.start.saturating_sub(24)..scheme.start];
    let marks =
        before.iter().rev().take_while(|byte| matches!(byte, b' ' | b':' | b'=' | b'"' | b'\'' | b'\\')).count();
    let header = &before[..before.len() - marks];
    let header = &header[header.len().saturating_sub("authorization".len())..];
    marks > 0 && text.get(scheme.end) == Some(&b' ') && header.eq_ignore_ascii_case(b"authorization")
}

/// The password of `curl -u user:password`, where `word` is the flag.
fn user_and_password(text: &[u8], word: Word) -> Option<Secret> {
    let rest = text[word.end..].strip_prefix(b" ")?;
    let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
    let user = run(&rest[..rest.len().min(LONGEST_USER)], |byte| is_word(byte) || matches!(byte, b'.' | b'@' | b'+'));
    let (user, password) = (&rest[..user], rest[user..].strip_prefix(b":")?);
    let start = text.len() - password.len();
    let password = &password[..run(password, |byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`'))];
    if !is_password_of(user, password) {
        return None;
    }
    let command = &text[word.start.saturating_sub(LONGEST_COMMAND)..word.start];
    let is_curl = command.windows(4).any(|program| program == b"curl");
    let secret = Secret { rule: Rule::PasswordAssignment, start, end: start + password.len() };
    is_curl.then(|| tokens::at(text, start).unwrap_or(secret))
}

fn is_password_of(user: &[u8], password: &[u8]) -> bool {
    user != password && is_real(password, Form::Quoted)
}

/// The bytes of base64 in either alphabet, without its padding.
fn from_base64(letters: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3 + 2);
    let (mut held, mut bits) = (0u32, 0);
    for letter in letters {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits).ok()?);
            held &= (1 << bits) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;

    fn rules(text: &str) -> Vec<Rule> {
        find(text).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn base64_is_read_in_either_alphabet() {
        assert_eq!(from_base64(b"QWxhZGRpbjpvcGVuIHNlc2FtZQ").as_deref(), Some(&b"Aladdin:open sesame"[..]));
        assert_eq!(from_base64(b"-_8"), from_base64(b"+/8"));
        assert_eq!(from_base64(b"+/8"), Some(vec![0xfb, 0xff]));
        assert_eq!(from_base64(b""), Some(Vec::new()));
        assert_eq!(from_base64(b"a.b"), None);
    }

    #[test]
    fn a_bearer_token_counts_in_its_header_only() {
        let token = "q7XzK2mv9Bt4Ry6N.w1Lc8Hg3~Jd5";
        for (before, after) in [
            ("Authorization: Bearer ", ""),
            ("curl -H 'authorization: bearer ", "' https://example.com"),
            ("{\"Authorization\": \"Bearer ", "\"}"),
            ("{\\\"Authorization\\\":\\\"Bearer ", "\\\"}"),
            ("Proxy-Authorization=Bearer ", "\n"),
        ] {
            let text = format!("{before}{token}{after}");
            assert_eq!(rules(&text), [Rule::BearerHeader], "{text}");
        }
        for text in [
            format!("the bearer {token}"),
            format!("Bearer {token}"),
            format!("Authorization: Basic {token}"),
            "Authorization: Bearer $TOKEN".to_owned(),
            "Authorization: Bearer <registration_token_of_agent_1>".to_owned(),
            "Authorization: Bearer your-token-goes-here-please-1".to_owned(),
            "Authorization: Bearer k3y0x1".to_owned(),
            "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9...".to_owned(),
        ] {
            assert_eq!(rules(&text), [], "{text}");
        }
    }

    #[test]
    fn a_basic_header_is_judged_by_the_password_in_it() {
        // `admin:tr0ub4dor-and-3`, and bytes that are no text.
        for value in ["YWRtaW46dHIwdWI0ZG9yLWFuZC0z", "42vzq0rE3xs4tgSCG5zBB6atnhlqKag9"] {
            assert_eq!(rules(&format!("Authorization: Basic {value}")), [Rule::BasicHeader], "{value}");
            assert_eq!(rules(&format!("-H \"authorization: basic {value}==\"")), [Rule::BasicHeader], "{value}");
            assert_eq!(rules(&format!("Basic {value}")), [], "{value}");
        }
        // `user:password`, `Aladdin:open sesame`, `admin:password123`, `bob:$BOB_PASS2`, words, and nothing.
        for value in [
            "dXNlcjpwYXNzd29yZA==",
            "QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
            "YWRtaW46cGFzc3dvcmQxMjM=",
            "Ym9iOiRCT0JfUEFTUzI=",
            "credentials",
            "$(base64",
            "<base64>",
            "",
        ] {
            assert_eq!(rules(&format!("Authorization: Basic {value}")), [], "{value}");
        }
    }

    #[test]
    fn a_password_for_curl_is_found_and_other_pairs_behind_the_flag_pass() {
        for text in [
            "curl -u admin:tr0ub4dor-and-3 https://example.com",
            "curl -s --user 'bob@example.com:tr0ub4dor-and-3' https://example.com",
            "curl https://example.com \\\n  -u \"admin:tr0ub4dor-and-3\"",
        ] {
            assert_eq!(rules(text), [Rule::PasswordAssignment], "{text}");
        }
        for text in [
            "curl -u $USER:$PASS https://example.com",
            "curl -u \"$USER:$PASS\" https://example.com",
            "curl -u user:password https://example.com",
            "curl -u admin:${ADMIN_PASS2} https://example.com",
            "curl -u admin https://example.com",
            "docker run -u 1000:1000 image",
            "rsync -u host:backup2of3days /mnt",
            "curl -u",
            "curl -u admin:",
        ] {
            assert_eq!(rules(text), [], "{text}");
        }
    }
}

//! Secrets in URLs: `scheme://user:password@host`, and webhooks, whose last part lets anybody write to a room.
//!
//! A password that is also the user's name, as `postgres:postgres` is, stands in every manual and is no secret.

use super::scan::{Secret, Word, is_word, run};
use super::values::{Form, is_real, looks_random};
use super::{Rule, tokens};

/// The last part of a webhook that is shorter is an example.
const SHORTEST_WEBHOOK: usize = 20;

/// A secret in the URL whose scheme ends with `word`.
pub fn after(text: &[u8], word: Word) -> Option<Secret> {
    webhook(text, word).or_else(|| password(text, word))
}

/// The path of a webhook of Slack or Discord.
fn webhook(text: &[u8], word: Word) -> Option<Secret> {
    const HOSTS: [&[u8]; 3] =
        [b"://hooks.slack.com/", b"://discord.com/api/webhooks/", b"://discordapp.com/api/webhooks/"];
    let path = HOSTS.iter().find_map(|host| text[word.end..].strip_prefix(*host))?;
    let start = text.len() - path.len();
    let length = run(path, |byte| is_word(byte) || byte == b'/');
    let last = path[..length].rsplit(|byte| *byte == b'/').next()?;
    let is_secret = last.len() >= SHORTEST_WEBHOOK && last.len() < length && looks_random(last);
    is_secret.then_some(Secret { rule: Rule::WebhookUrl, start, end: start + length })
}

fn password(text: &[u8], word: Word) -> Option<Secret> {
    let rest = text[word.end..].strip_prefix(b"://")?;
    let authority = &rest[..run(rest, may_stand_before_the_path)];
    // The last `@` ends the password: people forget to escape one within it.
    let at_sign = authority.iter().rposition(|byte| *byte == b'@')?;
    let (user_and_password, host) = authority.split_at(at_sign);
    let colon = user_and_password.iter().position(|byte| *byte == b':')?;
    let (user, password) = (&user_and_password[..colon], &user_and_password[colon + 1..]);
    if host.len() < 2 {
        return None;
    }
    let start = text.len() - rest.len() + colon + 1;
    let is_secret = password != user && is_real(password, Form::Quoted);
    let found = tokens::at(text, start).or(is_secret.then_some(Secret {
        rule: Rule::UrlPassword,
        start,
        end: start + password.len(),
    }));
    // A token may be the user as well; then both go as one, for what stands before a secret is not looked at again.
    let user = token_within(text, text.len() - rest.len(), start);
    match (user, found) {
        (Some(user), Some(password)) => Some(Secret { end: password.end, ..user }),
        (user, found) => user.or(found),
    }
}

fn token_within(text: &[u8], start: usize, end: usize) -> Option<Secret> {
    let mut at = start;
    while at < end {
        let length = run(&text[at..end], is_word);
        let token = if length > 0 { tokens::at(text, at) } else { None };
        if token.is_some() {
            return token;
        }
        at += length + 1;
    }
    None
}

fn may_stand_before_the_path(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'/' | b'?' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'(' | b')')
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, Rule, find};

    #[test]
    fn a_password_in_a_url_is_found() {
        for (before, after) in [
            ("postgres://app:", "@db.internal:5432/mail"),
            ("DATABASE_URL=postgresql+asyncpg://app:", "@[::1]/mail?sslmode=require"),
            ("see <https://bob:", "@git.example.com/x.git>"),
            ("redis://:", "@cache:6379"),
            ("{\"url\": \"amqp://svc:", "@mq\"}"),
        ] {
            for password in ["tr0ub4dor-and-3", "Winter2024", "a@b#c1!d", "f81d4fae-7dec"] {
                let text = format!("{before}{password}{after}");
                assert_eq!(find(&text), [Finding { rule: Rule::UrlPassword, line: 1 }], "{text}");
            }
        }
    }

    #[test]
    fn a_token_that_is_the_user_is_told_once_with_the_password() {
        let token = format!("ghp_{}", "q7Zx2mK9vB4tR6yN1wL8cH3gJ5dF0sPa4Tb2");
        for password in ["x-oauth-basic", "tr0ub4dor-and-3", ""] {
            let text = format!("https://{token}:{password}@github.com/a/b.git");
            assert_eq!(find(&text), [Finding { rule: Rule::GithubToken, line: 1 }]);
        }
    }

    #[test]
    fn a_webhook_is_found_and_its_placeholder_is_not() {
        for path in ["slack.com/services/T0Q7ZX2MK/B09VB4TR6YN/", "slack.com/workflows/T0Q7ZX2MK/A09VB4TR6YN/52/"] {
            let url = format!("https://hooks.{path}q7Zx2mK9vB4tR6yN1wL8cH3g");
            assert_eq!(find(&format!("curl -X POST {url}.")), [Finding { rule: Rule::WebhookUrl, line: 1 }], "{url}");
        }
        let discord = "https://discord.com/api/webhooks/1098273645546372819/q7Zx2mK9vB4tR6yN-wL8cH3gJ5dF0sPa4Tb2";
        assert_eq!(find(discord), [Finding { rule: Rule::WebhookUrl, line: 1 }]);
        for url in [
            "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
            "https://hooks.slack.com/services/",
            "https://hooks.slack.com/q7Zx2mK9vB4tR6yN1wL8cH3g",
            "https://hooks.slack.com/services/T0Q7ZX2MK/B09VB4TR6YN/$SLACK_HOOK_2",
            "https://discord.com/api/webhooks/1098273645546372819",
            "https://example.com/services/T0Q7ZX2MK/B09VB4TR6YN/q7Zx2mK9vB4tR6yN1wL8cH3g",
        ] {
            assert_eq!(find(url), [], "{url}");
        }
    }

    #[test]
    fn urls_without_a_real_password_pass() {
        for text in [
            "https://example.com/a:b12345678@c",
            "https://alice@example.com:8080/x",
            "ssh://git@github.com:2222/a/b.git",
            "postgres://postgres:postgres@localhost/mail",
            "postgres://user:password@localhost/mail",
            "postgres://user:password123@localhost/mail",
            "postgres://postgres:mysecretpassword@localhost",
            "postgres://app:$DB_PASSWORD2@db/mail",
            "postgres://app:${DB_PASSWORD2}@db/mail",
            "postgres://app:{{ db_password2 }}@db/mail",
            "postgres://app:<password1>@db/mail",
            "postgres://app:********@db/mail",
            "postgres://app:hunter2@db/mail",
            "postgres://app:xxxxxxx1@db/mail",
            "http://localhost:8765/mcp and bob@example.com",
            "scheme://user:tr0ub4dor-and-3@",
        ] {
            assert_eq!(find(text), [], "{text}");
        }
    }
}

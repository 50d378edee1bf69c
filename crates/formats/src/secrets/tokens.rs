//! Tokens that carry their maker's mark at the front, and JSON Web Tokens.
//!
//! A mark counts only at the start of a word, and what follows must have the maker's length and look like chance.

use std::ops::RangeInclusive;

use super::Rule;
use super::scan::{Secret, is_word, run};
use super::values::looks_random;

/// How the tokens of one maker look: the marks, and the letters behind them with how many there may be.
type Shape = (Rule, &'static [&'static str], fn(u8) -> bool, RangeInclusive<usize>);

/// Longer marks come before those that they begin with.
static SHAPES: [Shape; 17] = [
    (Rule::AwsAccessKey, &["AKIA", "ASIA"], is_upper_or_digit, 16..=16),
    (Rule::GithubToken, &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], is_alphanumeric, 36..=255),
    (Rule::GithubToken, &["github_pat_"], is_word, 36..=255),
    (Rule::GitlabToken, &["glpat-"], is_word, 20..=512),
    (Rule::SlackToken, &["xapp-", "xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"], is_word, 20..=255),
    (Rule::StripeKey, &["sk_live_", "rk_live_"], is_alphanumeric, 16..=255),
    (Rule::AnthropicKey, &["sk-ant-"], is_word, 32..=255),
    (Rule::OpenaiKey, &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-", "sk-or-v1-"], is_word, 32..=255),
    // Anything may begin with `sk-`, so a name with hyphens is none.
    (Rule::OpenaiKey, &["sk-"], is_alphanumeric, 32..=128),
    (Rule::GoogleApiKey, &["AIza"], is_word, 35..=35),
    (Rule::NpmToken, &["npm_"], is_alphanumeric, 36..=36),
    (Rule::PypiToken, &["pypi-AgEI", "pypi-AgEN"], is_word, 50..=512),
    // Hugging Face, Groq and xAI; DigitalOcean; Google's OAuth clients; age; Vault.
    (Rule::ProviderToken, &["hf_", "gsk_", "xai-"], is_alphanumeric, 32..=128),
    (Rule::ProviderToken, &["dop_v1_", "doo_v1_", "dor_v1_"], is_alphanumeric, 64..=64),
    (Rule::ProviderToken, &["GOCSPX-"], is_word, 28..=28),
    (Rule::ProviderToken, &["AGE-SECRET-KEY-1"], is_upper_or_digit, 58..=58),
    (Rule::ProviderToken, &["hvs.", "hvb."], is_word, 24..=512),
];

/// No token is shorter, its mark included; of a JSON Web Token, no first part.
pub const SHORTEST: usize = 16;
/// The longest mark with a dot behind it, which ends a word.
pub const LONGEST_DOTTED_MARK: usize = 3;
const SENDGRID: &[u8] = b"SG.";

/// The token that begins at `start` or behind the hyphens and underscores there.
pub fn at(text: &[u8], start: usize) -> Option<Secret> {
    let start = start + run(&text[start..], |byte| matches!(byte, b'-' | b'_'));
    let rest = &text[start..];
    if rest.starts_with(b"eyJ") {
        return json_web_token(rest).map(|length| Secret { rule: Rule::Jwt, start, end: start + length });
    }
    if rest.starts_with(SENDGRID) {
        return sendgrid_key(rest).map(|length| Secret { rule: Rule::ProviderToken, start, end: start + length });
    }
    let begins = |mark: &&str| mark.as_bytes().first() == rest.first() && rest.starts_with(mark.as_bytes());
    let marked = |shape: &'static Shape| Some((shape, shape.1.iter().copied().find(begins)?));
    let ((rule, _, alphabet, lengths), mark) = SHAPES.iter().find_map(marked)?;
    let body = &rest[mark.len()..];
    let length = mark.len() + body_length(&body[..run(body, is_word)], *alphabet, lengths)?;
    Some(Secret { rule: *rule, start, end: start + length })
}

/// How long the token is that begins with `body`.
fn body_length(body: &[u8], alphabet: fn(u8) -> bool, lengths: &RangeInclusive<usize>) -> Option<usize> {
    let length = run(body, alphabet).min(*lengths.end());
    let (token, rest) = body.split_at(length);
    // Markdown puts underscores around words, and prose a hyphen behind them.
    let ends = rest.iter().all(|byte| matches!(byte, b'-' | b'_'));
    (ends && lengths.contains(&length) && looks_random(token)).then_some(length)
}

/// The length of a token of three parts: two that open as JSON objects do, and a signature.
fn json_web_token(text: &[u8]) -> Option<usize> {
    /// How the signatures begin that pages on the matter and the standard itself show.
    const SHOWN_EVERYWHERE: [&[u8]; 5] = [b"SflKxwRJ", b"dozjgNry", b"TJVA95Or", b"dBjftJeZ", b"KMUFsIDT"];
    let head = run(text, is_word);
    let payload = match text[head..].strip_prefix(b".") {
        Some(rest) if head >= SHORTEST && rest.starts_with(b"eyJ") => run(rest, is_word),
        _ => return None,
    };
    let end = head + 1 + payload;
    let signature = text[end..].strip_prefix(b".").map(|rest| &rest[..run(rest, is_word)])?;
    // One more object is no signature.
    let is_none = signature.starts_with(b"eyJ") || SHOWN_EVERYWHERE.iter().any(|shown| signature.starts_with(shown));
    let is_token = payload >= 12 && signature.len() >= 20 && !is_none && looks_random(signature);
    is_token.then_some(end + 1 + signature.len())
}

/// The length of a key of SendGrid, which has an id and the secret behind it.
fn sendgrid_key(text: &[u8]) -> Option<usize> {
    let id = run(&text[SENDGRID.len()..], is_word);
    let secret = text[SENDGRID.len() + id..].strip_prefix(b".").map(|rest| &rest[..run(rest, is_word)])?;
    let is_key = (16..=32).contains(&id) && (32..=64).contains(&secret.len()) && looks_random(secret);
    is_key.then_some(SENDGRID.len() + id + 1 + secret.len())
}

fn is_upper_or_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;

    /// As many letters and digits as asked for, which look like chance and are none.
    fn chance(length: usize) -> String {
        let alphabet = b"0Q7xZ2mK9vB4tR6yN1wL8cH3gJ5dF";
        (0..length).map(|place| char::from(alphabet[(place * place * 5 + place * 3 + length) % 29])).collect()
    }

    fn tokens() -> Vec<(Rule, String)> {
        let upper = chance(16).to_uppercase();
        vec![
            (Rule::AwsAccessKey, format!("AKIA{upper}")),
            (Rule::AwsAccessKey, format!("ASIA{upper}")),
            (Rule::GithubToken, format!("ghp_{}", chance(36))),
            (Rule::GithubToken, format!("ghs_{}", chance(36))),
            (Rule::GithubToken, format!("github_pat_{}_{}", chance(22), chance(59))),
            (Rule::GitlabToken, format!("glpat-{}", chance(20))),
            (Rule::SlackToken, format!("xoxb-17653672481-19874698323-{}", chance(24))),
            (Rule::StripeKey, format!("sk_live_{}", chance(24))),
            (Rule::StripeKey, format!("rk_live_{}", chance(99))),
            (Rule::AnthropicKey, format!("sk-ant-api03-{}-{}AA", chance(40), chance(50))),
            (Rule::OpenaiKey, format!("sk-{}", chance(48))),
            (Rule::OpenaiKey, format!("sk-proj-{}_{}-x", chance(60), chance(60))),
            (Rule::GoogleApiKey, format!("AIza{}", chance(35))),
            (Rule::GoogleApiKey, format!("AIza{}_", chance(34))),
            (Rule::NpmToken, format!("npm_{}", chance(36))),
            (Rule::PypiToken, format!("pypi-AgEIcHlwaS5vcmc{}", chance(120))),
            (Rule::ProviderToken, format!("hf_{}", chance(34))),
            (Rule::ProviderToken, "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".to_owned()),
            (Rule::ProviderToken, format!("gsk_{}", chance(52))),
            (Rule::ProviderToken, format!("xai-{}", chance(80))),
            (Rule::ProviderToken, format!("SG.{}.{}", chance(22), chance(43))),
            (Rule::ProviderToken, format!("hvs.{}", chance(24))),
            (Rule::ProviderToken, format!("dop_v1_{}", "9f6af30b81e93788".repeat(4))),
            (Rule::ProviderToken, format!("GOCSPX-{}", chance(28))),
            (Rule::ProviderToken, format!("AGE-SECRET-KEY-1{}", chance(58).to_uppercase())),
            (Rule::Jwt, format!("eyJhbGciOiJIUzI1NiJ9.eyJ{}.{}", chance(40), chance(43))),
            (Rule::Jwt, format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{}", chance(43))),
        ]
    }

    #[test]
    fn every_token_is_found_once_wherever_it_stands() {
        for (rule, token) in tokens() {
            for (before, after) in [
                ("", ""),
                ("Use ", " for now."),
                ("KEY=", "\n"),
                ("{\"body\": \"first\\n", "\\nlast\"}"),
                ("`", "`"),
                ("(see '", "')"),
                ("密钥", "。"),
                ("https://x-access-token:", "@example.com/a.git"),
                ("-H \"Authorization: Bearer ", "\""),
                ("password: ", ""),
            ] {
                let text = format!("{before}{token}{after}");
                let found: Vec<_> = find(&text).into_iter().map(|finding| finding.rule).collect();
                assert_eq!(found, [rule], "{text}");
            }
        }
    }

    #[test]
    fn a_mark_within_a_longer_word_is_none() {
        for (_, token) in tokens() {
            let text = format!("x{token} and {token}-and.more");
            let text =
                if token.starts_with("eyJ") { text.replace("-and.more", ".more").replace('.', "!") } else { text };
            let found: Vec<_> = find(&text).into_iter().map(|finding| finding.rule).collect();
            // A token whose alphabet has hyphens and a free length may go on.
            assert!(found.len() <= 1, "{text}: {found:?}");
            assert_eq!(find(&format!("x{token}")), []);
        }
        assert_eq!(find(&format!("AKIA{}-and", chance(16).to_uppercase())), []);
        assert_eq!(find(&format!("AKIA{}", chance(17).to_uppercase())), []);
        assert_eq!(find(&format!("npm_{}", chance(37))), []);
        assert_eq!(find(&format!("ghp_{}", chance(35))), []);
        assert_eq!(find(&format!("AIza{}", chance(34))), []);
    }

    #[test]
    fn examples_and_placeholders_are_no_tokens() {
        for text in [
            concat!("AKIA", "IOSFODNN7EXAMPLE"),
            "AKIAXXXXXXXXXXXXXXXX",
            "AKIA1234567890ABCDEF",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "ghp_1234567890abcdefghijklmnopqrstuvwxyz",
            "ghp_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
            "github_pat_your_token_goes_here_and_nowhere_else",
            "glpat-your-token-goes-here",
            "xoxb-your-token-goes-here-please",
            "sk-ant-api03-...",
            "sk-ant-your-key-goes-here-and-nowhere-else",
            "sk-learn-is-not-the-name-of-the-package-v2",
            "sk-proj-put-your-key-here-and-do-not-commit",
            "npm_config_registry_and_its_many_settings2",
            "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
            "hf_hub_download_and_its_many_settings_v2",
            "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "gsk_your_key_goes_here",
            "xai-grok-4-fast-reasoning-latest-of-2025",
            "SG.your-id.your-key",
            "SG.2",
            "hvs.rs",
            "hvs.your-vault-token-goes-here",
            "GOCSPX-your-client-secret-goes-here",
            "AGE-SECRET-KEY-1...",
            "task-3ac16045d7f0e9b8a1c23ac16045d7f0e9b8a1c2",
            "risk-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "eyJhbGciOiJIUzI1NiJ9",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx...",
        ] {
            assert_eq!(find(text), [], "{text}");
        }
    }
}

//! Private keys as they lie in files: PEM blocks of OpenSSL, OpenSSH and PGP, and the private lines of a PuTTY key.
//!
//! A first line without a key behind it is talk about keys. Public keys and certificates are no secrets.

use super::Rule;
use super::scan::{Secret, Word, run};
use super::values::different_bytes;

const DASHES: &[u8] = b"-----";
const BEGIN: &[u8] = b"-----BEGIN";
const END: &[u8] = b"-----END";
/// The longest name between the dashes of a first line that is looked at.
const LONGEST_NAME: usize = 40;
/// An Ed25519 key, the shortest in use, has 64 characters of base64 in PEM.
const LEAST_MATERIAL: usize = 60;
/// A shorter run of base64 characters may be a word.
const LEAST_RUN: usize = 16;
/// The private part of an Ed25519 key of PuTTY has 44 characters and more.
const LEAST_PUTTY_MATERIAL: usize = 40;
const MOST_PUTTY_LINES: usize = 1_000;

/// A private key whose first line opens with `word`.
pub fn after(text: &[u8], word: Word) -> Option<Secret> {
    let bytes = &text[word.start..word.end];
    let (start, end) = match text.get(word.end)? {
        b' ' if bytes.ends_with(BEGIN) => (word.end - BEGIN.len(), pem_end(text, word.end)?),
        b':' if bytes == b"Private-Lines" => putty_lines(text, word.end)?,
        _ => return None,
    };
    Some(Secret { rule: Rule::PrivateKey, start, end })
}

/// The end of the block whose first line goes on at `name`.
fn pem_end(text: &[u8], name: usize) -> Option<usize> {
    let body = name + first_line(&text[name..])?;
    let length = find(&text[body..], DASHES).unwrap_or(text.len() - body);
    let block = &text[body..body + length];
    let closing = body + length;
    if text[closing..].starts_with(END) {
        let closed = closing + END.len();
        let end = closed + first_line(&text[closed..])?;
        return is_key(block).then_some(end);
    }
    // Cut off: the key is the lines that look like one.
    let length = lines_of_base64(block, usize::MAX).1;
    is_key(&block[..length]).then_some(body + length)
}

/// The length of what follows BEGIN or END, if it names a private key.
fn first_line(text: &[u8]) -> Option<usize> {
    let length =
        run(&text[..text.len().min(LONGEST_NAME)], |byte| byte.is_ascii_uppercase() || b" 0123456789".contains(&byte));
    let name = text[..length].strip_suffix(b" BLOCK").unwrap_or(&text[..length]);
    (name.ends_with(b" PRIVATE KEY") && text[length..].starts_with(DASHES)).then_some(length + DASHES.len())
}

/// Whether most of a block is long runs of base64, as no prose between two such lines would be.
fn is_key(block: &[u8]) -> bool {
    let mut material = 0;
    let mut visible = 0;
    let mut rest = block;
    while !rest.is_empty() {
        let length = run(rest, is_base64);
        // A path has neither, or only one of the two.
        let is_chance =
            rest[..length].iter().any(u8::is_ascii_digit) && rest[..length].iter().any(u8::is_ascii_uppercase);
        if length >= LEAST_RUN && is_chance {
            material += length;
        }
        let other = run(&rest[length..], |byte| !is_base64(byte));
        visible += length + rest[length..length + other].iter().filter(|byte| byte.is_ascii_graphic()).count();
        rest = &rest[length + other..];
    }
    material >= LEAST_MATERIAL && material * 2 >= visible && different_bytes(block) >= 16
}

/// The lines that `Private-Lines: N` announces at `at`.
fn putty_lines(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let count = text[at..].strip_prefix(b": ")?;
    let digits = &count[..run(&count[..count.len().min(4)], |byte| byte.is_ascii_digit())];
    let lines: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let body = at + b": ".len() + digits.len();
    let (start, end) = lines_of_base64(&text[body..], lines.min(MOST_PUTTY_LINES));
    let key = &text[body + start..body + end];
    (key.len() >= LEAST_PUTTY_MATERIAL && different_bytes(key) >= 16).then_some((body + start, body + end))
}

/// Where the first `most` lines of base64 begin and end, with nothing between them but line ends and marks of quoting.
fn lines_of_base64(text: &[u8], most: usize) -> (usize, usize) {
    let (mut start, mut end, mut lines) = (None, 0, 0);
    while lines < most {
        let mut at = end + run(&text[end..], is_between_lines);
        // `\n` and `\r` of a JSON string.
        while text[at..].starts_with(b"\\n") || text[at..].starts_with(b"\\r") {
            at += 2;
        }
        at += run(&text[at..], is_between_lines);
        let length = run(&text[at..], is_base64);
        // Only the last line of a key is short, and a line it is.
        let is_short = length < LEAST_RUN;
        let ends_line = matches!(text.get(at + length), None | Some(b'\n' | b'\r' | b'\\' | b'"'));
        if length == 0 || (is_short && (start.is_none() || !ends_line)) {
            break;
        }
        start = start.or(Some(at));
        end = at + length;
        lines += 1;
        if is_short {
            break;
        }
    }
    (start.unwrap_or(0), end)
}

fn is_between_lines(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'>' | b'"' | b'|')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, Rule, find};

    /// Base64 of nothing in particular, `lines` lines of 64.
    fn base64(lines: usize) -> String {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let letter = |place: usize| char::from(alphabet[(place * place * 7 + place * 13 + 5) % 61]);
        (0..lines).map(|line| (0..64).map(|place| letter(line * 64 + place)).collect::<String>() + "\n").collect()
    }

    fn pem(name: &str, body: &str) -> String {
        format!("-----BEGIN {name}-----\n{body}-----END {name}-----")
    }

    /// Says that the text holds one private key, from `line` on.
    fn assert_one_key(text: &str, line: usize) {
        assert_eq!(find(text), [Finding { rule: Rule::PrivateKey, line }], "{text}");
    }

    #[test]
    fn a_private_key_of_every_maker_is_found_once() {
        for name in ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "OPENSSH PRIVATE KEY"]
        {
            assert_one_key(&format!("Use this:\n{}\nThanks", pem(name, &base64(12))), 2);
        }
        assert_one_key(&pem("PGP PRIVATE KEY BLOCK", &format!("Version: GnuPG v2\n\n{}=Ab1d\n", base64(20))), 1);
        let headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0F\n\n";
        assert_one_key(&pem("RSA PRIVATE KEY", &format!("{headers}{}", base64(9))), 1);
        assert_one_key(&pem("PRIVATE KEY", &base64(1)), 1);
    }

    #[test]
    fn what_follows_a_key_is_looked_at_again() {
        let text = format!("{}\nDB_PASSWORD=tr0ub4dor-and-3", pem("PRIVATE KEY", &base64(2)));
        let password = Finding { rule: Rule::PasswordAssignment, line: 5 };
        assert_eq!(find(&text), [Finding { rule: Rule::PrivateKey, line: 1 }, password]);
        let cut = format!("-----BEGIN PRIVATE KEY-----\n{}and DB_PASSWORD=tr0ub4dor-and-3", base64(3));
        assert_eq!(find(&cut), [Finding { rule: Rule::PrivateKey, line: 1 }, password]);
    }

    #[test]
    fn a_key_in_a_json_string_or_a_quote_is_a_key() {
        assert_one_key(&format!("{{\"key\": \"{}\\n\"}}", pem("PRIVATE KEY", &base64(9)).replace('\n', "\\n")), 1);
        assert_one_key(&format!("> {}", pem("PRIVATE KEY", &base64(9)).replace('\n', "\n> ")), 1);
    }

    #[test]
    fn the_private_lines_of_a_putty_key_are_found() {
        let (public, private) = (base64(2), base64(1));
        let text = format!(
            "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPublic-Lines: 2\n{public}Private-Lines: 1\n\
             {private}Private-MAC: 00ff\n"
        );
        assert_one_key(&text, 7);
        assert_eq!(find(&text.replace("Private-Lines", "Other-Lines")), []);
    }

    #[test]
    fn talk_about_keys_public_keys_and_shortened_keys_are_no_secrets() {
        for text in [
            "The file must begin with -----BEGIN OPENSSH PRIVATE KEY----- or -----BEGIN PRIVATE KEY-----.".to_owned(),
            pem("PRIVATE KEY", "...\n"),
            pem("PRIVATE KEY", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC...\n"),
            pem("PRIVATE KEY", &("x".repeat(64) + "\n").repeat(5)),
            pem(
                "PRIVATE KEY",
                "must stand before the second line in crates/formats/src/secrets/private_keys.rs and in \
                 crates/formats/tests/secrets/of_every_kind.rs and crates/formats/tests/secrets/of_no_kind.rs\n",
            ),
            pem("PUBLIC KEY", &base64(5)),
            pem("CERTIFICATE", &base64(20)),
            pem("PGP PUBLIC KEY BLOCK", &base64(20)),
            pem("private key", &base64(20)),
            "Private-Lines: 14 of them".to_owned(),
        ] {
            assert_eq!(find(&text), [], "{text}");
        }
    }
}

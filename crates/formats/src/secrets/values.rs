//! Whether a value is a real one, or stands for one: a variable, a path, a placeholder, a word of prose.
//!
//! A real value mixes letters and digits in a way that names and words do not. Passwords of letters alone are let go,
//! because nearly everything that stands behind `password:` in ordinary mail is a word.

/// A shorter value guards nothing.
pub const SHORTEST_VALUE: usize = 8;

/// Where a secret was removed before, up to the space in it.
const REMOVED_ALREADY: &[u8] = b"[secret";

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Between quotes, or otherwise certain to be a value.
    Quoted,
    /// Bare behind `=`: it may be code.
    Assigned,
    /// Bare behind `:`: it may be code or prose.
    Listed,
}

/// Whether the value is one to keep secret.
pub fn is_real(value: &[u8], form: Form) -> bool {
    // Most values are words, which this alone tells.
    if value.len() < SHORTEST_VALUE || !value.iter().any(u8::is_ascii_digit) {
        return false;
    }
    let looks = Looks::of(value);
    looks.all_visible
        && looks.letters_and_digits
        && looks.different >= 5
        && !looks.blanked
        && !looks.in_a_row
        && value.split(|byte| matches!(byte, b'-' | b'_' | b'.' | b'/' | b':' | b'@')).any(is_mixed)
        && !is_variable(value)
        && !is_place(value, &looks)
        && !is_pattern(value, &looks)
        && !(looks.has(b'@') && is_email(value))
        && !(looks.has(b'[') && contains(value, REMOVED_ALREADY))
        && !is_placeholder(value)
        && (form == Form::Quoted || !is_code(value))
        && (form != Form::Listed || !is_id(value))
}

/// Whether the body of a token looks like chance: letters and digits, many different ones, in no order.
pub fn looks_random(token: &[u8]) -> bool {
    let looks = Looks::of(token);
    looks.letters_and_digits
        && looks.different >= 8
        && !looks.blanked
        && !looks.in_a_row
        && !contains(token, b"example")
        && !contains(token, b"your")
}

/// How many different bytes there are.
pub fn different_bytes(bytes: &[u8]) -> u32 {
    Looks::of(bytes).different
}

/// What one pass over a value tells.
struct Looks {
    /// A bit for each ASCII character.
    seen: [u64; 2],
    all_visible: bool,
    letters_and_digits: bool,
    /// How many different bytes there are.
    different: u32,
    /// Somebody took the secret out: `***`, `abc...`, `xxxx`, `____`.
    blanked: bool,
    /// Most bytes follow from the one before: `12345678`, `abcdefgh`, `aaaaaaaa`.
    in_a_row: bool,
}

impl Looks {
    fn of(value: &[u8]) -> Self {
        const DIGITS: u64 = ((1 << 10) - 1) << b'0';
        const LETTERS: u64 = ((1 << 26) - 1) << (b'a' - 64) | ((1 << 26) - 1) << (b'A' - 64);
        let (mut seen, mut all_visible, mut blanked) = ([0u64; 2], true, false);
        let (mut before, mut same, mut following) = (0, 0, 0);
        for byte in value.iter().copied() {
            seen[usize::from(byte >> 6 & 1)] |= 1 << (byte & 63);
            all_visible &= byte.is_ascii_graphic();
            following += usize::from(byte.abs_diff(before) <= 1);
            same = if byte.eq_ignore_ascii_case(&before) { same + 1 } else { 1 };
            blanked |= same >= 3 && (matches!(byte, b'*' | b'.') || (same >= 4 && matches!(byte, b'x' | b'X' | b'_')));
            before = byte;
        }
        Self {
            seen,
            all_visible,
            letters_and_digits: seen[0] & DIGITS != 0 && seen[1] & LETTERS != 0,
            different: seen[0].count_ones() + seen[1].count_ones(),
            blanked,
            in_a_row: following * 2 > value.len(),
        }
    }

    fn has(&self, byte: u8) -> bool {
        self.seen[usize::from(byte >> 6 & 1)] & 1 << (byte & 63) != 0
    }
}

/// A piece of a value that has letters and digits and is not a usual name of something, such as `m2m`.
fn is_mixed(piece: &[u8]) -> bool {
    let has_digit = piece.iter().any(u8::is_ascii_digit);
    piece.len() > 3 && has_digit && piece.iter().any(u8::is_ascii_alphabetic) && !is_usual(piece)
}

/// `sha256`, `v2`, `ed25519`, `64chars`, `31T10`: words with a number in them.
fn is_usual(piece: &[u8]) -> bool {
    const NAMES: [&str; 10] =
        ["ed25519", "x25519", "secp256k1", "argon2", "argon2id", "pbkdf2", "oauth2", "base64", "base64url", "base32"];
    const UNITS: [&str; 9] = ["char", "chars", "characters", "byte", "bytes", "bit", "bits", "digits", "days"];
    let is = |word: &&str| piece.eq_ignore_ascii_case(word.as_bytes());
    if NAMES.iter().any(is) {
        return true;
    }
    let digits = piece.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let letters = piece[digits..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (unit, last) = piece[digits..].split_at(letters);
    let last_is_number = last.iter().all(u8::is_ascii_digit);
    match digits {
        // `v2`, `sha256`, `es256`.
        0 => last_is_number && letters <= 3 && last.len() <= 4,
        // The middle of a time of day.
        1 | 2 if matches!(unit, b"T" | b"Z") => last_is_number && last.len() <= 2,
        _ => last.is_empty() && UNITS.iter().any(|word| unit.eq_ignore_ascii_case(word.as_bytes())),
    }
}

/// Names what holds the value, instead of being it: `$NAME`, `${NAME}`, `{{ name }}`, `%s`, `<name>`.
fn is_variable(value: &[u8]) -> bool {
    match value {
        [b'$', rest @ ..] => {
            let name = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
            let starts_like_a_name = !rest.first().is_some_and(u8::is_ascii_digit);
            starts_like_a_name && matches!(rest.get(name), None | Some(b'{' | b'(' | b'/' | b'.' | b':'))
        }
        [b'%', b'(' | b'{' | b's', ..] | [b'#', b'{', ..] => true,
        [b'%', .., last] => *last == b'%',
        [b'{' | b'<' | b'[', ..] => true,
        _ => false,
    }
}

/// Names where the value is kept: a path, a file, a URL, the address of a vault.
fn is_place(value: &[u8], looks: &Looks) -> bool {
    const ADDRESSES: [&[u8]; 7] = [b"arn:", b"vault:", b"env:", b"file:", b"data:", b"sha256:", b"sha512:"];
    const FILES: [&[u8]; 9] = [b"pem", b"key", b"txt", b"json", b"yml", b"yaml", b"env", b"crt", b"p12"];
    matches!(value, [b'/' | b'~', ..] | [b'.', b'/' | b'.', ..] | [b'-', b'-', ..] | [b'E', b'N', b'C', b'[', ..])
        || (looks.has(b':') && (ADDRESSES.iter().any(|start| value.starts_with(start)) || contains(value, b"://")))
        || (looks.has(b'.') && value.rsplit(|byte| *byte == b'.').next().is_some_and(|last| FILES.contains(&last)))
}

/// A regular expression that a password must match.
fn is_pattern(value: &[u8], looks: &Looks) -> bool {
    value.starts_with(b"^") || (looks.has(b'-') && (contains(value, b"a-z") || contains(value, b"0-9")))
}

fn is_email(value: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'+');
    let mut parts = value.split(|byte| *byte == b'@');
    let (Some(name), Some(host), None) = (parts.next(), parts.next(), parts.next()) else { return false };
    name.iter().all(is_plain) && host.iter().all(is_plain) && host.contains(&b'.')
}

/// Words that mean "put yours here", and digits: `changeme1`, `your-api-key-2`, `password123`.
fn is_placeholder(value: &[u8]) -> bool {
    let mut rest = value;
    while let Some(first) = rest.first() {
        let step = match first {
            b'0'..=b'9' | b'-' | b'_' | b'.' => 1,
            letter => match placeholders_with(*letter).iter().find(|word| starts_with_any_case(rest, word)) {
                Some(word) => word.len(),
                None => return false,
            },
        };
        rest = &rest[step..];
    }
    true
}

/// The words of placeholders, by their first letter; longer ones come before those that they begin with.
fn placeholders_with(first: u8) -> &'static [&'static str] {
    match first.to_ascii_lowercase() {
        b'a' => &["access", "admin", "api", "auth"],
        b'c' => &["changeme", "change", "client"],
        b'd' => &["demo", "dummy", "db"],
        b'e' => &["example"],
        b'f' => &["fake"],
        b'h' => &["here"],
        b'k' => &["key"],
        b'm' => &["me", "my"],
        b'p' => &["password", "passphrase", "passwd", "pass", "placeholder", "postgres", "private"],
        b'r' => &["redacted", "root"],
        b's' => &["secret", "sample", "string"],
        b't' => &["test", "the", "token"],
        b'u' => &["user"],
        b'v' => &["value"],
        b'y' => &["your"],
        _ => &[],
    }
}

fn starts_with_any_case(bytes: &[u8], word: &str) -> bool {
    bytes.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
}

/// A bare word that a program would write: a path of names, a name that says what it holds, a type.
fn is_code(value: &[u8]) -> bool {
    let is_name = |piece: &[u8]| {
        !piece.first().is_some_and(u8::is_ascii_digit)
            && piece.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let is_path = value.contains(&b'.') && value.split(|byte| *byte == b'.').all(is_name);
    let says_what_it_holds =
        ["password", "passwd", "secret", "token"].iter().any(|word| contains(value, word.as_bytes()));
    is_path || (is_name(value) && (says_what_it_holds || is_type_name(value)))
}

/// `Auth2Provider`: a capital first, and one short number within.
fn is_type_name(value: &[u8]) -> bool {
    let mut numbers = value.split(|byte| !byte.is_ascii_digit()).filter(|number| !number.is_empty());
    let one_short_number = numbers.next().is_some_and(|number| number.len() <= 3) && numbers.next().is_none();
    one_short_number
        && value.first().is_some_and(u8::is_ascii_uppercase)
        && value.last().is_some_and(u8::is_ascii_lowercase)
}

/// A commit, a digest or a UUID, which prose names behind a colon.
fn is_id(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f' | b'-'))
}

/// Whether `value` holds `wanted`, which is in lower case, in any case.
fn contains(value: &[u8], wanted: &[u8]) -> bool {
    let first = wanted[0];
    let starts = value.iter().enumerate().filter(|(_, byte)| byte.to_ascii_lowercase() == first);
    starts
        .into_iter()
        .any(|(at, _)| value[at..].get(..wanted.len()).is_some_and(|part| part.eq_ignore_ascii_case(wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms_in_which_it_is_real(value: &str) -> Vec<Form> {
        let forms = [Form::Quoted, Form::Assigned, Form::Listed];
        forms.into_iter().filter(|form| is_real(value.as_bytes(), *form)).collect()
    }

    #[test]
    fn a_value_that_mixes_letters_and_digits_is_real_in_every_form() {
        for value in ["tr0ub4dor", "Winter2024", "hunter-2024x", "Xk9$mmQ2v", "wJalrXUtn7/K7MDENG+bPx", "P4ss.w0rd!"] {
            assert_eq!(forms_in_which_it_is_real(value).len(), 3, "{value}");
        }
    }

    #[test]
    fn what_stands_for_a_value_is_real_in_no_form() {
        for value in [
            "hunter2",
            "required",
            "correct-horse-battery",
            "12345678",
            "20240131",
            "password123",
            "Password-1",
            "changeme1234",
            "your-api-key-1",
            "$DB_PASSWORD2",
            "${DB_PASSWORD2}",
            "$(cat key1)",
            "{{password2}}",
            "<password2>",
            "[password2]",
            "%s-suffix1",
            "%(pass2)s",
            "%PASS2WORD%",
            "***abc123",
            "abc123...",
            "xxxxxxx1",
            "XXXX-1a2b-XXXX",
            "abcdefgh1",
            "a1a1a1a1",
            "/etc/mail/k3y0x",
            "~/.ssh/id_k3y0x",
            "./k3y0x0.x",
            "prod01db.pem",
            "https://x.example/k3y0x",
            "arn:aws:k3y0x",
            "data:image/png;base64,iVBOR0",
            "bob2go@mail.example",
            "^[a-zA-Z0-9]{8,}$",
            "sha256-hmac",
            "argon2id-v1",
            "ed25519-key",
            "8-64chars",
            "2026-01-31T10:00:00Z",
            "v1.2.3-rc1",
            "ol-527.1-redo",
            "test-m2m-secret",
            "pässw0rd12",
        ] {
            assert_eq!(forms_in_which_it_is_real(value), [], "{value}");
        }
    }

    #[test]
    fn bare_code_and_bare_ids_are_told_from_quoted_values() {
        for value in ["config.db2prod.word", "new_passwd_k3y0x", "Auth2Provider"] {
            assert_eq!(forms_in_which_it_is_real(value), [Form::Quoted], "{value}");
        }
        for value in ["3ac16045d7f0e9b8a1c2", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"] {
            assert_eq!(forms_in_which_it_is_real(value), [Form::Quoted, Form::Assigned], "{value}");
        }
    }

    #[test]
    fn chance_is_told_from_rows_and_blanks() {
        assert!(looks_random(b"0Q7xZ2mK9vB4tR6y"));
        for token in
            ["Q7XZQ7XZQ7XZQ7XZ", "abcdefghijklmnop1", "zQxXxXxZ2mK9vB4tR6y", "onlyLettersAreHere", "9081726354"]
        {
            assert!(!looks_random(token.as_bytes()), "{token}");
        }
    }
}

//! Whether a value is a real one, or stands for one: a variable, a path, a placeholder, a word of prose.
//!
//! A real value mixes letters and digits in a way that names and words do not. Passwords of letters alone are let go,
//! because nearly everything that stands behind `password:` in ordinary mail is a word.

/// A shorter value guards nothing.
pub const SHORTEST_VALUE: usize = 8;
/// A shorter value of a variable is an example.
const SHORTEST_VARIABLE: usize = 6;
/// More words are a sentence.
const LONGEST_PASSPHRASE: usize = 80;
/// Shorter hex digits name a commit or a place.
const SHORTEST_HEX: usize = 20;

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Between quotes, or otherwise certain to be a value.
    Quoted,
    /// Behind `NAME=`, as environment files have it: people set short ones there.
    Variable,
    /// Bare behind `=`, or a flag: it may be code.
    Assigned,
    /// Bare behind the `:` of a name that opens its line: it may be code or prose.
    Entry,
    /// Bare within a sentence: it may be code, prose, or the id of what the sentence is about.
    Said,
}

impl Form {
    /// The length of the shortest value that counts.
    pub fn shortest(self) -> usize {
        if self == Self::Variable { SHORTEST_VARIABLE } else { SHORTEST_VALUE }
    }
}

/// Whether the value is one to keep secret.
pub fn is_real(value: &[u8], form: Form) -> bool {
    if value.len() < form.shortest() || !value.iter().all(u8::is_ascii_graphic) {
        return false;
    }
    has_letters_and_digits(value)
        && different_bytes(value) >= 5
        && !is_blanked(value)
        && !is_placeholder(value)
        && !is_row(value)
        && value.split(|byte| matches!(byte, b'-' | b'_' | b'.' | b'/' | b':' | b'@')).any(is_mixed)
        && !is_variable(value)
        && !is_place(value)
        && !is_pattern(value)
        && !is_email(value)
        && !contains(value, b"example")
        && (form == Form::Quoted || !is_code(value))
        && match form {
            Form::Entry => !is_uuid(value) && (value.len() >= SHORTEST_HEX || !is_hex(value)),
            Form::Said => !is_id(value),
            _ => true,
        }
}

/// Whether the value changes between letters, capitals and digits more often than names and words do.
pub fn is_chance(value: &[u8]) -> bool {
    let is_joint = |pair: &[u8]| match pair {
        [one, next] if !one.is_ascii_alphanumeric() || !next.is_ascii_alphanumeric() => false,
        [one, next] => {
            one.is_ascii_digit() != next.is_ascii_digit() || (one.is_ascii_lowercase() && next.is_ascii_uppercase())
        }
        _ => false,
    };
    let joints = value.windows(2).filter(|pair| is_joint(pair)).count();
    joints * 5 > value.iter().filter(|byte| byte.is_ascii_alphanumeric()).count()
}

/// Whether the value is words joined by hyphens, as people are told to make passwords, and says nothing else.
pub fn is_passphrase(value: &[u8]) -> bool {
    const SPEAKING: &str = "and ask default empty env file for from generated in insert new none not random replace see \
                            set some this use vault";
    let mut words = 0;
    let is_word = |piece: &[u8]| {
        words += 1;
        let is_letters = piece.len() >= 3 && piece.iter().all(u8::is_ascii_alphabetic);
        let speaks = SPEAKING.split(' ').any(|word| piece.eq_ignore_ascii_case(word.as_bytes()));
        is_letters && !speaks && !is_placeholder(piece)
    };
    value.len() <= LONGEST_PASSPHRASE && value.split(|byte| *byte == b'-').all(is_word) && words >= 3
}

/// Whether the body of a token looks like chance: letters and digits, or letters of both cases, many different ones,
/// in no order.
pub fn looks_random(token: &[u8]) -> bool {
    let has_both_cases = token.iter().any(u8::is_ascii_uppercase) && token.iter().any(u8::is_ascii_lowercase);
    let different = different_bytes(token);
    (has_letters_and_digits(token) || (has_both_cases && different >= 14))
        && different >= 8
        && !is_row(token)
        && !is_blanked(token)
        && !contains(token, b"example")
        && !contains(token, b"your")
}

/// How many different bytes there are; those of other alphabets count by their lower bits.
pub fn different_bytes(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0_u128, |seen, byte| seen | 1 << (byte & 127)).count_ones()
}

fn has_letters_and_digits(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit) && value.iter().any(u8::is_ascii_alphabetic)
}

/// Somebody took the secret out: `***`, `abc...`, `xxxx`, `____`.
fn is_blanked(value: &[u8]) -> bool {
    ["***", "...", "____", "xxxx"].iter().any(|marks| contains(value, marks.as_bytes()))
}

/// Most bytes follow from the one before: `12345678`, `abcdefgh`, `aaaaaaaa`.
fn is_row(value: &[u8]) -> bool {
    let pairs = value.iter().zip(value.iter().skip(1));
    pairs.filter(|(one, next)| one.abs_diff(**next) <= 1).count() * 2 > value.len()
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
    if NAMES.iter().any(|name| name.len() == piece.len() && piece.eq_ignore_ascii_case(name.as_bytes())) {
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
fn is_place(value: &[u8]) -> bool {
    const ADDRESSES: [&[u8]; 7] = [b"arn:", b"vault:", b"env:", b"file:", b"data:", b"sha256:", b"sha512:"];
    const FILES: [&[u8]; 9] = [b"pem", b"key", b"txt", b"json", b"yml", b"yaml", b"env", b"crt", b"p12"];
    matches!(value, [b'/' | b'~', ..] | [b'.', b'/' | b'.', ..] | [b'-', b'-', ..] | [b'E', b'N', b'C', b'[', ..])
        || ADDRESSES.iter().any(|start| value.starts_with(start))
        || contains(value, b"://")
        || value.rsplit(|byte| *byte == b'.').next().is_some_and(|last| FILES.contains(&last))
}

/// A regular expression that a password must match.
fn is_pattern(value: &[u8]) -> bool {
    value.starts_with(b"^") || contains(value, b"a-z") || contains(value, b"0-9")
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
            _ => match PLACEHOLDERS.split(' ').find(|word| starts_with_any_case(rest, word)) {
                Some(word) => word.len(),
                None => return false,
            },
        };
        rest = &rest[step..];
    }
    true
}

/// The words of placeholders; longer ones come before those that they begin with.
const PLACEHOLDERS: &str = "access admin api auth bar baz changeme change client demo dummy db example fake foo here key me \
                            my password passphrase passwd pass placeholder postgres private redacted root secret sample \
                            string test the token user value your";

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

/// `Auth2Provider`: a capital first, one short number within, and a word somewhere.
fn is_type_name(value: &[u8]) -> bool {
    let mut numbers = value.split(|byte| !byte.is_ascii_digit()).filter(|number| !number.is_empty());
    let one_short_number = numbers.next().is_some_and(|number| number.len() <= 3) && numbers.next().is_none();
    let has_word = value.split(|byte| !byte.is_ascii_lowercase()).any(|letters| letters.len() >= 4);
    one_short_number
        && has_word
        && value.first().is_some_and(u8::is_ascii_uppercase)
        && value.last().is_some_and(u8::is_ascii_lowercase)
}

/// A commit, a digest or a UUID, which prose names behind a colon.
fn is_id(value: &[u8]) -> bool {
    is_uuid(value) || (is_hex(value) && (value.len() < SHORTEST_HEX || matches!(value.len(), 40 | 64)))
}

/// Whether the value is hex digits in small letters, as commits and digests are.
pub fn is_hex(value: &[u8]) -> bool {
    value.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether the value is hex digits with hyphens between them, as UUIDs are.
pub fn is_uuid(value: &[u8]) -> bool {
    value.contains(&b'-') && value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
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
mod tests;

//! What is a real value in which form, and what only stands for one.

use super::*;

fn forms_in_which_it_is_real(value: &str) -> Vec<Form> {
    let forms = [Form::Quoted, Form::Variable, Form::Assigned, Form::Entry, Form::Said];
    forms.into_iter().filter(|form| is_real(value.as_bytes(), *form)).collect()
}

#[test]
fn a_value_that_mixes_letters_and_digits_is_real_in_every_form() {
    for value in ["tr0ub4dor", "Winter2024", "hunter-2024x", "Xk9$mmQ2v", "wJalrXUtn7/K7MDENG+bPx", "P4ss.w0rd!"] {
        assert_eq!(forms_in_which_it_is_real(value).len(), 5, "{value}");
    }
}

#[test]
fn what_stands_for_a_value_is_real_in_no_form() {
    for value in [
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
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ] {
        assert_eq!(forms_in_which_it_is_real(value), [], "{value}");
    }
}

#[test]
fn bare_code_and_bare_ids_are_told_from_quoted_values() {
    for value in ["config.db2prod.word", "new_passwd_k3y0x", "Auth2Provider"] {
        assert_eq!(forms_in_which_it_is_real(value), [Form::Quoted], "{value}");
    }
    assert!(is_real(b"OUTp7tBqHtJvaYALuNLOid", Form::Said), "a type has a word in it");
    let commit = "3ac16045d7f0e9b8a1c23ac16045d7f0e9b8a1c2";
    let certain = [Form::Quoted, Form::Variable, Form::Assigned];
    for value in [&commit[..12], "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"] {
        assert_eq!(forms_in_which_it_is_real(value), certain, "{value}");
    }
    assert!(is_real(commit.as_bytes(), Form::Entry) && !is_real(commit.as_bytes(), Form::Said));
    assert!(is_real(&commit.as_bytes()[..32], Form::Said));
}

#[test]
fn a_variable_holds_shorter_values_and_words_joined_by_hyphens() {
    assert_eq!(forms_in_which_it_is_real("hunter2"), [Form::Variable]);
    assert_eq!(forms_in_which_it_is_real("s3cr3"), []);
    for value in ["correct-horse-battery", "Correct-Horse-Battery-Staple"] {
        assert!(is_passphrase(value.as_bytes()), "{value}");
    }
    for value in
        ["correct-horse", "my-db-password", "set-from-vault", "get_my_password", "a-b-c", "password", "---", ""]
    {
        assert!(!is_passphrase(value.as_bytes()), "{value}");
    }
}

#[test]
fn chance_is_told_from_names_and_words() {
    for value in ["q7XzK2mv9Bt4Ry6N", "9f6af30b81e93788", "o77OaaFckq5J", "V4LSCIjdGuHSiPWZ5nuNFEvhi4iSqofOI1"] {
        assert!(is_chance(value.as_bytes()), "{value}");
    }
    for value in ["utf8mb4_general_ci", "test-token-12345678", "Auth2Provider", "hunter2024", "i18n-translated"] {
        assert!(!is_chance(value.as_bytes()), "{value}");
    }
}

#[test]
fn chance_is_told_from_rows_and_blanks() {
    assert!(looks_random(b"0Q7xZ2mK9vB4tR6y"));
    for token in ["Q7XZQ7XZQ7XZQ7XZ", "abcdefghijklmnop1", "zQxXxXxZ2mK9vB4tR6y", "onlyLettersAreHere", "9081726354"] {
        assert!(!looks_random(token.as_bytes()), "{token}");
    }
}

//! What is taken for a secret in a whole text, and what of ordinary mail is not.
//!
//! The marks of each maker of tokens are tested beside their rules.

use formats::secrets::{Finding, REMOVED, Rule, find, redact};
use serde_json::Value;

/// Made up, and so of no use to anybody.
const PASSWORD: &str = "tr0ub4dor-and-3";

fn rules(text: &str) -> Vec<Rule> {
    find(text).into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn a_password_is_found_in_every_notation_and_nothing_else_is_removed() {
    for (before, after) in [
        ("DB_PASSWORD=", ""),
        ("export PGPASSWORD=", "\nnext line"),
        ("  MYSQL_PWD=", " mysql -u root"),
        ("docker run -e POSTGRES_PASSWORD=", " postgres"),
        ("password: ", ""),
        ("db:\n  user: app\n  password: ", "\n  port: 5432"),
        ("- password: ", "  # rotate me"),
        ("password: '", "'"),
        ("{user: app, password: ", ", port: 5432}"),
        ("{\"user\": \"app\", \"password\": \"", "\", \"port\": 5432}"),
        ("{\"password\":\"", "\"}"),
        ("\"{\\\"password\\\": \\\"", "\\\"}\""),
        ("first\\npassword: ", "\\nlast"),
        ("let password = \"", "\";"),
        ("let password: &'static str = \"", "\";"),
        ("const apiKey: string = '", "'"),
        ("password := `", "`"),
        ("'client_secret' => '", "',"),
        ("client_secret = b\"", "\""),
        ("clientSecret: \"", "\","),
        ("spring.datasource.password=", ""),
        ("https://example.com/?user=bob&api_key=", "&page=2"),
        ("Server=db;User=app;Password=", ";Database=mail"),
        ("curl --data passwd=", " https://example.com"),
        ("tool --auth-token=", " run"),
        ("The **Password:** ", ""),
        ("**Password**: `", "` (works until Friday)"),
        ("The access_key: ", "."),
        ("AGENT_MAIL_BEARER_TOKEN=", ""),
        ("SECRET_KEY   =   ", ""),
    ] {
        let text = format!("{before}{PASSWORD}{after}");
        assert_eq!(rules(&text), [Rule::PasswordAssignment], "{text}");
        assert_eq!(redact(&text), format!("{before}{REMOVED}{after}"));
        assert_eq!(find(&redact(&text)), []);
    }
}

#[test]
fn a_password_may_hold_what_its_notation_allows() {
    assert_eq!(redact("DB_PASSWORD=a,b;c&d(1)e:f=\n"), format!("DB_PASSWORD={REMOVED}\n"));
    assert_eq!(redact("password = \"a1,b2;c3&d4\""), format!("password = \"{REMOVED}\""));
    assert_eq!(redact("api_key: Zm9vYmFy1Mg=="), format!("api_key: {REMOVED}"));
    assert_eq!(redact("the password: Xk9$mmQ2v, as agreed"), format!("the password: {REMOVED}, as agreed"));
    assert_eq!(redact("the password: Xk9$mmQ2v as agreed"), format!("the password: {REMOVED} as agreed"));
}

/// Everything here looks like a password that is set, and is none.
const NO_PASSWORDS: &[&str] = &[
    "password: <password>",
    "password: ***",
    "password=********",
    "password: xxxx-xxxx-1234",
    "password: changeme",
    "password=changeme123",
    "api_key = \"your-api-key\"",
    "api_key = \"YOUR_API_KEY_1\"",
    "DB_PASSWORD=$DB_PASSWORD_2",
    "DB_PASSWORD=${PASSWORD_2:-none}",
    "password: {{ vault_password_2 }}",
    "password: ${{ secrets.DB2_PASSWORD }}",
    "url = \"password=%s\" % secret1",
    "password = os.environ[\"DB_PASSWORD_2\"]",
    "password = process.env.DB2_PASSWORD",
    "password = getenv(\"DB2_PASSWORD\")",
    "password = get_password_v2()",
    "secret = b2secret[0..16]",
    "password = None",
    "password: null",
    "password: true",
    "password: String,",
    "password: str = Field(min_length=8)",
    "password: Option<Base64Secret32>,",
    "secret: [u8; 32]",
    "secret: Auth2Provider,",
    "password: config.db2.password,",
    "password = user2.password_hash",
    "password: required",
    "the password: it is in the vault",
    "password: hunter2",
    "password: at least 8 characters",
    "password: 8-64chars",
    "token: 42",
    "tokens=1234567a",
    "secret: sha256-hmac",
    "private_key: ed25519-based",
    "private_key: ~/.ssh/id_k3y0x1",
    "private_key = \"/etc/ssl/k3y0x1\"",
    "the commit with the secret: 3ac16045d7f0e9b8a1c23ac16045d7f0e9b8a1c2",
    "leaked secret: f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
    "{\"password\": {\"type\": \"string\", \"minLength\": 8}}",
    "{\"password\": \"must have at least 8 characters, 1 digit\"}",
    "{\"pattern\": \"^x\", \"password\": \"^[A-Za-z0-9]{8,}$\"}",
    "if password == \"tr0ub4dor-and-3\" {",
    "Password::tr0ub4dor3()",
    "password_hash: tr0ub4dor3x",
    "passwords: tr0ub4dor3x",
    "PWD=/home/bob/k3y0x1",
    "the secret: OAuth2Client is built in mail2web",
    "| password | tr0ub4dor |",
    "password:",
    "password=",
    "password: \"",
    "password",
];

#[test]
fn what_stands_for_a_password_is_none() {
    for text in NO_PASSWORDS {
        assert_eq!(find(text), [], "{text}");
        assert_eq!(redact(text), *text);
    }
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
        assert_eq!(redact(&text), format!("{before}{REMOVED}{after}"));
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
        assert_eq!(find(&text), [], "{text}");
    }
}

#[test]
fn ordinary_mail_holds_no_secrets() {
    let image = "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHw";
    let mail = format!(
        "# Review of 3ac16045d7f0e9b8a1c23ac16045d7f0e9b8a1c2\n\nBead: ol-527.1, msg-f81d4fae-7dec-11d0-a765-00a0c91e6bf6\n\
         See `crates/formats/src/secrets/private_keys.rs:42` and sk-learn, AKIA and ghp_ prefixes.\n\
         - [x] password reset flow\n- secret: handled by the vault, see https://example.com/k3y0x1?id=1a2b3c4d5e\n\
         ![dot](data:image/png;base64,{image}==)\nsha256:{}\n{}\n",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        image.repeat(50),
    );
    assert_eq!(find(&mail), []);
}

#[test]
fn no_vector_holds_a_secret() {
    let files = [include_str!("vectors/coordination.json"), include_str!("vectors/json-formats.json")];
    let mut texts = 0;
    for file in files {
        assert_eq!(find(file), [], "the file as it lies there");
        each_text(&serde_json::from_str(file).unwrap(), &mut |text| {
            texts += 1;
            assert_eq!(find(text), [], "{text}");
        });
    }
    assert!(texts > 1_000, "{texts}");
}

fn each_text(value: &Value, look: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => look(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, look)),
        Value::Object(fields) => fields.values().for_each(|field| each_text(field, look)),
        _ => {}
    }
}

/// Every rule that reads on from its word would take hours here if it read the same bytes for each word.
#[test]
fn a_mebibyte_of_near_misses_is_read_once() {
    const MEBIBYTE: usize = 1 << 20;
    for unit in [
        "password=",
        "pwd:",
        "pwd='pwd=\"",
        "pwd=\\\"pwd=`",
        "pwd: a = ",
        "a://b:c@",
        "://",
        "k3y0",
        "sk-ant-a1",
        "eyJhbGciOiJIUzI1NiJ9.",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nk3y0k3y0k3y0k3y0\n",
        "Private-Lines: 999\nk3y0k3y0k3y0k3y0",
        "Authorization: Bearer a1",
        "password: é",
        "-",
    ] {
        let text = unit.repeat(MEBIBYTE / unit.len());
        let found = find(&text);
        assert!(found.len() <= formats::secrets::MOST_FINDINGS);
        assert_eq!(redact(&text) == text, found.is_empty(), "{unit}");
    }
}

#[test]
fn secrets_are_told_in_the_order_of_the_text() {
    let text = format!("API_KEY={PASSWORD}\n\npostgres://app:{PASSWORD}@db/mail\npassword: \"{PASSWORD}\"\n");
    let expected = [(Rule::PasswordAssignment, 1), (Rule::UrlPassword, 3), (Rule::PasswordAssignment, 4)];
    assert_eq!(find(&text), expected.map(|(rule, line)| Finding { rule, line }));
}

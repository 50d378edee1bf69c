//! What is taken for a secret in a whole text, and what of ordinary mail is not.
//!
//! The marks of each maker of tokens, URLs and headers are tested beside their rules.

use formats::secrets::{Finding, Rule, find};
use serde_json::Value;

/// Made up, and so of no use to anybody.
const PASSWORD: &str = "tr0ub4dor-and-3";

fn rules(text: &str) -> Vec<Rule> {
    find(text).into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn a_password_is_found_in_every_notation_and_a_placeholder_in_none() {
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
        ("db_pass = \"", "\""),
        ("User: bob\nPass: ", ""),
        ("the password is ", ""),
        ("The password is ", "."),
        ("The password for the staging database is ", ", as agreed"),
        ("the secret is `", "`"),
        ("mysql --password ", " -u root"),
        ("tool --client-secret '", "' run"),
        ("<password>", "</password>"),
        ("(password: ", ")"),
    ] {
        let text = format!("{before}{PASSWORD}{after}");
        assert_eq!(rules(&text), [Rule::PasswordAssignment], "{text}");
        assert_eq!(find(&format!("{before}<password>{after}")), [], "{text}");
    }
}

#[test]
fn a_password_may_hold_what_its_notation_allows() {
    for text in [
        "DB_PASSWORD=a,b;c&d(1)e:f=\n",
        "password = \"a1,b2;c3&d4\"",
        "api_key: Zm9vYmFy1Mg==",
        "the password: Xk9$mmQ2v, as agreed",
        "the password: Xk9$mmQ2v as agreed",
        "pass: Winter2024!",
        "password: tr0ub4dor&3",
    ] {
        assert_eq!(rules(text), [Rule::PasswordAssignment], "{text}");
    }
}

#[test]
fn a_variable_may_hold_a_password_that_a_person_chose() {
    for value in ["letmein12", "hunter2", "correct-horse-battery", "\"correct-horse-battery\""] {
        for name in ["DB_PASSWORD=", "export DB_PASS=", "docker run -e MYSQL_ROOT_PASSWORD="] {
            assert_eq!(rules(&format!("{name}{value}")), [Rule::PasswordAssignment], "{name}{value}");
        }
    }
    for text in ["password = correct-horse-battery", "the password: correct-horse-battery", "db_password=hunter2"] {
        assert_eq!(find(text), [], "{text}");
    }
}

#[test]
fn a_secret_in_hex_is_told_from_a_commit() {
    let digits = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    for name in ["password", "secret", "api_key", "api-key", "client_secret", "access_token", "auth_token", "API key"] {
        for length in [32, 40, 64] {
            let text = format!("app:\n  - {name}: {}\n", &digits[..length]);
            assert_eq!(rules(&text), [Rule::PasswordAssignment], "{text}");
        }
        assert_eq!(rules(&format!("Use this {name}: {}.", &digits[..32])), [Rule::PasswordAssignment], "{name}");
        assert_eq!(rules(&format!("the {name} is {} now", &digits[..32])), [Rule::PasswordAssignment], "{name}");
        assert_eq!(find(&format!("the commit with the {name}: {}", &digits[..40])), [], "{name}");
        assert_eq!(find(&format!("the digest of the {name}: {digits}")), [], "{name}");
    }
    for name in ["commit", "sha", "digest", "token", "next_token", "key"] {
        for length in [7, 40, 64] {
            assert_eq!(find(&format!("{name}: {}", &digits[..length])), [], "{name} {length}");
        }
    }
}

#[test]
fn a_token_of_any_sort_counts_when_it_is_chance() {
    for token in
        ["q7XzK2mv9Bt4Ry6Nw1Lc8Hg3", "956bca3db4219ad9ab8a034aaa2e8febc2141f87", "aIUiKCVvWN0LvP/RcGb8eNn+u2D2JY=="]
    {
        for (before, after) in [
            ("GITHUB_TOKEN=", ""),
            ("export NPM_TOKEN=", "\n"),
            ("run TOKEN=", " now"),
            ("STRIPE_KEY=", ""),
            ("AWS_SESSION_TOKEN=", ""),
            ("AWS_SECRET_ACCESS_KEY=", ""),
            ("{\"token\": \"", "\"}"),
            ("gh auth --token ", " login"),
            ("<token>", "</token>"),
            ("AccountName=mail;AccountKey=", ";EndpointSuffix=x"),
        ] {
            let text = format!("{before}{token}{after}");
            assert_eq!(rules(&text), [Rule::PasswordAssignment], "{text}");
        }
    }
    assert_eq!(rules("token: q7XzK2mv9Bt4Ry6Nw1Lc8Hg3"), [Rule::PasswordAssignment]);
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
    "token: f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
    "TOKEN=f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
    "token: q7XzK2mv9Bt4Ry6N is the one of the parser",
    "token: utf8mb4_general_ci",
    "{\"token\": \"q7XzK2mv9Bt\"}",
    "{\"token\": \"identifier_2_of_3\"}",
    "{\"nextPageToken\": \"q7XzK2mv9Bt4Ry6Nw1Lc8Hg3\"}",
    "the next page token: q7XzK2mv9Bt4Ry6Nw1Lc8Hg3",
    "tokens=1234",
    "max_tokens: 8192",
    "next_token=None",
    "GITHUB_TOKEN=${{ secrets.GITHUB_TOKEN }}",
    "NPM_TOKEN=$NPM_TOKEN_2",
    "TOKEN=your-token-here-1",
    "API_TOKEN=AQoEXAMPLEH4aoAH0gNCAPyJxz4B",
    "key: value",
    "key: q7XzK2mv9Bt4Ry6Nw1Lc8Hg3",
    "key=q7XzK2mv9Bt4Ry6Nw1Lc8Hg3",
    "primary_key=id",
    "PRIMARY_KEY=q7XzK2mv9Bt4Ry6Nw1Lc8Hg3",
    "keyboard=q7XzK2mv9Bt4Ry6Nw1Lc8Hg3",
    "public_key: q7XzK2mv9Bt4Ry6Nw1Lc8Hg3",
    "PUBLIC_KEY=q7XzK2mv9Bt4Ry6Nw1Lc8Hg3",
    "cache_key: v2-deps-3ac16045d7f0e9b8a1c23ac1",
    "CACHE_KEY=v2-deps-3ac16045d7f0e9b8a1c23ac1",
    "i18n key: mail.inbox.v2.title",
    "I18N_KEY=mail.inbox.v2.title",
    "\"AWS::SecretsManager::Secret\": \"c85175a4ebcce361\"",
    "arn:aws:secretsmanager:eu:123456789012:secret:Mail-a1b2c3",
    "aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "--password-file x1y2z3a4b5c6",
    "use --password to2set it",
    "--token authentication",
    "--secret id=npmrc2x4y6,src=/run/x",
    "password is required",
    "the password is in the vault",
    "the password is argon2id-hashed, the token is base64-encoded",
    "the password for v2 is set by ansible2.yml",
    "the secret is 3ac16045d7f0e9b8a1c23ac16045d7f0e9b8a1c2",
    "the token is 3ac16045d7f0e9b8a1c23ac1",
    "pass: 12 of 12 tests",
    "pass: true",
    "tests pass: yes",
    "PASS: test_utf16le_bom",
    "--- PASS: TestUTF16LEBom2x (0.00s)",
    "pass: crates/formats/tests/utf16le_bom",
    "first_pass: utf16le_bom",
    "bypass: q7XzK2mv9Bt4Ry6N",
    "DB_PASSWORD=set-by-the-vault",
    "DB_PASSWORD=required",
    "DB_PASSWORD=get_db_password",
    "<password>password1</password>",
    "<token>identifier</token>",
    "Option<Secret>q7XzK2mv9Bt4Ry6N",
    "password:",
    "password=",
    "password: \"",
    "password",
];

#[test]
fn what_stands_for_a_password_is_none() {
    for text in NO_PASSWORDS {
        assert_eq!(find(text), [], "{text}");
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
        "TOKEN=",
        "TOKEN=a1",
        "\nTOKEN=a-b-c-",
        "password is ",
        "password for password for password is ",
        "--token ",
        "--token=--token ",
        "<secret>",
        "<secret>a1",
        "curl -u a:",
        "-u a:b1",
        "Authorization: Basic ",
        "Authorization: Basic YWRtaW46dHIw ",
        "api key",
        "SG.",
        "SG.a1b2c3d4e5f6g7h8i9.",
        "hvs.",
        "https://hooks.slack.com/",
        "https://hooks.slack.com/services/a1/",
    ] {
        let text = unit.repeat(MEBIBYTE / unit.len());
        assert_eq!(find(&text), [], "{unit}");
    }
}

#[test]
fn secrets_are_told_in_the_order_of_the_text() {
    let text = format!("API_KEY={PASSWORD}\n\npostgres://app:{PASSWORD}@db/mail\npassword: \"{PASSWORD}\"\n");
    let expected = [(Rule::PasswordAssignment, 1), (Rule::UrlPassword, 3), (Rule::PasswordAssignment, 4)];
    assert_eq!(find(&text), expected.map(|(rule, line)| Finding { rule, line }));
}

//! What looks like a secret in a text: keys, tokens and passwords that nobody meant to mail.
//!
//! The rules are few and would rather miss than cry wolf: a placeholder, a variable, a type name or a word of prose is
//! no secret, nor is a password of letters alone, unless an environment variable is set to several words. Nothing here
//! decides what becomes of a message that holds one.
//!
//! One pass over the words of the text; what a rule reads beyond its word is bounded, or not read again by the next.

mod headers;
mod labels;
mod names;
mod private_keys;
mod scan;
mod tokens;
mod urls;
mod values;

use std::fmt;

use scan::Scan;

/// The most that [`find`] returns: who has read of twenty secrets need not read of the next.
pub const MOST_FINDINGS: usize = 20;

/// A place that looks like a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// What it looks like.
    pub rule: Rule,
    /// The line on which it begins, from 1.
    pub line: usize,
}

/// Finds what looks like a secret, in the order of the text, at most [`MOST_FINDINGS`].
pub fn find(text: &str) -> Vec<Finding> {
    let (mut line, mut counted) = (1, 0);
    let findings = Scan::new(text).take(MOST_FINDINGS).map(|secret| {
        line += text.as_bytes()[counted..secret.start].iter().filter(|byte| **byte == b'\n').count();
        counted = secret.start;
        Finding { rule: secret.rule, line }
    });
    findings.collect()
}

/// What a secret looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// A private key in PEM (OpenSSL, OpenSSH, PGP) or in a PuTTY key file.
    PrivateKey,
    /// The id of an AWS access key.
    AwsAccessKey,
    /// A token of GitHub.
    GithubToken,
    /// A personal access token of GitLab.
    GitlabToken,
    /// A token of Slack.
    SlackToken,
    /// A live key of Stripe.
    StripeKey,
    /// A key of Anthropic.
    AnthropicKey,
    /// A key of OpenAI, or of one of the many that took over its form.
    OpenaiKey,
    /// An API key of Google.
    GoogleApiKey,
    /// An access token of npm.
    NpmToken,
    /// An upload token of PyPI.
    PypiToken,
    /// A token of another maker that marks them: Hugging Face, Groq, xAI, SendGrid, Vault, DigitalOcean, Google's OAuth
    /// clients, age.
    ProviderToken,
    /// A signed JSON Web Token.
    Jwt,
    /// An `Authorization` header with a bearer token.
    BearerHeader,
    /// An `Authorization` header with a user and a password.
    BasicHeader,
    /// A URL to which anybody may post.
    WebhookUrl,
    /// A URL with a user and a password.
    UrlPassword,
    /// A name that promises a secret, with a value behind it.
    PasswordAssignment,
}

impl Rule {
    /// All rules; where two fit one place, the earlier has the say.
    pub const ALL: [Self; 18] = [
        Self::PrivateKey,
        Self::AwsAccessKey,
        Self::GithubToken,
        Self::GitlabToken,
        Self::SlackToken,
        Self::StripeKey,
        Self::AnthropicKey,
        Self::OpenaiKey,
        Self::GoogleApiKey,
        Self::NpmToken,
        Self::PypiToken,
        Self::ProviderToken,
        Self::Jwt,
        Self::BearerHeader,
        Self::BasicHeader,
        Self::WebhookUrl,
        Self::UrlPassword,
        Self::PasswordAssignment,
    ];

    /// The name of the rule, for programs. Names are added, never changed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PrivateKey => "private_key",
            Self::AwsAccessKey => "aws_access_key",
            Self::GithubToken => "github_token",
            Self::GitlabToken => "gitlab_token",
            Self::SlackToken => "slack_token",
            Self::StripeKey => "stripe_key",
            Self::AnthropicKey => "anthropic_key",
            Self::OpenaiKey => "openai_key",
            Self::GoogleApiKey => "google_api_key",
            Self::NpmToken => "npm_token",
            Self::PypiToken => "pypi_token",
            Self::ProviderToken => "provider_token",
            Self::Jwt => "jwt",
            Self::BearerHeader => "bearer_header",
            Self::BasicHeader => "basic_header",
            Self::WebhookUrl => "webhook_url",
            Self::UrlPassword => "url_password",
            Self::PasswordAssignment => "password_assignment",
        }
    }

    /// What was found, for people, to stand in a sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::PrivateKey => "a private key",
            Self::AwsAccessKey => "an AWS access key",
            Self::GithubToken => "a GitHub token",
            Self::GitlabToken => "a GitLab access token",
            Self::SlackToken => "a Slack token",
            Self::StripeKey => "a live Stripe key",
            Self::AnthropicKey => "an Anthropic API key",
            Self::OpenaiKey => "an OpenAI-style API key",
            Self::GoogleApiKey => "a Google API key",
            Self::NpmToken => "an npm access token",
            Self::PypiToken => "a PyPI upload token",
            Self::ProviderToken => "an API token",
            Self::Jwt => "a signed JSON Web Token",
            Self::BearerHeader => "a bearer token",
            Self::BasicHeader => "a password in an Authorization header",
            Self::WebhookUrl => "a webhook URL",
            Self::UrlPassword => "a password in a URL",
            Self::PasswordAssignment => "a password, secret or key",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_rule_has_a_name_and_a_sentence_of_its_own() {
        let names: HashSet<_> = Rule::ALL.iter().map(|rule| rule.as_str()).collect();
        let sentences: HashSet<_> = Rule::ALL.iter().map(|rule| rule.about()).collect();
        assert_eq!((names.len(), sentences.len()), (Rule::ALL.len(), Rule::ALL.len()));
        assert!(names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')));
    }

    #[test]
    fn a_finding_tells_the_line_on_which_the_secret_begins() {
        let text = "one\n\r\nDB_PASSWORD=tr0ub4dor-and-3\nfour é\nPGPASSWORD=tr0ub4dor-and-3 API_KEY=tr0ub4dor-and-4\n";
        let lines: Vec<_> = find(text).into_iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [3, 5, 5]);
    }

    #[test]
    fn findings_are_bounded() {
        let text = "DB_PASSWORD=tr0ub4dor-and-3\n".repeat(MOST_FINDINGS + 5);
        assert_eq!(find(&text).len(), MOST_FINDINGS);
        assert_eq!(find(""), []);
    }
}

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

crate::named! {
    /// What a secret looks like; where two fit one place, the earlier has the say. Names are added, never changed.
    pub enum Rule {
        /// A private key in PEM (OpenSSL, OpenSSH, PGP) or in a PuTTY key file.
        PrivateKey = "private_key",
        /// The id of an AWS access key.
        AwsAccessKey = "aws_access_key",
        /// A token of GitHub.
        GithubToken = "github_token",
        /// A personal access token of GitLab.
        GitlabToken = "gitlab_token",
        /// A token of Slack.
        SlackToken = "slack_token",
        /// A live key of Stripe.
        StripeKey = "stripe_key",
        /// A key of Anthropic.
        AnthropicKey = "anthropic_key",
        /// A key of OpenAI, or of one of the many that took over its form.
        OpenaiKey = "openai_key",
        /// An API key of Google.
        GoogleApiKey = "google_api_key",
        /// An access token of npm.
        NpmToken = "npm_token",
        /// An upload token of PyPI.
        PypiToken = "pypi_token",
        /// A token of another maker that marks them: Hugging Face, Groq, xAI, SendGrid, Vault, DigitalOcean, Google's OAuth
        /// clients, age.
        ProviderToken = "provider_token",
        /// A signed JSON Web Token.
        Jwt = "jwt",
        /// An `Authorization` header with a bearer token.
        BearerHeader = "bearer_header",
        /// An `Authorization` header with a user and a password.
        BasicHeader = "basic_header",
        /// A URL to which anybody may post.
        WebhookUrl = "webhook_url",
        /// A URL with a user and a password.
        UrlPassword = "url_password",
        /// A name that promises a secret, with a value behind it.
        PasswordAssignment = "password_assignment",
    }
}

/// What each rule finds, in their order.
const ABOUT: [&str; Rule::ALL.len()] = [
    "a private key",
    "an AWS access key",
    "a GitHub token",
    "a GitLab access token",
    "a Slack token",
    "a live Stripe key",
    "an Anthropic API key",
    "an OpenAI-style API key",
    "a Google API key",
    "an npm access token",
    "a PyPI upload token",
    "an API token",
    "a signed JSON Web Token",
    "a bearer token",
    "a password in an Authorization header",
    "a webhook URL",
    "a password in a URL",
    "a password, secret or key",
];

impl Rule {
    /// What was found, for people, to stand in a sentence.
    pub fn about(self) -> &'static str {
        ABOUT[self as usize]
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

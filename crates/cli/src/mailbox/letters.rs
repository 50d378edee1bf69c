//! The letters of a post office, asked for through the post_office: those of a server, or of the database that is opened here.
//!
//! Both are asked in the same words, so that the answers are the same. Nothing is decided here.

use async_trait::async_trait;
use mail::messages::Vouched;
use mail::provider::native::is_last_page;
use mail::provider::{Count, Letter, Provider, ProviderError, Refusal, Words};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Who;
use crate::config::Config;
use crate::post_office::{PostOffice, Refused};

/// How many letters are asked for at once.
const PAGE: usize = 500;

/// The letters of one project.
pub struct Letters {
    post_office: PostOffice,
    project: String,
    who: Option<Who>,
    any_name: bool,
}

impl Letters {
    /// Opens the post_office of the office that is there now.
    pub async fn open(config: Config, project: String, who: Option<Who>) -> anyhow::Result<Self> {
        Ok(Self { post_office: PostOffice::open(config.about(&project)).await?, project, who, any_name: false })
    }

    /// The same for callers that own their names: whoever writes or is written to gets a mailbox.
    pub fn for_any_name(self) -> Self {
        Self { any_name: true, ..self }
    }

    /// Where else the office can be asked.
    pub fn post_office(&self) -> &PostOffice {
        &self.post_office
    }

    /// Closes the post_office.
    pub async fn close(self) {
        self.post_office.close().await;
    }

    async fn ask(&self, verb: &str, more: Value) -> Result<Value, Refused> {
        let mut arguments = json!({ "project_key": self.project, "verb": verb, "any_name": self.any_name });
        if let Some(Who { name, token }) = &self.who {
            arguments["agent_name"] = json!(name);
            arguments["registration_token"] = json!(token);
        }
        if let (Value::Object(arguments), Value::Object(more)) = (&mut arguments, more) {
            arguments.extend(more);
        }
        self.post_office.call("mailbox", arguments).await
    }

    async fn one(&self, verb: &str, id: &str, more: Value) -> Result<Letter, ProviderError> {
        let answer = self.ask(verb, more).await.map_err(|refused| told(refused, id))?;
        Ok(read::<Written>(answer)?.into())
    }

    async fn act(&self, verb: &str, id: &str) -> Result<(), ProviderError> {
        self.ask(verb, json!({ "id": id })).await.map(drop).map_err(|refused| told(refused, id))
    }

    /// All pages of a list, which `ask` names.
    async fn pages(&self, verb: &str, mut ask: Value) -> Result<Vec<Letter>, ProviderError> {
        let mut letters: Vec<Letter> = Vec::new();
        ask["limit"] = PAGE.into();
        loop {
            ask["after"] = json!(letters.last().map(|letter| &letter.id));
            let page = list(self.ask(verb, ask.clone()).await.map_err(|refused| told(refused, ""))?)?;
            let is_last = is_last_page(&page, PAGE);
            letters.extend(page);
            if is_last {
                return Ok(letters);
            }
        }
    }
}

#[async_trait]
impl Provider for Letters {
    async fn send(&self, to: &str, words: Words<'_>) -> Result<Letter, ProviderError> {
        let Words { from, subject, body } = words;
        let ask = json!({ "recipient": to, "sender_name": from, "subject": subject, "body_md": body });
        self.one("send", "", ask).await
    }

    async fn reply(&self, id: &str, words: Words<'_>) -> Result<Letter, ProviderError> {
        let Words { from, subject, body } = words;
        let ask = json!({ "id": id, "sender_name": from, "subject": subject, "body_md": body });
        self.one("reply", id, ask).await
    }

    async fn inbox(&self, recipient: &str) -> Result<Vec<Letter>, ProviderError> {
        self.pages("inbox", json!({ "recipient": recipient })).await
    }

    async fn all(&self, recipient: &str) -> Result<Vec<Letter>, ProviderError> {
        self.pages("all", json!({ "recipient": recipient })).await
    }

    async fn thread(&self, id: &str) -> Result<Vec<Letter>, ProviderError> {
        self.pages("thread", json!({ "id": id })).await
    }

    async fn get(&self, id: &str) -> Result<Letter, ProviderError> {
        self.one("get", id, json!({ "id": id })).await
    }

    async fn read(&self, id: &str) -> Result<Letter, ProviderError> {
        self.one("read", id, json!({ "id": id })).await
    }

    async fn mark_read(&self, id: &str) -> Result<(), ProviderError> {
        self.act("mark_read", id).await
    }

    async fn mark_unread(&self, id: &str) -> Result<(), ProviderError> {
        self.act("mark_unread", id).await
    }

    async fn archive(&self, id: &str) -> Result<(), ProviderError> {
        self.act("archive", id).await
    }

    async fn count(&self, recipient: &str) -> Result<Count, ProviderError> {
        #[derive(Deserialize)]
        struct Counted {
            total: usize,
            unread: usize,
        }
        let answer = self.ask("count", json!({ "recipient": recipient })).await;
        let Counted { total, unread } = read(answer.map_err(|refused| told(refused, ""))?)?;
        Ok(Count { total, unread })
    }
}

/// A letter as the office writes it.
#[derive(Deserialize)]
struct Written {
    id: String,
    from: String,
    vouched: Option<String>,
    to: String,
    subject: String,
    body: String,
    created_at: jiff::Timestamp,
    read: bool,
    thread_id: String,
    reply_to: Option<String>,
    priority: Option<i64>,
    #[serde(default)]
    cc: Vec<String>,
    #[serde(default)]
    awaits_ack: bool,
    #[serde(default)]
    addressed: Vec<String>,
    #[serde(default)]
    archived: bool,
}

impl From<Written> for Letter {
    fn from(written: Written) -> Self {
        Self {
            id: written.id,
            from: written.from,
            is_human: written.vouched.as_deref() == Some(Vouched::Human.as_str()),
            to: written.to,
            subject: written.subject,
            body: written.body,
            created_at: written.created_at,
            read: written.read,
            thread: written.thread_id,
            reply_to: written.reply_to,
            priority: written.priority,
            cc: written.cc,
            awaits_ack: written.awaits_ack,
            addressed: written.addressed,
            archived: written.archived,
        }
    }
}

fn list(answer: Value) -> Result<Vec<Letter>, ProviderError> {
    #[derive(Deserialize)]
    struct Listed {
        result: Vec<Written>,
    }
    Ok(read::<Listed>(answer)?.result.into_iter().map(Letter::from).collect())
}

fn read<T: for<'de> Deserialize<'de>>(answer: Value) -> Result<T, ProviderError> {
    serde_json::from_value(answer).map_err(|error| ProviderError::Failed {
        cause: format!("the post office gave an answer that cannot be read: {error}"),
    })
}

/// What the office refused, as a provider says it.
fn told(refused: Refused, id: &str) -> ProviderError {
    match refused.code.as_str() {
        "MESSAGE_NOT_FOUND" => ProviderError::NotFound { id: id.to_owned() },
        "ALREADY_ARCHIVED" => ProviderError::AlreadyArchived { id: id.to_owned() },
        _ => ProviderError::Refused(Refusal {
            near: refused.suggestions().into_iter().map(str::to_owned).collect(),
            code: refused.code,
            message: refused.message,
            hint: refused.hint,
        }),
    }
}

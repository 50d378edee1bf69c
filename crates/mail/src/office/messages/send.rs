//! Sending: a draft becomes a message that is kept, or is refused whole.

use std::pin::Pin;

use formats::channel::Content;
use formats::{Kind, Problem, markdown};

use super::check_thread;
use super::reading::{NAMES_OF_WORK, Notes, Reading};
use crate::agents::EVERYONE;
use crate::channels::{self, ChannelName, NewPost, SIGN};
use crate::error::{Error, check_label, check_text, shown};
use crate::ids::MessageId;
use crate::messages::{Appended, IdempotencyKey, Importance, LONGEST_KEY, Message, NewMessage, OpenKey, Role};
use crate::office::{Claim, Office};
use crate::projects::Project;

/// The most names in one of `to`, `cc` and `bcc`.
const MOST_NAMES: usize = 1_000;

/// A message as its sender wants it.
#[derive(Clone, Debug, Default)]
pub struct Draft<'a> {
    /// The project.
    pub project_key: &'a str,
    /// Who sends.
    pub from: Claim<'a>,
    /// Whom to write to; `all` is every agent but the sender.
    pub to: Vec<String>,
    /// Who gets a copy.
    pub cc: Vec<String>,
    /// Who gets a copy that the others do not know of.
    pub bcc: Vec<String>,
    /// The subject.
    pub subject: &'a str,
    /// The body.
    pub body: &'a str,
    /// The conversation; without one, the work item's, or a new one.
    pub thread: Option<&'a str>,
    /// How much it matters.
    pub importance: Importance,
    /// Whether an acknowledgement is wanted; when nobody says, the kind of message decides.
    pub ack_required: Option<bool>,
    /// The key against sending twice.
    pub idempotency_key: Option<&'a str>,
    /// The key of which the recipients have one message open.
    pub open_key: Option<OpenKey>,
    /// Whether to refuse it unless it is a typed message without fault.
    pub strict: bool,
    /// The door it came in by.
    pub door: &'static str,
}

impl<'a> Draft<'a> {
    /// A draft that says nothing beyond these.
    pub fn plain(project_key: &'a str, from: Claim<'a>, to: Vec<String>, subject: &'a str, body: &'a str) -> Self {
        Self { project_key, from, to, subject, body, door: "channel", ..Self::default() }
    }
}

/// An answer as its sender wants it. What is left out comes from the message that is answered.
#[derive(Clone, Debug)]
pub struct ReplyDraft<'a> {
    /// The message that is answered.
    pub reply_to: MessageId,
    /// The subject; without one, `Re:` and the old one.
    pub subject: Option<&'a str>,
    /// The rest, in which empty recipients mean whoever wrote, and no thread the old one.
    pub draft: Draft<'a>,
}

/// A message that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The message.
    pub message: Message,
    /// The path of its project.
    pub project_key: String,
    /// The blind copies, which only the sender learns of.
    pub bcc: Vec<String>,
    /// What its sender should know of it.
    pub notes: Notes,
    /// Whether it is new, and not the message that the same key, or the same name outside, brought before.
    pub is_new: bool,
    /// Whom it is addressed to and nobody knew before: they have a mailbox now. A misspelt name may be among them.
    pub new_mailboxes: Vec<String>,
    /// What the office wrote to the sender of a message that asks for files: what was granted, or who holds it.
    pub reservation: Option<Message>,
}

/// A message on its way into the store.
type Accepting<'a> = Pin<Box<dyn Future<Output = Result<Sent, Error>> + Send + 'a>>;

impl Office {
    /// Accepts a draft. After `Ok`, the message survives a crash and every recipient can read it.
    pub async fn send(&self, mut draft: Draft<'_>) -> Result<Sent, Error> {
        check_thread(&draft)?;
        let post = take_channel(&mut draft)?.map(NewPost::chat);
        self.check(&draft, post.as_ref())?;
        let reading = self.read_draft(&draft, None)?;
        self.accept(draft, reading, None, post).await
    }

    /// Accepts an answer: to whoever wrote the message, or to its recipients when one answers oneself.
    pub async fn reply(&self, reply: ReplyDraft<'_>) -> Result<Sent, Error> {
        let mut draft = reply.draft;
        // Only what this caller asks for: a thread that is there is taken as it is, whatever its name.
        check_thread(&draft)?;
        let project = self.project(draft.project_key).await?;
        let parent = self.known_message(&project, reply.reply_to).await?;
        let is_implied = draft.to.is_empty();
        if is_implied {
            draft.to = if parent.from == draft.from.name { parent.to.clone() } else { vec![parent.from.clone()] };
            // What was said in the open is answered there.
            let channel = parent.to.first().filter(|name| name.starts_with(SIGN) && !draft.to.contains(name));
            draft.to.extend(channel.cloned());
        }
        let mut post = take_channel(&mut draft)?.map(NewPost::chat);
        if is_implied && post.is_some() {
            self.leave_out_retired(draft.project_key, &mut draft.to).await?;
        }
        if let Some(post) = post.as_mut().filter(|_| reply.subject.is_none()) {
            // The subject of what is answered may call others by name, and its author does not call them again.
            post.document = Some(Content::new(draft.body, None, &[]).to_json());
        }
        let subject = reply.subject.map_or_else(|| answer_to(&parent.subject), str::to_owned);
        draft.subject = &subject;
        draft.thread = draft.thread.or(Some(&parent.thread));
        self.check(&draft, post.as_ref())?;
        let reading = match reply.subject {
            Some(_) => self.read_draft(&draft, Some(&parent))?,
            None => self.read_answer(&draft, &parent)?,
        };
        self.accept(draft, reading, Some(&parent), post).await
    }

    /// Keeps a draft that was checked and read, and tells those who wait for it.
    ///
    /// A future that is boxed here is compiled once, in this crate, and not again in every crate that sends.
    pub(in crate::office) fn accept<'a>(
        &'a self,
        draft: Draft<'a>,
        reading: Reading,
        answered: Option<&'a Message>,
        post: Option<NewPost>,
    ) -> Accepting<'a> {
        Box::pin(self.keep(draft, reading, answered, post))
    }

    async fn keep(
        &self,
        draft: Draft<'_>,
        mut reading: Reading,
        answered: Option<&Message>,
        post: Option<NewPost>,
    ) -> Result<Sent, Error> {
        let (project, sender, mut recipients, vouched) = self.address(&draft).await?;
        if let Some(post) = &post {
            let text = post.text(draft.door, draft.subject, draft.body);
            self.add_mentioned(&project, &sender, &text, &mut recipients).await?;
        } else if recipients.is_empty() {
            return Err(Error::NoRecipients);
        }
        // A file may be old: what it says is no sign of life.
        if !channels::is_outside(draft.door) && !self.is_person {
            self.sign_of_life(project.id, sender.id);
        }
        let reply_to = answered.map(|answered| answered.id);
        let work_id = self.work_of(&project, &draft, &mut reading, answered).await?;
        let json = self.examine(&project, &sender, &draft, &mut reading, answered).await?;
        let new = NewMessage {
            project: project.id,
            from: sender.id,
            recipients,
            subject: draft.subject.to_owned(),
            body: draft.body.to_owned(),
            thread: draft.thread.map(str::to_owned).or_else(|| work_id.clone()),
            reply_to,
            importance: draft.importance,
            ack_required: draft.ack_required.unwrap_or_else(|| reading.kind.is_some_and(Kind::ack_by_default)),
            // A text that is typed says more than the channel does.
            kind: reading.kind.or_else(|| post.as_ref()?.type_of_text()),
            work_id,
            is_passing: reading.is_passing,
            door: draft.door,
            vouched,
            idempotency: draft
                .idempotency_key
                .map(|key| IdempotencyKey { key: key.to_owned(), fingerprint: fingerprint(&draft, reply_to, &post) }),
            open_key: draft.open_key.clone(),
            post,
            json,
            now: self.clock.now(),
        };
        match self.store.append(&new).await? {
            Appended::New { id, created_at } => {
                self.wake_for(&new);
                let reservation = self.told_of_files(new.json.asked_of(), id).await;
                Ok(Sent { reservation, ..sent(new, project, sender.name, id, created_at, reading.notes) })
            }
            Appended::Repeated(id) => {
                let reservation = self.told_of_files(new.json.asked_of(), id).await;
                Ok(Sent { reservation, ..self.sent_before(&project, id, reading.notes).await? })
            }
            Appended::KeyTaken(first) => {
                Err(Error::KeyTaken { key: shown(draft.idempotency_key.unwrap_or_default()), first })
            }
        }
    }

    /// The work that a message is about: what it names itself, else what it answers is about.
    ///
    /// A typed message that names none is about what its thread is about. By custom a thread is named after its work, so
    /// one that says all else that its kind says may leave it at that. An answer has nothing else to say, and names none
    /// again.
    async fn work_of(
        &self,
        project: &Project,
        draft: &Draft<'_>,
        reading: &mut Reading,
        answered: Option<&Message>,
    ) -> Result<Option<String>, Error> {
        let known = reading.work_id.clone().or_else(|| answered.and_then(|answered| answered.work_id.clone()));
        let Some(kind) = reading.kind.filter(|_| known.is_none()) else { return Ok(known) };
        let is_answer = kind.markdown().is_some_and(markdown::Kind::is_answer);
        let mut found = None;
        if let Some(thread) = draft.thread {
            found = self.store.work_of_thread(project.id, thread).await?;
            let is_name = reading.is_whole && !is_answer && !thread.bytes().all(|byte| byte.is_ascii_digit());
            found = found.or_else(|| markdown::usable_id(thread).filter(|_| is_name).map(str::to_owned));
        }
        if found.is_some() {
            reading.notes.problems.retain(|problem| !NAMES_OF_WORK.contains(&problem.path.as_str()));
        } else if kind == Kind::Markdown(markdown::Kind::HelpResponse) {
            reading.notes.problems.push(Problem::missing("bead_id", "the work that it helps with, or its thread"));
        }
        Ok(found)
    }

    pub(in crate::office) fn check(&self, draft: &Draft<'_>, post: Option<&NewPost>) -> Result<(), Error> {
        let limit = self.rules.longest_body;
        for (what, text) in [("subject", draft.subject), ("body_md", draft.body)] {
            check_text(what, text, limit)?;
        }
        if draft.to.is_empty() && post.is_none() {
            return Err(Error::NoRecipients);
        }
        for (what, names) in [("to", &draft.to), ("cc", &draft.cc), ("bcc", &draft.bcc)] {
            if names.len() > MOST_NAMES {
                let given = format!("{} names", names.len());
                return Err(Error::invalid(what, &given, format!("at most {MOST_NAMES} names")));
            }
        }
        draft.idempotency_key.map_or(Ok(()), |key| check_label("idempotency_key", key, LONGEST_KEY))
    }

    /// The first answer again.
    async fn sent_before(&self, project: &Project, id: MessageId, notes: Notes) -> Result<Sent, Error> {
        let message = self.known_message(project, id).await?;
        let deliveries = self.store.deliveries(id).await?;
        let blind = deliveries.into_iter().filter(|delivery| delivery.role == Role::Bcc);
        let bcc = blind.map(|delivery| delivery.recipient).collect();
        let project_key = project.human_key.clone();
        Ok(Sent { message, project_key, bcc, notes, is_new: false, new_mailboxes: Vec::new(), reservation: None })
    }
}

fn sent(
    new: NewMessage,
    project: Project,
    from: String,
    id: MessageId,
    created_at: jiff::Timestamp,
    notes: Notes,
) -> Sent {
    let named = |wanted: Role| -> Vec<String> {
        new.recipients.iter().filter(|(_, _, role)| *role == wanted).map(|(_, name, _)| name.clone()).collect()
    };
    let (mut to, cc, bcc) = (named(Role::To), named(Role::Cc), named(Role::Bcc));
    if let Some(post) = &new.post {
        to.insert(0, post.channel.signed());
    }
    let message = Message {
        id,
        project: new.project,
        from,
        to,
        cc,
        subject: new.subject,
        body: new.body,
        thread: new.thread.unwrap_or_else(|| id.to_string()),
        reply_to: new.reply_to,
        importance: new.importance,
        ack_required: new.ack_required,
        kind: new.kind,
        work_id: new.work_id,
        door: new.door.to_owned(),
        vouched: new.vouched,
        created_at,
        problems: new.json.problems,
    };
    let (project_key, new_mailboxes) = (project.human_key, Vec::new());
    Sent { message, project_key, bcc, notes, is_new: true, new_mailboxes, reservation: None }
}

/// A hash over everything that makes two drafts the same; each part goes in with its length.
fn fingerprint(draft: &Draft<'_>, reply_to: Option<MessageId>, post: &Option<NewPost>) -> [u8; 32] {
    let lists = [&draft.to, &draft.cc, &draft.bcc];
    let lengths = lists.map(|names| names.len().to_string());
    let rest = format!("{:?}", (draft.thread, draft.importance, draft.ack_required, reply_to));
    let mut parts: Vec<&str> = Vec::new();
    for (names, length) in lists.into_iter().zip(&lengths) {
        parts.push(length);
        parts.extend(names.iter().map(String::as_str));
    }
    parts.extend([draft.subject, draft.body, &rest]);
    // Only of posts, so that a key that was used for a message stays the same message's.
    if let Some(NewPost { channel, kind, mode, document, .. }) = post {
        parts.extend([channel.as_str(), kind, mode, document.as_deref().unwrap_or_default()]);
    }
    *channels::digest(parts).as_bytes()
}

/// Takes the channel out of the recipients; what is left is whom the post is for by name, nobody for `all`.
fn take_channel(draft: &mut Draft<'_>) -> Result<Option<ChannelName>, Error> {
    let (channels, names): (Vec<_>, Vec<_>) = draft.to.drain(..).partition(|name| name.starts_with(SIGN));
    draft.to = names;
    let hidden = draft.cc.iter().chain(&draft.bcc).find(|name| name.starts_with(SIGN));
    if let Some(one) = hidden.or(channels.get(1)) {
        return Err(Error::invalid("to", one, "one channel, among the names of `to`"));
    }
    let Some(channel) = channels.first().map(|name| ChannelName::parse(name)).transpose()? else { return Ok(None) };
    for names in [&mut draft.to, &mut draft.cc, &mut draft.bcc] {
        names.retain(|name| !name.eq_ignore_ascii_case(EVERYONE));
    }
    Ok(Some(channel))
}

fn answer_to(subject: &str) -> String {
    let answered = subject.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("re:"));
    if answered { subject.to_owned() } else { format!("Re: {subject}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_for_what_its_sender_asked_for_and_nothing_else() {
        let plain = Draft::plain("/p", Claim::of("a"), Vec::new(), "s", "b");
        let draft = Draft { idempotency_key: Some("k"), door: "test", ..plain };
        let post = |channel| NewPost::chat(ChannelName::parse(channel).expect("a name"));
        let of = |post| fingerprint(&draft, None, &post);
        let first = of(Some(post("dev")));
        assert_eq!(of(Some(NewPost { hops: 7, ..post("dev") })), first, "what the office counts is not asked for");
        assert_ne!(of(Some(post("ops"))), first);
        assert_ne!(of(Some(NewPost { kind: "docs".into(), ..post("dev") })), first);
        assert_ne!(of(None), first);
    }
}

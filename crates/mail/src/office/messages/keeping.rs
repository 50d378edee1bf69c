//! Keeping: a draft that was read becomes a message in the store, and whoever waits for it is told.

use formats::{Kind, Problem, markdown};

use super::addressing::Addressed;
use super::reading::{NAMES_OF_WORK, Notes, Reading};
use super::send::{Draft, Sent};
use crate::channels::{self, NewPost};
use crate::error::{Error, shown};
use crate::ids::MessageId;
use crate::messages::{Appended, EXEC, IdempotencyKey, Mark, Message, NewMessage, Role};
use crate::office::{Office, RecipientStanding};
use crate::projects::Project;

impl Office {
    pub(super) async fn keep(
        &self,
        draft: Draft<'_>,
        mut reading: Reading,
        answered: Option<&Message>,
        post: Option<NewPost>,
    ) -> Result<Sent, Error> {
        let mut addressed = self.address(&draft).await?;
        self.add_called(&draft, post.as_ref(), &mut addressed).await?;
        // A file may be old: what it says is no sign of life.
        if !channels::is_outside(draft.door) && !self.is_person {
            self.sign_of_life(addressed.home.id, addressed.sender.id);
        }
        let new = self.new_message(&draft, &mut reading, answered, post, &mut addressed).await?;
        let (id, created_at) = match self.store.append(&new).await? {
            Appended::New { id, created_at } => (id, created_at),
            Appended::Repeated(id) => {
                // Who tries again may not have come so far the first time.
                self.note_answered(&new, answered, &addressed).await;
                return self.repeated(id, new, &addressed, reading.notes).await;
            }
            Appended::KeyTaken(first) => {
                return Err(Error::KeyTaken { key: shown(draft.idempotency_key.unwrap_or_default()), first });
            }
        };
        self.wake_for(&new);
        self.note_answered(&new, answered, &addressed).await;
        self.hand_out(&addressed.project, &addressed.roles).await;
        let standing = self.standing_for(&addressed, &new).await;
        let reservation = self.told_of_files(new.json.asked_of(), id).await;
        Ok(Sent { reservation, standing, ..sent(new, addressed, id, created_at, reading.notes) })
    }

    /// Adds whoever a post calls by name. A message needs somebody to go to.
    async fn add_called(
        &self,
        draft: &Draft<'_>,
        post: Option<&NewPost>,
        addressed: &mut Addressed,
    ) -> Result<(), Error> {
        let is_elsewhere = addressed.name_there().is_some();
        let Addressed { project, sender, recipients, .. } = addressed;
        match post {
            Some(_) if is_elsewhere => {
                let wanted = "agents of this project, because a channel is a project's own";
                Err(Error::invalid("to", draft.to.first().map_or("", String::as_str), wanted))
            }
            Some(post) => {
                let text = post.text(draft.door, draft.subject, draft.body);
                self.add_mentioned(project, sender, &text, recipients).await
            }
            None if recipients.is_empty() => Err(Error::NoRecipients),
            None => Ok(()),
        }
    }

    async fn new_message(
        &self,
        draft: &Draft<'_>,
        reading: &mut Reading,
        answered: Option<&Message>,
        post: Option<NewPost>,
        addressed: &mut Addressed,
    ) -> Result<NewMessage, Error> {
        let reply_to = answered.map(|answered| answered.id);
        let from_as = addressed.name_there();
        let work_id = self.work_of(&addressed.project, draft, reading, answered).await?;
        let mut json = self.examine(&addressed.project, &addressed.sender, draft, reading, answered).await?;
        if from_as.is_some() {
            // Files are reserved by agents of their own project.
            json.response = None;
        }
        Ok(NewMessage {
            project: addressed.project.id,
            from: addressed.sender.id,
            from_as,
            recipients: std::mem::take(&mut addressed.recipients),
            subject: draft.subject.to_owned(),
            body: draft.body.to_owned(),
            thread: draft.thread.map(str::to_owned).or_else(|| work_id.clone()),
            reply_to,
            marks_read: self.marks_read(draft.door),
            importance: draft.importance,
            ack_required: draft.ack_required.unwrap_or_else(|| reading.kind.is_some_and(Kind::ack_by_default)),
            // A text that is typed says more than the channel does.
            kind: reading.kind.or_else(|| post.as_ref()?.type_of_text()),
            work_id,
            is_passing: reading.is_passing,
            door: draft.door,
            vouched: addressed.vouched,
            idempotency: draft
                .idempotency_key
                .map(|key| IdempotencyKey { key: key.to_owned(), fingerprint: fingerprint(draft, reply_to, &post) }),
            open_key: draft.open_key.clone(),
            post,
            json,
            now: self.clock.now(),
        })
    }

    /// Whether who answers at a door has read what it answers. The callers of the exec door say themselves what was read. Nobody
    /// proves a name outside: where names have to be proved, what comes from there changes nobody's mail.
    fn marks_read(&self, door: &str) -> bool {
        door != EXEC && !(self.is_strict() && channels::is_outside(door))
    }

    /// Whoever answers has read what it answers. The store notes that with the answer, but for what stands in another project, which
    /// is another transaction. The answer is kept, whatever becomes of this.
    async fn note_answered(&self, new: &NewMessage, answered: Option<&Message>, addressed: &Addressed) {
        let is_due = |answered: &&Message| answered.project != addressed.project.id && new.marks_read;
        let Some(answered) = answered.filter(is_due) else { return };
        let marked = self.store.mark(addressed.sender.id, answered.id, &Mark::Read, self.clock.now()).await;
        if let Err(error) = marked {
            tracing::debug!(%error, message = answered.id.0, "what was answered stays unread");
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

    async fn standing_for(&self, addressed: &Addressed, new: &NewMessage) -> Vec<RecipientStanding> {
        // Nobody is told of it there.
        if new.post.is_some() || new.door == EXEC || channels::is_outside(new.door) {
            return Vec::new();
        }
        let projects = (&addressed.home, &addressed.project);
        self.standing_of_recipients(projects, addressed.sender.id, &new.recipients).await
    }

    /// The first answer again.
    async fn repeated(
        &self,
        id: MessageId,
        new: NewMessage,
        addressed: &Addressed,
        notes: Notes,
    ) -> Result<Sent, Error> {
        let message = self.known_message(&addressed.project, id).await?;
        let deliveries = self.store.deliveries(id).await?;
        let blind = deliveries.into_iter().filter(|delivery| delivery.role == Role::Bcc);
        Ok(Sent {
            message,
            project_key: addressed.project.human_key.clone(),
            bcc: blind.map(|delivery| delivery.recipient).collect(),
            notes,
            is_new: false,
            new_mailboxes: Vec::new(),
            reservation: self.told_of_files(new.json.asked_of(), id).await,
            resolved: addressed.resolved.clone(),
            standing: self.standing_for(addressed, &new).await,
            other_project: other_project(addressed),
        })
    }
}

fn other_project(addressed: &Addressed) -> Option<String> {
    (addressed.home.id != addressed.project.id).then(|| addressed.project.slug.clone())
}

fn sent(new: NewMessage, addressed: Addressed, id: MessageId, created_at: jiff::Timestamp, notes: Notes) -> Sent {
    let other_project = other_project(&addressed);
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
        from: new.from_as.unwrap_or(addressed.sender.name),
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
    Sent {
        message,
        project_key: addressed.project.human_key,
        bcc,
        notes,
        is_new: true,
        new_mailboxes: Vec::new(),
        reservation: None,
        resolved: addressed.resolved,
        standing: Vec::new(),
        other_project,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::ChannelName;
    use crate::office::Claim;

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

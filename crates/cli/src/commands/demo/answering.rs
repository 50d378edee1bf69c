//! What the agents of the demo answer to whoever is no part of it: a person at the page, or an agent that was connected.
//!
//! They say what they are. They answer each conversation a few times and no more, because whoever writes may be a program
//! that answers by itself.

use std::collections::HashMap;

use mail::Office;
use mail::ids::MessageId;
use mail::mailboxes::RecipientCopy;
use mail::office::{Claim, CopiesAsk};

use super::awake::Members;
use super::letter::{Labels, Letter};
use super::phrases::Phrases;

/// How many answers a conversation gets.
const MOST_ANSWERS: u32 = 3;
/// How many copies are looked at in one go.
const STEP: usize = 500;
/// What a message is called that is answered.
const QUESTION: &str = "question";

/// Who answers, and up to where it looked.
pub(crate) struct Answering {
    members: Members,
    /// The newest copy of each project that was looked at: the message, and the place among its copies.
    seen: HashMap<String, Option<(MessageId, usize)>>,
    /// How many answers each conversation got.
    answers: HashMap<String, u32>,
}

impl Answering {
    /// Begins with what comes from now on.
    pub(crate) async fn begin(office: &Office, members: Members) -> anyhow::Result<Self> {
        let seen = members.iter().map(|(project, _)| (project.clone(), None)).collect();
        let mut answering = Self { members, seen, answers: HashMap::new() };
        answering.new_copies(office).await?;
        Ok(answering)
    }

    /// Answers whoever wrote since the last look.
    pub(crate) async fn look(&mut self, office: &Office) -> anyhow::Result<()> {
        for (project, copy) in self.new_copies(office).await? {
            let is_member = |name: &str| self.members.iter().any(|(of, one)| *of == project && one == name);
            if is_member(&copy.message.from) || !is_member(&copy.recipient) {
                continue;
            }
            let answers = self.answers.entry(format!("{project} {}", copy.message.thread)).or_default();
            *answers += 1;
            if *answers <= MOST_ANSWERS {
                answer(office, &project, &copy).await?;
            }
        }
        Ok(())
    }

    /// The unread copies of messages that were not looked at before.
    async fn new_copies(&mut self, office: &Office) -> anyhow::Result<Vec<(String, RecipientCopy)>> {
        let mut found = Vec::new();
        for (project, seen) in &mut self.seen {
            loop {
                let ask = CopiesAsk { project_key: project, whose: None, unread_only: true, after: *seen, limit: STEP };
                let copies = office.open_copies(ask).await?;
                let Some(last) = copies.last() else { break };
                *seen = Some((last.message.id, last.place));
                found.extend(copies.into_iter().map(|copy| (project.clone(), copy)));
            }
        }
        Ok(found)
    }
}

async fn answer(office: &Office, project: &str, copy: &RecipientCopy) -> anyhow::Result<()> {
    let (message, agent) = (&copy.message, Claim::of(&copy.recipient));
    match message.ack_required {
        true => office.acknowledge(project, agent, message.id, "Seen, by a script.").await?,
        false => office.mark_read(project, agent, message.id).await?,
    };
    let body = format!(
        "Your message arrived, as number {}. This is the demo and I am a script, so that nobody thinks about it.\n\n\
         A real agent would have been told of it by its hook, by `wait_for_mail` or by a nudge, and would answer here.",
        message.id
    );
    let (from, ack) = (copy.recipient.clone(), Some(false));
    let letter = Letter { from, answers: Some(QUESTION.to_owned()), body, ack, ..Letter::default() };
    letter.send(office, project, &Phrases::default(), &Labels::from([(QUESTION.to_owned(), message.id)])).await?;
    Ok(())
}

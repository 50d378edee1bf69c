//! What is done at each event of a session.
//!
//! What can be told without asking anybody is told without: most tool calls write nothing. Mail is told to the main agent
//! alone. No more of it is taken than is told, nothing unless there is time left to print it, and what was not printed is given back.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use mail::provider::Provider;
use relay::fence;
use relay::sessions::{Ancestor, SessionRecord, host};

use super::checkpoint::{self, CheckpointFile};
use super::deadline::Speaker;
use super::digest::{self, DigestPart};
use super::input::Input;
use super::inquiry::Inquiry;
use super::marks::Marks;
use super::memory::{Matter, Memory};
use super::naming::{self, Names};
use super::new_mail::{self, Door, NewMail};
use super::objection::objection;
use super::paths;
use super::session::{Kept, Session};
use super::telling::{Saying, Tells, give_back_owed};
use crate::clients::{Client, Event, HookReply};
use crate::config::{Reserved, set};
use crate::local_sessions::{key_of, new_key};
use crate::mailbox::{Caller, Mailbox};
use crate::post_office::PostOffice;

/// How much time there has to be before the deadline when mail is taken.
const TIME_TO_PRINT: Duration = Duration::from_millis(200);
/// How many messages are told beside a checkpoint, so that both are short enough together.
const MOST_BESIDE_CHECKPOINT: usize = 2;
/// What a client says of a session that goes on after a compaction.
const COMPACTED: &str = "compact";
/// What a client says of a compaction that nobody asked for.
const AUTOMATIC: &str = "auto";

/// An event of a session, and all that is known of it.
pub struct Happening<'a> {
    /// Whose client tells of it.
    pub client: &'static Client,
    /// What happened.
    pub event: Event,
    /// What the client calls it.
    pub called: &'static str,
    /// What the client says of it.
    pub input: &'a Input,
    /// What is remembered of the session.
    pub session: &'a Session,
    /// What is noted of it for others.
    pub marks: Option<Marks<'a>>,
    /// Who the agent is. Without a name it may be given one.
    pub me: Kept,
    /// Whether somebody said that name: otherwise it is the one that was remembered.
    pub is_said: bool,
    /// How names are given.
    pub names: Names,
    /// The processes above this one.
    pub above: Vec<Ancestor>,
    /// The server elsewhere that is asked; none if it is the office of this home.
    pub office: Option<String>,
    /// Whether acting in a name takes its token.
    pub is_strict: bool,
    /// What becomes of a write to what somebody else has reserved.
    pub reserved: Reserved,
    /// When nobody listens any more.
    pub deadline: Instant,
}

impl Happening<'_> {
    /// Whether anybody has to be asked about it.
    pub fn is_of_interest(&self) -> bool {
        let Self { input, .. } = self;
        let is_known = !self.me.agent.is_empty();
        match self.event {
            Event::SessionStart => is_known || !input.session_id.is_empty(),
            Event::Prompt if self.client.prompts_itself && input.is_empty_prompt => false,
            Event::AfterTool | Event::BeforeTool if !self.client.hears(self.event) => false,
            Event::Prompt | Event::AfterTool => (is_known || self.begins_late()) && !input.is_of_subagent(),
            Event::Stop => is_known && !input.is_of_subagent(),
            Event::BeforeCompaction => is_known && !input.is_of_subagent() && self.wants_checkpoint(),
            Event::BeforeTool => is_known && !input.written(self.client).is_empty(),
            Event::SessionEnd => is_known && !input.is_of_subagent() && input.reason != self.client.clearing.reason,
            // During a compaction there is one without a kind, which nobody began.
            Event::SubagentStart => is_known && input.is_of_subagent() && !input.agent_type.is_empty(),
        }
    }

    /// Whether nothing is known of the session, because the hook of its start failed, so that the first prompt begins it.
    fn begins_late(&self) -> bool {
        let is_first = self.event == Event::Prompt || self.client.event_name(Event::Prompt).is_empty();
        is_first && self.is_unnamed()
    }

    fn is_unnamed(&self) -> bool {
        let is_remembered = || self.session.record().is_some_and(|record| !record.agent.is_empty());
        self.me.agent.is_empty() && !self.is_strict && !self.input.session_id.is_empty() && !is_remembered()
    }

    /// Who the agent is to a backend, if it has a name.
    pub fn who(&self) -> Option<Caller> {
        let Kept { agent, token, .. } = &self.me;
        (!agent.is_empty()).then(|| Caller { name: agent.clone(), token: token.clone() })
    }

    /// Whether it is to be kept where the agent stands.
    fn wants_checkpoint(&self) -> bool {
        let is_due = || self.is_certain_to_compact() || !CheckpointFile::of(self.session).is_fresh();
        !self.input.session_id.is_empty() && is_due()
    }

    /// Whether the event comes because the conversation is compacted, and not before every call of the model.
    fn is_certain_to_compact(&self) -> bool {
        !self.client.compacts_silently || self.input.trigger != AUTOMATIC
    }

    /// What there is to say about it. The speaker learns when mail is taken.
    pub async fn reply(&self, mailbox: &Mailbox, speaker: &Speaker) -> anyhow::Result<Saying> {
        let Some(post_office) = mailbox.post_office() else { return self.reply_from(mailbox.provider()).await };
        let inquiry = Inquiry { post_office, me: &self.me };
        Ok(match self.event {
            Event::SessionStart => self.digest(post_office).await?,
            Event::Prompt | Event::AfterTool if self.begins_late() => self.digest(post_office).await?,
            Event::Prompt | Event::AfterTool => self.new_mail(&inquiry, speaker).await?,
            Event::Stop if !self.client.hears(Event::Stop) => Saying::default(),
            Event::Stop => self.reason_to_go_on(&inquiry).await?,
            Event::BeforeTool => self.objection(&inquiry).await?.into(),
            Event::SessionEnd => self.end_session(post_office).await.map(|()| Saying::default())?,
            Event::SubagentStart => {
                let name = naming::name_below(&self.me.agent, self.input);
                self.remember_below(&name)?;
                Some(HookReply::Context(self.of_subagent(&name))).into()
            }
            Event::BeforeCompaction => self.keep_checkpoint(&inquiry).await.map(|()| Saying::default())?,
        })
    }

    /// Takes note of whether the answer was printed: what nobody can read is told again.
    pub async fn settle(&self, mailbox: &Mailbox, tells: Tells, is_printed: bool) -> anyhow::Result<()> {
        if is_printed {
            return tells.printed(self.session);
        }
        let inquiry = mailbox.post_office().map(|post_office| Inquiry { post_office, me: &self.me });
        tells.not_printed(&self.memory(), inquiry.as_ref()).await
    }

    /// What this machine knows of what the agent was told.
    fn memory(&self) -> Memory<'_> {
        Memory::of(self.session.all(), &self.me)
    }

    /// New mail, and where no start of a session follows a compaction also where the agent stood before it.
    async fn new_mail(&self, inquiry: &Inquiry<'_>, speaker: &Speaker) -> anyhow::Result<Saying> {
        let memory = self.memory();
        give_back_owed(&memory, inquiry).await?;
        let is_due = self.event == Event::Prompt && self.client.compacts_silently;
        let parts = if is_due { CheckpointFile::of(self.session).untold() } else { Vec::new() };
        let stood = digest::reminder(&parts);
        let has_checkpoint = stood.is_some();
        let is_untold = self.session.record().is_some_and(|record| record.is_untold);
        let begun = if is_untold { Some(self.introduction(inquiry, Vec::new()).await?) } else { None };
        let first: Vec<String> = begun.into_iter().chain(stood).collect();
        let not_after = self.last_moment()?;
        let most = if first.is_empty() { new_mail::MOST_TOLD } else { MOST_BESIDE_CHECKPOINT };
        speaker.set_holding(true);
        let (mail, more, taken) = inquiry.take_mail(most, not_after).await?;
        let room = new_mail::LONGEST - first.iter().map(|text| fence::cost(text) + 2).sum::<usize>();
        let taken = (!mail.is_empty()).then_some(taken);
        let tells = Tells { taken, noted: None, has_checkpoint, has_introduction: is_untold };
        let texts = first.into_iter().chain(new_mail::text(&mail, more, Door::Tools, room));
        let text = texts.collect::<Vec<_>>().join("\n");
        Ok(Saying { reply: (!text.is_empty()).then_some(HookReply::Context(text)), tells })
    }

    /// Why the agent should not stop yet: each message is a reason once.
    async fn reason_to_go_on(&self, inquiry: &Inquiry<'_>) -> anyhow::Result<Saying> {
        let unread = inquiry.unread().await?.into_iter().rev();
        let mut pressing: Vec<NewMail> = unread.filter(new_mail::is_pressing).collect();
        if pressing.is_empty() {
            return Ok(Saying::default());
        }
        let ids: Vec<String> = pressing.iter().map(|one| one.id.clone()).collect();
        let (fresh, more) = self.memory().note(Matter::Asked, &ids, new_mail::MOST_TOLD)?;
        pressing.retain(|one| fresh.contains(&one.id));
        let reply = new_mail::reason_to_go_on(&pressing, more).map(HookReply::GoOn);
        Ok(Saying { reply, tells: Tells { noted: Some((Matter::Asked, fresh)), ..Tells::default() } })
    }

    /// Keeps where the agent stands, for when its conversation was compacted.
    async fn keep_checkpoint(&self, inquiry: &Inquiry<'_>) -> anyhow::Result<()> {
        let mut parts: Vec<DigestPart> = checkpoint::branch(&self.input.cwd).into_iter().collect();
        parts.extend(inquiry.own_parts().await?);
        parts.retain(|part| !part.is_empty());
        CheckpointFile::of(self.session).keep(parts, self.is_certain_to_compact())
    }

    /// Nobody else's program keeps reservations, or knows what presses.
    async fn reply_from(&self, provider: &dyn Provider) -> anyhow::Result<Saying> {
        let Kept { agent, project, .. } = &self.me;
        if agent.is_empty() || !matches!(self.event, Event::SessionStart | Event::Prompt | Event::AfterTool) {
            return Ok(Saying::default());
        }
        let deliveries = provider.check(agent).await?;
        if self.event == Event::SessionStart {
            let unread: Vec<String> = deliveries.into_iter().rev().map(|one| NewMail::from(one).headline()).collect();
            let unread = [DigestPart::of("Unread", unread)];
            return Ok(Some(HookReply::Context(digest::text(agent, project, Door::Shell, &unread))).into());
        }
        self.last_moment()?;
        let mut mail: Vec<NewMail> = deliveries.into_iter().map(NewMail::from).collect();
        let ids: Vec<String> = mail.iter().map(|one| one.id.clone()).collect();
        let (fresh, more) = self.memory().note(Matter::Told, &ids, new_mail::MOST_TOLD)?;
        mail.retain(|one| fresh.contains(&one.id));
        let reply = new_mail::text(&mail, more, Door::Shell, new_mail::LONGEST).map(HookReply::Context);
        Ok(Saying { reply, tells: Tells { noted: Some((Matter::Told, fresh)), ..Tells::default() } })
    }

    /// Makes sure that the agent is registered, and says who it is and what waits for it.
    async fn digest(&self, post_office: &PostOffice) -> anyhow::Result<Saying> {
        if self.is_strict && self.me.token.is_none() {
            return Ok(Some(HookReply::Context(digest::NO_TOKEN.to_owned())).into());
        }
        // Hooks of two configurations may begin one session at once, and two sessions want one name.
        let turn = self.session.all().turn().context("cannot take a turn among the sessions")?;
        let (mut me, mut record, before) = self.named();
        // Only now is it certain whose name it takes.
        self.settle_earlier(post_office, &me).await;
        let settled =
            |(client, id): (&str, &str)| self.session.all().stored(client, id).is_some_and(|one| one.is_settled);
        let own = (self.client.name, self.input.session_id.as_str());
        if settled(before.as_ref().map_or(own, |before| (&before.client, &before.session_id))) {
            record.instead_of = None;
        }
        let inquiry = Inquiry { post_office, me: &me };
        match inquiry.known_name().await? {
            // Another name than that of the record is the one that it was given meanwhile.
            Some(name) => me.agent = name,
            None => me = inquiry.register(self.client.program, &self.input.model).await?,
        }
        record.agent.clone_from(&me.agent);
        record.token.clone_from(&me.token);
        record.project.clone_from(&me.project);
        let is_heard = self.client.hears(self.event);
        record.is_untold = !is_heard;
        if !self.input.session_id.is_empty() {
            self.session.keep(record)?;
        }
        // Only now, so that its name outlives a start that fails.
        before.iter().try_for_each(|before| self.session.all().replace(before))?;
        drop(turn);
        tell_shells(self.client, &me.agent)?;
        if !is_heard {
            return Ok(Saying::default());
        }
        let inquiry = Inquiry { post_office, me: &me };
        let stood = if self.input.source == COMPACTED { CheckpointFile::of(self.session).untold() } else { Vec::new() };
        let tells = Tells { has_checkpoint: !stood.is_empty(), ..Tells::default() };
        let reply = HookReply::Context(self.introduction(&inquiry, stood).await?);
        Ok(Saying { reply: Some(reply), tells })
    }

    /// Who the agent is, where it stood, if that is known, and what waits for it.
    async fn introduction(&self, inquiry: &Inquiry<'_>, mut stood: Vec<DigestPart>) -> anyhow::Result<String> {
        let mut parts = inquiry.parts().await?;
        let others = self.session.others_of(inquiry.me).into_iter();
        let others = others.map(|other| format!("{} in {}", other.client, other.place.display()));
        parts.insert(
            0,
            DigestPart::of("Other sessions under your name, each told a part of your mail", others.collect()),
        );
        // What is told anyway is left out.
        stood.retain(|part| !parts.iter().any(|one| one.covers(part)));
        Ok(digest::text(&inquiry.me.agent, &inquiry.me.project, Door::Tools, &[stood, parts].concat()))
    }

    /// What is remembered of the session that begins, if its name is still its own: meanwhile another session in its place may have
    /// taken it.
    fn known(&self) -> Option<SessionRecord> {
        let known = self.session.record().filter(|known| !known.agent.is_empty())?;
        if known.project != self.me.project {
            return None;
        }
        let is_free = known.is_generated && !known.is_open();
        let is_taken = is_free && !self.session.others_of(&known.clone().into()).is_empty();
        (!is_taken).then_some(known)
    }

    /// The session that the one which begins goes on with: itself, or one whose name it takes.
    fn earlier(&self) -> Option<SessionRecord> {
        let Self { session, input, names, above, .. } = self;
        match self.known() {
            Some(known) => Some(known).filter(|known| !self.is_said || known.agent == self.me.agent),
            None if self.is_said => None,
            None => naming::earlier(session, input, *names, (&self.me.project, self.office.as_deref()), above),
        }
    }

    /// Who the agent of a session is that begins, as far as is known here, what is to be remembered of the session, and the earlier
    /// session that it goes on with, which leaves its name to this one.
    fn named(&self) -> (Kept, SessionRecord, Option<SessionRecord>) {
        let mut me = match self.is_said {
            true => self.me.clone(),
            false => Kept { project: self.me.project.clone(), ..Kept::default() },
        };
        let mut record = SessionRecord {
            named_at: SystemClock.now().as_microsecond(),
            is_generated: !self.is_said && self.names != Names::Fixed,
            host: host(),
            key: new_key(self.client.name, &self.input.session_id),
            process: naming::client_process(&self.above),
            ends_unseen: self.client.ends_unseen(),
            place: naming::place_of(&self.input.cwd),
            office: self.office.clone(),
            ..SessionRecord::default()
        };
        let mut replaced = None;
        match self.earlier() {
            Some(before) => {
                (record.is_generated, record.named_at) = (before.is_generated, before.named_at);
                me = Kept { token: me.token.or(before.token.clone()), ..before.clone().into() };
                if self.session.is(&before) {
                    record.key = key_of(&before);
                    (record.is_idle, record.told_at) = (before.is_idle, before.told_at);
                    (record.below, record.instead_of) = (before.below, before.instead_of);
                } else {
                    let is_open = before.told_at > 0 && !before.is_settled;
                    let key = is_open.then(|| key_of(&before));
                    record.instead_of = key.or_else(|| before.instead_of.clone());
                    replaced = Some(before);
                }
            }
            None if !self.is_said && self.names == Names::Fixed => self.client.name.clone_into(&mut me.agent),
            None => {}
        }
        (me, self.with_socket(record), replaced)
    }

    /// What an agent below the main one is told: it is nobody's mail that it may take.
    fn of_subagent(&self, name: &str) -> String {
        format!(
            "You are a sub-agent of {main}, whose mail is not yours. If you send mail or reserve files, call register_agent as \
             '{name}' first.",
            main = fence::line(&self.me.agent),
            name = fence::line(name),
        )
    }

    /// What somebody else's reservation says about the files that are about to be written.
    async fn objection(&self, inquiry: &Inquiry<'_>) -> anyhow::Result<Option<HookReply>> {
        let Some(root) = inquiry.root().await? else { return Ok(None) };
        let written = self.input.written(self.client).into_iter();
        let written = written.map(|path| paths::within(Path::new(&root), &self.input.cwd, &path));
        let written: Vec<Vec<String>> = written.filter(|names| !names.is_empty()).collect();
        Ok(objection(&inquiry.conflicts(&written).await?).map(|why| match self.reserved {
            Reserved::Deny => HookReply::Refuse(why),
            Reserved::Warn => HookReply::Warn(why),
        }))
    }

    /// When mail may be taken at the latest: what is taken and not told would only be found in the inbox.
    fn last_moment(&self) -> anyhow::Result<Timestamp> {
        let left = self.deadline.saturating_duration_since(Instant::now()).checked_sub(TIME_TO_PRINT);
        let left = left.context("there is no time left to tell of new mail; it is told the next time")?;
        Ok(SystemClock.now() + left)
    }
}

/// Tells the shells of the session, where a client has a way for that, who the agent is, so that `postrider` and git hooks
/// there know it, too.
fn tell_shells(client: &Client, agent: &str) -> anyhow::Result<()> {
    let file = client.shell_settings.and_then(set);
    let (Some(file), None) = (file, set("POSTRIDER_AGENT")) else { return Ok(()) };
    let Ok(word) = shlex::try_quote(agent) else { return Ok(()) };
    let mut file =
        OpenOptions::new().append(true).create(true).open(file).context("cannot tell the shells who you are")?;
    writeln!(file, "export POSTRIDER_AGENT={word}").context("cannot tell the shells who you are")
}

#[cfg(test)]
mod tests;

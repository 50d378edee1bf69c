//! What is done at each event of a session.
//!
//! What can be told without asking anybody is told without: most tool calls write nothing. Mail is told to the main agent
//! alone, and nothing of it is taken unless there is time left to print it.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use mail::provider::Provider;
use relay::fence;
use relay::sessions::{Ancestor, SessionRecord};

use super::digest::{self, DigestPart};
use super::input::Input;
use super::inquiry::Inquiry;
use super::marks::Marks;
use super::naming::{self, Names};
use super::new_mail::{self, Door, NewMail};
use super::objection::objection;
use super::paths;
use super::session::{self, Kept, Session};
use crate::clients::{self, Client, Event, HookReply};
use crate::config::{Reserved, set};
use crate::local_sessions::key_of;
use crate::mailbox::{Caller, Mailbox};
use crate::post_office::PostOffice;

/// How much time there has to be before the deadline when mail is taken.
const TIME_TO_PRINT: Duration = Duration::from_millis(200);

/// An event of a session, and all that is known of it.
pub struct Happening<'a> {
    /// Whose client tells of it.
    pub client: &'static Client,
    /// What happened.
    pub event: Event,
    /// What the client says of it.
    pub input: &'a Input,
    /// What is remembered of the session.
    pub session: &'a Session,
    /// What is noted of it for others.
    pub marks: Option<Marks<'a>>,
    /// Who the agent is. Without a name it may be given one.
    pub me: Kept,
    /// How names are given.
    pub names: Names,
    /// The processes above this one.
    pub above: Vec<Ancestor>,
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
            Event::Prompt | Event::AfterTool => is_known && !input.is_of_subagent(),
            Event::Stop => {
                is_known && !input.is_of_subagent() && (!input.stop_hook_active || self.is_unknown_to_be_idle())
            }
            Event::BeforeTool => is_known && !input.written(self.client).is_empty(),
            Event::SessionEnd => is_known && !input.is_of_subagent() && input.reason != naming::CLEARED,
            // During a compaction there is one without a kind, which nobody began.
            Event::SubagentStart => is_known && input.is_of_subagent() && !input.agent_type.is_empty(),
        }
    }

    /// Who the agent is to a backend, if it has a name.
    pub fn who(&self) -> Option<Caller> {
        let Kept { agent, token, .. } = &self.me;
        (!agent.is_empty()).then(|| Caller { name: agent.clone(), token: token.clone() })
    }

    /// What there is to say about it.
    pub async fn reply(&self, mailbox: &Mailbox) -> anyhow::Result<Option<HookReply>> {
        let Some(post_office) = mailbox.post_office() else { return self.reply_from(mailbox.provider()).await };
        let inquiry = Inquiry { post_office, me: &self.me };
        match self.event {
            Event::SessionStart => self.digest(post_office).await.map(Some),
            Event::Prompt | Event::AfterTool => {
                let not_after = self.last_moment()?;
                Ok(new_mail::text(&inquiry.new_mail(not_after).await?, Door::Tools).map(HookReply::Context))
            }
            Event::Stop if self.input.stop_hook_active => Ok(None),
            Event::Stop => Ok(new_mail::reason_to_go_on(&inquiry.unread().await?).map(HookReply::GoOn)),
            Event::BeforeTool => self.objection(&inquiry).await,
            Event::SessionEnd => Ok(self.end_session(post_office).await.map(|()| None)?),
            Event::SubagentStart => {
                let name = naming::name_below(&self.me.agent, self.input);
                self.remember_below(&name)?;
                Ok(Some(HookReply::Context(self.of_subagent(&name))))
            }
        }
    }

    /// Nobody else's program keeps reservations, or knows what presses.
    async fn reply_from(&self, provider: &dyn Provider) -> anyhow::Result<Option<HookReply>> {
        let Kept { agent, project, .. } = &self.me;
        if agent.is_empty() || !matches!(self.event, Event::SessionStart | Event::Prompt | Event::AfterTool) {
            return Ok(None);
        }
        let deliveries = provider.check(agent).await?;
        if self.event == Event::SessionStart {
            let unread: Vec<String> = deliveries.into_iter().rev().map(|one| NewMail::from(one).headline()).collect();
            let unread = [DigestPart::of("Unread", unread)];
            return Ok(Some(HookReply::Context(digest::text(agent, project, Door::Shell, &unread))));
        }
        self.last_moment()?;
        let older = deliveries.len().saturating_sub(session::MOST_TOLD);
        let mut new_mail: Vec<NewMail> = deliveries.into_iter().skip(older).map(NewMail::from).collect();
        let ids: Vec<String> = new_mail.iter().map(|one| one.id.clone()).collect();
        let untold = self.session.untold(&ids)?;
        new_mail.retain(|one| untold.contains(&one.id));
        Ok(new_mail::text(&new_mail, Door::Shell).map(HookReply::Context))
    }

    /// Makes sure that the agent is registered, and says who it is and what waits for it.
    async fn digest(&self, post_office: &PostOffice) -> anyhow::Result<HookReply> {
        if self.is_strict && self.me.token.is_none() {
            return Ok(HookReply::Context(digest::NO_TOKEN.to_owned()));
        }
        self.settle_others(post_office).await;
        // Hooks of two configurations may begin one session at once, and two sessions want one name.
        let turn = self.session.all().turn().context("cannot take a turn among the sessions")?;
        let (mut me, mut record) = self.named()?;
        let inquiry = Inquiry { post_office, me: &me };
        match inquiry.known_name().await? {
            // Another name than that of the record is the one that it was given meanwhile.
            Some(name) => me.agent = name,
            None => me = inquiry.register(self.client.program, &self.input.model).await?,
        }
        record.agent.clone_from(&me.agent);
        record.token.clone_from(&me.token);
        record.project.clone_from(&me.project);
        if !self.input.session_id.is_empty() {
            self.session.keep(record)?;
        }
        drop(turn);
        tell_shells(&me.agent)?;
        let mut parts = Inquiry { post_office, me: &me }.parts().await?;
        let others = self
            .session
            .others_of(&me)
            .into_iter()
            .map(|other| format!("{} in {}", other.client, other.place.display()));
        parts.insert(
            0,
            DigestPart::of("Other sessions under your name, each told a part of your mail", others.collect()),
        );
        Ok(HookReply::Context(digest::text(&me.agent, &me.project, Door::Tools, &parts)))
    }

    /// Who the agent of a session is that begins, as far as is known here, and what is to be remembered of the session. An
    /// earlier session that this one goes on with is forgotten.
    fn named(&self) -> anyhow::Result<(Kept, SessionRecord)> {
        let Self { session, input, names, above, .. } = self;
        let known = session.record().filter(|known| !known.agent.is_empty());
        let is_known = |me: &Kept| known.as_ref().is_some_and(|known| known.agent == me.agent);
        let mut me = self.me.clone();
        let mut record = SessionRecord { named_at: SystemClock.now().as_microsecond(), ..SessionRecord::default() };
        if is_known(&me) || me.agent.is_empty() {
            let earlier = || naming::earlier(session, input, *names, &self.me.project, above);
            record.is_generated = me.agent.is_empty() && *names != Names::Fixed;
            if let Some(before) = known.or_else(earlier) {
                if session.is(&before) {
                    (record.is_idle, record.told_at) = (before.is_idle, before.told_at);
                    (record.below, record.instead_of) = (before.below.clone(), before.instead_of.clone());
                } else {
                    session.all().remove(&before);
                    let is_open = before.told_at > 0 && !before.is_settled;
                    record.instead_of = is_open.then(|| key_of(&before.client, &before.session_id));
                }
                (record.is_generated, record.named_at) = (before.is_generated, before.named_at);
                me = Kept { token: self.me.token.clone().or(before.token.clone()), ..before.into() };
            } else if *names == Names::Fixed {
                me.agent = self.client.name.to_owned();
            }
        }
        record.process = above.iter().find(|ancestor| !ancestor.is_shell()).map(|ancestor| ancestor.process);
        record.place = naming::place_of(&input.cwd);
        Ok((me, self.with_socket(record)))
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
fn tell_shells(agent: &str) -> anyhow::Result<()> {
    let file = clients::ALL.iter().find_map(|client| set(client.shell_settings?));
    let (Some(file), None) = (file, set("POSTRIDER_AGENT")) else { return Ok(()) };
    let Ok(word) = shlex::try_quote(agent) else { return Ok(()) };
    let mut file =
        OpenOptions::new().append(true).create(true).open(file).context("cannot tell the shells who you are")?;
    writeln!(file, "export POSTRIDER_AGENT={word}").context("cannot tell the shells who you are")
}

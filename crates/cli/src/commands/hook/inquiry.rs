//! What the post office is asked for an agent at one of its events.
//!
//! Only `register`, `take_mail` and `give_back` change anything: what `take_mail` returns is not returned again unless it is given
//! back. What becomes of the answers is for `events`.

use api::answers::{ColleagueAnswer, FollowedAnswer, HelpAnswer, ReservationAnswer, WorkAnswer};
use api::{
    Actor, Ask, ConflictAnswer, EnsureProject, FetchInbox, GiveBackMail, ListAgents, ListWork, ReadOutbox,
    RegisterAgent, TakeMail, TakenMailAnswer, Whois,
};
use jiff::Timestamp;
use mail::clock::rfc3339;

use super::digest::{self, DigestPart};
use super::memory::TakenIds;
use super::new_mail::NewMail;
use super::session::Kept;
use crate::commands::conflicts;
use crate::commands::in_name::InName;
use crate::commands::reservations;
use crate::family::is_of_family;
use crate::post_office::{PostOffice, Refused};

/// How many unread messages are counted, and how many sent ones are looked through.
const MOST_UNREAD: u32 = 1_000;
const MOST_SENT: u32 = 100;

/// An agent of a project, at its post office.
pub struct Inquiry<'a> {
    /// The office.
    pub post_office: &'a PostOffice,
    /// Who asks, and where.
    pub me: &'a Kept,
}

impl Inquiry<'_> {
    /// What the agent is called in the project, if it is registered: it may have been renamed. One that was retired is not
    /// registered: it comes back by registering again.
    pub async fn known_name(&self) -> Result<Option<String>, Refused> {
        let Kept { agent, project, .. } = self.me.clone();
        if agent.is_empty() {
            return Ok(None);
        }
        let request = Whois { project_key: project, agent_name: Some(agent), ..Whois::default() };
        let about = self.ask(request).await?.and_then(|about| about.agent);
        Ok(about.filter(|agent| agent.retired_ts.is_none()).map(|agent| agent.name))
    }

    /// Registers the agent, under the name that it has or a new one. Returns who it is now.
    pub async fn register(&self, program: &str, model: &str) -> Result<Kept, Refused> {
        let Kept { agent, token, project } = self.me.clone();
        // A path or the URL of a repository can become a project; a slug names one that is there.
        if project.starts_with('/') || project.contains("://") {
            self.post_office.ask(EnsureProject { human_key: project.clone() }).await?;
        }
        let said = |text: String| Some(text).filter(|text| !text.is_empty());
        let request = RegisterAgent {
            project_key: project.clone(),
            name: said(agent),
            program: Some(program.to_owned()),
            model: said(model.to_owned()),
            task_description: None,
            registration_token: token.and_then(said),
        };
        let registered = self.post_office.ask(request).await?;
        Ok(Kept { agent: registered.agent.name, token: Some(registered.registration_token), project })
    }

    /// The oldest unread mail that was never returned before, at most so much, and how much more waits. Nothing is taken after
    /// `not_after`, however long the office is held up: nobody would tell it.
    pub async fn take_mail(
        &self,
        most: usize,
        not_after: Timestamp,
    ) -> Result<(Vec<NewMail>, usize, TakenIds), Refused> {
        let request = TakeMail { actor: self.actor(), limit: Some(most as u32), not_after: Some(rfc3339(not_after)) };
        let Some(TakenMailAnswer { messages, shown_ts, more }) = self.ask(request).await? else {
            return Ok((Vec::new(), 0, TakenIds::default()));
        };
        let ids = messages.iter().map(|message| message.id).collect();
        let taken = TakenIds { ids, shown_ts: shown_ts.map(|time| time.to_string()).unwrap_or_default() };
        Ok((messages.into_iter().map(NewMail::from).collect(), more, taken))
    }

    /// Gives back mail that was taken and not told.
    pub async fn give_back(&self, taken: &TakenIds) -> Result<(), Refused> {
        let TakenIds { ids, shown_ts } = taken.clone();
        self.ask(GiveBackMail { actor: self.actor(), message_ids: ids, shown_ts }).await.map(drop)
    }

    /// Unread mail without its text, newest first.
    pub async fn unread(&self) -> Result<Vec<NewMail>, Refused> {
        let request = FetchInbox {
            limit: Some(MOST_UNREAD),
            unread_only: Some(true),
            include_bodies: Some(false),
            ..FetchInbox::default()
        };
        Ok(self.ask(request.by(self.actor())).await?.into_iter().flatten().map(NewMail::from).collect())
    }

    /// What waits for the agent when its session begins.
    pub async fn parts(&self) -> Result<Vec<DigestPart>, Refused> {
        Ok(vec![
            self.unread_part().await?,
            self.unacknowledged().await?,
            self.held().await?,
            self.requests_for_help("Open requests for help", |_| true).await?,
            self.colleagues().await?,
        ])
    }

    /// Where the agent stands, for whoever goes on with its work: itself after its conversation was compacted, or another agent.
    pub async fn own_parts(&self) -> Result<Vec<DigestPart>, Refused> {
        let name = self.name().await?;
        let is_own = |from: &str| from == name;
        Ok(vec![
            self.unread_part().await?,
            self.to_acknowledge().await?,
            self.unacknowledged().await?,
            self.held().await?,
            self.requests_for_help("Your open requests for help", is_own).await?,
        ])
    }

    async fn unread_part(&self) -> Result<DigestPart, Refused> {
        let unread = self.unread().await?;
        let part = DigestPart::of("Unread", unread.iter().map(NewMail::headline).collect());
        Ok(part.or_more(unread.len() == MOST_UNREAD as usize))
    }

    async fn held(&self) -> Result<DigestPart, Refused> {
        let held = self.reservations().await?.into_iter();
        let held = held.map(|one| format!("{} until {}", one.path_pattern, one.expires_ts)).collect();
        Ok(DigestPart::of("Your reservations", held))
    }

    /// Mail that the agent has not acknowledged though its sender waits for that.
    async fn to_acknowledge(&self) -> Result<DigestPart, Refused> {
        let request = FetchInbox {
            limit: Some(MOST_UNREAD),
            urgent_only: Some(true),
            include_bodies: Some(false),
            ..FetchInbox::default()
        };
        let wanted = self.ask(request.by(self.actor())).await?.unwrap_or_default();
        let at_least = wanted.len() == MOST_UNREAD as usize;
        let due =
            wanted.into_iter().filter(|message| message.ack_ts.is_none()).map(|one| NewMail::from(one).headline());
        Ok(DigestPart::of("You have to acknowledge", due.collect()).or_more(at_least))
    }

    /// Who else is here. An older server does not know that question.
    async fn colleagues(&self) -> Result<DigestPart, Refused> {
        let Kept { agent, project, .. } = self.me.clone();
        let request = Whois { project_key: project, sender_name: Some(agent), ..Whois::default() };
        let found = match self.ask(request).await {
            Err(refused) if ["SERVER_OUTDATED", "INVALID_ARGUMENT"].contains(&refused.code.as_str()) => None,
            found => found?,
        };
        let colleagues = found.and_then(|found| found.colleagues).unwrap_or_default();
        let lines = colleagues.iter().map(colleague).collect();
        Ok(DigestPart::showing(digest::COLLEAGUES, digest::MOST_COLLEAGUES, lines))
    }

    /// The agent's own reservations.
    async fn reservations(&self) -> Result<Vec<ReservationAnswer>, Refused> {
        let mut held = reservations::all(self.post_office, &self.me.project).await?;
        let name = self.name().await?;
        held.retain(|one| one.agent == name);
        Ok(held)
    }

    /// What the agent is called by now.
    async fn name(&self) -> Result<String, Refused> {
        Ok(self.known_name().await?.unwrap_or_else(|| self.me.agent.clone()))
    }

    /// The folder of the project; none if there is no such project.
    pub async fn root(&self) -> Result<Option<String>, Refused> {
        let project = self.me.project.clone();
        if project.starts_with('/') {
            return Ok(Some(project));
        }
        let request = ListAgents { project_key: project, limit: Some(1), ..ListAgents::default() };
        Ok(self.ask(request).await?.map(|page| page.project.human_key))
    }

    /// Which of some files others hold. A file may have several names; it is told by the first.
    pub async fn conflicts(&self, files: &[Vec<String>]) -> Result<Vec<ConflictAnswer>, Refused> {
        let Kept { agent, project, .. } = self.me;
        let mut held = conflicts::find(self.post_office, project, Some(agent), &files.concat()).await?;
        held.retain(|one| !is_of_family(&one.holder, agent));
        Ok(of_files(&held, files))
    }

    async fn unacknowledged(&self) -> Result<DigestPart, Refused> {
        let request = ReadOutbox { limit: Some(MOST_SENT), include_bodies: Some(false), ..ReadOutbox::default() };
        let page = self.post_office.ask(request.by(self.actor())).await?;
        let waiting = page.messages.into_iter().filter_map(|FollowedAnswer { message, recipients }| {
            let silent: Vec<String> =
                recipients.into_iter().filter(|one| one.ack_ts.is_none()).map(|one| one.name).collect();
            let is_waiting = message.ack_required && !silent.is_empty();
            is_waiting.then(|| format!("#{} to {}: {}", message.id, silent.join(", "), message.subject))
        });
        let part = DigestPart::of("You wait for an acknowledgement of", waiting.collect());
        Ok(part.or_more(page.next.is_some()))
    }

    /// Requests for help that nobody has answered, of those whose asker is meant.
    async fn requests_for_help(
        &self,
        title: &'static str,
        is_meant: impl Fn(&str) -> bool,
    ) -> Result<DigestPart, Refused> {
        let (mut asked, mut at_least) = (Vec::new(), false);
        // Who has waited too long stands in a state of its own, and comes first.
        for state in ["overdue", "help_wanted"] {
            let request =
                ListWork { project_key: self.me.project.clone(), state: Some(state.to_owned()), ..ListWork::default() };
            let page = self.post_office.ask(request).await?;
            at_least |= page.next.is_some();
            asked.extend(page.items.into_iter().filter_map(|WorkAnswer { work_id, detail, .. }| {
                let HelpAnswer { from, question, problem, .. } = detail.help.filter(|help| is_meant(&help.from))?;
                Some(format!("{work_id} {from}: {}", if question.is_empty() { problem } else { question }))
            }));
        }
        Ok(DigestPart::of(title, asked).or_more(at_least))
    }

    fn actor(&self) -> Actor {
        let Kept { agent, token, project } = self.me.clone();
        Actor { project_key: project, agent_name: agent, registration_token: token }
    }

    /// Asks a verb. Whoever is not registered has no mail: that is no answer at all.
    async fn ask<V: Ask>(&self, verb: V) -> Result<Option<V::Answer>, Refused> {
        match self.post_office.ask(verb).await {
            Ok(answer) => Ok(Some(answer)),
            Err(refused) if refused.is_about_nobody() => Ok(None),
            Err(refused) => Err(refused),
        }
    }
}

/// Such as `BlueLake (claude-code, awake): the parser`.
fn colleague(one: &ColleagueAnswer) -> String {
    let ColleagueAnswer { name, program, task, standing, .. } = one;
    let program = if program.is_empty() { String::new() } else { format!("{program}, ") };
    let task = if task.is_empty() { String::new() } else { format!(": {task}") };
    format!("{name} ({program}{standing}){task}")
}

/// Of each file the conflict that ends last, whichever of its names it is on, told by its first name.
fn of_files(held: &[ConflictAnswer], files: &[Vec<String>]) -> Vec<ConflictAnswer> {
    let conflict = |names: &Vec<String>| {
        let last = held.iter().filter(|one| names.contains(&one.path)).max_by_key(|one| one.expires_ts)?;
        Some(ConflictAnswer { path: names.first()?.clone(), ..last.clone() })
    };
    files.iter().filter_map(conflict).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_held_by_any_of_its_names_until_the_last_of_them_is_free() {
        let held = |path: &str, minute: u32| ConflictAnswer {
            path: path.to_owned(),
            holder: "Ann".to_owned(),
            path_pattern: path.to_owned(),
            expires_ts: api::Time(format!("2026-01-11T16:{minute:02}:00Z").parse().unwrap()),
            reason: String::new(),
        };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let files = [names(&["link.rs", "real.rs", "src/real.rs"]), names(&["free.rs"])];
        let found = of_files(&[held("src/real.rs", 40), held("real.rs", 50)], &files);
        assert_eq!(found, [ConflictAnswer { path: "link.rs".to_owned(), ..held("real.rs", 50) }]);
    }
}

//! What the post office is asked for an agent at one of its events.
//!
//! Only `register`, `new_mail` and `end_session` change anything: what `new_mail` returns is not returned again, after
//! `end_session` the agent is gone. What becomes of the answers is for `events`.

use api::answers::{FollowedAnswer, HelpAnswer, ReservationAnswer, WorkAnswer};
use api::{
    Actor, Ask, ConflictAnswer, EndSession, EnsureProject, FetchInbox, ListAgents, ListReservations, ListWork,
    ReadOutbox, RegisterAgent, WaitForMail, Whois,
};
use jiff::Timestamp;
use mail::clock::rfc3339;

use super::digest::DigestPart;
use super::naming;
use super::new_mail::NewMail;
use super::session::Kept;
use crate::commands::conflicts;
use crate::commands::in_name::InName;
use crate::post_office::{PostOffice, Refused, pages};

/// How many new messages are taken at once. More stay for the next time.
const MOST_NEW: u32 = 100;
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
    /// Whether the agent is registered in the project. One that was retired is not: it comes back by registering again.
    pub async fn is_known(&self) -> Result<bool, Refused> {
        let Kept { agent, project, .. } = self.me.clone();
        let about = self.ask(Whois { project_key: project, agent_name: agent }).await?;
        Ok(about.is_some_and(|about| about.retired_ts.is_none()))
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

    /// Unread mail that was never returned before, oldest first. Nothing is taken after `not_after`, however long the office
    /// is held up: nobody would tell it.
    pub async fn new_mail(&self, not_after: Timestamp) -> Result<Vec<NewMail>, Refused> {
        let request = WaitForMail {
            timeout_seconds: Some(0),
            limit: Some(MOST_NEW),
            not_after: Some(rfc3339(not_after)),
            ..WaitForMail::default()
        };
        Ok(self.ask(request.by(self.actor())).await?.into_iter().flatten().map(NewMail::from).collect())
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
        let unread = self.unread().await?;
        let at_least = unread.len() == MOST_UNREAD as usize;
        let unread =
            DigestPart { at_least, ..DigestPart::of("Unread", unread.iter().map(NewMail::headline).collect()) };
        let mine = self.reservations().await?;
        let held = mine.iter().map(|one| format!("{} until {}", one.path_pattern, one.expires_ts)).collect();
        Ok(vec![
            unread,
            self.unacknowledged().await?,
            DigestPart::of("Your reservations", held),
            self.help_wanted().await?,
        ])
    }

    /// The agent's own reservations.
    async fn reservations(&self) -> Result<Vec<ReservationAnswer>, Refused> {
        let project_key = self.me.project.clone();
        let request = ListReservations { project_key, after: None, limit: Some(pages::MOST_AT_ONCE) };
        let turn = |request: &mut ListReservations, next| request.after = Some(next);
        let (mut page, _) =
            pages::all(self.post_office, request, turn, |page| (&mut page.reservations, page.next)).await?;
        page.reservations.retain(|one| one.agent == self.me.agent);
        Ok(page.reservations)
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
        held.retain(|one| !naming::is_of_family(&one.holder, agent));
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
        Ok(DigestPart { at_least: page.next.is_some(), ..part })
    }

    async fn help_wanted(&self) -> Result<DigestPart, Refused> {
        let (mut asked, mut at_least) = (Vec::new(), false);
        // Who has waited too long stands in a state of its own, and comes first.
        for state in ["overdue", "help_wanted"] {
            let request =
                ListWork { project_key: self.me.project.clone(), state: Some(state.to_owned()), ..ListWork::default() };
            let page = self.post_office.ask(request).await?;
            at_least |= page.next.is_some();
            asked.extend(page.items.into_iter().filter_map(|WorkAnswer { work_id, detail, .. }| {
                let HelpAnswer { from, question, problem, .. } = detail.help?;
                Some(format!("{work_id} {from}: {}", if question.is_empty() { problem } else { question }))
            }));
        }
        Ok(DigestPart { at_least, ..DigestPart::of("Open requests for help", asked) })
    }

    /// Says that the agent's last session ended.
    pub async fn end_session(&self) -> Result<(), Refused> {
        self.ask(EndSession::default().by(self.actor())).await.map(drop)
    }

    fn actor(&self) -> Actor {
        let Kept { agent, token, project } = self.me.clone();
        Actor { project_key: project, agent_name: agent, registration_token: token }
    }

    /// Asks a verb. Whoever is not registered has no mail, and cannot leave: that is no answer at all.
    async fn ask<V: Ask>(&self, verb: V) -> Result<Option<V::Answer>, Refused> {
        match self.post_office.ask(verb).await {
            Ok(answer) => Ok(Some(answer)),
            Err(refused) if refused.is_about_nobody() => Ok(None),
            Err(refused) => Err(refused),
        }
    }
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

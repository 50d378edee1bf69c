//! What a sender is told of those it wrote to: what an address stood for, who does not read soon, and who could be asked instead.

use api::answers::{AddressAnswer, SentAnswer, StandingAnswer};
use jiff::Timestamp;
use mail::roles::is_role_address;
use mail::standing::Standing;
use serde_json::{Map, Value, json};

use super::ago::ago;
use crate::output::text;

/// What is known of the recipients of a message.
#[derive(Clone, Debug, Default)]
pub struct Recipients {
    /// The project that it went to, if that is another.
    project: Option<String>,
    addresses: Vec<AddressAnswer>,
    standing: Vec<StandingAnswer>,
}

impl From<&SentAnswer> for Recipients {
    fn from(SentAnswer { project, addresses, standing, .. }: &SentAnswer) -> Self {
        Self { project: project.clone(), addresses: addresses.clone(), standing: standing.clone() }
    }
}

impl Recipients {
    /// A line for each thing that is worth knowing.
    pub fn lines(&self, now: Timestamp) -> Vec<String> {
        let project = self.project.iter().map(|project| format!("It went to the project '{project}'."));
        let is_news = |one: &&AddressAnswer| one.names != [one.address.as_str()];
        let addresses = self.addresses.iter().filter(is_news).map(address);
        let standing = self.standing.iter().map(|one| standing(one, now));
        project.chain(addresses).chain(standing).map(|line| text::unbroken(&line)).collect()
    }

    /// The same as members of what programs are told.
    pub fn members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        members.extend(self.project.iter().map(|project| ("project".to_owned(), json!(project))));
        if !self.addresses.is_empty() {
            members.insert("addresses".to_owned(), json!(self.addresses));
        }
        if !self.standing.is_empty() {
            members.insert("standing".to_owned(), json!(self.standing));
        }
        members
    }
}

fn address(AddressAnswer { address, names }: &AddressAnswer) -> String {
    match names.as_slice() {
        [] => format!("Nobody holds '{address}' now: it waits for whoever takes the role."),
        names if is_role_address(address) => format!("'{address}' is held by {}.", names.join(", ")),
        names => format!("'{address}' is {}.", names.join(", ")),
    }
}

/// Such as `codex-2 is asleep, last seen 12 min ago; awake now: BlueLake.`
fn standing(StandingAnswer { name, standing, since_ts, instead }: &StandingAnswer, now: Timestamp) -> String {
    let mut line = match Standing::parse(standing) {
        Some(Standing::NeverSeen) => format!("{name} was never seen"),
        _ => format!("{name} is {standing}"),
    };
    if let Some(since) = since_ts.filter(|_| *standing != Standing::Idle.as_str()) {
        line.push_str(&format!(", last seen {}", ago(since.0, now)));
    }
    if let Some(instead) = instead {
        line.push_str(&format!("; awake now: {instead}"));
    }
    line.push('.');
    line
}

#[cfg(test)]
mod tests {
    use api::Time;

    use super::*;

    #[test]
    fn a_recipient_that_is_not_awake_is_told_in_a_plain_line() {
        let now: Timestamp = "2026-01-11T16:30:00Z".parse().unwrap();
        let one = |standing: &'static str, since: Option<&str>, instead: Option<&str>| StandingAnswer {
            name: "codex-2".to_owned(),
            standing: standing.into(),
            since_ts: since.map(|since| Time(since.parse().unwrap())),
            instead: instead.map(str::to_owned),
        };
        let since = Some("2026-01-11T16:18:00Z");
        for (one, told) in [
            (one("asleep", since, Some("BlueLake")), "codex-2 is asleep, last seen 12 min ago; awake now: BlueLake."),
            (one("asleep", since, None), "codex-2 is asleep, last seen 12 min ago."),
            (one("idle", since, None), "codex-2 is idle."),
            (one("never seen", None, Some("BlueLake")), "codex-2 was never seen; awake now: BlueLake."),
        ] {
            assert_eq!(standing(&one, now), told);
        }
    }

    #[test]
    fn an_address_is_told_with_who_it_was() {
        let one = |of: &str, names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            address(&AddressAnswer { address: of.to_owned(), names })
        };
        let waits = "Nobody holds 'role:reviewer' now: it waits for whoever takes the role.";
        assert_eq!(one("role:reviewer", &[]), waits);
        assert_eq!(one("role:reviewer", &["BlueLake"]), "'role:reviewer' is held by BlueLake.");
        assert_eq!(one("program:codex", &["codex-2"]), "'program:codex' is codex-2.");
    }
}

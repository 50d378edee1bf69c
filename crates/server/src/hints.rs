//! The next step after a refusal, in the language of whoever reads it: tools and resources for an agent, pages for a person.

use mail::Error;
use mail::search::query::LANGUAGE;

/// What an agent may try next.
pub fn for_agent(error: &Error) -> String {
    if let Error::Retired { instead, .. } = error
        && let Some(name) = instead.first()
    {
        return format!("Write to '{name}', who is awake; it comes back when it registers again.");
    }
    let otherwise = match error {
        Error::UnknownProject { .. } => " Else call ensure_project first.",
        Error::UnknownAgent { another: true, .. } => " resource://agents/{project} names who is there.",
        Error::UnknownAgent { .. } => " Else call register_agent first.",
        _ => "",
    };
    meant(error).map_or_else(|| agents_step(error).to_owned(), |meant| format!("{meant}{otherwise}"))
}

/// What a person at the page may try next.
pub fn for_person(error: &Error) -> String {
    let step = match error {
        Error::UnknownProject { .. } => "The overview lists the projects.",
        Error::UnknownAgent { .. } => "The page Agents lists who is there.",
        Error::UnknownMessage { .. } | Error::UnknownDelivery { .. } | Error::UnknownThread { .. } => {
            "Look for it under Mail, or search."
        }
        Error::UnknownWork { .. } => "The page Work lists the items.",
        Error::Invalid { .. } => "Correct it and send it again.",
        Error::Reserved { .. } => "The page Reservations shows who holds it.",
        Error::Unproved { .. } | Error::EverybodysMail => "Sign in again.",
        Error::KeyTaken { .. } => "It was sent before. Load the form again to write another message.",
        Error::Store(_) => "It is not known whether it was kept: look before you send it again.",
        other => agents_step(other),
    };
    meant(error).map_or_else(|| step.to_owned(), |meant| format!("{meant} {step}"))
}

fn meant(error: &Error) -> Option<String> {
    if matches!(error, Error::Retired { .. }) {
        return None;
    }
    let near: Vec<String> = error.near().iter().map(|name| format!("'{name}'")).collect();
    (!near.is_empty()).then(|| format!("Did you mean {}?", near.join(" or ")))
}

fn agents_step(error: &Error) -> &'static str {
    match error {
        Error::UnknownAgent { another: true, .. } => {
            "It has not registered here, and only it should; resource://agents/{project} names who has."
        }
        Error::InvalidProjectKey { .. } => {
            "Use the absolute path of the working directory, such as '/data/projects/app'."
        }
        Error::UnknownProject { .. } => "Call ensure_project first.",
        Error::UnknownAgent { .. } => "Call register_agent first.",
        Error::HasMail { .. } => "Leave it a project of its own, or pass anyway: true; its mail then goes by its slug.",
        Error::Retired { .. } => "Write to another agent; it comes back when it registers again.",
        Error::UnknownAddress { .. } => {
            "An address is a name, all, #channel, person, role:NAME, program:NAME, project:PATH or NAME@PROJECT."
        }
        Error::UnknownProgram { .. } => "whois without agent_name tells who is here.",
        Error::RoleHeld { .. } => "Write to role:NAME and its holder gets it, or take it when that time is over.",
        Error::NameTaken { .. } => "Choose another name for yourself.",
        Error::UnknownMessage { .. } => "Take the id from fetch_inbox or search_messages.",
        Error::UnknownDelivery { .. } => "Take the id from the inbox.",
        Error::AlreadyArchived { .. } => "Nothing is left to do: it can still be read by its id.",
        Error::NotARecipient { .. } => "Name the agent that received it.",
        Error::SeveralDeliveries { .. } => "Name one of the copies, or say who you are.",
        Error::UnknownThread { .. } => "Take the thread_id from fetch_inbox or search_messages.",
        Error::UnknownWork { .. } => "resource://work names the items that there are.",
        Error::Malformed { .. } => "Correct all of it and send again, or send without strict.",
        Error::HoldsSecret { .. } => "Take it out and say where it is kept instead. If it is real, change it.",
        Error::Invalid { .. } => "Correct it and call again.",
        Error::TooLarge { .. } => "Make it shorter, or send a path to a file instead.",
        Error::NoRecipients => "Name at least one agent, or 'all'.",
        Error::KeyTaken { .. } => "Use a new key for new content.",
        Error::Reserved { .. } => "Wait (wait_seconds), ask the holder, or reserve fewer paths.",
        Error::Circle { .. } => "Release what others wait for, then ask again.",
        Error::NotHeld { .. } => "It ended or was released: reserve it again.",
        Error::ReservationOver { .. } => "Look at what is reserved now.",
        Error::Pattern(_) => "Use a glob relative to the project, such as 'src/**'.",
        Error::Query(_) => LANGUAGE,
        Error::Unproved { .. } => {
            "Register first if the name is new, and pass the registration_token that register_agent returned."
        }
        Error::EverybodysMail => "Ask for one mailbox, with the token of its name.",
        Error::ForPeople => {
            "Ask a person to run it where the database is, while no server runs: postrider project alias or unalias."
        }
        Error::Store(_) => {
            "It is not known whether it was kept: look before you repeat it, or repeat a send with the same \
             idempotency_key."
        }
        Error::Away(_) => "Nothing was changed. Try again in a few seconds: the server looks for it all the time.",
        Error::Busy => "Nothing was changed. Try again in a moment.",
        Error::SearchTooSlow => "Add a rarer word.",
    }
}

#[cfg(test)]
mod tests {
    use mail::StoreError;

    use super::*;

    #[test]
    fn a_near_miss_is_suggested_in_the_language_of_the_door() {
        let error = Error::UnknownAgent { name: "GrenDog".into(), near: vec!["GreenDog".into()], another: false };
        assert_eq!(error.to_string(), "Agent 'GrenDog' not found");
        assert_eq!(for_agent(&error), "Did you mean 'GreenDog'? Else call register_agent first.");
        assert_eq!(for_person(&error), "Did you mean 'GreenDog'? The page Agents lists who is there.");
    }

    #[test]
    fn only_who_was_turned_away_is_told_that_nothing_was_changed() {
        let busy = StoreError::Busy;
        assert_eq!(busy.to_string(), "the database is busy: too many writes wait, or another process holds it");
        assert_eq!(for_agent(&Error::from(busy)), "Nothing was changed. Try again in a moment.");
        let failed = StoreError::Failed { doing: "append a message", cause: "the disk is gone".into() };
        assert_eq!(
            for_agent(&Error::from(failed)),
            "It is not known whether it was kept: look before you repeat it, or repeat a send with the same \
             idempotency_key."
        );
    }
}

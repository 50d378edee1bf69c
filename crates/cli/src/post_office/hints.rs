//! The next step after a refusal, for a person at a terminal: a command, or a flag.
//!
//! It follows from the code alone, so that an office of our own and a server give the same. A command that knows better says
//! so itself. Codes that are not of the office come with the hint of whoever refused.

use mail::search::query::LANGUAGE;

/// What to try next; none if the code is not one of the office's.
pub fn of_code(code: &str, suggestions: &[&str]) -> Option<String> {
    let step = match code {
        "AGENT_NOT_FOUND" if !suggestions.is_empty() => {
            "Else join first: postrider join NAME. 'postrider who' lists who is there."
        }
        "AGENT_NOT_FOUND" => "Join first: postrider join NAME. 'postrider who' lists who is there.",
        "ADDRESS_UNKNOWN" => {
            "Write to a name, all, #channel, person, role:NAME, program:NAME, project:PATH or NAME@PROJECT."
        }
        "AGENT_RETIRED" => "Write to another agent; it comes back when it registers again.",
        "ALREADY_ARCHIVED" => "Nothing is left to do: it can still be read by its id.",
        "BUSY" => "Nothing was changed. Try again in a moment.",
        "FILE_RESERVATION_CIRCLE" => "Release what others wait for, then ask again.",
        "FILE_RESERVATION_CONFLICT" => "Wait with --wait, ask the holder, or reserve fewer paths.",
        "IDEMPOTENCY_CONFLICT" => "Use a new key for new content.",
        "IDENTITY_REQUIRED" => {
            "Pass the token that 'postrider join' printed for that name with --token, or set \
             POSTRIDER_REGISTRATION_TOKEN."
        }
        "INVALID_ARGUMENT" => "Correct it and try again.",
        "INVALID_PATH" => "Use a glob relative to the project, such as 'src/**'.",
        "INVALID_PROJECT_KEY" => "Use the absolute path of the working directory, such as '/data/projects/app'.",
        "INVALID_QUERY" => LANGUAGE,
        "MALFORMED_MESSAGE" => "Correct all of it and send again, or send without --strict.",
        "MESSAGE_NOT_FOUND" => "'postrider mail all' shows the ids that there are.",
        "NAME_TAKEN" => "Choose another name for yourself.",
        "NO_RECIPIENTS" => "Name at least one agent, or 'all'.",
        "NOT_A_RECIPIENT" => "It is in somebody else's mailbox: act for whoever got it with --as NAME.",
        "NOT_SUPPORTED" => "Keep mail with the native provider to use this.",
        "PERSON_REQUIRED" => {
            "A server cannot know who you are: stop it, and run this on the machine where the database is."
        }
        "PROGRAM_NOT_FOUND" => "'postrider who' lists who is there.",
        "PROJECT_NOT_FOUND" => "Begin with: postrider join NAME, in the folder of the project.",
        "PROJECT_HAS_MAIL" => {
            "Pass --force if it is to be so all the same: that mail is then found with --project and its slug, and new \
             mail goes to the other project."
        }
        "RESERVATION_NOT_FOUND" => "It ended or was released: reserve it again.",
        "RESERVATION_OVER" => "Look at what is reserved now.",
        "ROLE_HELD" => "Write to role:NAME and its holder gets it, or take it when that time is over.",
        "SEARCH_TOO_SLOW" => "Add a rarer word.",
        "SECRET_REFUSED" => "Take it out and say where it is kept instead. If it is real, change it.",
        "SEVERAL_COPIES" => "Name one of the copies, or say who you are with --as NAME.",
        "STORE_AWAY" => "Nothing was changed. Try again in a few seconds: the server looks for it all the time.",
        "STORE_UNAVAILABLE" => "It is not known whether it was kept: look before you repeat it.",
        "THREAD_NOT_FOUND" => "'postrider mail all' shows the threads of your mail.",
        "TOO_LARGE" => "Make it shorter, or send a path to a file instead.",
        "WORK_NOT_FOUND" => "'postrider work' lists what there is.",
        _ => return None,
    };
    if let ("AGENT_RETIRED", [name, ..]) = (code, suggestions) {
        return Some(format!("Write to '{name}', who is awake; it comes back when it registers again."));
    }
    let near: Vec<String> = suggestions.iter().map(|name| format!("'{name}'")).collect();
    Some(if near.is_empty() { step.to_owned() } else { format!("Did you mean {}? {step}", near.join(" or ")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_commands_and_no_tools() {
        let hint = of_code("AGENT_NOT_FOUND", &["Anna", "Anne"]).unwrap();
        assert!(hint.starts_with("Did you mean 'Anna' or 'Anne'? Else join first: postrider join"), "{hint}");
        assert_eq!(of_code("RATE_LIMITED", &[]), None, "the door that refused has said what to do");
    }
}

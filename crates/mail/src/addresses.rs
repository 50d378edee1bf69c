//! Addresses beyond a name: a role, any agent of a program, a whole project, an agent of another project, the person.
//!
//! A registered name always wins: what is an agent's name is never read as an address. Who an address stands for is found out
//! when the message is sent; here is only how it is written.

use crate::error::Error;
use crate::roles::RoleName;

/// The address of whoever runs the agents.
pub const PERSON_ADDRESS: &str = "person";
/// The forms, as a refusal names them.
pub const FORMS: &str = "role:NAME, program:NAME, project:PATH, NAME@PROJECT, person, all";

/// An address that is no name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressForm<'a> {
    /// Whoever holds a role.
    Role(RoleName),
    /// Any one agent that runs in a program.
    Program(&'a str),
    /// Everybody of a project, by its path or slug.
    Project(&'a str),
    /// A name, or an address, in another project.
    Across {
        /// The name or address there.
        name: &'a str,
        /// The path or slug of the project.
        project: &'a str,
    },
    /// Whoever runs the agents.
    Person,
}

impl<'a> AddressForm<'a> {
    /// Reads an address; `None` if the text has no form of one.
    pub fn parse(text: &'a str) -> Result<Option<Self>, Error> {
        if text.eq_ignore_ascii_case(PERSON_ADDRESS) {
            return Ok(Some(Self::Person));
        }
        // The project stands last, so it is told apart first: `role:reviewer@web` is the role of that project.
        if let Some(value) = after(text, "project:") {
            return Ok(Some(Self::Project(value)));
        }
        if let Some((name, project)) = across(text) {
            return Ok(Some(Self::Across { name, project }));
        }
        if let Some(value) = after(text, "program:") {
            return Ok(Some(Self::Program(value)));
        }
        after(text, "role:").map(|value| RoleName::parse(value).map(Self::Role)).transpose()
    }

    /// Whether a text may be an address, so that what is known of it as a name is looked up each time.
    pub fn is_possible(text: &str) -> bool {
        text.eq_ignore_ascii_case(PERSON_ADDRESS) || text.contains(['@', ':'])
    }

    /// What its own mailbox is called, if it has one.
    pub fn mailbox(&self) -> Option<String> {
        match self {
            Self::Role(role) => Some(role.address()),
            Self::Person => Some(PERSON_ADDRESS.to_owned()),
            Self::Program(_) | Self::Project(_) | Self::Across { .. } => None,
        }
    }
}

/// What stands behind a prefix, in any case.
fn after<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    let rest = rest.trim();
    (start.eq_ignore_ascii_case(prefix) && !rest.is_empty()).then_some(rest)
}

/// The name and the project of `name@project`. A path may hold an `@`, a slug never does.
fn across(text: &str) -> Option<(&str, &str)> {
    let (name, project) = match text.find("@/") {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => text.rsplit_once('@')?,
    };
    (!name.trim().is_empty() && !project.is_empty()).then_some((name, project))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<AddressForm<'_>> {
        AddressForm::parse(text).unwrap()
    }

    #[test]
    fn each_form_is_read() {
        assert_eq!(read("role:Reviewer"), Some(AddressForm::Role(RoleName::parse("reviewer").unwrap())));
        assert_eq!(read("program:codex"), Some(AddressForm::Program("codex")));
        assert_eq!(read("Project:/data/web"), Some(AddressForm::Project("/data/web")));
        assert_eq!(read("bob@web"), Some(AddressForm::Across { name: "bob", project: "web" }));
        assert_eq!((read("person"), read("Person")), (Some(AddressForm::Person), Some(AddressForm::Person)));
    }

    #[test]
    fn what_stands_before_the_project_may_hold_the_same_signs() {
        assert_eq!(read("joe@home@web"), Some(AddressForm::Across { name: "joe@home", project: "web" }));
        assert_eq!(read("bob@/data/a@b"), Some(AddressForm::Across { name: "bob", project: "/data/a@b" }));
        assert_eq!(read("role:reviewer@web"), Some(AddressForm::Across { name: "role:reviewer", project: "web" }));
        assert_eq!(read("project:/data/a@b"), Some(AddressForm::Project("/data/a@b")));
    }

    #[test]
    fn a_name_is_no_address() {
        for name in ["BlueLake", "rig/polecat-3", "@codex", "codex@", "team:red", "role:", "a b", "persons"] {
            assert_eq!(read(name), None, "{name}");
        }
        assert_eq!(AddressForm::parse("role:two words").unwrap_err().code(), "INVALID_ARGUMENT");
    }

    #[test]
    fn whatever_is_an_address_is_possibly_one() {
        for text in ["role:reviewer", "program:codex", "project:/a", "bob@web", "person", "team:red"] {
            assert!(AddressForm::is_possible(text), "{text}");
        }
        assert!(!AddressForm::is_possible("BlueLake"));
    }
}

//! The names of agents below a main one, which work for it.

use mail::agents::is_below;

/// The longest kind of a sub-agent in its name, in characters.
const LONGEST_KIND: usize = 24;

/// The name that an agent below the main one has: that of the main one, its kind, and a part of a hash of the client's id for it.
pub fn name_below(agent: &str, kind: &str, id: &str) -> String {
    let is_of_word = |letter: &char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
    let kind: String = kind.chars().filter(is_of_word).take(LONGEST_KIND).collect();
    let hash = blake3::hash(id.as_bytes()).to_hex();
    format!("{agent}/{}-{}", if kind.is_empty() { "agent" } else { &kind }, &hash[..4])
}

/// Whether two names are those of a main agent and one below it, or of two below one: they work for one.
pub fn is_of_family(name: &str, other: &str) -> bool {
    (is_below(name) || is_below(other)) && main(name) == main(other)
}

/// The agent at the top: the name itself, unless it is of one below another. Any name may have a `/`.
fn main(name: &str) -> &str {
    name.rsplit_once('/').filter(|_| is_below(name)).map_or(name, |(main, _)| main)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_agent_below_is_told_from_any_other() {
        for (kind, id) in
            [("general-purpose", "a0e9228f520eea885"), ("", "x"), ("a/b c'", "x"), (&"long".repeat(20), "")]
        {
            for main in ["GreenDog", "rig/polecat-3"] {
                let name = name_below(main, kind, id);
                assert!(is_below(&name) && is_of_family(&name, main) && is_of_family(main, &name), "{name}");
            }
        }
    }

    #[test]
    fn agents_whose_names_only_begin_alike_are_no_family() {
        for (one, other) in [
            ("rig/polecat-3", "rig/polecat-4"),
            ("rig", "rig/polecat-3"),
            ("rig/polecat-3/agent-beef", "rig/polecat-4"),
            ("rig/polecat-3/agent-beef", "rig/polecat-4/agent-beef"),
            ("GreenDog", "GreenDogs/agent-beef"),
        ] {
            assert!(!is_of_family(one, other) && !is_of_family(other, one), "{one}, {other}");
        }
        assert!(is_of_family("rig/polecat-3/agent-beef", "rig/polecat-3/agent-cafe"));
    }
}

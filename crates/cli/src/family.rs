//! The names of agents below a main one, which work for it.

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
    let main = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
    (name.contains('/') || other.contains('/')) && main(name) == main(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_agent_below_is_told_from_any_other() {
        for (kind, id) in
            [("general-purpose", "a0e9228f520eea885"), ("", "x"), ("a/b c'", "x"), (&"long".repeat(20), "")]
        {
            let name = name_below("GreenDog", kind, id);
            assert!(mail::agents::is_below(&name) && is_of_family(&name, "GreenDog"), "{name}");
        }
    }
}

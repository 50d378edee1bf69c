//! The nearest known name to one that is not known, so that a refusal can say what was meant.
//!
//! Knows letters, not meanings. Words that mean the same and look different are told to a
//! parameter itself (`Param::mistaken_for`).

/// Longer names are not compared: nobody mistyped them, and comparing costs the product of the lengths.
const MAX_CHARS: usize = 64;

/// Returns the name of `known` that is closest to `wanted`, if one is close enough to be what was meant.
///
/// Close is: the same but for case, `-` and `_`; one contained in the other from its start or end; or
/// at most a third of the letters differ.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if wanted.is_empty() || wanted.chars().nth(MAX_CHARS).is_some() {
        return None;
    }
    let wanted = plain(wanted);
    known
        .into_iter()
        .filter_map(|name| Some((distance_if_close(&wanted, &plain(name))?, name)))
        // The first of equals wins, which keeps the answer stable.
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

fn plain(name: &str) -> String {
    name.chars().filter(|letter| !matches!(letter, '_' | '-')).flat_map(char::to_lowercase).collect()
}

fn distance_if_close(wanted: &str, known: &str) -> Option<usize> {
    let (wanted_length, known_length) = (wanted.chars().count(), known.chars().count());
    let (longest, shortest) = (wanted_length.max(known_length), wanted_length.min(known_length));
    let distance = strsim::osa_distance(wanted, known);
    if distance <= (longest / 3).max(1) && distance < longest {
        return Some(distance);
    }
    // `project` for `project_key`, `name` for `agent_name`. Two letters are part of too many words.
    let (long, short) = if wanted_length == longest { (wanted, known) } else { (known, wanted) };
    (shortest >= 3 && (long.starts_with(short) || long.ends_with(short))).then_some(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 6] = ["project_key", "sender_name", "to", "subject", "body_md", "thread_id"];

    #[test]
    fn a_slip_of_the_hand_finds_the_name() {
        assert_eq!(nearest("subjcet", KNOWN), Some("subject"));
        assert_eq!(nearest("sendername", KNOWN), Some("sender_name"));
        assert_eq!(nearest("threadId", KNOWN), Some("thread_id"));
        assert_eq!(nearest("project-keys", KNOWN), Some("project_key"));
        assert_eq!(nearest("tp", KNOWN), Some("to"));
    }

    #[test]
    fn a_part_of_a_name_finds_it() {
        assert_eq!(nearest("body", KNOWN), Some("body_md"));
        assert_eq!(nearest("project", KNOWN), Some("project_key"));
        assert_eq!(nearest("name", KNOWN), Some("sender_name"));
    }

    #[test]
    fn an_unrelated_name_finds_nothing() {
        assert_eq!(nearest("colour", KNOWN), None);
        assert_eq!(nearest("zz", KNOWN), None);
        assert_eq!(nearest("", KNOWN), None);
    }

    #[test]
    fn a_closer_name_beats_one_that_merely_contains_it() {
        assert_eq!(nearest("agent", ["agent_name", "agents"]), Some("agents"));
    }

    #[test]
    fn a_name_of_a_megabyte_is_not_compared() {
        assert_eq!(nearest(&"x".repeat(1 << 20), KNOWN), None);
    }

    #[test]
    fn neighbours_that_changed_places_count_once() {
        assert_eq!(distance_if_close("subjcet", "subject"), Some(1));
        assert_eq!(distance_if_close("xkittenx", "xsittingx"), Some(3));
    }
}

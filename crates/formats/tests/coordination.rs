//! The shared vectors for coordination messages, as far as the head of a message goes.

use formats::markdown::read_head;
use serde_json::Value;

/// The vector expects no id although the body has a `Bead:` line, which every other vector of an unknown kind (such as
/// `convention_unknown_type_bead_in_body`) and the protocol's own order of places count.
const CONTRADICTED_BY_THE_OTHERS: &str = "hyphen_instead_of_underscore";

/// The vectors tell what the first parser of this format takes for an id here: one with a control character in it. An id
/// names a thread, and no caller could name such a one again, so we take none.
const NO_IDS_OF_OURS: [&str; 2] = ["cr_only_body", "nul_byte"];

#[test]
fn the_head_of_every_vector_is_read_as_expected() {
    let file: Value = serde_json::from_str(include_str!("vectors/coordination.json")).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert!(vectors.len() >= 90);
    for vector in vectors {
        let name = vector["name"].as_str().unwrap();
        let expected = &vector["expected"];
        let head = read_head(vector["subject"].as_str().unwrap(), vector["body"].as_str().unwrap());

        let kind = head.kind.map_or("UNKNOWN", |kind| kind.as_str());
        assert_eq!(kind, expected["type"].as_str().unwrap(), "kind of {name}");

        // A spawn message names its work as an issue; we take either for the work id.
        let parsed = &expected["parsed"];
        let wanted = parsed["bead_id"].as_str().or_else(|| parsed["issue_id"].as_str());
        if name == CONTRADICTED_BY_THE_OTHERS {
            assert_eq!((wanted, head.work_id.as_deref()), (None, Some("a-1")));
        } else if NO_IDS_OF_OURS.contains(&name) {
            assert!(wanted.is_some_and(|id| id.contains(char::is_control)));
            assert_eq!(head.work_id, None, "work id of {name}");
        } else {
            assert_eq!(head.work_id.as_deref(), wanted, "work id of {name}");
        }
    }
}

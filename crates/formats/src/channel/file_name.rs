//! The name of a file with a message: `msg-{YYYYMMDD}-{HHMMSS}-{agent}-{hex4}.json`.
//!
//! Whatever is named otherwise is no message: temporary files, backups, what editors and NFS leave behind. Which names
//! are new, and how one is generated, is not told here.

use std::cmp::Ordering;

use jiff::Timestamp;

use super::{LONGEST_NAME, is_name};

/// The longest name that file systems hold, in bytes.
pub(super) const LONGEST_FILE_NAME: usize = 255;

/// What the name of a file tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName {
    /// The second in which it was sent.
    pub time: Timestamp,
    /// Who wrote it.
    pub agent: String,
    /// Four hexadecimal digits in lower case, which tell apart what one agent wrote within a second.
    pub hex4: String,
}

impl FileName {
    /// How such a file is named, for people.
    pub const FORM: &str = "msg-YYYYMMDD-HHMMSS-agent-hex4.json";

    /// Reads the name of a file, without the folders before it.
    pub fn parse(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(".json").filter(|_| name.len() <= LONGEST_FILE_NAME)?;
        let (date, rest) = stem.strip_prefix("msg-")?.split_at_checked(8)?;
        let (time, rest) = rest.strip_prefix('-')?.split_at_checked(6)?;
        // Names of agents have dashes too, so only the last one counts.
        let (agent, hex4) = rest.strip_prefix('-')?.rsplit_once('-')?;
        let is_agent = is_name(agent, LONGEST_NAME) && !agent.contains('/');
        let is_hex4 = hex4.len() == 4 && hex4.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !is_agent || !is_hex4 {
            return None;
        }
        Some(Self { time: moment(date, time)?, agent: agent.to_owned(), hex4: hex4.to_owned() })
    }

    /// The name without its ending, which is by custom the id of the message.
    pub fn stem(&self) -> String {
        format!("msg-{}-{}-{}", self.time.strftime("%Y%m%d-%H%M%S"), self.agent, self.hex4)
    }
}

/// Which of two files is the earlier, each with the time that stands in its document.
///
/// Within a second the order of names is that of agents, not of sending; only the documents tell that.
pub fn order(one: (&FileName, Timestamp), other: (&FileName, Timestamp)) -> Ordering {
    let ((one, said), (other, said_by_other)) = (one, other);
    one.time.cmp(&other.time).then(said.cmp(&said_by_other)).then_with(|| one.stem().cmp(&other.stem()))
}

fn moment(date: &str, time: &str) -> Option<Timestamp> {
    let is_digits = [date, time].into_iter().all(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    // The parser takes a leap second for the one before it.
    format!("{date}T{time}Z").parse().ok().filter(|_| is_digits && !time.ends_with("60"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_and_written_the_same() {
        for name in ["msg-20260111-155709-qc-1-b4f6", "msg-00000101-000000-a.b_c-0000", "msg-20260111-000000---ffff"] {
            assert_eq!(FileName::parse(&format!("{name}.json")).unwrap().stem(), name);
        }
        let long = format!("msg-20260111-155709-{}-b4f6.json", "x".repeat(LONGEST_NAME));
        assert_eq!(FileName::parse(&long).unwrap().agent.len(), LONGEST_NAME);
    }

    #[test]
    fn what_is_named_otherwise_is_no_message() {
        for name in [
            "",
            "msg-",
            ".json",
            "msg-20260111-163315-codex-4c78",
            "msg-20260111-163315-codex-4c78.tmp",
            "msg-20260111-163315-codex-4c78.json\n",
            "msg-20260111-163315-codex-4C78.json",
            "msg-20260111-163315-codex-4g78.json",
            "msg-20260111-163315-codex-04c78.json",
            "msg-20260111-240000-codex-4c78.json",
            "msg-20260111-163360-codex-4c78.json",
            "msg-20250229-000000-codex-4c78.json",
            "msg-2026+111-163315-codex-4c78.json",
            "msg-2026011é-163315-codex-4c78.json",
            "msg-202é011-163315-codex-4c78.json",
            "msg-20260111-1633é-codex-4c78.json",
            "msg-20260111T163315-codex-4c78.json",
            "msg-20260111-163315-co\ndex-4c78.json",
            "msg-20260111-163315- -4c78.json",
            ".nfs000000000001",
        ] {
            assert_eq!(FileName::parse(name), None, "{name:?}");
        }
        let long = "é".repeat(LONGEST_NAME);
        assert_eq!(FileName::parse(&format!("msg-20260111-155709-{long}-b4f6.json")), None, "no file system holds it");
        let long = "x".repeat(LONGEST_NAME + 1);
        assert_eq!(FileName::parse(&format!("msg-20260111-155709-{long}-b4f6.json")), None);
    }
}

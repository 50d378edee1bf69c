//! What things are called on the NATS server: subjects, the stream, and who consumes it.
//!
//! A name may hold any character and a part of a subject may not, so names are percent-encoded. Slugs of long paths are
//! cut, with a hash behind them, because the server takes no line of any length.

use mail::channels::ChannelName;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What a part of a subject holds as it is.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');
/// The longest part of a subject, in bytes. Every channel's name fits.
const LONGEST_PART: usize = 200;
/// How much of a longer one is kept.
const KEPT: usize = 180;
/// The longest prefix, in bytes.
const LONGEST_PREFIX: usize = 64;

/// The names under one prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subjects {
    prefix: String,
}

/// What a subject is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic<'a> {
    /// The mail of an agent.
    Mail(&'a str),
    /// A channel.
    Channel(&'a str),
    /// Whether an agent is there.
    Presence(&'a str),
    /// What an agent has reserved.
    Reservation(&'a str),
}

impl Subjects {
    /// The names under a prefix; `None` if it cannot be one.
    pub(super) fn under(prefix: &str) -> Option<Self> {
        let is_part = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        let is_prefix = prefix.len() <= LONGEST_PREFIX && prefix.split('.').all(is_part);
        is_prefix.then(|| Self { prefix: prefix.to_owned() })
    }

    /// The stream that keeps everything under the prefix.
    pub(super) fn stream(&self) -> String {
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        self.prefix.chars().map(letter).collect()
    }

    /// All subjects.
    pub(super) fn all(&self) -> String {
        format!("{}.>", self.prefix)
    }

    /// The subject of a topic in a project.
    pub(super) fn of(&self, slug: &str, topic: Topic<'_>) -> String {
        let (kind, name) = match topic {
            Topic::Mail(agent) => ("mail", agent),
            Topic::Channel(name) => ("channel", name),
            Topic::Presence(agent) => ("presence", agent),
            Topic::Reservation(agent) => ("lease", agent),
        };
        format!("{}.{}.{kind}.{}", self.prefix, part(slug), part(name))
    }

    /// The subjects of all channels of a project.
    pub(super) fn channels(&self, slug: &str) -> String {
        format!("{}.{}.channel.*", self.prefix, part(slug))
    }

    /// The subjects of everybody's presence in a project.
    pub(super) fn presences(&self, slug: &str) -> String {
        format!("{}.{}.presence.*", self.prefix, part(slug))
    }

    /// All subjects of a project that the stream does not keep.
    pub(super) fn live(&self, slug: &str) -> String {
        format!("{}-live.{}.>", self.prefix, part(slug))
    }

    /// The subject on which an agent is said to be still there.
    pub(super) fn live_of(&self, slug: &str, agent: &str) -> String {
        format!("{}-live.{}.presence.{}", self.prefix, part(slug), part(agent))
    }

    /// The subject on which servers of one office tell each other whom to wake. No project is called so.
    pub(super) fn waking(&self, office: &str) -> String {
        format!("{}-live.$wake.{office}", self.prefix)
    }

    /// The subject on which it is asked who is there.
    pub(super) fn question(&self, slug: &str) -> String {
        format!("{}-live.{}.who", self.prefix, part(slug))
    }
}

/// What an office is called where it takes in the channels of a project.
pub(super) fn consumer(office: &str, slug: &str) -> String {
    format!("{office}-{}", part(slug))
}

/// The channel that a subject is of.
pub(super) fn channel_of(subject: &str) -> Option<ChannelName> {
    let (_, last) = subject.rsplit_once('.')?;
    let name = percent_decode_str(last).decode_utf8().ok()?;
    // A sign before the name would be a second subject for the same channel.
    ChannelName::parse(&name).ok().filter(|channel| channel.as_str() == name)
}

fn part(name: &str) -> String {
    let mut encoded = utf8_percent_encode(name, ENCODED).to_string();
    if encoded.len() > LONGEST_PART {
        let hash = blake3::hash(name.as_bytes()).to_hex();
        encoded.truncate(KEPT);
        encoded.push_str("--");
        encoded.push_str(&hash[..16]);
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subjects() -> Subjects {
        Subjects::under("postrider").unwrap()
    }

    #[test]
    fn every_name_is_one_part_of_a_subject() {
        for name in ["codex", "rig/polecat 3", "a.b*c>d", "Jürgen", "#x%"] {
            let subject = subjects().of("data-app", Topic::Mail(name));
            assert_eq!(subject.split('.').count(), 4, "{subject}");
            assert!(!subject.contains(['*', '>', ' ', '/']) && subject.is_ascii(), "{subject}");
        }
        assert_eq!(subjects().of("data-app", Topic::Reservation("a.b")), "postrider.data-app.lease.a%2Eb");
    }

    #[test]
    fn a_long_name_is_cut_and_stays_apart_from_others() {
        let long = |end: &str| part(&format!("{}{end}", "ü".repeat(2_000)));
        assert!(long("a").len() <= LONGEST_PART);
        assert_ne!(long("a"), long("b"));
    }

    #[test]
    fn a_channel_is_read_back_from_its_subject() {
        for name in ["dev", "agent-os.paper", &"a.".repeat(32)] {
            let subject = subjects().of("data-app", Topic::Channel(name));
            assert_eq!(channel_of(&subject).unwrap().as_str(), name);
        }
        for wrong in ["", "a.b.channel.", "a.b.channel.%23dev", "a.b.channel.%2e%2e", "a.b.channel.%FF"] {
            assert_eq!(channel_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_stream_is_called_after_its_prefix() {
        assert_eq!(subjects().stream(), "POSTRIDER");
        assert_eq!(Subjects::under("team-a.mail").unwrap().stream(), "TEAM_A_MAIL");
        for wrong in ["", "a..b", ".a", "a b", "a.*", "$JS", &"x".repeat(65)] {
            assert_eq!(Subjects::under(wrong), None, "{wrong}");
        }
    }
}

//! What becomes of an agent's things when its sessions have ended, as `[sessions]` says it, and what wakes one, as `[wake]` does.

use std::time::Duration;

use jiff::SignedDuration;
use mail::sessions::{Release, SessionRules};
use mail::wake_ups::WakeFor;
use serde::{Deserialize, Deserializer};

use crate::commands::watch::amounts;

/// The settings of `[sessions]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionSettings {
    /// Which reservations end with the last session.
    #[serde(default, deserialize_with = "release")]
    release: Option<Release>,
    /// When the person is told of mail that wants an answer, if no session comes.
    #[serde(default, deserialize_with = "duration")]
    hand_over_after: Option<Duration>,
    /// When a generated name that nothing waits for is retired.
    #[serde(default, deserialize_with = "duration")]
    retire_after: Option<Duration>,
}

/// Which mail wakes an idle session, as `[wake]` says it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WakeSettings {
    /// Which mail.
    #[serde(default, rename = "for", deserialize_with = "wake_for")]
    pub mail: WakeFor,
}

impl SessionSettings {
    /// The rules that they say.
    pub fn rules(&self) -> SessionRules {
        let usual = SessionRules::default();
        let or = |set: Option<Duration>, usual| {
            set.map_or(usual, |set| SignedDuration::try_from(set).unwrap_or(SignedDuration::MAX))
        };
        SessionRules {
            release: self.release.unwrap_or(usual.release),
            hand_over_after: or(self.hand_over_after, usual.hand_over_after),
            retire_after: or(self.retire_after, usual.retire_after),
        }
    }
}

fn release<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Release>, D::Error> {
    let word = String::deserialize(value)?;
    let wrong = || serde::de::Error::custom(format!("'{word}' is none of {}", Release::NAMES.join(", ")));
    Release::parse(&word).map(Some).ok_or_else(wrong)
}

fn wake_for<'de, D: Deserializer<'de>>(value: D) -> Result<WakeFor, D::Error> {
    let word = String::deserialize(value)?;
    let wrong = || serde::de::Error::custom(format!("'{word}' is none of {}", WakeFor::NAMES.join(", ")));
    WakeFor::parse(&word).ok_or_else(wrong)
}

fn duration<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Duration>, D::Error> {
    amounts::duration(&String::deserialize(value)?).map(Some).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SessionRules, String> {
        toml::from_str::<SessionSettings>(text).map(|settings| settings.rules()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_not_set_is_as_usual() {
        assert_eq!(read("").unwrap(), SessionRules::default());
        let rules = read("release = 'all'\nhand_over_after = '12h'\nretire_after = '30d'").unwrap();
        assert_eq!((rules.release, rules.hand_over_after), (Release::All, SignedDuration::from_hours(12)));
        assert_eq!(rules.retire_after, SignedDuration::from_hours(30 * 24));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_can() {
        assert!(read("release = 'some'").unwrap_err().contains("'some' is none of exclusive, all, none"));
        assert!(read("retire_after = 'soon'").unwrap_err().contains("'soon' is no time"));
        assert!(read("retire_after = 7").is_err() && read("forget_after = '1d'").is_err());
    }

    #[test]
    fn which_mail_wakes_is_one_word_and_a_wrong_one_is_refused() {
        let read = |text: &str| {
            toml::from_str::<WakeSettings>(text).map(|settings| settings.mail).map_err(|error| error.to_string())
        };
        assert_eq!(read("").unwrap(), WakeFor::Pressing);
        assert_eq!(read("for = 'none'").unwrap(), WakeFor::None);
        assert!(read("for = 'some'").unwrap_err().contains("'some' is none of pressing, all, none"));
        assert!(read("on = 'all'").is_err());
    }
}

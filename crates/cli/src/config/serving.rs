//! How a server begins and ends, as `[server]` says it.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::commands::watch::amounts;

/// How long a server that was started on demand has nothing to do before it ends.
const USUALLY_IDLE: Duration = Duration::from_secs(30 * 60);

/// The settings of `[server]`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSettings {
    /// Who starts it.
    #[serde(default)]
    pub start: ServerStart,
    /// How long one that was started on demand has nothing to do before it ends.
    #[serde(default, deserialize_with = "duration")]
    stop_after: Option<Duration>,
}

/// Who starts a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerStart {
    /// A person does
    #[default]
    ByHand,
    /// Hooks and `stdio` do, when none runs
    OnDemand,
}

impl ServerSettings {
    /// How long one that was started on demand has nothing to do before it ends.
    pub fn stop_after(&self) -> Duration {
        self.stop_after.unwrap_or(USUALLY_IDLE)
    }
}

fn duration<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Duration>, D::Error> {
    amounts::duration(&String::deserialize(value)?).map(Some).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_started_by_hand_unless_the_settings_say_otherwise() {
        let read = |text: &str| toml::from_str::<ServerSettings>(text);
        let usual = read("").unwrap();
        assert_eq!((usual.start, usual.stop_after()), (ServerStart::ByHand, USUALLY_IDLE));
        let on_demand = read("start = 'on-demand'\nstop_after = '5m'").unwrap();
        assert_eq!((on_demand.start, on_demand.stop_after()), (ServerStart::OnDemand, Duration::from_secs(300)));
        assert!(read("start = 'always'").is_err() && read("stop_after = 5").is_err());
    }
}

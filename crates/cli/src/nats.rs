//! What the settings say of NATS, and who does it. Built without NATS, a setting for it is an error.

use anyhow::bail;
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::wiring::LocalOffice;

/// Tells NATS what happens here and takes in what others say there, if there is a setting for it.
///
/// Has to run inside a runtime. A wrong setting is an error; a server that is away is not. It ends once the office closes.
pub fn start(config: &Config, local: &LocalOffice) -> anyhow::Result<Option<JoinHandle<()>>> {
    #[cfg(feature = "nats")]
    if let Some(settings) = settings(config)? {
        let run = relay::nats::run(settings, local.engine.store(), local.office.clone(), local.wake_ups.clone());
        return Ok(Some(tokio::spawn(run)));
    }
    #[cfg(not(feature = "nats"))]
    {
        let _ = local;
        refuse(config)?;
    }
    Ok(None)
}

/// What is wrong with NATS, and what to do about it; `None` if all is well or nothing is set.
pub async fn complaint(config: &Config) -> anyhow::Result<Option<(String, &'static str)>> {
    #[cfg(feature = "nats")]
    if let Some(settings) = settings(config)? {
        return Ok(relay::nats::check(&settings).await.err().map(|error| (error.to_string(), error.hint())));
    }
    #[cfg(not(feature = "nats"))]
    refuse(config)?;
    Ok(None)
}

#[cfg(feature = "nats")]
fn settings(config: &Config) -> anyhow::Result<Option<relay::nats::Settings>> {
    let Some(nats) = &config.file.nats else { return Ok(None) };
    let folders = config.file.channels.keys().cloned().collect();
    let settings = relay::nats::Settings::new(
        &nats.url,
        nats.prefix.as_deref(),
        nats.credentials.as_deref(),
        nats.ca.as_deref(),
        folders,
    );
    match settings {
        Ok(settings) => Ok(Some(settings)),
        Err(error) => bail!("the setting [nats] is wrong: {error} ({}); {}", error.code(), error.hint()),
    }
}

#[cfg(not(feature = "nats"))]
fn refuse(config: &Config) -> anyhow::Result<()> {
    if config.file.nats.is_some() {
        bail!(
            "there is a setting [nats], and this postrider was built without NATS; take it out, or build with `nats`"
        );
    }
    Ok(())
}

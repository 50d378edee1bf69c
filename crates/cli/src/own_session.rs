//! The session of a client that this process runs in: by the processes above it, and where one of them runs several
//! sessions, or none can be seen from a sandbox, by the id that the client puts into the environment of its shells.

use std::path::Path;

use relay::sessions::{SessionRecord, Sessions, ancestors, variable_of};

use crate::clients;
use crate::commands::nudge::sessions;
use crate::config::set;
use crate::identity::VARIABLE;

/// The session, if it is known here.
pub fn find(home: &Path) -> Option<SessionRecord> {
    let above = ancestors().into_iter().map(|ancestor| ancestor.process);
    Sessions::new(sessions(home)).of_process(above, is_named)
}

/// Whether the name in our variable is only what the client itself was started with, and not what the session is called.
pub fn has_inherited(session: &SessionRecord, name: &str) -> bool {
    let told = || session.process.and_then(|process| variable_of(process, VARIABLE));
    session.agent != name && told().as_deref() == Some(name)
}

/// Whether the environment names this session.
fn is_named(record: &SessionRecord) -> bool {
    let client = clients::ALL.iter().find(|client| client.name == record.client);
    let variables = client.map_or(&[][..], |client| client.session_variables);
    variables.iter().filter_map(|variable| set(variable)).any(|id| id == record.session_id)
}

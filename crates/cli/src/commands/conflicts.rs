//! Asking which files of a project another agent has reserved. What follows from that is for the command.

use api::{ConflictAnswer, FindConflicts};
use mail::office::MOST_PATHS;

use crate::post_office::{PostOffice, Refused};

/// Those of the paths that others than `me` hold. Where nobody has ever worked with us there are none.
pub async fn find(
    post_office: &PostOffice,
    project: &str,
    me: Option<&str>,
    paths: &[String],
) -> Result<Vec<ConflictAnswer>, Refused> {
    let mut found = Vec::new();
    for paths in paths.chunks(MOST_PATHS) {
        let request =
            FindConflicts { project_key: project.to_owned(), agent_name: me.map(str::to_owned), paths: paths.to_vec() };
        match post_office.ask(request).await {
            Ok(more) => found.extend(more),
            Err(refused) if refused.code == "PROJECT_NOT_FOUND" => break,
            Err(refused) => return Err(refused),
        }
    }
    Ok(found)
}

//! Creates a project if it is new.

use crate::prelude::*;

declare! {
    /// Asks for the project of a folder.
    EnsureProject("ensure_project", REPEATABLE, "Create the project if it is new. Call before anything else.") {
        /// The absolute path of the working directory.
        human_key: String =
            Param::required("human_key", Text, "Absolute path of the working directory")
                .mistaken_for(&["project_key", "project", "path"]);
    }
}

impl Verb for EnsureProject {
    type Answer = ProjectAnswer;

    async fn run(self, office: &Office) -> Result<ProjectAnswer, Error> {
        Ok(ProjectAnswer::new(office.ensure_named(&self.human_key).await?))
    }
}

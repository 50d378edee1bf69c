//! Names a path as another one of a project.

use crate::prelude::*;

declare! {
    /// Names a path as another one of a project, such as that of a second clone.
    SetProjectAlias("set_project_alias", REPEATABLE, "Name another path of a project.") {
        /// The path.
        path: String = Param::required("path", Text, "Absolute path");
        /// The project that it is to mean.
        project_key: String = PROJECT;
        /// Also if the path has a project of its own with mail, which is found by its slug alone from then on.
        anyway: Option<bool> = Param::optional("anyway", Flag, "Also if that path has mail of its own");
    }

    /// What a path means now.
    AliasedAnswer {
        path: String,
        /// The project that it means.
        project: ProjectAnswer,
        /// The slug of the project that it meant before.
        before[if_any]: Option<String>,
    }
}

impl Verb for SetProjectAlias {
    type Answer = AliasedAnswer;

    async fn run(self, office: &Office) -> Result<AliasedAnswer, Error> {
        let anyway = self.anyway.unwrap_or(false);
        let (project, before) = office.set_alias(&self.path, &self.project_key, anyway).await?;
        let before = before.filter(|before| before.id != project.id).map(|before| before.slug);
        Ok(AliasedAnswer { path: self.path, project: ProjectAnswer::new(project.into()), before })
    }
}

//! The roles of a project.

use crate::prelude::*;

declare! {
    /// Asks which roles there are.
    ListRoles("list_roles", READS, "The roles of a project, who holds each, and how much mail waits.") {
        project_key: String = PROJECT;
    }
}

impl Verb for ListRoles {
    type Answer = Vec<RoleAnswer>;

    async fn run(self, office: &Office) -> Result<Vec<RoleAnswer>, Error> {
        Ok(office.roles(&self.project_key).await?.into_iter().map(RoleAnswer::from).collect())
    }
}

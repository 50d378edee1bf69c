//! All paths that were named as other ones of projects.

use crate::prelude::*;

declare! {
    /// Asks for the other paths of all projects.
    ListProjectAliases("list_project_aliases", READS, "The other paths of projects.") {}
}

impl Verb for ListProjectAliases {
    type Answer = Vec<AliasAnswer>;

    async fn run(self, office: &Office) -> Result<Vec<AliasAnswer>, Error> {
        Ok(office.aliases().await?.into_iter().map(AliasAnswer::new).collect())
    }
}

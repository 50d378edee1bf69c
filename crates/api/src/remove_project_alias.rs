//! Takes another path of a project back.

use crate::prelude::*;

declare! {
    /// Takes another path of a project back.
    RemoveProjectAlias("remove_project_alias", WRITES, "Take another path of a project back.") {
        /// The path.
        path: String = Param::required("path", Text, "Absolute path");
    }
}

impl Verb for RemoveProjectAlias {
    type Answer = DoneAnswer;

    async fn run(self, office: &Office) -> Result<DoneAnswer, Error> {
        Ok(DoneAnswer { done: office.remove_alias(&self.path).await? })
    }
}

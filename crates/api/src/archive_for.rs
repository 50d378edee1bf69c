//! Archives a recipient's delivery, or brings it back, as a person wants it.

use crate::prelude::*;

declare! {
    /// Archives somebody's delivery of a message, or brings it back.
    ArchiveFor("archive_for", WRITES, "Archive a delivery of an agent, or bring it back.") {
        project_key: String = PROJECT;
        person: String = PERSON;
        recipient: String = RECIPIENT;
        message_id: i64 = MESSAGE;
        /// Out of the archive instead.
        back: bool = Param::optional("back", Flag, "Bring it back");
    }
}

impl Verb for ArchiveFor {
    type Answer = DoneAnswer;

    async fn run(self, office: &Office) -> Result<DoneAnswer, Error> {
        let Self { project_key, person, recipient, message_id, back } = self;
        let done = office.archive_for(&project_key, &person, &recipient, MessageId(message_id), back).await?;
        Ok(DoneAnswer { done })
    }
}

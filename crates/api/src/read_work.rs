//! One work item in full, and its story: the messages about it, the oldest first.

use mail::work::gist;

use crate::prelude::*;

declare! {
    ReadWork("read_work", READS, "One work item and its story.") {
        project_key: String = PROJECT;
        work_id: String = Param::required("work_id", Text, "");
        after_id: Option<i64> = Param::optional("after_id", Id, "Newer than this message");
        /// How many messages; 100 when nobody says.
        limit: Option<u32> = LIMIT;
    }

    WorkStoryAnswer {
        /// The slug of the project.
        project: String,
        item: WorkAnswer,
        story: Vec<StoryAnswer>,
        /// The cursor of the next page, if there may be one.
        next: Option<i64>,
    }
}

impl Verb for ReadWork {
    type Answer = WorkStoryAnswer;

    async fn run(self, office: &Office) -> Result<WorkStoryAnswer, Error> {
        let (after, limit) = (self.after_id.map(MessageId), limit(self.limit, LONG_LIMIT));
        let story = office.work_story(&self.project_key, &self.work_id, after, limit).await?;
        Ok(WorkStoryAnswer {
            project: story.project.slug,
            item: WorkAnswer::new(story.item),
            story: story.messages.into_iter().map(|message| StoryAnswer::new(gist(&message), message)).collect(),
            next: story.next.map(|id| id.0),
        })
    }
}

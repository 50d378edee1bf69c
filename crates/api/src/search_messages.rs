//! Searches the mail of a project.

use mail::messages::About;
use mail::office::SearchRequest;
use mail::search::query::LANGUAGE;

use crate::prelude::*;

declare! {
    /// Asks what was said.
    SearchMessages("search_messages", READS, "Search the project's mail, newest first.") {
        project_key: String = PROJECT;
        query: String =
            Param::required("query", Text, LANGUAGE).mistaken_for(&["q", "text", "search"]);
        limit: Option<u32> = LIMIT;
        kind: Option<String> = KIND;
        work_id: Option<String> = WORK;
        before_id: Option<i64> = Param::optional("before_id", Id, "").rare();
    }
}

impl Verb for SearchMessages {
    type Answer = Vec<FoundAnswer>;

    async fn run(self, office: &Office) -> Result<Vec<FoundAnswer>, Error> {
        let request = SearchRequest {
            project_key: &self.project_key,
            query: &self.query,
            about: About::parse(self.kind.as_deref(), self.work_id.as_deref())?,
            before: self.before_id.map(MessageId),
            limit: limit(self.limit, DEFAULT_LIMIT),
        };
        Ok(office.search(request).await?.into_iter().map(FoundAnswer::new).collect())
    }
}

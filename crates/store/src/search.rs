//! Search. What a query means to each engine stands with the engine; who is meant by a sender's name, here.

use mail::messages::{About, Message};
use mail::search::SearchStore;
use mail::search::query::Query;

use crate::prelude::*;
use crate::sqlite;

/// How many characters of a body a search returns: as many as make 64 KiB of plain letters.
pub(crate) const BODY_SHOWN: usize = 64 * 1024;

/// What is searched for.
pub(crate) struct Search {
    pub(crate) project: ProjectId,
    pub(crate) query: Query,
    pub(crate) about: About,
    pub(crate) before: i64,
    pub(crate) limit: usize,
}

#[async_trait]
impl SearchStore for Engine {
    async fn search(
        &self,
        project: ProjectId,
        query: &Query,
        about: &About,
        before: Option<MessageId>,
        limit: usize,
    ) -> Stored<Vec<Message>> {
        let (query, about, before) = (query.clone(), about.clone(), before.map_or(i64::MAX, |id| id.0));
        let search = Search { project, query, about, before, limit };
        match self {
            Self::Sqlite(_) => self.read_long("search", in_job!(|tx| sqlite::find(tx, &search).await)).await,
            Self::Postgres(store) => store.search(&search).await,
        }
    }
}

/// The agents whom a query names as senders, each with its name in small letters. Only ASCII letters have a case.
pub(crate) async fn senders(tx: &mut Tx<'_>, search: &Search) -> Outcome<Vec<(String, AgentId)>> {
    let sql = "SELECT lower(name), id FROM agent INDEXED BY agent_in_any_case
               WHERE project_id = ?1 AND name = ?2 COLLATE NOCASE";
    let mut names = Vec::new();
    names_in(&search.query, &mut names);
    let mut senders: Vec<(String, AgentId)> =
        tx.rows_many(sql, names.iter().map(|name| *values![search.project, name])).await?;
    let sql = "SELECT lower(name), agent_id FROM former_name WHERE project_id = ?1 AND name = ?2 COLLATE NOCASE";
    senders.extend(tx.rows_many(sql, names.iter().map(|name| *values![search.project, name])).await?);
    // Who wrote from another project goes by its name and the slug of that.
    let sql = "SELECT id FROM agent
               WHERE project_id = (SELECT id FROM project WHERE slug = ?1) AND name = ?2 COLLATE NOCASE";
    for whole in &names {
        let Some((name, slug)) = whole.rsplit_once('@') else { continue };
        let found: Vec<AgentId> = tx.rows(sql, values![slug, name]).await?;
        senders.extend(found.into_iter().map(|id| (whole.clone(), id)));
    }
    Ok(senders)
}

/// The names that a query asks for, in small letters.
fn names_in(query: &Query, names: &mut Vec<String>) {
    match query {
        Query::From(name) => names.push(name.to_ascii_lowercase()),
        Query::And(parts) | Query::Or(parts) => parts.iter().for_each(|part| names_in(part, names)),
        Query::Not(inner) => names_in(inner, names),
        Query::Word { .. } | Query::Prefix { .. } | Query::Phrase { .. } => {}
        Query::Start { .. } | Query::Near { .. } => {}
    }
}

//! Search. What a query means to each engine stands with the engine; who is meant by a sender's name, here.

use async_trait::async_trait;
use mail::StoreError;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::messages::{About, Message};
use mail::search::SearchStore;
use mail::search::query::Query;

use crate::Engine;
use crate::error::Outcome;
use crate::row::{Value, values};
use crate::tx::Tx;

#[async_trait]
impl SearchStore for Engine {
    async fn search(
        &self,
        project: ProjectId,
        query: &Query,
        about: &About,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Message>, StoreError> {
        match self {
            Self::Sqlite(store) => store.search(project, query, about, before, limit).await,
            Self::Postgres(store) => store.search(project, query, about, before, limit).await,
        }
    }
}

/// The agents whom a query names as senders, each with its name in small letters. Only ASCII letters have a case.
pub(crate) async fn senders(tx: &mut Tx<'_>, project: ProjectId, query: &Query) -> Outcome<Vec<(String, AgentId)>> {
    let sql = "SELECT lower(name), id FROM agent INDEXED BY agent_in_any_case
               WHERE project_id = ?1 AND name = ?2 COLLATE NOCASE";
    let mut names = Vec::new();
    names_in(query, &mut names);
    let values: Vec<Value<'_>> = names.iter().flat_map(|name| *values![project, name]).collect();
    tx.rows_many(sql, 2, &values, |row| Ok((row.get(0)?, row.get(1)?))).await
}

/// The names that a query asks for, in small letters.
fn names_in(query: &Query, names: &mut Vec<String>) {
    match query {
        Query::From(name) => names.push(name.to_ascii_lowercase()),
        Query::And(parts) | Query::Or(parts) => parts.iter().for_each(|part| names_in(part, names)),
        Query::Not(inner) => names_in(inner, names),
        Query::Word { .. } | Query::Prefix { .. } | Query::Phrase { .. } => {}
    }
}

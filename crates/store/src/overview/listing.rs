//! Mail at a glance: which messages are wanted, and how it stands with their deliveries.
//!
//! A listing goes along an index that holds just what is asked for, newest first. Where that is told by deliveries it goes
//! mailbox by mailbox, and from each takes only what is newer than all that it would otherwise keep: so a page costs one
//! look into each mailbox, and little more, however much mail there is.

use std::collections::BTreeSet;

use mail::messages::Message;
use mail::overview::{EXCERPT, Listed, Listing};

use crate::messages::COLUMNS;
use crate::prelude::*;

/// What is true of a delivery that is neither read nor archived, and the index that holds such deliveries alone.
const UNREAD: (&str, &str) = ("delivery_unread", "{d}.read_at IS NULL AND {d}.archived_at IS NULL");
/// The same of one that lacks an acknowledgement.
const ACK_DUE: (&str, &str) =
    ("delivery_ack_due", "{d}.ack_required = 1 AND {d}.acked_at IS NULL AND {d}.archived_at IS NULL");
/// The same of one that is archived.
const ARCHIVED: (&str, &str) = ("delivery_archived", "{d}.archived_at IS NOT NULL");

/// Messages at a glance, newest first.
pub(super) async fn listed(tx: &mut Tx<'_>, listing: &Listing) -> Outcome<Vec<Listed>> {
    // One moment, so that what is told of the deliveries is why a message is there.
    tx.begin_snapshot().await?;
    let ids = newest(tx, listing).await?;
    let sql = format!("SELECT {COLUMNS}, substr(m.body, 1, {EXCERPT}) FROM message m WHERE m.id = ?1");
    let messages: Vec<Message> = tx.rows_many(&sql, ids.iter().map(|id| [Value::Int(*id)])).await?;
    let deliveries = "SELECT count(*), count(*) FILTER (WHERE d.read_at IS NULL AND d.archived_at IS NULL),
                      count(*) FILTER (WHERE d.ack_required = 1 AND d.acked_at IS NULL AND d.archived_at IS NULL),
                      count(d.archived_at)
                  FROM delivery d INDEXED BY delivery_by_message
                  WHERE d.message_id = ?1 AND (d.role < 2 OR d.recipient_id = ?2)";
    let counts = tx.rows_many(deliveries, ids.iter().map(|id| *values![*id, listing.agent])).await?;
    tx.end_snapshot().await?;
    let listed = messages.into_iter().zip(counts).map(|(message, (deliveries, unread, acks_due, archived))| Listed {
        message,
        deliveries,
        unread,
        acks_due,
        archived,
    });
    Ok(listed.collect())
}

/// The numbers of the messages that are wanted, newest first.
pub(super) async fn newest(tx: &mut Tx<'_>, listing: &Listing) -> Outcome<Vec<i64>> {
    let walk = Walk::of(listing);
    let (mut found, mut above) = (BTreeSet::new(), 0);
    // What a statement costs in SQLite is what it reads; in PostgreSQL, that it is waited for.
    let at_once = if matches!(tx, Tx::Sqlite(_)) { 1 } else { 64 };
    for some in walk.whose(tx, listing).await?.chunks(at_once) {
        let asked = some.iter().map(|whose| walk_values(listing, *whose, above));
        let newer: Vec<i64> = tx.rows_many(&walk.sql, asked).await?;
        found.extend(newer);
        while found.len() > listing.limit {
            found.pop_first();
        }
        if found.len() == listing.limit {
            above = found.first().copied().unwrap_or(i64::MAX);
        }
    }
    Ok(found.into_iter().rev().collect())
}

/// The values of a [`Walk`]'s statement.
fn walk_values(listing: &Listing, whose: i64, above: i64) -> [Value<'static>; 5] {
    *values![whose, listing.before.map_or(i64::MAX, |id| id.0), above, listing.limit, listing.kind]
}

/// A way along an index. Its statement is given whose rows are wanted, below and above which number, how many, and the kind
/// if there is one.
pub(super) struct Walk {
    sql: String,
    along: Along,
}

enum Along {
    /// The mail of the project.
    Project,
    /// The mail of each agent.
    Agents,
}

impl Walk {
    /// The way that follows from the question.
    pub(super) fn of(listing: &Listing) -> Self {
        let wanted =
            [(listing.ack_due_only, ACK_DUE), (listing.unread_only, UNREAD), (listing.archived_only, ARCHIVED)];
        let wanted: Vec<(&str, &str)> =
            wanted.into_iter().filter(|(is, _)| *is).map(|(_, condition)| condition).collect();
        match (wanted.first(), listing.agent) {
            (Some((index, _)), Some(_)) => Self::along_deliveries(listing, index, &own(listing, &wanted)),
            // Urgent and typed messages are few, and have indexes of their own.
            (Some(_), None) if listing.urgent_only || listing.kind.is_some() => {
                Self::along_messages(listing, &some_deliveries("m.id", &wanted))
            }
            (Some((index, first)), None) => Self::along_deliveries(listing, index, &anybodys(first, &wanted[1..])),
            (None, Some(_)) if listing.urgent_only => Self::along_urgent_deliveries(listing),
            (None, Some(_)) if listing.kind.is_some() => {
                Self::along_deliveries(listing, "delivery_by_kind", "d.archived_at IS NULL")
            }
            (None, Some(_)) => Self::along_deliveries(listing, "", "d.archived_at IS NULL"),
            (None, None) => Self::along_messages(listing, ""),
        }
    }

    fn along_deliveries(listing: &Listing, index: &str, wanted: &str) -> Self {
        let index = if index.is_empty() { String::new() } else { format!("INDEXED BY {index} ") };
        let (join, urgent) = match listing.urgent_only {
            true => ("CROSS JOIN message m ON m.id = d.message_id", " AND m.importance >= 2"),
            false => ("", ""),
        };
        let wanted = format!("d.recipient_id = ?1 AND {wanted}{urgent}");
        Self::along(listing, &format!("delivery d {index}{join}"), ("d", "d.message_id"), &wanted, Along::Agents)
    }

    fn along_urgent_deliveries(listing: &Listing) -> Self {
        let from = "message m INDEXED BY message_urgent
                    CROSS JOIN delivery d ON d.recipient_id = ?1 AND d.message_id = m.id";
        let wanted = "m.project_id = (SELECT project_id FROM agent WHERE id = ?1) AND m.importance >= 2
                      AND d.archived_at IS NULL";
        Self::along(listing, from, ("m", "m.id"), wanted, Along::Agents)
    }

    /// Along the messages themselves; what else is `wanted` of them may be told of their deliveries. Of each sender,
    /// where nothing narrows them.
    fn along_messages(listing: &Listing, wanted: &str) -> Self {
        let (index, whose, along) = match (listing.urgent_only, listing.kind) {
            (true, _) => ("message_urgent", "m.project_id = ?1 AND m.importance >= 2", Along::Project),
            (false, Some(_)) => ("message_by_kind", "m.project_id = ?1", Along::Project),
            (false, None) => ("message_by_sender", "m.sender_id = ?1", Along::Agents),
        };
        let from = format!("message m INDEXED BY {index}");
        Self::along(listing, &from, ("m", "m.id"), &format!("{whose}{wanted}"), along)
    }

    /// Along the rows of `from`, of which a column counts.
    fn along(listing: &Listing, from: &str, (table, number): (&str, &str), wanted: &str, along: Along) -> Self {
        let kind = match listing.kind {
            Some(_) => format!("{table}.kind = ?5"),
            None => "CAST(?5 AS TEXT) IS NULL".to_owned(),
        };
        let sql = format!(
            "SELECT {number} FROM {from} WHERE {number} < ?2 AND {number} > ?3 AND {wanted} AND {kind}
             ORDER BY {number} DESC LIMIT ?4"
        );
        Self { sql, along }
    }

    async fn whose(&self, tx: &mut Tx<'_>, listing: &Listing) -> Outcome<Vec<i64>> {
        if listing.limit == 0 {
            return Ok(Vec::new());
        }
        match (&self.along, listing.agent) {
            (Along::Project, _) => Ok(vec![listing.project.0]),
            (Along::Agents, Some(agent)) => {
                let sql = "SELECT id FROM agent WHERE project_id = ?1 AND id = ?2";
                tx.rows(sql, values![listing.project, agent]).await
            }
            // Who came last has most of what is new, so that there is little left to take from the others.
            (Along::Agents, None) => {
                let sql = "SELECT id FROM agent INDEXED BY agent_by_project WHERE project_id = ?1 ORDER BY id DESC";
                tx.rows(sql, values![listing.project]).await
            }
        }
    }
}

/// What has to be true of an agent's own delivery.
fn own(listing: &Listing, wanted: &[(&str, &str)]) -> String {
    let hidden = if listing.archived_only { "" } else { "d.archived_at IS NULL AND " };
    let wanted: Vec<String> = wanted.iter().map(|(_, condition)| condition.replace("{d}", "d")).collect();
    format!("{hidden}{}", wanted.join(" AND "))
}

/// What has to be true of a delivery that all may know of, and of some other delivery, which may be the same.
fn anybodys(first: &str, others: &[(&str, &str)]) -> String {
    format!("d.role < 2 AND {}{}", first.replace("{d}", "d"), some_deliveries("d.message_id", others))
}

/// For each of these there has to be a delivery of the message of which it is true, and of which all may know.
fn some_deliveries(message: &str, wanted: &[(&str, &str)]) -> String {
    let is_there = |(_, condition): &(&str, &str)| {
        format!(
            " AND EXISTS (SELECT 1 FROM delivery o INDEXED BY delivery_by_message
               WHERE o.message_id = {message} AND o.role < 2 AND {})",
            condition.replace("{d}", "o")
        )
    };
    wanted.iter().map(is_there).collect()
}

#[cfg(test)]
mod tests {
    use formats::Kind;
    use mail::ids::{AgentId, ProjectId};

    use super::*;
    use crate::{Options, Sqlite};

    /// Every question that can be asked.
    fn questions() -> Vec<Listing> {
        let all = Listing::newest(ProjectId(1), 1);
        let mut questions = vec![all.clone(), Listing { agent: Some(AgentId(1)), ..all }];
        let narrowed: [fn(Listing) -> Listing; 5] = [
            |listing| Listing { unread_only: true, ..listing },
            |listing| Listing { ack_due_only: true, ..listing },
            |listing| Listing { urgent_only: true, ..listing },
            |listing| Listing { archived_only: true, ..listing },
            |listing| Listing { kind: Kind::all().next(), ..listing },
        ];
        for narrow in narrowed {
            let more: Vec<Listing> = questions.iter().cloned().map(narrow).collect();
            questions.extend(more);
        }
        questions
    }

    #[tokio::test]
    async fn every_listing_goes_along_an_index_and_nothing_is_sorted() {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&folder.path().join("mail.db"), &Options::default()).unwrap();
        let questions = questions();
        assert_eq!(questions.len(), 64);
        for listing in questions {
            let sql = format!("EXPLAIN QUERY PLAN {}", Walk::of(&listing).sql);
            let values = walk_values(&listing, 1, 1);
            let plan: Vec<(i64, i64, i64, String)> =
                store.read("plan", async |tx| tx.rows(&sql, &values).await).await.unwrap();
            let plan: Vec<String> = plan.into_iter().map(|(.., step)| step).collect();
            let is_long = |step: &String| step.contains("TEMP B-TREE") || step.starts_with("SCAN");
            assert!(!plan.iter().any(is_long), "{listing:?}: {plan:?}");
            assert!(plan[0].contains("id<?"), "{listing:?}: {plan:?}");
        }
    }
}

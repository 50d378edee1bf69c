//! Mail at a glance, in PostgreSQL: which messages are wanted, and how it stands with their copies.
//!
//! A listing goes along an index that holds just what is asked for, newest first. Where that is told by copies it goes
//! mailbox by mailbox and takes a page of each, of which the newest stay: so what was read or put away costs nothing,
//! however much it is.

use mail::overview::{EXCERPT, Listed, Listing};
use tokio_postgres::Row;

use crate::postgres::rows::{AFTER_BODY, COLUMNS, Outcome, message_of};

/// What is true of a copy that is neither read nor put away. There is an index of such copies alone, as for the others.
const UNREAD: &str = "{d}.read_at IS NULL AND {d}.archived_at IS NULL";
/// What is true of a copy that lacks an acknowledgement.
const ACK_DUE: &str = "{d}.ack_required AND {d}.acked_at IS NULL AND {d}.archived_at IS NULL";
/// What is true of a copy that is put away.
const ARCHIVED: &str = "{d}.archived_at IS NOT NULL";

/// The statement for a listing. It is given the project, below which number, how many, the agent, and the kind if there is
/// one.
pub(super) fn sql(listing: &Listing) -> String {
    let page = page_sql(listing);
    format!(
        "SELECT {COLUMNS}, substr(m.body, 1, {EXCERPT}), c.copies, c.unread, c.acks_due, c.archived
         FROM ({page}) page JOIN message m ON m.id = page.id
         CROSS JOIN LATERAL (
             SELECT count(*) AS copies,
                 count(*) FILTER (WHERE d.read_at IS NULL AND d.archived_at IS NULL) AS unread,
                 count(*) FILTER (WHERE d.ack_required AND d.acked_at IS NULL AND d.archived_at IS NULL) AS acks_due,
                 count(d.archived_at) AS archived
             FROM delivery d WHERE d.message_id = m.id AND (d.role < 2 OR d.recipient_id = $4)
         ) c ORDER BY m.id DESC"
    )
}

/// Reads a row of [`sql`].
pub(super) fn listed_of(row: &Row) -> Outcome<Listed> {
    let count = |column: usize| -> Outcome<usize> {
        Ok(usize::try_from(row.try_get::<_, i64>(AFTER_BODY + column)?).unwrap_or(0))
    };
    Ok(Listed {
        message: message_of(row)?,
        copies: count(0)?,
        unread: count(1)?,
        acks_due: count(2)?,
        archived: count(3)?,
    })
}

/// The numbers of the messages that are wanted.
fn page_sql(listing: &Listing) -> String {
    let wanted = [(listing.ack_due_only, ACK_DUE), (listing.unread_only, UNREAD), (listing.archived_only, ARCHIVED)];
    let wanted: Vec<&str> = wanted.into_iter().filter(|(is, _)| *is).map(|(_, copies)| copies).collect();
    let copies = match (wanted.split_first(), listing.agent) {
        (_, Some(_)) => own(listing, &wanted),
        // Urgent and typed messages are few, and have indexes of their own.
        (Some(_), None) if listing.urgent_only || listing.kind.is_some() => {
            return messages_sql(listing, &some_copies("m.id", &wanted));
        }
        (Some((first, others)), None) => anybodys(first, others),
        (None, None) => return messages_sql(listing, ""),
    };
    let whose = if listing.agent.is_some() { " AND a.id = $4" } else { "" };
    let (join, urgent) = match listing.urgent_only {
        true => ("JOIN message m ON m.id = d.message_id", " AND m.project_id = $1 AND m.importance >= 2"),
        false => ("", ""),
    };
    let kind = if listing.kind.is_some() { " AND d.kind = $5" } else { "" };
    format!(
        "SELECT DISTINCT found.id FROM agent a CROSS JOIN LATERAL (
             SELECT d.message_id AS id FROM delivery d {join}
             WHERE d.recipient_id = a.id AND d.message_id < $2 AND {copies}{urgent}{kind}
             ORDER BY d.message_id DESC LIMIT $3
         ) found WHERE a.project_id = $1{whose} ORDER BY found.id DESC LIMIT $3"
    )
}

/// Messages; what else is `wanted` of them may be told of their copies.
fn messages_sql(listing: &Listing, wanted: &str) -> String {
    let urgent = if listing.urgent_only { " AND m.importance >= 2" } else { "" };
    let kind = if listing.kind.is_some() { " AND m.kind = $5" } else { "" };
    format!(
        "SELECT m.id FROM message m WHERE m.project_id = $1 AND m.id < $2{urgent}{kind}{wanted}
         ORDER BY m.id DESC LIMIT $3"
    )
}

/// What has to be true of an agent's own copy.
fn own(listing: &Listing, wanted: &[&str]) -> String {
    let hidden = if listing.archived_only { "d.archived_at IS NOT NULL" } else { "d.archived_at IS NULL" };
    let wanted = wanted.iter().map(|copy| format!(" AND {}", copy.replace("{d}", "d")));
    format!("{hidden}{}", wanted.collect::<String>())
}

/// What has to be true of a copy that all may know of, and of some other copy, which may be the same.
fn anybodys(first: &str, others: &[&str]) -> String {
    format!("d.role < 2 AND {}{}", first.replace("{d}", "d"), some_copies("d.message_id", others))
}

/// For each of these there has to be a copy of the message of which it is true, and of which all may know.
fn some_copies(message: &str, wanted: &[&str]) -> String {
    let is_there = |copy: &&str| {
        let copy = copy.replace("{d}", "o");
        format!(" AND EXISTS (SELECT FROM delivery o WHERE o.message_id = {message} AND o.role < 2 AND {copy})")
    };
    wanted.iter().map(is_there).collect()
}

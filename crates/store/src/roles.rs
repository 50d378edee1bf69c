//! Roles: who holds each, and the mail that waits for one.

use mail::agents::{Profile, TokenHash};
use mail::roles::{Holding, KnownRole, ROLE, RoleName, RoleStore, RoleTaken};

use crate::agents;
use crate::prelude::*;

/// How many deliveries are looked at together when a role is taken.
const PAGE: usize = 1_000;
/// A delivery of one agent once more, for another.
const COPY: &str = "
    INSERT INTO delivery (recipient_id, message_id, role, position, ack_required, kind)
    SELECT a.id, d.message_id, d.role, (SELECT max(position) + 1 FROM delivery WHERE message_id = ?2), d.ack_required, d.kind
    FROM delivery d CROSS JOIN agent a ON a.id = ?3 WHERE d.recipient_id = ?1 AND d.message_id = ?2";
/// A role as it is kept, and its holder's name if that agent is still there.
const HELD: &str = "
    SELECT r.mailbox_id, r.since, r.held_until, h.id, h.name
    FROM role r LEFT JOIN agent h ON h.id = r.holder_id AND h.retired_at IS NULL
    WHERE r.project_id = ?1 AND r.name = ?2";

#[async_trait]
impl RoleStore for Engine {
    async fn ensure_role(
        &self,
        project: ProjectId,
        role: &RoleName,
        token: TokenHash,
        now: Timestamp,
    ) -> Stored<Option<KnownRole>> {
        let role = role.clone();
        let making = in_job!(|tx| {
            let Some(kept) = ensure(tx, project, &role, &token, now).await? else { return Ok(None) };
            let waiting = waiting(tx, kept.mailbox).await?;
            let held = kept.held_at(now);
            Ok(Some(KnownRole { name: role.as_str().to_owned(), mailbox: kept.mailbox, waiting, held }))
        });
        self.write("make a role", Home::Project(project), making).await
    }

    async fn take_role(
        &self,
        project: ProjectId,
        role: &RoleName,
        agent: AgentId,
        token: TokenHash,
        until: Timestamp,
        now: Timestamp,
    ) -> Stored<RoleTaken> {
        let role = role.clone();
        let taking = in_job!(|tx| {
            let Some(kept) = ensure(tx, project, &role, &token, now).await? else { return Ok(RoleTaken::NameTaken) };
            take(tx, (project, &role), kept, agent, until, now).await
        });
        self.write("take a role", Home::Project(project), taking).await
    }

    async fn release_role(&self, project: ProjectId, role: &RoleName, agent: AgentId, now: Timestamp) -> Stored<bool> {
        let role = role.clone();
        let releasing = in_job!(|tx| {
            let sql = "UPDATE role SET held_until = ?4
                       WHERE project_id = ?1 AND name = ?2 AND holder_id = ?3 AND held_until > ?4";
            let released = tx.execute(sql, values![project, role.as_str(), agent, now]).await? > 0;
            if released {
                tx.record(project, EventKind::PresenceChanged, agent.0, Some(agent), now).await?;
            }
            Ok(released)
        });
        self.write("give a role back", Home::Project(project), releasing).await
    }

    async fn roles(&self, project: ProjectId, now: Timestamp) -> Stored<Vec<KnownRole>> {
        let sql = "SELECT r.name, r.mailbox_id,
                       (SELECT count(*) FROM delivery d INDEXED BY delivery_unread
                        WHERE d.recipient_id = r.mailbox_id AND d.read_at IS NULL AND d.archived_at IS NULL),
                       r.since, r.held_until, h.id, h.name
                   FROM role r LEFT JOIN agent h ON h.id = r.holder_id AND h.retired_at IS NULL
                   WHERE r.project_id = ?1 ORDER BY r.name";
        let mut roles = Vec::new();
        let visit = &mut |row: &Row<'_>| {
            let kept = Kept { mailbox: row.get(1)?, since: row.get(3)?, until: row.get(4)?, holder: holder(row, 5)? };
            let held = kept.held_at(now);
            roles.push(KnownRole { name: row.get(0)?, mailbox: kept.mailbox, waiting: row.get(2)?, held });
            Ok(true)
        };
        self.read("list roles", async |tx| tx.each(sql, values![project], visit).await).await?;
        // As text is compared in Rust: a database may sort by its language.
        roles.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(roles)
    }

    async fn hand_out(
        &self,
        project: ProjectId,
        role: &RoleName,
        from: AgentId,
        now: Timestamp,
    ) -> Stored<Option<AgentId>> {
        let role = role.clone();
        let handing = in_job!(|tx| {
            let Some(kept) = kept(tx, project, &role).await? else { return Ok(None) };
            let held = kept.held_at(now).map(|held| held.agent);
            let is_last = kept.holder.as_ref().is_some_and(|(last, _)| *last == from);
            // What its last holder has is handed over when somebody takes it.
            if from == kept.mailbox {
                if let Some(held) = held {
                    hand_over(tx, None, from, held).await?;
                }
            } else if !is_last {
                hand_over(tx, Some(&role), from, held.unwrap_or(kept.mailbox)).await?;
            }
            Ok(held)
        });
        self.write("hand out the mail of a role", Home::Project(project), handing).await
    }
}

/// A role as it is kept.
struct Kept {
    mailbox: AgentId,
    since: Timestamp,
    until: Timestamp,
    /// Who held it last, if that agent is not retired.
    holder: Option<(AgentId, String)>,
}

impl Kept {
    /// Who holds it at `now`.
    fn held_at(&self, now: Timestamp) -> Option<Holding> {
        let (agent, name) = self.holder.clone().filter(|_| now < self.until)?;
        Some(Holding { agent, name, since: self.since, until: self.until })
    }
}

async fn kept(tx: &mut Tx<'_>, project: ProjectId, role: &RoleName) -> Outcome<Option<Kept>> {
    let mut found = None;
    let visit = &mut |row: &Row<'_>| {
        found = Some(Kept { mailbox: row.get(0)?, since: row.get(1)?, until: row.get(2)?, holder: holder(row, 3)? });
        Ok(false)
    };
    tx.each(HELD, values![project, role.as_str()], visit).await?;
    Ok(found)
}

/// The holder whose number and name stand in these columns.
fn holder(row: &Row<'_>, at: usize) -> Outcome<Option<(AgentId, String)>> {
    let (id, name): (Option<AgentId>, Option<String>) = (row.get(at)?, row.get(at + 1)?);
    Ok(id.zip(name))
}

/// The role, which is made with its mailbox if it is new; `None` if an agent has or had the name of that.
async fn ensure(
    tx: &mut Tx<'_>,
    project: ProjectId,
    role: &RoleName,
    token: &TokenHash,
    now: Timestamp,
) -> Outcome<Option<Kept>> {
    if let Some(kept) = kept(tx, project, role).await? {
        return Ok(Some(kept));
    }
    if let Some(agent) = agents::known(tx, project, &role.address()).await? {
        let has_token = tx.exists("SELECT 1 FROM agent_token WHERE agent_id = ?1 LIMIT 1", values![agent.id]).await?;
        if agent.name != role.address() || !agent.program.is_empty() || has_token {
            return Ok(None);
        }
    }
    let profile = Profile { program: Some(ROLE.to_owned()), ..Profile::default() };
    let mailbox = agents::register(tx, project, &role.address(), &profile, now).await?.id;
    agents::remember(tx, mailbox, token, now).await?;
    let sql = "INSERT INTO role (project_id, name, mailbox_id, holder_id, since, held_until)
               VALUES (?1, ?2, ?3, NULL, ?4, ?4)";
    tx.execute(sql, values![project, role.as_str(), mailbox, now]).await?;
    Ok(Some(Kept { mailbox, since: now, until: now, holder: None }))
}

async fn take(
    tx: &mut Tx<'_>,
    (project, role): (ProjectId, &RoleName),
    kept: Kept,
    agent: AgentId,
    until: Timestamp,
    now: Timestamp,
) -> Outcome<RoleTaken> {
    let held = kept.held_at(now);
    let since = match held {
        Some(other) if other.agent != agent => return Ok(RoleTaken::ByAnother(other)),
        Some(own) => own.since,
        None => now,
    };
    let name: String = tx.only("SELECT name FROM agent WHERE id = ?1", values![agent]).await?;
    // Asked before the row forgets who that was; a retired agent has left its mail, too.
    let sql = "SELECT holder_id FROM role WHERE project_id = ?1 AND name = ?2 AND holder_id IS NOT NULL";
    let last: Option<AgentId> = tx.row(sql, values![project, role.as_str()]).await?;
    let sql = "UPDATE role SET holder_id = ?3, since = ?4, held_until = ?5 WHERE project_id = ?1 AND name = ?2";
    tx.execute(sql, values![project, role.as_str(), agent, since, until]).await?;
    // All mail of the mailbox is the role's, blind copies too, which no list of names tells of.
    let mut handed_over = hand_over(tx, None, kept.mailbox, agent).await?;
    if let Some(last) = last.filter(|last| *last != agent) {
        handed_over += hand_over(tx, Some(role), last, agent).await?;
    }
    if since == now {
        tx.record(project, EventKind::PresenceChanged, agent.0, Some(agent), now).await?;
    }
    Ok(RoleTaken::Held { holding: Holding { agent, name, since, until }, handed_over })
}

/// Hands what one agent has not read over to another, unless that has it already; of a role, what was addressed to that. What was
/// addressed to the agent by name as well is the other's, too.
async fn hand_over(tx: &mut Tx<'_>, role: Option<&RoleName>, from: AgentId, to: AgentId) -> Outcome<u64> {
    let sql = "SELECT d.message_id, m.to_names, m.cc_names FROM delivery d INDEXED BY delivery_unread
               CROSS JOIN message m ON m.id = d.message_id
               WHERE d.recipient_id = ?1 AND d.message_id > ?3 AND d.read_at IS NULL AND d.archived_at IS NULL
                   AND NOT EXISTS (SELECT 1 FROM delivery o WHERE o.recipient_id = ?2 AND o.message_id = d.message_id)
               ORDER BY d.message_id LIMIT ?4";
    let address = role.map(RoleName::address);
    let is_wanted = |(_, to, cc): &(MessageId, Vec<String>, Vec<String>)| {
        address.as_ref().is_none_or(|address| to.contains(address) || cc.contains(address))
    };
    let names = if role.is_some() { names_of(tx, from).await? } else { Vec::new() };
    let is_own = |(_, to, cc): &(MessageId, Vec<String>, Vec<String>)| {
        names.iter().any(|name| to.contains(name) || cc.contains(name))
    };
    let (mut after, mut count) = (0, 0);
    loop {
        let unread: Vec<(MessageId, Vec<String>, Vec<String>)> = tx.rows(sql, values![from, to, after, PAGE]).await?;
        let Some((last, ..)) = unread.last() else { break };
        after = last.0;
        let (copied, handed): (Vec<_>, Vec<_>) =
            unread.iter().filter(|one| is_wanted(one)).partition(|one| is_own(one));
        count += (copied.len() + handed.len()) as u64;
        let values = |(id, ..): &(MessageId, Vec<String>, Vec<String>)| *values![from, *id, to];
        for copied in copied {
            tx.execute(COPY, &values(copied)).await?;
        }
        let handed: Vec<_> = handed.into_iter().map(values).collect();
        // Whom it was shown to before is not whom it goes to.
        let sql = "UPDATE delivery SET recipient_id = ?3, shown_at = NULL WHERE recipient_id = ?1 AND message_id = ?2";
        tx.execute_many(sql, handed).await?;
    }
    if count > 0 {
        tx.wake(to);
    }
    Ok(count)
}

/// The names that an agent has and had.
async fn names_of(tx: &mut Tx<'_>, agent: AgentId) -> Outcome<Vec<String>> {
    let sql = "SELECT name FROM agent WHERE id = ?1 UNION ALL SELECT name FROM former_name WHERE agent_id = ?1";
    tx.rows(sql, values![agent]).await
}

/// Ends the holds of an agent. Its unread mail stays until others take the roles.
pub(crate) async fn end_holds(tx: &mut Tx<'_>, project: ProjectId, agent: AgentId, now: Timestamp) -> Outcome<()> {
    let sql = "UPDATE role SET held_until = ?3 WHERE project_id = ?1 AND holder_id = ?2 AND held_until > ?3";
    tx.execute(sql, values![project, agent, now]).await.map(drop)
}

async fn waiting(tx: &mut Tx<'_>, mailbox: AgentId) -> Outcome<u64> {
    let sql = "SELECT count(*) FROM delivery d INDEXED BY delivery_unread
               WHERE d.recipient_id = ?1 AND d.read_at IS NULL AND d.archived_at IS NULL";
    tx.only(sql, values![mailbox]).await
}

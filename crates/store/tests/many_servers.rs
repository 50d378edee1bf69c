//! Several servers over one PostgreSQL database, each with an open store of its own.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mail::Store;
use mail::agents::{AgentName, Profile, Taking};
use mail::events::Concerned;
use mail::ids::AgentId;
use mail::messages::{Appended, IdempotencyKey, MessageStore, NewMessage};
use mail::reservations::Reserved;
use store::{Postgres, PostgresOptions};
use testing::postgres::{self, Private};
use tokio::task::JoinSet;

use crate::team::{Team, at};

const LONG: Duration = Duration::from_secs(60);

/// So many open stores on one empty schema; none, said loudly, where there is no PostgreSQL.
async fn servers(count: usize) -> Option<Vec<Arc<dyn Store>>> {
    Some(servers_of(&postgres::fresh_url()?, count).await)
}

async fn servers_of(url: &str, count: usize) -> Vec<Arc<dyn Store>> {
    // All at once: whoever comes first makes the schema.
    let mut opening: JoinSet<Arc<dyn Store>> = JoinSet::new();
    for _ in 0..count {
        let url = url.to_owned();
        opening.spawn(async move { Arc::new(Postgres::open(&url, &PostgresOptions::default()).await.unwrap()) as _ });
    }
    opening.join_all().await
}

async fn team(store: &Arc<dyn Store>, path: &str, size: usize) -> Team {
    let project = store.ensure_project(path, at(0)).await.unwrap().id;
    let mut agents = Vec::new();
    for number in 0..size {
        let name = AgentName::parse(&format!("agent-{number}")).unwrap();
        let agent = store.register(project, &name, &Profile::default(), None, Taking::NewOnly, at(0)).await.unwrap();
        agents.push(agent.expect("each has a name of its own").id);
    }
    Team { project, agents }
}

async fn send(store: &Arc<dyn Store>, message: &NewMessage) -> Appended {
    store.append(message).await.unwrap()
}

/// Whom the changes after `stamp` concern, once they concern somebody.
async fn concerned(store: &Arc<dyn Store>, mut stamp: i64) -> Concerned {
    loop {
        let changes = store.changes(Some(stamp), LONG).await.unwrap();
        if changes.concerned != Concerned::NOBODY {
            return changes.concerned;
        }
        assert_ne!(changes.stamp, stamp, "nothing was heard");
        stamp = changes.stamp;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_on_one_server_is_heard_on_another_for_those_whom_it_concerns() {
    let Some(servers) = servers(2).await else { return };
    let [here, there] = &servers[..] else { unreachable!() };
    let (shop, bank) = (team(here, "/projects/shop", 3).await, team(here, "/projects/bank", 1).await);
    // What was committed until now is heard before what comes.
    let before = there.changes(None, LONG).await.unwrap().stamp;
    send(here, &bank.message(0, &[0], "mark")).await;
    let is_mark = |concerned: &Concerned| match concerned {
        Concerned::Everybody => true,
        Concerned::These { agents, .. } => agents.contains(&bank.agents[0]),
    };
    while !is_mark(&concerned(there, before).await) {}
    let stamp = there.changes(None, LONG).await.unwrap().stamp;
    send(here, &shop.message(0, &[1, 2], "body")).await;
    let expected = Concerned::These { agents: shop.agents[1..].to_vec(), projects: vec![shop.project] };
    assert_eq!(concerned(there, stamp).await, expected);
    let stamp = there.changes(None, LONG).await.unwrap().stamp;
    assert!(matches!(here.reserve(&shop.request(0, "a.txt"), at(1)).await.unwrap(), Reserved::Granted(_)));
    let expected = Concerned::These { agents: Vec::<AgentId>::new(), projects: vec![shop.project] };
    assert_eq!(concerned(there, stamp).await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ends_has_told_the_others_what_it_committed() {
    let Some(url) = postgres::fresh_url() else { return };
    let open = async || Postgres::open(&url, &PostgresOptions::default()).await.unwrap();
    let there: Arc<dyn Store> = Arc::new(open().await);
    let shop = team(&there, "/projects/shop", 2).await;
    for _ in 0..10 {
        let short_lived = open().await;
        let stamp = there.changes(None, LONG).await.unwrap().stamp;
        short_lived.append(&shop.message(0, &[1], "body")).await.unwrap();
        short_lived.close().await;
        drop(short_lived);
        // Had it not been told, everybody would be concerned, at a later look.
        let expected = Concerned::These { agents: vec![shop.agents[1]], projects: vec![shop.project] };
        assert_eq!(concerned(&there, stamp).await, expected);
    }
}

fn id_of(appended: &Appended) -> mail::ids::MessageId {
    match appended {
        Appended::New { id, .. } | Appended::Repeated(id) => *id,
        Appended::KeyTaken(_) => panic!("the key is free"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_share_one_order_in_which_times_rise() {
    let Some(servers) = servers(3).await else { return };
    let team = team(&servers[0], "/projects/shop", 2).await;
    let mut sending = JoinSet::new();
    for (number, server) in servers.iter().cycle().take(30).cloned().enumerate() {
        // Their clocks differ.
        let message = NewMessage { now: at(1_000 - number as i64), ..team.message(0, &[1], "body") };
        sending.spawn(async move { send(&server, &message).await });
    }
    let mut sent: Vec<_> = sending
        .join_all()
        .await
        .into_iter()
        .map(|appended| match appended {
            Appended::New { id, created_at } => (id, created_at),
            other => panic!("{other:?}"),
        })
        .collect();
    sent.sort();
    assert!(sent.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{sent:?}");
    let events = servers[1].events(team.project, 0, 1_000).await.unwrap();
    let numbers: Vec<i64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=events.len() as i64).collect::<Vec<_>>());
    let told: Vec<i64> =
        events.iter().filter(|event| event.kind.as_str() == "message.sent").map(|event| event.reference).collect();
    assert_eq!(told, sent.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), "in the order of their numbers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_servers_one_grants_a_path_and_one_keeps_a_message_under_a_key() {
    let Some(servers) = servers(3).await else { return };
    let team = team(&servers[0], "/projects/shop", 9).await;
    for round in 0..10 {
        let (mut asking, mut sending) = (JoinSet::new(), JoinSet::new());
        for (agent, server) in servers.iter().cycle().take(9).cloned().enumerate() {
            let request = team.request(agent, &format!("{round}.txt"));
            let asked = server.clone();
            asking.spawn(async move { matches!(asked.reserve(&request, at(1)).await.unwrap(), Reserved::Granted(_)) });
            let key = IdempotencyKey { key: format!("key-{round}"), fingerprint: [7; 32] };
            let message = NewMessage { idempotency: Some(key), ..team.message(0, &[1], "body") };
            sending.spawn(async move { send(&server, &message).await });
        }
        assert_eq!(asking.join_all().await.into_iter().filter(|is_granted| *is_granted).count(), 1);
        let kept: HashSet<_> = sending.join_all().await.iter().map(id_of).collect();
        assert_eq!(kept.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_hear_each_other_again_once_the_database_is_back() {
    let Some(database) = Private::start() else { return };
    let servers = servers_of(&database.url(), 2).await;
    let team = team(&servers[0], "/projects/shop", 2).await;
    database.crash();
    database.recover();
    // Whom a commit concerns is told by nobody but who made it. Whoever merely finds that something was missed, as all do
    // who begin to listen, wakes everybody.
    let told = Concerned::These { agents: vec![team.agents[1]], projects: vec![team.project] };
    for (here, there) in [(0, 1), (1, 0)] {
        let (here, there, begun) = (&servers[here], &servers[there], Instant::now());
        loop {
            assert!(begun.elapsed() < LONG, "what one commits is never told to the other");
            let stamp = there.changes(None, LONG).await.unwrap().stamp;
            // Refused until it is back.
            let is_sent = here.append(&team.message(0, &[1], "body")).await.is_ok();
            if is_sent && there.changes(Some(stamp), LONG).await.unwrap().concerned == told {
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_while_a_server_waits_for_another_goes_into_the_same_transaction() {
    let Some(database) = Private::start() else { return };
    let server = servers_of(&database.url(), 1).await.remove(0);
    let shop = team(&server, "/projects/shop", 2).await;
    let busy = database.holding("SELECT FROM project FOR UPDATE");
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    let messages: Vec<NewMessage> = (0..5).map(|number| shop.message(0, &[1], &format!("message {number}"))).collect();
    let mut first = std::pin::pin!(send(&server, &messages[0]));
    // Asked once, a send is in the queue.
    assert!(futures_util::FutureExt::now_or_never(&mut first).is_none());
    let begun = Instant::now();
    while database.told(waits) != "1" {
        assert!(begun.elapsed() < LONG, "the first does not wait for the other server");
        tokio::task::yield_now().await;
    }
    let mut others = std::pin::pin!(futures_util::future::join_all(messages[1..].iter().map(|one| send(&server, one))));
    assert!(futures_util::FutureExt::now_or_never(&mut others).is_none());
    drop(busy);
    let (first, others) = (first.await, others.await);
    assert!(others.iter().chain([&first]).all(|sent| matches!(sent, Appended::New { .. })), "{first:?} {others:?}");
    assert_eq!(database.told("SELECT count(*) FROM message"), "5");
    assert_eq!(database.told("SELECT count(DISTINCT xmin::text) FROM message"), "1");
    assert_eq!(
        database.told(
            "SELECT bool_and(id = seq - 2) FROM message JOIN event ON reference = id WHERE event.kind = 'message.sent'"
        ),
        "t"
    );
}

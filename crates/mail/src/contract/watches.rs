//! What every store promises of watchers: one at a place, each message once, and nothing lost when one is killed.

use jiff::Timestamp;
use tokio::task::JoinSet;

use super::Shared;
use super::fixtures::{Draft, PLENTY, Team, at, draft, team, team_at};
use crate::channels::{CHAT, ChannelName, NewPost, WATCHER};
use crate::ids::MessageId;
use crate::presence::{AWAKE, NewPresence, OFFLINE, Source};
use crate::watches::{Begun, MAILBOX, NewWatch, Run, RunOutcome, RunQuery, RunState, Taken, answer_key};

fn watch(team: &Team, channel: &str, holder: &str) -> NewWatch {
    NewWatch {
        agent: team.agent("bob"),
        channel: channel.to_owned(),
        holder: holder.to_owned(),
        instead_of: None,
        since: Timestamp::MIN,
        until: at("17:00:00"),
    }
}

fn answer(from: &str, question: MessageId) -> Draft {
    Draft { reply_to: Some(question), ..draft(from, &["carol"]) }
}

fn started(position: i64) -> Begun {
    Begun::Started { position: MessageId(position), given_up: Vec::new() }
}

async fn begin(store: &Shared, watch: &NewWatch, time: &str) -> Begun {
    store.begin_watch(watch, at(time)).await.unwrap()
}

async fn take(store: &Shared, team: &Team, message: MessageId) -> Taken {
    store.take_on(team.agent("bob"), "dev", message, at("16:10:00")).await.unwrap()
}

async fn finish(store: &Shared, team: &Team, message: MessageId, outcome: RunOutcome) -> bool {
    store.finish_run(team.agent("bob"), message, &outcome, at("16:20:00")).await.unwrap()
}

async fn runs(store: &Shared, team: &Team) -> Vec<Run> {
    store.runs(team.agent("bob"), RunQuery { limit: PLENTY, ..RunQuery::default() }).await.unwrap()
}

async fn states(store: &Shared, team: &Team) -> Vec<RunState> {
    runs(store, team).await.into_iter().map(|run| run.state).collect()
}

pub async fn one_watcher_holds_a_place_and_the_next_is_told_who(store: &Shared) {
    let team = team(store).await;
    assert_eq!(begin(store, &watch(&team, "dev", "w1"), "16:00:00").await, started(0));
    let held = Begun::Held { holder: "w1".to_owned(), until: at("17:00:00") };
    assert_eq!(begin(store, &watch(&team, "dev", "w2"), "16:59:59").await, held);
    assert_eq!(begin(store, &watch(&team, "dev", "w1"), "16:01:00").await, started(0), "it is its own");
    for channel in [MAILBOX, "ops"] {
        assert_eq!(begin(store, &watch(&team, channel, "w2"), "16:00:00").await, started(0), "another place");
    }
    let carol = NewWatch { agent: team.agent("carol"), ..watch(&team, "dev", "w3") };
    assert_eq!(begin(store, &carol, "16:00:00").await, started(0), "another agent");
}

pub async fn of_many_who_begin_at_once_one_watches(store: &Shared) {
    let team = team(store).await;
    let mut tasks = JoinSet::new();
    for holder in 0..8 {
        let (store, wanted) = (store.clone(), watch(&team, "dev", &format!("w{holder}")));
        tasks.spawn(async move { store.begin_watch(&wanted, at("16:00:00")).await.unwrap() });
    }
    let begun = tasks.join_all().await;
    assert_eq!(begun.iter().filter(|begun| matches!(begun, Begun::Started { .. })).count(), 1);
}

pub async fn a_watcher_whose_time_is_over_or_that_is_gone_is_replaced(store: &Shared) {
    let team = team(store).await;
    begin(store, &watch(&team, "dev", "w1"), "16:00:00").await;
    let bob = team.agent("bob");
    assert_eq!(begin(store, &watch(&team, "dev", "w2"), "17:00:00").await, started(0), "its time is over");
    assert!(!store.hold_watch(bob, "dev", "w1", MessageId(9), at("18:00:00")).await.unwrap(), "it is replaced");
    let instead = NewWatch { instead_of: Some("w2".to_owned()), ..watch(&team, "dev", "w3") };
    assert_eq!(begin(store, &instead, "16:00:00").await, started(0), "it is known to be gone");
    assert!(!store.end_watch(bob, "dev", "w2").await.unwrap(), "another has its place");
    assert!(matches!(begin(store, &watch(&team, "dev", "w4"), "16:00:00").await, Begun::Held { .. }));
    assert!(store.end_watch(bob, "dev", "w3").await.unwrap());
    assert_eq!(begin(store, &watch(&team, "dev", "w4"), "16:00:00").await, started(0), "it was given back");
}

pub async fn a_position_is_kept_and_never_moves_back(store: &Shared) {
    let team = team(store).await;
    let bob = team.agent("bob");
    begin(store, &watch(&team, "dev", "w1"), "16:00:00").await;
    assert!(store.hold_watch(bob, "dev", "w1", MessageId(7), at("17:00:00")).await.unwrap());
    assert!(store.hold_watch(bob, "dev", "w1", MessageId(5), at("18:00:00")).await.unwrap());
    let held = Begun::Held { holder: "w1".to_owned(), until: at("18:00:00") };
    assert_eq!(begin(store, &watch(&team, "dev", "w2"), "17:30:00").await, held, "it is held longer");
    store.end_watch(bob, "dev", "w1").await.unwrap();
    assert_eq!(begin(store, &watch(&team, "dev", "w2"), "16:00:00").await, started(7));
}

pub async fn the_first_watcher_begins_behind_what_came_before_a_time(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    shop.send(draft("alice", &["bob"]).taken(at("16:00:00"))).await;
    let second = shop.send(draft("alice", &["carol"]).taken(at("16:10:00"))).await;
    let third = shop.send(draft("alice", &["bob"]).taken(at("16:20:00"))).await;
    bank.send(draft("alice", &["bob"]).taken(at("16:12:00"))).await;
    for (channel, since, position) in [
        ("a", Timestamp::MIN, 0),
        ("b", at("16:15:00"), second.0),
        ("c", at("16:20:00"), second.0),
        ("d", at("16:30:00"), third.0),
    ] {
        let wanted = NewWatch { since, ..watch(&shop, channel, "w1") };
        assert_eq!(begin(store, &wanted, "16:30:00").await, started(position), "{channel}");
    }
    let later = NewWatch { since: at("16:30:00"), ..watch(&shop, "a", "w1") };
    assert_eq!(begin(store, &later, "16:31:00").await, started(0), "there was a watcher before");
}

pub async fn a_message_is_taken_on_once(store: &Shared) {
    let team = team(store).await;
    let ids = team.send_many(2).await;
    assert_eq!(take(store, &team, ids[0]).await, Taken::New);
    assert_eq!(take(store, &team, ids[0]).await, Taken::Already);
    assert!(finish(store, &team, ids[0], RunOutcome::Answered).await);
    assert_eq!(take(store, &team, ids[0]).await, Taken::Already, "it is done");
    assert!(!finish(store, &team, ids[1], RunOutcome::Silent).await, "it was never taken on");
    let carol = store.take_on(team.agent("carol"), "dev", ids[0], at("16:10:00")).await.unwrap();
    assert_eq!(carol, Taken::New, "another agent answers for itself");
}

pub async fn an_agent_stays_while_anybody_holds_a_place_for_it(store: &Shared) {
    let team = team(store).await;
    let bob = team.agent("bob");
    let hears = async |source, state: &str, time: &str| {
        let (state, seen_at) = (state.to_owned(), at(time));
        let told = NewPresence { state, substate: None, seen_at, source, watcher_pid: None, channel: None };
        store.set_presence(team.id(), bob, &told, at(time)).await.unwrap()
    };
    let says = async |state: &str, time: &str| hears(Source::Watcher, state, time).await;
    begin(store, &watch(&team, "dev", "w1"), "16:00:00").await;
    begin(store, &watch(&team, MAILBOX, "w2"), "16:00:00").await;
    assert!(says(AWAKE, "16:00:00").await);
    store.end_watch(bob, "dev", "w1").await.unwrap();
    assert!(!says(OFFLINE, "16:59:59").await, "its mailbox is watched");
    assert!(!hears(Source::File, OFFLINE, "16:59:59").await, "whatever a watcher elsewhere says");
    assert_eq!(store.presence(bob).await.unwrap().map(|known| known.state).as_deref(), Some(AWAKE));
    assert!(says(OFFLINE, "17:00:00").await, "the other was not heard of for too long");
    assert!(says(AWAKE, "16:01:00").await);
    store.end_watch(bob, MAILBOX, "w2").await.unwrap();
    assert!(says(OFFLINE, "16:02:00").await, "it gave its place back");
}

pub async fn a_chain_of_answers_is_counted_where_watchers_gave_them(store: &Shared) {
    let team = team(store).await;
    let hops = async |id| store.hops(id).await.unwrap();
    let asked = team.send_many(1).await[0];
    let mut last = asked;
    for (count, from) in (1..).zip(["bob", "alice", "bob"]) {
        last = team.send(answer(from, last).key(&answer_key(from, last), count)).await;
        assert_eq!(hops(last).await, u32::from(count), "{from}");
    }
    assert_eq!((hops(asked).await, hops(MessageId(99)).await), (0, 0));
    let by_hand = team.send(answer("alice", last)).await;
    assert_eq!(hops(by_hand).await, 0, "who speaks for itself starts again");
    let other = team.send(answer("alice", last).key("watch:alice:1", 9)).await;
    assert_eq!(hops(other).await, 0, "the key is that of another answer");
    let post = NewPost { hops: 4, ..NewPost::chat(ChannelName::parse("dev").unwrap()) };
    let said = team.send(draft("alice", &["bob"]).posted(post)).await;
    let answered = team.send(answer("bob", said).key(&answer_key("bob", said), 1)).await;
    assert_eq!((hops(said).await, hops(answered).await), (4, 5), "a post says it itself");
}

pub async fn what_a_watcher_has_answered_in_the_channel_is_not_taken_on(store: &Shared) {
    let team = team(store).await;
    let post = |mode: &str| NewPost { mode: mode.to_owned(), ..NewPost::chat(ChannelName::parse("dev").unwrap()) };
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(team.send(draft("alice", &["bob"]).posted(post(CHAT))).await);
    }
    team.send(answer("bob", ids[0]).posted(post(WATCHER))).await;
    team.send(answer("bob", ids[1]).posted(post(CHAT))).await;
    team.send(answer("carol", ids[2]).posted(post(WATCHER))).await;
    assert_eq!(take(store, &team, ids[0]).await, Taken::Already, "at another office");
    assert_eq!(take(store, &team, ids[1]).await, Taken::New, "bob itself said a word");
    assert_eq!(take(store, &team, ids[2]).await, Taken::New, "another answered");
    assert_eq!(states(store, &team).await, [RunState::Answered, RunState::Running, RunState::Running]);
}

pub async fn of_many_who_take_a_message_on_at_once_one_gets_it(store: &Shared) {
    let team = team(store).await;
    let id = team.send_many(1).await[0];
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let (store, bob) = (store.clone(), team.agent("bob"));
        tasks.spawn(async move { store.take_on(bob, "dev", id, at("16:10:00")).await.unwrap() });
    }
    let taken = tasks.join_all().await;
    assert_eq!(taken.iter().filter(|taken| **taken == Taken::New).count(), 1);
}

pub async fn runs_are_told_as_they_stand(store: &Shared) {
    let team = team(store).await;
    let ids = team.send_many(4).await;
    for id in &ids {
        take(store, &team, *id).await;
    }
    finish(store, &team, ids[1], RunOutcome::Answered).await;
    finish(store, &team, ids[2], RunOutcome::Silent).await;
    finish(store, &team, ids[3], RunOutcome::Failed("exit code 3".to_owned())).await;
    let expected = [RunState::Running, RunState::Answered, RunState::Silent, RunState::Failed];
    assert_eq!(states(store, &team).await, expected);
    let bob = team.agent("bob");
    let failed = RunQuery { state: Some(RunState::Failed), limit: PLENTY, ..RunQuery::default() };
    let told = Run {
        message: ids[3],
        channel: "dev".to_owned(),
        state: RunState::Failed,
        tries: 1,
        note: "exit code 3".to_owned(),
        at: at("16:20:00"),
    };
    assert_eq!(store.runs(bob, failed).await.unwrap(), [told]);
    let elsewhere = RunQuery { channel: Some(MAILBOX), limit: PLENTY, ..RunQuery::default() };
    assert_eq!(store.runs(bob, elsewhere).await.unwrap(), []);
    let two = RunQuery { channel: Some("dev"), limit: 2, ..RunQuery::default() };
    assert_eq!(store.runs(bob, two).await.unwrap().len(), 2);
    assert_eq!(store.runs(team.agent("carol"), failed).await.unwrap(), []);
}

pub async fn what_a_watcher_left_running_is_taken_on_again_once(store: &Shared) {
    let team = team(store).await;
    let ids = team.send_many(2).await;
    begin(store, &watch(&team, "dev", "w1"), "16:00:00").await;
    store.take_on(team.agent("bob"), MAILBOX, ids[1], at("16:10:00")).await.unwrap();
    take(store, &team, ids[0]).await;
    let next = |holder| NewWatch {
        instead_of: Some(format!("w{}", holder - 1)),
        ..watch(&team, "dev", &format!("w{holder}"))
    };
    begin(store, &next(2), "16:20:00").await;
    assert_eq!(states(store, &team).await, [RunState::Again, RunState::Running], "the mailbox is another place");
    assert_eq!(take(store, &team, ids[0]).await, Taken::Again);
    assert_eq!(take(store, &team, ids[0]).await, Taken::Already);
    let given_up = Begun::Started { position: MessageId(0), given_up: vec![ids[0]] };
    assert_eq!(begin(store, &next(3), "16:30:00").await, given_up, "whoever watches is told");
    let run = &runs(store, &team).await[0];
    assert_eq!((run.state, run.note.as_str()), (RunState::Failed, "interrupted 2 times"));
}

pub async fn what_was_answered_before_its_watcher_was_killed_is_answered(store: &Shared) {
    let team = team(store).await;
    let ids = team.send_many(2).await;
    begin(store, &watch(&team, "dev", "w1"), "16:00:00").await;
    take(store, &team, ids[0]).await;
    take(store, &team, ids[1]).await;
    team.send(draft("bob", &["alice"]).key(&answer_key("bob", ids[1]), 1)).await;
    let next = NewWatch { instead_of: Some("w1".to_owned()), ..watch(&team, "dev", "w2") };
    begin(store, &next, "16:20:00").await;
    assert_eq!(states(store, &team).await, [RunState::Again, RunState::Answered]);
}

pub async fn who_is_refused_the_place_changes_no_run(store: &Shared) {
    let team = team(store).await;
    let id = team.send_many(1).await[0];
    begin(store, &watch(&team, "dev", "w1"), "16:00:00").await;
    take(store, &team, id).await;
    begin(store, &watch(&team, "dev", "w2"), "16:10:00").await;
    assert_eq!(states(store, &team).await, [RunState::Running]);
}

pub async fn failed_runs_are_taken_on_again_when_somebody_wants_it(store: &Shared) {
    let team = team(store).await;
    let (ids, bob) = (team.send_many(4).await, team.agent("bob"));
    for id in &ids {
        take(store, &team, *id).await;
        finish(store, &team, *id, RunOutcome::Failed("no".to_owned())).await;
    }
    assert!(!finish(store, &team, ids[1], RunOutcome::Answered).await, "whoever comes too late changes nothing");
    let wanted = [ids[1], MessageId(99)];
    assert_eq!(store.retry_runs(bob, &wanted, at("16:30:00")).await.unwrap(), [ids[1]], "only what failed");
    assert!(!finish(store, &team, ids[1], RunOutcome::Answered).await, "nobody has it yet");
    assert_eq!(take(store, &team, ids[1]).await, Taken::Again);
    assert_eq!(runs(store, &team).await[1].tries, 1, "tries are counted from the start");
    assert_eq!(store.retry_runs(bob, &[], at("16:40:00")).await.unwrap(), [ids[0], ids[2], ids[3]]);
    assert_eq!(store.retry_runs(bob, &[], at("16:40:00")).await.unwrap(), []);
}

pub async fn watching_tells_nothing_in_the_event_log(store: &Shared) {
    let team = team(store).await;
    let id = team.send_many(1).await[0];
    let before = team.events().await.len();
    begin(store, &watch(&team, "dev", "w1"), "16:00:00").await;
    take(store, &team, id).await;
    finish(store, &team, id, RunOutcome::Silent).await;
    assert_eq!(team.events().await.len(), before);
}

//! What every store promises of mail at a glance: which messages are listed, and what is told of their deliveries.

use formats::Kind;

use super::Shared;
use super::fixtures::{Draft, PLENTY, Team, at, draft, team, team_at};
use crate::channels::{ChannelName, NewPost};
use crate::ids::MessageId;
use crate::messages::{Importance, Mark, Message};
use crate::overview::{EXCERPT, Listed, Listing, ProjectSum};

fn all(team: &Team) -> Listing {
    Listing::newest(team.id(), PLENTY)
}

fn of(team: &Team, name: &str) -> Listing {
    Listing { agent: Some(team.agent(name)), ..all(team) }
}

async fn listed(store: &Shared, listing: &Listing) -> Vec<MessageId> {
    store.listing(listing).await.unwrap().into_iter().map(|listed| listed.message.id).collect()
}

async fn read(store: &Shared, team: &Team, name: &str, id: MessageId) {
    store.mark(team.agent(name), id, &Mark::Read, at("16:05:00")).await.unwrap();
}

async fn acknowledge(store: &Shared, team: &Team, name: &str, id: MessageId) {
    let mark = Mark::Acknowledged { note: String::new() };
    store.mark(team.agent(name), id, &mark, at("16:05:00")).await.unwrap();
}

async fn archive(store: &Shared, team: &Team, name: &str, id: MessageId) {
    store.archive(team.agent(name), id, team.agent(name), at("16:05:00")).await.unwrap();
}

fn of_kind(draft: Draft, kind: &str) -> Draft {
    Draft { kind: kind_called(kind), ..draft }
}

fn kind_called(name: &str) -> Option<Kind> {
    Some(Kind::parse(name).expect("the suite names kinds that there are"))
}

fn important(draft: Draft, importance: Importance) -> Draft {
    Draft { importance, ..draft }
}

pub async fn a_listing_is_newest_first_and_its_pages_meet(store: &Shared) {
    let team = team(store).await;
    let mut sent = team.send_many(3).await;
    sent.push(team.send(draft("carol", &["alice"])).await);
    sent.push(team.send(draft("bob", &["alice", "carol"])).await);
    let newest_first: Vec<_> = sent.into_iter().rev().collect();
    assert_eq!(listed(store, &all(&team)).await, newest_first);
    let page = async |before, limit| listed(store, &Listing { before, limit, ..all(&team) }).await;
    assert_eq!(page(None, 2).await, newest_first[..2]);
    assert_eq!(page(Some(newest_first[1]), 2).await, newest_first[2..4]);
    assert_eq!(page(Some(newest_first[3]), 2).await, newest_first[4..]);
    assert_eq!(page(Some(newest_first[4]), 2).await, []);
    assert_eq!(page(None, 0).await, []);
}

pub async fn a_listing_tells_how_it_stands_with_all_deliveries(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"]).cc(&["carol"]).wants_ack()).await;
    let stands = async || {
        let listed = store.listing(&all(&team)).await.unwrap().remove(0);
        (listed.deliveries, listed.unread, listed.acks_due, listed.archived)
    };
    assert_eq!(stands().await, (2, 2, 2, 0));
    read(store, &team, "bob", id).await;
    assert_eq!(stands().await, (2, 1, 2, 0));
    acknowledge(store, &team, "carol", id).await;
    assert_eq!(stands().await, (2, 0, 1, 0), "who acknowledged has read it");
    archive(store, &team, "bob", id).await;
    assert_eq!(stands().await, (2, 0, 0, 1), "nothing is due of what is archived");
    let post = NewPost::chat(ChannelName::parse("dev").unwrap());
    team.send(draft("alice", &[]).posted(post)).await;
    assert_eq!(stands().await, (0, 0, 0, 0), "what is said to nobody in particular has no deliveries");
}

pub async fn a_listing_shows_the_beginning_of_a_body(store: &Shared) {
    let team = team(store).await;
    // Characters of one to four bytes, and one that is made of two.
    let letters = ["x", "é", "漢", "🦀", "e\u{301}"];
    for letter in letters {
        let whole = team.sent(draft("alice", &["bob"]).body(&letter.repeat(2 * EXCERPT))).await;
        let Listed { message, .. } = store.listing(&all(&team)).await.unwrap().remove(0);
        let beginning: String = letter.repeat(2 * EXCERPT).chars().take(EXCERPT).collect();
        assert_eq!(message, Message { body: beginning, ..whole }, "all else is whole");
    }
    for body in ["", "short", &"x".repeat(EXCERPT)] {
        let whole = team.sent(draft("alice", &["bob"]).body(body)).await;
        assert_eq!(store.listing(&all(&team)).await.unwrap()[0].message, whole);
    }
}

pub async fn all_mail_is_listed_whether_it_is_archived_or_not(store: &Shared) {
    let team = team(store).await;
    let sent = team.send_many(2).await;
    archive(store, &team, "bob", sent[1]).await;
    assert_eq!(listed(store, &all(&team)).await, [sent[1], sent[0]]);
    assert_eq!(listed(store, &of(&team, "bob")).await, [sent[0]], "an agent's own is what is open");
    let away = Listing { archived_only: true, ..of(&team, "bob") };
    assert_eq!(listed(store, &away).await, [sent[1]]);
    assert_eq!(listed(store, &Listing { archived_only: true, ..all(&team) }).await, [sent[1]]);
}

pub async fn an_agents_mail_is_what_it_has_a_delivery_of(store: &Shared) {
    let team = team(store).await;
    let to = team.send(draft("alice", &["bob", "carol"])).await;
    let cc = team.send(draft("alice", &["carol"]).cc(&["bob"])).await;
    let wrote = team.send(draft("bob", &["alice"])).await;
    assert_eq!(listed(store, &of(&team, "bob")).await, [cc, to]);
    assert_eq!(listed(store, &of(&team, "alice")).await, [wrote]);
    let counts = &store.listing(&of(&team, "bob")).await.unwrap()[1];
    assert_eq!((counts.deliveries, counts.unread), (2, 2), "all deliveries are counted");
}

pub async fn a_listing_can_be_narrowed_to_what_is_unread(store: &Shared) {
    let team = team(store).await;
    let mut sent = Vec::new();
    for _ in 0..4 {
        sent.push(team.send(draft("alice", &["bob", "carol"])).await);
    }
    let wanted = |listing: Listing| Listing { unread_only: true, ..listing };
    read(store, &team, "bob", sent[0]).await;
    read(store, &team, "carol", sent[0]).await;
    read(store, &team, "bob", sent[1]).await;
    archive(store, &team, "bob", sent[2]).await;
    archive(store, &team, "carol", sent[2]).await;
    assert_eq!(listed(store, &wanted(all(&team))).await, [sent[3], sent[1]], "carol has not read it");
    assert_eq!(listed(store, &wanted(of(&team, "bob"))).await, [sent[3]]);
    assert_eq!(listed(store, &wanted(of(&team, "carol"))).await, [sent[3], sent[1]]);
    assert_eq!(listed(store, &wanted(of(&team, "alice"))).await, []);
    let page = Listing { before: Some(sent[3]), limit: 1, ..wanted(all(&team)) };
    assert_eq!(listed(store, &page).await, [sent[1]]);
}

pub async fn a_listing_can_be_narrowed_to_what_lacks_an_acknowledgement(store: &Shared) {
    let team = team(store).await;
    let mut sent = vec![team.send(draft("alice", &["bob", "carol"])).await];
    for _ in 0..4 {
        sent.push(team.send(draft("alice", &["bob", "carol"]).wants_ack()).await);
    }
    let wanted = |listing: Listing| Listing { ack_due_only: true, ..listing };
    acknowledge(store, &team, "bob", sent[1]).await;
    acknowledge(store, &team, "carol", sent[1]).await;
    acknowledge(store, &team, "bob", sent[2]).await;
    archive(store, &team, "carol", sent[3]).await;
    read(store, &team, "bob", sent[4]).await;
    assert_eq!(listed(store, &wanted(all(&team))).await, [sent[4], sent[3], sent[2]]);
    assert_eq!(listed(store, &wanted(of(&team, "bob"))).await, [sent[4], sent[3]], "to have read it is not enough");
    assert_eq!(listed(store, &wanted(of(&team, "carol"))).await, [sent[4], sent[2]]);
    archive(store, &team, "bob", sent[3]).await;
    assert_eq!(listed(store, &wanted(all(&team))).await, [sent[4], sent[2]]);
}

pub async fn a_listing_can_be_narrowed_to_what_matters_or_is_of_a_kind(store: &Shared) {
    let team = team(store).await;
    let plain = draft("alice", &["bob"]);
    let mut sent = Vec::new();
    for (importance, kind) in [
        (Importance::Low, None),
        (Importance::Normal, Some("DONE")),
        (Importance::High, None),
        (Importance::Urgent, Some("DONE")),
        (Importance::Urgent, Some("HELP_REQUEST")),
    ] {
        let draft = important(plain.clone(), importance);
        sent.push(team.send(kind.map_or(draft.clone(), |kind| of_kind(draft, kind))).await);
    }
    archive(store, &team, "bob", sent[4]).await;
    let urgent = |listing: Listing| Listing { urgent_only: true, ..listing };
    let done = |listing: Listing| Listing { kind: kind_called("DONE"), ..listing };
    assert_eq!(listed(store, &urgent(all(&team))).await, [sent[4], sent[3], sent[2]]);
    assert_eq!(listed(store, &urgent(of(&team, "bob"))).await, [sent[3], sent[2]]);
    assert_eq!(listed(store, &done(all(&team))).await, [sent[3], sent[1]]);
    assert_eq!(listed(store, &done(of(&team, "bob"))).await, [sent[3], sent[1]]);
    assert_eq!(listed(store, &urgent(done(all(&team)))).await, [sent[3]]);
    assert_eq!(listed(store, &urgent(done(of(&team, "bob")))).await, [sent[3]]);
    assert_eq!(listed(store, &urgent(of(&team, "carol"))).await, []);
    let page = Listing { before: Some(sent[4]), limit: 1, ..urgent(all(&team)) };
    assert_eq!(listed(store, &page).await, [sent[3]]);
}

pub async fn each_condition_on_deliveries_is_met_by_some_delivery(store: &Shared) {
    let team = team(store).await;
    let both = draft("alice", &["bob", "carol"]).wants_ack();
    let wanted = of_kind(important(both.clone(), Importance::High), "HELP_REQUEST");
    let id = team.send(wanted.clone()).await;
    // The others lack one thing each.
    let plain = team.send(of_kind(both.clone(), "HELP_REQUEST")).await;
    let kindless = team.send(important(both, Importance::High)).await;
    for id in [id, plain, kindless] {
        archive(store, &team, "carol", id).await;
    }
    let open = team.send(wanted.clone()).await;
    let gone = team.send(wanted).await;
    archive(store, &team, "bob", gone).await;
    archive(store, &team, "carol", gone).await;
    let every = |listing| Listing {
        unread_only: true,
        ack_due_only: true,
        urgent_only: true,
        archived_only: true,
        kind: kind_called("HELP_REQUEST"),
        ..listing
    };
    assert_eq!(listed(store, &every(all(&team))).await, [id], "bob has not read it, and carol archived it");
    assert_eq!(listed(store, &every(of(&team, "bob"))).await, [], "one delivery cannot be both");
    let open_only = Listing { archived_only: false, ..every(of(&team, "carol")) };
    assert_eq!(listed(store, &open_only).await, [open]);
}

pub async fn a_listing_of_many_mailboxes_keeps_the_newest(store: &Shared) {
    let mut team = team(store).await;
    let names: Vec<String> = (0..7).map(|number| format!("agent-{number}")).collect();
    for name in &names {
        team.join(name).await;
    }
    let mut sent = Vec::new();
    for round in 0..5 {
        // Each writes to the next two, in another order each time.
        for place in 0..7 {
            let [one, two, three] = [0, 1, 3].map(|step| names[(place * (round + 1) + step) % 7].as_str());
            sent.push(team.send(draft(one, &[two, three])).await);
        }
    }
    sent.reverse();
    for (unread_only, before) in [(false, None), (true, None), (false, Some(sent[9])), (true, Some(sent[9]))] {
        for limit in [1, 3, 8, 30, 100] {
            let found = listed(store, &Listing { unread_only, before, limit, ..all(&team) }).await;
            let from = if before.is_some() { 10 } else { 0 };
            let expected: Vec<_> = sent[from..].iter().copied().take(limit).collect();
            assert_eq!(found, expected, "unread {unread_only}, before {before:?}, limit {limit}");
        }
    }
}

pub async fn a_blind_copy_is_listed_for_its_own_agent_alone(store: &Shared) {
    let team = team(store).await;
    let important = important(draft("alice", &["bob"]).bcc(&["carol"]).wants_ack(), Importance::Urgent);
    let id = team.send(important).await;
    let narrowed = |listing: Listing| {
        [
            Listing { unread_only: true, ..listing.clone() },
            Listing { ack_due_only: true, ..listing.clone() },
            Listing { urgent_only: true, ..listing.clone() },
            listing,
        ]
    };
    for listing in narrowed(of(&team, "carol")) {
        let listed = store.listing(&listing).await.unwrap();
        let counts: Vec<_> = listed.iter().map(|one| (one.deliveries, one.unread, one.acks_due)).collect();
        assert_eq!(counts, [(2, 2, 2)], "bob's delivery, and her own");
    }
    read(store, &team, "bob", id).await;
    acknowledge(store, &team, "bob", id).await;
    for listing in &narrowed(all(&team))[..2] {
        assert_eq!(listed(store, listing).await, [], "what is open is carol's alone");
    }
    let mine = &store.listing(&of(&team, "bob")).await.unwrap()[0];
    assert_eq!((mine.deliveries, mine.unread, mine.acks_due, mine.archived), (1, 0, 0, 0));
    archive(store, &team, "carol", id).await;
    assert_eq!(listed(store, &Listing { archived_only: true, ..all(&team) }).await, []);
    let away = Listing { archived_only: true, ..of(&team, "carol") };
    assert_eq!(store.listing(&away).await.unwrap()[0].archived, 1);
    let elsewhere = Listing { urgent_only: true, ..all(&team) };
    assert_eq!(store.listing(&elsewhere).await.unwrap()[0].archived, 0);
}

pub async fn a_listing_stays_within_its_project(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let urgent = of_kind(important(draft("alice", &["bob"]).wants_ack(), Importance::Urgent), "DONE");
    let id = shop.send(urgent.clone()).await;
    bank.send(urgent).await;
    let every = |listing: Listing| {
        [
            listing.clone(),
            Listing { unread_only: true, ..listing.clone() },
            Listing { ack_due_only: true, ..listing.clone() },
            Listing { urgent_only: true, ..listing.clone() },
            Listing { kind: kind_called("DONE"), ..listing },
        ]
    };
    for listing in every(all(&shop)).iter().chain(&every(of(&shop, "bob"))) {
        assert_eq!(listed(store, listing).await, [id], "{listing:?}");
    }
    for listing in every(Listing { agent: Some(bank.agent("bob")), ..all(&shop) }) {
        assert_eq!(listed(store, &listing).await, [], "he is of another project");
    }
    assert_eq!(store.count_unread(shop.id(), Some(bank.agent("bob")), PLENTY).await.unwrap(), 0);
}

pub async fn projects_are_summed_in_the_order_they_were_made(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let sent = shop.send_many(3).await;
    let last = shop.sent(draft("bob", &["alice"]).bcc(&["carol"])).await;
    read(store, &shop, "bob", sent[0]).await;
    archive(store, &shop, "bob", sent[1]).await;
    store.retire(shop.id(), shop.agent("carol"), shop.agent("alice"), at("16:06:00")).await.unwrap();
    let sum = |team: &Team, agents, messages, unread, last_mail_at| ProjectSum {
        project: team.project.clone(),
        agents,
        messages,
        unread,
        last_mail_at,
    };
    let sums = [sum(&shop, 2, 4, 2, Some(last.created_at)), sum(&bank, 3, 0, 0, None)];
    assert_eq!(store.project_sums(None, PLENTY).await.unwrap(), sums);
    assert_eq!(store.project_sums(None, 1).await.unwrap(), sums[..1]);
    assert_eq!(store.project_sums(Some(shop.id()), PLENTY).await.unwrap(), sums[1..]);
}

pub async fn unread_deliveries_are_counted_up_to_a_number(store: &Shared) {
    let team = team(store).await;
    let first = team.send(draft("alice", &["bob", "carol"])).await;
    let second = team.send(draft("alice", &["bob"]).bcc(&["carol"])).await;
    team.send(draft("alice", &["bob"])).await;
    let count = async |name: Option<&str>, most| {
        store.count_unread(team.id(), name.map(|name| team.agent(name)), most).await.unwrap()
    };
    assert_eq!((count(None, PLENTY).await, count(Some("bob"), PLENTY).await), (4, 3));
    assert_eq!(count(Some("carol"), PLENTY).await, 2, "a blind copy counts for its own agent");
    assert_eq!((count(None, 2).await, count(Some("bob"), 2).await, count(None, 0).await), (2, 2, 0));
    read(store, &team, "bob", first).await;
    archive(store, &team, "bob", second).await;
    assert_eq!((count(None, PLENTY).await, count(Some("bob"), PLENTY).await), (2, 1));
}

//! What every store promises of search.
//!
//! How a query is read belongs to `search::query`; here every query parses, and what it finds is checked.

use super::Shared;
use super::fixtures::{Draft, PLENTY, Team, draft, ids, team, team_at};
use crate::ids::MessageId;
use crate::messages::{About, Message};
use crate::search::query::Query;

pub async fn a_word_is_found_in_subject_and_body(store: &Shared) {
    let team = team(store).await;
    let subject = team.send(text("Deploy tonight", "Nothing else")).await;
    let body = team.send(text("Plan", "We deploy at nine.")).await;
    team.send(text("Plan", "We wait.")).await;
    assert_eq!(found(store, &team, "deploy").await, [body, subject]);
    assert_eq!(found(store, &team, "cancel").await, []);
}

pub async fn what_is_found_is_told_as_it_was_kept(store: &Shared) {
    let team = team(store).await;
    let kept = team.sent(text("Deploy", "Tonight").cc(&["carol"]).bcc(&["alice"]).thread("T").wants_ack()).await;
    assert_eq!(messages(store, &team, "deploy").await, [kept]);
}

pub async fn words_are_whole_and_never_stemmed(store: &Shared) {
    let team = team(store).await;
    let cat = team.send(text("", "cat")).await;
    let runs = team.send(text("", "running concatenated cats")).await;
    assert_eq!(found(store, &team, "cat").await, [cat]);
    assert_eq!(found(store, &team, "running").await, [runs]);
    assert_eq!(found(store, &team, "run").await, []);
}

pub async fn common_words_are_found_too(store: &Shared) {
    let team = team(store).await;
    let id = team.send(text("", "To be or not to be: the question is a good one")).await;
    team.send(text("", "Something else")).await;
    for word in ["the", "a", "to", "be", "not", "or", "\"to be or not to be\""] {
        assert_eq!(found(store, &team, word).await, [id], "{word}");
    }
}

pub async fn case_and_accents_do_not_count(store: &Shared) {
    let team = team(store).await;
    let id = team.send(text("Crème brûlée", "ÜBER Ärger ПРИВЕТ e\u{301}tude")).await;
    for word in ["creme", "CRÈME", "brulee", "uber", "über", "arger", "ÄRGER", "привет", "étude", "ETUDE"] {
        assert_eq!(found(store, &team, word).await, [id], "{word}");
    }
    assert_eq!(found(store, &team, "\"creme BRULEE\"").await, [id]);
    assert_eq!(found(store, &team, "ueber").await, []);
}

pub async fn words_of_any_script_are_found(store: &Shared) {
    let team = team(store).await;
    let id = team.send(text("", "漢字 かな שלום مرحبا 42 v2")).await;
    for word in ["漢字", "かな", "שלום", "مرحبا", "42", "v2"] {
        assert_eq!(found(store, &team, word).await, [id], "{word}");
    }
    for word in ["4", "142", "v"] {
        assert_eq!(found(store, &team, word).await, [], "{word}");
    }
}

pub async fn several_words_have_to_be_there_together(store: &Shared) {
    let team = team(store).await;
    let both = team.send(text("red", "and some green")).await;
    let red = team.send(text("", "red alone")).await;
    let green = team.send(text("", "green alone")).await;
    assert_eq!(found(store, &team, "red green").await, [both]);
    assert_eq!(found(store, &team, "green AND red").await, [both]);
    assert_eq!(found(store, &team, "red OR green").await, [green, red, both]);
}

pub async fn not_leaves_out(store: &Shared) {
    let team = team(store).await;
    let red = team.send(text("red", "plain")).await;
    team.send(text("red", "with green")).await;
    let blue = team.send(text("blue", "plain")).await;
    assert_eq!(found(store, &team, "red NOT green").await, [red]);
    assert_eq!(found(store, &team, "red AND NOT green").await, [red]);
    assert_eq!(found(store, &team, "plain AND NOT (red OR green)").await, [blue]);
}

pub async fn a_query_that_only_says_not_finds_the_rest(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let red = shop.send(text("", "red")).await;
    let green = shop.send(text("", "green")).await;
    let blue = shop.send(text("", "blue")).await;
    bank.send(text("", "blue")).await;
    assert_eq!(found(store, &shop, "NOT green").await, [blue, red]);
    assert_eq!(found(store, &shop, "NOT green NOT red").await, [blue]);
    assert_eq!(found(store, &shop, "green OR NOT red").await, [blue, green]);
    assert_eq!(found(store, &shop, "NOT NOT green").await, [green]);
    assert_eq!(found(store, &shop, "NOT \"red\"").await, [blue, green]);
}

pub async fn parentheses_group(store: &Shared) {
    let team = team(store).await;
    let first = team.send(text("", "red round")).await;
    let second = team.send(text("", "green round")).await;
    let third = team.send(text("", "red square")).await;
    assert_eq!(found(store, &team, "(red OR green) AND round").await, [second, first]);
    assert_eq!(found(store, &team, "red OR (green AND round)").await, [third, second, first]);
    assert_eq!(found(store, &team, "red (round OR square) NOT (green OR square)").await, [first]);
}

pub async fn a_phrase_is_found_in_its_order(store: &Shared) {
    let team = team(store).await;
    let id = team.send(text("", "please review the pull request")).await;
    team.send(text("", "the request: review and pull")).await;
    assert_eq!(found(store, &team, "\"pull request\"").await, [id]);
    assert_eq!(found(store, &team, "\"review the pull request\"").await, [id]);
    assert_eq!(found(store, &team, "\"review pull\"").await, [], "words between are not skipped");
    assert_eq!(found(store, &team, "\"pull reques\"").await, [], "the last word is whole");
}

pub async fn a_phrase_does_not_cross_from_subject_to_body(store: &Shared) {
    let team = team(store).await;
    let id = team.send(text("please review", "pull request waits")).await;
    assert_eq!(found(store, &team, "\"review pull\"").await, []);
    assert_eq!(found(store, &team, "review pull").await, [id]);
}

pub async fn a_prefix_finds_what_starts_with_it(store: &Shared) {
    let team = team(store).await;
    let long = team.send(text("", "Deployment")).await;
    let short = team.send(text("depl", "")).await;
    team.send(text("", "undeployed de-pl")).await;
    assert_eq!(found(store, &team, "depl*").await, [short, long]);
    assert_eq!(found(store, &team, "DÉPL*").await, [short, long], "neither case nor accents count");
    assert_eq!(found(store, &team, "deployment*").await, [long]);
    assert_eq!(found(store, &team, "deploymental*").await, []);
}

pub async fn subject_narrows_to_the_subject(store: &Shared) {
    let team = team(store).await;
    let subject = team.send(text("Weekly report numbers", "text")).await;
    team.send(text("Plan", "the weekly report")).await;
    for query in ["subject:report", "subject:REPORT", "subject:rep*", "subject:\"weekly report\""] {
        assert_eq!(found(store, &team, query).await, [subject], "{query}");
    }
    assert_eq!(found(store, &team, "subject:text").await, []);
    assert_eq!(found(store, &team, "subject:weekly text").await, [subject]);
}

pub async fn words_are_near_each_other_in_any_order(store: &Shared) {
    let team = team(store).await;
    let near = team.send(text("plan", "red, one two: green")).await;
    let back = team.send(text("plan", "green red")).await;
    let far = team.send(text("plan", "red one two three four five six seven eight nine ten eleven green")).await;
    team.send(text("red", "green")).await;
    assert_eq!(found(store, &team, "NEAR(red green, 2)").await, [back, near]);
    assert_eq!(found(store, &team, "NEAR(red green, 1)").await, [back]);
    assert_eq!(found(store, &team, "NEAR(red green)").await, [back, near], "ten words between are usual");
    assert_eq!(
        found(store, &team, "NEAR(red green, 11)").await,
        [far, back, near],
        "and none across the subject's end"
    );
    assert_eq!(found(store, &team, "NEAR(\"one two\" gre*, 0)").await, [near]);
    assert_eq!(found(store, &team, "NEAR(red one green, 2)").await, [near]);
    assert_eq!(found(store, &team, "body:NEAR(green red, 0) OR subject:NEAR(red green)").await, [back]);
    assert_eq!(found(store, &team, "plan NOT NEAR(red green, 2)").await, [far]);
}

pub async fn a_caret_asks_for_the_beginning(store: &Shared) {
    let team = team(store).await;
    let subject = team.send(text("Deploy tonight", "we deploy")).await;
    let body = team.send(text("Plan", "\u{201e}Deploy tonight\u{201c} at nine")).await;
    team.send(text("We deploy", "The deploy")).await;
    assert_eq!(found(store, &team, "^deploy").await, [body, subject]);
    assert_eq!(found(store, &team, "subject:^dep*").await, [subject]);
    assert_eq!(found(store, &team, "body : ^\"deploy tonight\"").await, [body]);
    assert_eq!(found(store, &team, "^tonight").await, []);
    assert_eq!(found(store, &team, "deploy NOT ^deploy").await.len(), 1);
}

pub async fn columns_narrow_however_they_are_written(store: &Shared) {
    let team = team(store).await;
    let subject = team.send(text("deploy", "nothing")).await;
    let body = team.send(text("nothing", "deploy")).await;
    for query in ["subject:deploy", "subject : deploy", "{subject}: deploy", "{subject}:(deploy OR x)"] {
        assert_eq!(found(store, &team, query).await, [subject], "{query}");
    }
    for query in ["body:deploy", "body_md:deploy", "body_md : \"deploy\"", "{body}: dep*", "deploy NOT subject:deploy"]
    {
        assert_eq!(found(store, &team, query).await, [body], "{query}");
    }
    for query in ["{subject body}: deploy", "{body_md subject} : (deploy)"] {
        assert_eq!(found(store, &team, query).await, [body, subject], "{query}");
    }
}

pub async fn from_compares_the_whole_name_without_ascii_case(store: &Shared) {
    let mut team = team(store).await;
    for name in ["qc-1", "Jürgen", "rig/polecat-3", "alice-2", "ALICE"] {
        team.join(name).await;
    }
    let mut sent = std::collections::HashMap::new();
    for name in ["alice", "qc-1", "Jürgen", "rig/polecat-3", "alice-2", "ALICE"] {
        sent.insert(name, team.send(draft(name, &["bob"])).await);
    }
    assert_eq!(found(store, &team, "from:alice").await, [sent["ALICE"], sent["alice"]]);
    assert_eq!(found(store, &team, "from:Alice").await, [sent["ALICE"], sent["alice"]]);
    assert_eq!(found(store, &team, "from:QC-1").await, [sent["qc-1"]]);
    assert_eq!(found(store, &team, "from:jürgen").await, [sent["Jürgen"]]);
    assert_eq!(found(store, &team, "from:rig/polecat-3").await, [sent["rig/polecat-3"]]);
    for other in ["from:ali", "from:JÜRGEN", "from:jurgen", "from:qc", "from:a%", "from:alic_"] {
        assert_eq!(found(store, &team, other).await, [], "{other}");
    }
}

pub async fn from_goes_together_with_words(store: &Shared) {
    let team = team(store).await;
    let alices = team.send(draft("alice", &["carol"]).body("deploy")).await;
    let other = team.send(draft("alice", &["carol"]).body("wait")).await;
    let bobs = team.send(draft("bob", &["carol"]).body("deploy")).await;
    assert_eq!(found(store, &team, "from:alice deploy").await, [alices]);
    assert_eq!(found(store, &team, "deploy NOT from:alice").await, [bobs]);
    assert_eq!(found(store, &team, "NOT from:bob").await, [other, alices]);
    assert_eq!(found(store, &team, "from:bob OR wait").await, [bobs, other]);
    assert_eq!(found(store, &team, "(from:alice OR from:bob) deploy").await, [bobs, alices]);
}

pub async fn results_are_newest_first_and_a_limit_keeps_the_newest(store: &Shared) {
    let team = team(store).await;
    let mut sent = Vec::new();
    // The oldest says it most often, so that an order by rank would show.
    for times in (1..=5).rev() {
        sent.push(team.send(text("", &"deploy ".repeat(times))).await);
    }
    let page = async |before, limit| {
        let query = Query::parse("deploy").unwrap();
        ids(&store.search(team.id(), &query, &About::default(), before, limit).await.unwrap())
    };
    assert_eq!(page(None, PLENTY).await, [sent[4], sent[3], sent[2], sent[1], sent[0]]);
    assert_eq!(page(None, 2).await, [sent[4], sent[3]]);
    assert_eq!(page(Some(sent[3]), 2).await, [sent[2], sent[1]]);
    assert_eq!(page(Some(sent[1]), 2).await, [sent[0]]);
    assert_eq!(page(Some(sent[0]), 2).await, []);
    assert_eq!(page(None, 0).await, []);
}

pub async fn before_and_limit_hold_for_every_form_of_query(store: &Shared) {
    let team = team(store).await;
    let sent = team.send_many(4).await;
    for query in ["NOT absent", "from:alice", "hello OR from:alice", "hello NOT from:bob"] {
        let parsed = Query::parse(query).unwrap();
        let page = store.search(team.id(), &parsed, &About::default(), Some(sent[3]), 2).await.unwrap();
        assert_eq!(ids(&page), [sent[2], sent[1]], "{query}");
    }
}

pub async fn a_search_stays_within_its_project(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let shops = shop.send(text("", "deploy")).await;
    let banks = bank.send(text("", "deploy")).await;
    for query in ["deploy", "from:alice", "dep*", "\"deploy\"", "deploy OR deploy", "NOT absent"] {
        assert_eq!(found(store, &shop, query).await, [shops], "{query}");
        assert_eq!(found(store, &bank, query).await, [banks], "{query}");
    }
}

pub async fn only_subject_and_body_have_words(store: &Shared) {
    let team = team(store).await;
    let full = Draft { work_id: Some("bd".into()), door: "mcp", ..text("One", "Two").thread("FEAT").cc(&["carol"]) };
    let id = team.send(full).await;
    let (project, alice) = (team.id(), team.agent("alice"));
    let numbers = [format!("p{project}"), project.to_string(), format!("a{alice}"), format!("m{id}"), format!("p{id}")];
    for hidden in ["alice", "bob", "carol", "feat", "mcp", "claimed", "normal", "bd", "work", "shop", "project"] {
        assert_eq!(found(store, &team, hidden).await, [], "{hidden}");
    }
    for hidden in numbers.iter().flat_map(|text| [text.clone(), format!("{text}*"), format!("project{text}")]) {
        assert_eq!(found(store, &team, &hidden).await, [], "{hidden}");
    }
    let said = team.send(text("", &numbers[0])).await;
    assert_eq!(found(store, &team, &numbers[0]).await, [said], "a word that looks like a number of ours is a word");
}

pub async fn words_with_punctuation_are_found_as_written(store: &Shared) {
    let team = team(store).await;
    let words = ["src/lib.rs:40", "std::fs", "don't", "created_at", "bob@example.com", "v1.2.3", "https://x.org/a?b=c"];
    for word in words {
        let id = team.send(text("", &format!("See {word}, please."))).await;
        assert_eq!(found(store, &team, word).await, [id], "{word}");
    }
    team.send(text("", "rs lib, fs std, 40")).await;
    assert_eq!(found(store, &team, "lib.rs").await.len(), 1, "its parts stand in their order");
}

pub async fn the_parts_of_a_path_or_name_are_words(store: &Shared) {
    let team = team(store).await;
    let path = team.send(text("", "Look at crates/mail/src/office.rs:12")).await;
    let mail = team.send(text("", "Ask bob@example.com about well-known ports")).await;
    let link = team.send(text("", "https://docs.example.org/guide/intro.html")).await;
    for word in ["crates", "office", "rs", "12"] {
        assert_eq!(found(store, &team, word).await, [path], "{word}");
    }
    for word in ["bob", "com", "known", "well"] {
        assert_eq!(found(store, &team, word).await, [mail], "{word}");
    }
    for word in ["docs", "guide", "intro", "html"] {
        assert_eq!(found(store, &team, word).await, [link], "{word}");
    }
    assert_eq!(found(store, &team, "example").await, [link, mail]);
}

pub async fn no_query_that_parses_is_an_error_of_the_store(store: &Shared) {
    let team = team(store).await;
    team.send(text("", "plain")).await;
    let many = vec!["word"; 60].join(" OR ");
    let queries = [
        "'; DROP TABLE message; --",
        "a\\b",
        "NEAR(a b)",
        "a NEAR b",
        "^plain x",
        "{subject body}: x",
        "a:b",
        "x + y",
        "\"a \\ ' b\"",
        "100%",
        "a & b | !c",
        "<->",
        "(a:*)",
        "a* b*",
        "\u{0}a",
        "🦀 a",
        "c++",
        "-a",
        "subject:a:b",
        "\"*\" a",
        "from:\"a'b\"",
        "* a",
        "a''b",
        "🦀",
        "\"🦀\"",
        "subject:🦀",
        "NOT 🦀",
        "¿?",
        &many,
    ];
    for query in queries {
        if let Ok(parsed) = Query::parse(query) {
            let answer = store.search(team.id(), &parsed, &About::default(), None, PLENTY).await;
            assert!(answer.is_ok(), "{query:?}: {answer:?}");
        }
    }
    assert_eq!(found(store, &team, "plain").await.len(), 1);
}

pub async fn a_word_far_down_a_long_body_is_found(store: &Shared) {
    let team = team(store).await;
    let body = format!("{}needle", "ä hay ".repeat(20_000));
    let id = team.send(text("", &body)).await;
    let results = messages(store, &team, "needle").await;
    assert_eq!(ids(&results), [id]);
    let told = &results[0].body;
    assert!(body.starts_with(told.as_str()), "a body is cut at its end alone");
    assert!(told.len() > 64 * 1024 - 4, "at least its first 64 KiB are told, but {}", told.len());
}

pub async fn a_message_repeated_by_its_key_is_found_once(store: &Shared) {
    let team = team(store).await;
    let id = team.send(text("", "deploy").key("k1", 1)).await;
    team.append(text("", "deploy").key("k1", 1)).await;
    team.append(text("", "deploy more").key("k1", 2)).await;
    assert_eq!(found(store, &team, "deploy").await, [id]);
    assert_eq!(found(store, &team, "more").await, []);
}

fn text(subject: &str, body: &str) -> Draft {
    draft("alice", &["bob"]).subject(subject).body(body)
}

async fn messages(store: &Shared, team: &Team, query: &str) -> Vec<Message> {
    let query = Query::parse(query).unwrap_or_else(|error| panic!("{query:?} is a query: {error}"));
    store.search(team.id(), &query, &About::default(), None, PLENTY).await.unwrap()
}

async fn found(store: &Shared, team: &Team, query: &str) -> Vec<MessageId> {
    ids(&messages(store, team, query).await)
}

//! Agents on two machines that share nothing but a NATS server: they call each other, answer, and miss nothing, also when
//! the wire between them is cut for a while.

use std::fmt::Debug;
use std::fs;
use std::ops::Range;
use std::time::Instant;

use crate::foreign::{Shared, sorted, until};
use crate::harness::mcp::PROJECT;
use crate::harness::{DEADLINE, Place};
use crate::machines::Machines;
use crate::watchers::{Watcher, join, presence, said, said_by, say};

/// Answers what it was asked last.
const ANSWER: &str = "
import re, sys
print('Yes to:', re.findall('@codex (.*)', sys.stdin.read())[-1])
";

/// Looks on both machines until it is as it should be.
fn both<T: PartialEq + Debug>(machines: &Machines, what: &str, wanted: &T, look: impl Fn(&Place) -> T) {
    for place in [&machines.first, &machines.second] {
        let start = Instant::now();
        let mut seen = look(place);
        while seen != *wanted {
            assert!(start.elapsed() < DEADLINE, "never: {what}, but {seen:?}; {}", place.log());
            seen = look(place);
        }
    }
}

#[test]
fn an_agent_calls_one_on_the_other_machine_and_has_its_watchers_answer_once() {
    let Some(machines) = Machines::start("a call and its answer", "") else { return };
    let Machines { first, second, .. } = &machines;
    let _servers = [first.serve(), second.serve()];
    join(first, &["claude"]);
    join(second, &["codex"]);
    fs::write(second.file("answer.py"), ANSWER).expect("the place can be written to");
    let mut watcher = Watcher::start(second, "codex", "exec python3 answer.py");
    let mut wanted = Vec::new();
    for question in ["Are you there?", "Still?"] {
        say(first, "claude", "all", &format!("@codex {question}"));
        assert_eq!(watcher.until("answered")["from"], "claude");
        wanted.push(("claude".to_owned(), format!("@codex {question}")));
        wanted.push(("codex".to_owned(), format!("Yes to: {question}")));
        both(&machines, "question and answer", &wanted, said);
    }
    let deliveries = first.json(&["mail", "all", "--as", "claude", "--project", PROJECT]);
    let subjects: Vec<_> =
        deliveries.as_array().expect("a list of deliveries").iter().map(|one| &one["subject"]).collect();
    assert_eq!(subjects, ["Yes to: Are you there?", "Yes to: Still?"], "each answer is mail of who asked, once");
    let state = || presence(first, "codex")["presence"]["state"].clone();
    until("it is seen that the watcher is there", || (state() == "AWAKE").then_some(()));
    watcher.stop();
    until("it is seen that the watcher is gone", || (state() == "OFFLINE").then_some(()));
    assert_eq!((said(first), said(second)), (wanted.clone(), wanted));
}

/// The numbers of what each of the two says: before the wire is cut, while it is, and after the second office was killed.
const PARTS: [Range<usize>; 3] = [0..3, 3..8, 8..10];

/// Has both say something, one after the other.
fn both_say(machines: &Machines, numbers: &Range<usize>) {
    for number in numbers.clone() {
        say(&machines.first, "claude", "all", &format!("first {number}"));
        say(&machines.second, "codex", "all", &format!("second {number}"));
    }
}

/// What each of them has said so far.
fn until_now(end: usize) -> [Vec<String>; 2] {
    ["first", "second"].map(|which| (0..end).map(|number| format!("{which} {number}")).collect())
}

fn by_author(place: &Place) -> [Vec<String>; 2] {
    ["claude", "codex"].map(|agent| said_by(place, agent))
}

#[test]
fn what_is_said_while_the_wire_is_cut_is_on_both_machines_once_and_in_the_order_of_each_author() {
    let Some(machines) = Machines::start("a wire that is cut", "") else { return };
    let _first = machines.first.serve();
    let second = machines.second.serve();
    let [before, during, after] = &PARTS;
    both_say(&machines, before);
    both(&machines, "what was said before", &until_now(before.end), by_author);
    machines.cut();
    both_say(&machines, during);
    second.kill();
    let _second = machines.second.serve();
    both_say(&machines, after);
    let [firsts, seconds] = until_now(after.end);
    let had = |own: &[String], others: &[String]| [own.to_vec(), others[..before.end].to_vec()];
    assert_eq!(by_author(&machines.first), had(&firsts, &seconds), "the wire is cut");
    let [others, own] = by_author(&machines.second);
    assert_eq!([own, others], had(&seconds, &firsts), "the wire is cut");
    machines.mend();
    both(&machines, "all of it", &[firsts, seconds], by_author);
    nothing_comes_twice(&machines, after.end);
}

#[test]
fn with_a_shared_folder_besides_everything_is_on_both_machines_once() {
    let shared = Shared::new();
    let Some(machines) = Machines::start("a wire that is cut, and a shared folder", &shared.settings()) else { return };
    let _first = machines.first.serve();
    let second = machines.second.serve();
    let [before, during, after] = &PARTS;
    both_say(&machines, before);
    both(&machines, "what was said before", &until_now(before.end), by_author);
    machines.cut();
    both_say(&machines, during);
    second.kill();
    let _second = machines.second.serve();
    both(&machines, "what came by way of the folder", &until_now(during.end), by_author);
    machines.mend();
    both_say(&machines, after);
    both(&machines, "all of it", &until_now(after.end), by_author);
    nothing_comes_twice(&machines, after.end);
    let wanted = sorted(until_now(after.end + 1).concat());
    until("the last file", || (shared.texts().len() >= wanted.len()).then_some(()));
    assert_eq!(sorted(shared.texts()), wanted, "each is one file");
}

/// Each says one thing more: whatever came twice would have come before that.
fn nothing_comes_twice(machines: &Machines, so_far: usize) {
    both_say(machines, &(so_far..so_far + 1));
    both(machines, "the last", &until_now(so_far + 1), by_author);
}

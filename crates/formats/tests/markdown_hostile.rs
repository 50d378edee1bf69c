//! Texts that are meant to break the reader of coordination messages, or to make it slow.
//!
//! No time is measured: a reader that took time by the square of the length would not finish these at all.

use formats::markdown::{Kind, block, files, is_plain, line, prose_lines, read, read_timestamp};
use proptest::prelude::*;

const SIZE: usize = 1 << 20;

fn filled_with(part: &str) -> String {
    part.repeat(SIZE / part.len())
}

/// Bodies that repeat what the reader looks for.
fn bodies() -> Vec<String> {
    let parts = [
        "\n",
        "\r",
        "\r\n",
        " ",
        "\u{a0}",
        "x",
        "`",
        "```\n",
        "~~~\n````\n",
        "```x```\n",
        "#",
        "## \n",
        "## Problem\n",
        "#### Progress x\n",
        "Bead:\n",
        "Bead: a\n",
        "Bead:\r",
        "Bead: a\r",
        "**Bead:\r",
        "Issue: a\r",
        "- ",
        "- \r",
        "-\n",
        "> Bead: a\n",
        "Files touched:\n",
        "- Files:\n",
        "- Files: ,\n",
        "Files touched:\n\n- \n",
        ",",
        "## Changes\n- Files:\n  - a\n",
        "[",
        "\u{feff}",
        "\0",
        "\\",
        "*",
        "*\r",
        "_Bead:\r",
        "*Bead: a\r",
        "1",
        "1. Bead:\r",
        "-\r1)\r",
        "-Files:\n-\n",
        "    a\n",
        "\t\n",
        "  ```\n",
    ];
    let mut bodies: Vec<_> = parts.map(filled_with).into();
    bodies.push(format!("Files touched: {}", filled_with("a,")));
    bodies.push(format!("````\n{}````", filled_with("```\n")));
    bodies.push(format!("````\n{}\n````", filled_with("   Bead:\n")));
    bodies.push(format!("{}a\n{}b", " ".repeat(SIZE / 2), " ".repeat(SIZE / 2)));
    bodies.push((0..1_400).map(|depth| format!("{}a\n", " ".repeat(1_400 - depth))).collect());
    bodies.push(format!("## Changes\n- Files:\n{}", filled_with("  - a\n")));
    bodies.push((0..1_400).map(|depth| format!("{}- Files:\n", " ".repeat(depth))).collect());
    bodies.push((0..1_400).map(|length| format!("{}\n", "`".repeat(length + 3))).rev().collect());
    bodies
}

/// Enough of a text to tell the square of its length, for what is done with it many times.
fn beginning(text: &str) -> &str {
    let end = (0..=SIZE / 32).rev().find(|at| text.is_char_boundary(*at)).unwrap();
    &text[..end]
}

#[test]
fn a_mebibyte_of_anything_is_read_in_time_that_grows_with_its_length() {
    for body in bodies() {
        assert!(read("DONE", &body).value.bead_id().len() <= SIZE);
    }
}

#[test]
fn whatever_was_read_is_written_and_normalised_in_time_that_grows_with_its_length() {
    for body in bodies().iter().map(|body| beginning(body)) {
        for kind in Kind::ALL.map(Kind::as_str).into_iter().chain(["hello"]) {
            assert!(read(kind, body).value.write().body.len() <= 4 * body.len());
        }
        assert!(block(body).len() <= 2 * body.len() + 1);
        assert!(line(body).len() <= body.len());
        assert!(files([body]).len() <= body.len());
        assert!(prose_lines(body).count() <= body.len());
    }
}

#[test]
fn a_mebibyte_of_subject_is_read_in_time_that_grows_with_its_length() {
    for part in [
        "[",
        "[]",
        "[a]",
        "[[]",
        "]",
        "Re:",
        "a-1:",
        "a-1: ",
        ":",
        " ",
        "-",
        "done ",
        "done/",
        "-.",
        "_",
        "HELP ",
        "HELP-",
        "help\u{a0}",
        "x",
        "é",
    ] {
        let subject = filled_with(part);
        assert!(read(&subject, "").value.bead_id().len() <= SIZE);
        read(&format!("[{} DONE", beginning(&subject)), "");
        read(&format!("HELP{}REQUEST", beginning(&subject)), "");
        assert_eq!(read_timestamp(&subject), None);
    }
}

#[test]
fn bullets_that_follow_a_label_by_the_thousand_are_all_kept() {
    let body = format!("Files touched:\n{}", "- a\n".repeat(10_000));
    assert_eq!(read("PROGRESS", &body).value.list("files_touched").len(), 10_000);
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(subject in any::<String>(), body in any::<String>()) {
        for kind in Kind::ALL {
            read(&format!("{kind} {subject}"), &body);
        }
        let message = read(&subject, &body).value;
        message.fields();
        message.has_fields();
        is_plain(&subject);
        message.write();
        read_timestamp(&subject);
        block(&body);
    }
}

#[test]
fn a_list_is_read_as_far_as_anybody_reads_and_the_rest_is_a_problem() {
    for body in
        [format!("Files touched: {}", "a,".repeat(10_001)), format!("Files touched:\n{}", "- a\n".repeat(10_001))]
    {
        let read = read("PROGRESS", &body);
        assert_eq!(read.value.list("files_touched").len(), 10_000);
        assert!(read.problems.iter().any(|problem| problem.path == "files_touched"), "{:?}", read.problems);
    }
    let whole = read("PROGRESS", &format!("Files touched: {}", "a,".repeat(10_000)));
    assert!(whole.problems.iter().all(|problem| problem.path != "files_touched"));
}

#[test]
fn a_kind_counts_in_the_first_part_of_a_subject_alone() {
    assert_eq!(read(&format!("{} DONE", "x ".repeat(2_000)), "").value.type_name(), "DONE");
    assert_eq!(read(&format!("{} DONE", "x ".repeat(3_000)), "").value.type_name(), "UNKNOWN");
    read(&"é".repeat(5_000), "");
}

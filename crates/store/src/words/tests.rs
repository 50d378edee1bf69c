//! Whether the words are those that SQLite finds.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::*;

/// What SQLite makes of texts, by their numbers.
fn of_sqlite(texts: impl Iterator<Item = (u32, String)>) -> BTreeMap<u32, Vec<String>> {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch(
            "CREATE VIRTUAL TABLE t USING fts5 (a, content = '', tokenize = 'unicode61 remove_diacritics 2');
             CREATE VIRTUAL TABLE v USING fts5vocab (t, 'instance'); BEGIN;",
        )
        .unwrap();
    let mut insert = connection.prepare("INSERT INTO t (rowid, a) VALUES (?1, ?2)").unwrap();
    for (number, text) in texts {
        insert.execute((number, text)).unwrap();
    }
    let mut read = connection.prepare("SELECT doc, offset, term FROM v").unwrap();
    let rows = read.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?, row.get(2)?))).unwrap();
    let mut found: BTreeMap<u32, BTreeMap<i64, String>> = BTreeMap::new();
    for row in rows {
        let (number, place, word) = row.unwrap();
        found.entry(number).or_default().insert(place, word);
    }
    found.into_iter().map(|(number, words)| (number, words.into_values().collect())).collect()
}

#[test]
fn every_character_makes_the_words_that_sqlite_makes_of_it() {
    // Beyond these planes nothing is assigned but for one block, and everything unassigned is treated alike.
    let codes = (1..0x2_0000).chain(0xE_0000..0xE_0200).chain([0x2_F800, 0xF_FFFF, 0x10_FFFF]);
    let texts: Vec<(u32, String)> =
        codes.filter_map(char::from_u32).map(|c| (u32::from(c), format!("q{c}z {c}x"))).collect();
    let expected = of_sqlite(texts.iter().cloned());
    for (code, text) in &texts {
        assert_eq!(words(text), expected[code], "U+{code:04X}");
    }
}

#[test]
fn texts_make_the_words_that_sqlite_makes_of_them() {
    let long = "é".repeat(20_000);
    let texts = [
        "",
        " ",
        "crates/store/src/words.rs:17",
        "foo-bar_baz",
        "Größe STRASSE straße ΣΊΣΥΦΟΣ ΰ",
        "e\u{301}\u{327}t",
        "\u{301}x",
        "漢字かな交じり文",
        "a\0b",
        "1.5e-3 v2.0.1",
        "don't",
        "نصّ",
        &long,
        "İstanbul ǅ ﬁ",
    ];
    let numbered = (1..).zip(texts.map(str::to_owned));
    let expected = of_sqlite(numbered);
    for (number, text) in (1..).zip(texts) {
        let cut = |words: Vec<String>| words.into_iter().map(|word| word[..word.len().min(32_000)].to_owned());
        let expected = expected.get(&number).cloned().unwrap_or_default();
        assert!(cut(words(text)).eq(cut(expected)), "{}", &text[..text.len().min(80)]);
    }
}

#[test]
fn a_message_with_too_many_words_says_so_and_keeps_whose_it_is() {
    let body: String = (0..200_000).map(|n| format!("w{n:06} ")).collect();
    let kept = kept_words(ProjectId(3), AgentId(7), "hello", &body);
    let bytes: usize = kept.split(' ').map(|word| word.len() - 2).sum();
    assert!(bytes < 1 << 20 && kept.ends_with("'o' 'p3' 'a7'"), "{bytes} bytes");
    assert!(!kept_words(ProjectId(3), AgentId(7), "hello", "there").contains("'o'"));
}

//! SQL is written in `crates/store` alone.
//!
//! A string literal counts as SQL when it has the capital words of a statement. The benchmarks, these commands and
//! test code may hold such text.

use super::Violation;
use super::house::House;

/// Finds string literals that look like SQL in the source of any other crate.
pub fn check(house: &House) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in house.rust().iter().filter(|file| file.room().is_some_and(|room| room != "store")) {
        let literals = file.source.strings.iter().filter(|literal| !file.is_test_line(literal.line));
        for literal in literals.filter(|literal| looks_like_sql(&literal.text)) {
            found.push(Violation::new(&file.path, literal.line, "SQL outside crates/store, ask a port for it"));
        }
    }
    found
}

fn looks_like_sql(text: &str) -> bool {
    let words: Vec<&str> = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|w| !w.is_empty()).collect();
    let follows = |first: &str, second: &str| {
        let start = words.iter().position(|word| *word == first);
        start.is_some_and(|start| words[start..].contains(&second))
    };
    let neighbours = |first: &str, second: &str| words.windows(2).any(|pair| pair == [first, second]);
    follows("SELECT", "FROM")
        || neighbours("INSERT", "INTO")
        || follows("UPDATE", "SET")
        || neighbours("DELETE", "FROM")
        || neighbours("CREATE", "TABLE")
        || text.contains("PRAGMA ")
}

#[cfg(test)]
mod tests {
    use super::super::made_up::places;
    use super::*;

    #[test]
    fn sql_in_another_room_is_found() {
        let statements = [
            "SELECT a\n FROM b",
            "INSERT  INTO b",
            "UPDATE b SET c = 1",
            "DELETE FROM b",
            "CREATE TABLE b",
            "PRAGMA user_version",
        ];
        for statement in statements {
            let source = format!("//! Made up.\nfn f() {{ run(r#\"{statement}\"#) }}");
            assert_eq!(
                places(check, &[("crates/server/src/a.rs", &source)]),
                ["crates/server/src/a.rs:2"],
                "{statement}"
            );
        }
    }

    #[test]
    fn sql_where_it_may_be_passes() {
        let source = "fn f() { run(\"DELETE FROM b\") }";
        let in_test = "// DELETE FROM b\n#[cfg(test)]\nmod tests { fn f() { run(\"DELETE FROM b\") } }";
        let files = [
            ("crates/store/src/a.rs", source),
            ("crates/mail/tests/a.rs", source),
            ("bench/src/a.rs", source),
            ("xtask/src/a.rs", source),
            ("crates/mail/src/a.rs", in_test),
        ];
        assert!(places(check, &files).is_empty());
    }

    #[test]
    fn prose_passes() {
        let source = "f(\"Select one from the list, then update the set; SELECT\"); f(\"FROM a, SELECT\")";
        assert!(places(check, &[("crates/server/src/a.rs", source)]).is_empty());
    }
}

//! The words that operations are made of: plain ones, and those on which engines disagree most easily.

/// Names of agents. Some look alike, some differ in their case alone, and one is as long as a name may be.
pub const NAMES: [&str; 14] = [
    "alice",
    "bob",
    "Bob",
    "漢字",
    "dave x",
    "eve",
    "Zo\u{eb}",
    "Zoe\u{308}",
    "İlkay",
    "straße",
    "a\u{200b}b",
    "\u{202e}evil",
    "100%_'\"\\",
    "👩\u{200d}💻 \u{10ffff}",
];
/// Subjects, bodies and reasons.
pub const TEXTS: [&str; 13] = [
    "red green",
    "Green blue round",
    "src/main.rs:17 and red-round",
    "Größe and naïve",
    "",
    "round rounder",
    "\nblue\ttwo",
    "nai\u{308}ve GRÖSSE ﬁne Ⅷ",
    "\u{feff}red\u{2028}green\u{200b}blue\u{1}",
    "漢字かな交じり文 red",
    "e\u{301}\u{327}\u{301} ΣΊΣΥΦΟΣ ǅ",
    "'; DROP TABLE message; -- \\' $1 %s ?",
    "👩\u{200d}💻 \u{10ffff}\u{fffd} red",
];
/// Names of conversations.
pub const THREADS: [&str; 7] = ["1", "t", "T", "release 2", "Ünïcode", "U\u{308}nïcode", "\u{10ffff}"];
/// Keys, and names of posts.
pub const KEYS: [&str; 7] = ["k", "K", "key 2", "ключ", "кл\u{301}юч", "\u{ff4b}", "%_\\'"];
/// Patterns of paths.
pub const PATHS: [&str; 8] =
    ["src/**", "src/a.rs", "docs/*.md", "**/*.rs", "README.md", "src/{a,b}.rs", "dócs/漢*", "do\u{301}cs/*"];
/// Searches.
pub const QUERIES: [&str; 26] = [
    "red",
    "red green",
    "\"red green\"",
    "NOT red",
    "gro*",
    "subject:blue",
    "from:BOB",
    "main.rs",
    "naive",
    "red OR round",
    "round NOT \"round rounder\"",
    "(red OR green) NOT from:alice",
    "größe",
    "grösse OR nai\u{308}ve",
    "漢字*",
    "σίσυφος",
    "from:Zo\u{eb}",
    "fine OR ﬁne",
    "drop",
    "ⅷ OR ǆ",
    "NEAR(red round, 1)",
    "NEAR(\"red green\" ro* blue) OR subject:NEAR(red green, 0)",
    "red NOT NEAR(red main.rs, 3)",
    "^red OR body:^round",
    "NOT ^gro*",
    "{subject body_md} : (red + green)",
];
/// Channels.
pub const CHANNELS: [&str; 3] = ["dev", "Dev", "ops.2"];
/// Paths of projects; the slugs of some are the same.
pub const PROJECTS: [&str; 5] = ["/p/1", "/P 1", "/p/Ünï", "/p/U\u{308}nï", "C:\\p\\漢字"];
/// Sinks of the event log.
pub const SINKS: [&str; 4] = ["test", "Test", "te st", "тест"];
/// Pieces of work.
pub const WORK: [&str; 6] = ["bd-0", "bd-1", "bd-2", "bd-3", "BD-1", "бд-1"];

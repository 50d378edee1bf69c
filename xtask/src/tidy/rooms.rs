//! Which crate may use which, read from the `Cargo.toml` of every crate.
//!
//! The rooms are those of ARCHITECTURE.md. Dev-dependencies are free: a test may put rooms together that the product
//! keeps apart.

use toml::{Table, Value};

use super::Violation;
use super::house::House;

/// One crate of `crates/`, the crates of ours that it may use, and those of others that it must not.
struct Room {
    name: &'static str,
    may_use: &'static [&'static str],
    never: &'static [&'static str],
}

const ROOMS: [Room; 9] = [
    Room { name: "formats", may_use: &[], never: &["tokio", "rusqlite"] },
    Room { name: "mail", may_use: &["formats"], never: &["rusqlite", "axum", "serde", "serde_json"] },
    Room { name: "process", may_use: &[], never: &["serde_json"] },
    Room { name: "store", may_use: &["mail", "formats", "process"], never: &[] },
    Room { name: "mcp", may_use: &[], never: &[] },
    Room { name: "relay", may_use: &["mail", "formats", "process"], never: &[] },
    Room { name: "api", may_use: &["mail", "mcp"], never: &[] },
    Room { name: "server", may_use: &["api", "mail", "mcp", "formats"], never: &[] },
    Room { name: "cli", may_use: &["api", "formats", "mail", "store", "mcp", "relay", "server"], never: &[] },
];

/// Finds dependencies that cross a wall.
pub fn check(house: &House) -> Vec<Violation> {
    let renamed = house.text("Cargo.toml").and_then(|text| text.parse().ok()).map(workspace_dependencies);
    let renamed = renamed.unwrap_or_default();
    let mut found = Vec::new();
    for path in house.files() {
        let Some(name) = path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml")) else {
            continue;
        };
        let Some(room) = ROOMS.iter().find(|room| room.name == name) else {
            let what = format!("the crate `{name}` has no room, add what it may use to {}", file!());
            found.push(Violation::new(path, 1, what));
            continue;
        };
        let text = house.text(path).unwrap_or_default();
        match text.parse::<Table>() {
            Ok(manifest) => found.extend(crossed_walls(path, &text, &manifest, room, &renamed)),
            Err(problem) => found.push(Violation::new(path, 1, format!("not TOML ({}), mend it", problem.message()))),
        }
    }
    found
}

fn crossed_walls(path: &str, text: &str, manifest: &Table, room: &Room, renamed: &Table) -> Vec<Violation> {
    let mut found = Vec::new();
    for (key, dependency) in dependencies(manifest) {
        let package = package_name(key, dependency).or_else(|| package_name(key, renamed.get(key)?)).unwrap_or(key);
        let is_ours = ROOMS.iter().any(|room| room.name == package);
        let room_name = room.name;
        let what = if is_ours && !room.may_use.contains(&package) {
            format!("`{room_name}` must not use `{package}`, move the code or pass a port")
        } else if room.never.contains(&package) {
            format!("`{room_name}` must not depend on `{package}`, that belongs to another room")
        } else {
            continue;
        };
        found.push(Violation::new(path, line_of(text, key), what));
    }
    found
}

/// The dependencies and build-dependencies, for every target.
fn dependencies(manifest: &Table) -> Vec<(&str, &Value)> {
    let mut tables: Vec<&Table> = vec![manifest];
    if let Some(targets) = manifest.get("target").and_then(Value::as_table) {
        tables.extend(targets.values().filter_map(Value::as_table));
    }
    let sections = tables.into_iter().flat_map(|table| {
        ["dependencies", "build-dependencies"].into_iter().filter_map(|section| table.get(section)?.as_table())
    });
    sections.flatten().map(|(key, value)| (key.as_str(), value)).collect()
}

fn workspace_dependencies(root: Table) -> Table {
    let dependencies = root.get("workspace").and_then(|workspace| workspace.get("dependencies"));
    dependencies.and_then(Value::as_table).cloned().unwrap_or_default()
}

/// The real name of a dependency that is used under another one.
fn package_name<'a>(key: &'a str, dependency: &'a Value) -> Option<&'a str> {
    let package = dependency.get("package")?.as_str()?;
    (package != key).then_some(package)
}

fn line_of(text: &str, key: &str) -> usize {
    let names_key = |line: &str| {
        let name = line.trim_start_matches(['[', '"', '\'']);
        let last = name.rsplit_once("dependencies.").map_or(name, |(_, last)| last);
        last.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '=', '.', ']', '"', '\'']))
    };
    text.lines().position(names_key).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::super::made_up::places;
    use super::*;

    #[test]
    fn dependencies_within_the_walls_pass() {
        let files = [
            ("crates/formats/Cargo.toml", "[dependencies]\nserde = \"1\"\n"),
            ("crates/mail/Cargo.toml", "[dependencies]\nformats.workspace = true\n[dev-dependencies]\nserde = \"1\"\n"),
            ("crates/server/Cargo.toml", "[dependencies]\nmail = {}\nmcp = {}\n[dev-dependencies]\nstore = {}\n"),
            ("crates/cli/Cargo.toml", "[dependencies]\nserver = {}\nstore = {}\nrelay = {}\n"),
            ("bench/Cargo.toml", "[dependencies]\nstore = {}\n"),
        ];
        assert!(places(check, &files).is_empty());
    }

    #[test]
    fn siblings_never_use_each_other() {
        for (room, sibling) in [("server", "store"), ("relay", "server"), ("store", "relay"), ("mcp", "mail")] {
            let path = format!("crates/{room}/Cargo.toml");
            let text = format!("[dependencies]\nstored = \"1\"\n{sibling}.workspace = true\n");
            assert_eq!(places(check, &[(&path, &text)]), [format!("{path}:3")]);
        }
    }

    #[test]
    fn what_a_room_must_not_know_is_found() {
        for (room, package) in [("formats", "tokio"), ("formats", "mail"), ("mail", "serde"), ("mail", "rusqlite")] {
            let path = format!("crates/{room}/Cargo.toml");
            let text = format!("[dependencies.{package}]\nversion = \"1\"\n");
            assert_eq!(places(check, &[(&path, &text)]), [format!("{path}:1")]);
        }
    }

    #[test]
    fn no_disguise_helps() {
        let renamed_here = "[dependencies]\nwire = { package = \"serde\", version = \"1\" }\n";
        let for_one_target = "[target.'cfg(unix)'.dependencies]\naxum = \"1\"\n";
        let for_the_build = "[build-dependencies]\nrusqlite = \"1\"\n";
        for text in [renamed_here, for_one_target, for_the_build, "[dependencies]\nwire.workspace = true\n"] {
            let root =
                ("Cargo.toml", "[workspace.dependencies]\nwire = { package = \"serde_json\", version = \"1\" }\n");
            assert_eq!(
                places(check, &[root, ("crates/mail/Cargo.toml", text)]),
                ["crates/mail/Cargo.toml:2"],
                "{text}"
            );
        }
    }

    #[test]
    fn a_crate_without_a_room_and_a_broken_manifest_are_found() {
        let files = [("crates/attic/Cargo.toml", ""), ("crates/mail/Cargo.toml", "[[[")];
        assert_eq!(places(check, &files), ["crates/attic/Cargo.toml:1", "crates/mail/Cargo.toml:1"]);
    }
}

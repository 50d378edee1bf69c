//! The table of clients against what is written of them elsewhere.

pub(crate) mod examples;

use std::path::{Path, PathBuf};

use super::*;

#[test]
fn a_client_knows_its_own_events_by_its_own_names_alone() {
    assert_eq!(CLAUDE.event("PreToolUse"), Some(Event::BeforeTool));
    assert_eq!(GEMINI.event("BeforeTool"), Some(Event::BeforeTool));
    assert_eq!(GEMINI.event_name(Event::Prompt), "BeforeAgent");
    for (client, name) in [(&GEMINI, "SubagentStart"), (&GEMINI, "Stop"), (&CODEX, "")] {
        assert_eq!(client.event(name), None, "{name}");
    }
    assert_eq!(CODEX.events.len(), 8);
}

#[test]
fn every_client_is_in_the_manual() {
    let manual = include_str!("../../../../docs/agents.md");
    for client in ALL {
        assert!(manual.contains(&format!("\n## {}\n", client.product)), "{}", client.product);
        assert!(manual.contains(&format!("\npostrider install {}", client.name)), "{}", client.name);
    }
}

fn paths(client: &Client, scope: Scope, moved: Option<&str>) -> Vec<String> {
    let folders = Folders { project: "/p".into(), home: "/h".into(), moved: moved.map(PathBuf::from) };
    let paths = client.files.iter().filter_map(|file| file.path(scope, &folders));
    paths.map(|path| path.display().to_string()).collect()
}

#[test]
fn every_client_has_its_files_where_it_reads_them() {
    use Scope::*;
    assert_eq!(paths(&CLAUDE, Project, Some("/m")), ["/p/.claude/settings.json", "/p/.mcp.json"]);
    assert_eq!(paths(&CLAUDE, User, None), ["/h/.claude/settings.json", "/h/.claude.json"]);
    assert_eq!(paths(&CLAUDE, User, Some("/m")), ["/m/settings.json", "/m/.claude.json"]);
    assert_eq!(paths(&CODEX, Project, Some("/m")), ["/p/.codex/hooks.json", "/p/.codex/config.toml"]);
    assert_eq!(paths(&CODEX, User, None), ["/h/.codex/hooks.json", "/h/.codex/config.toml"]);
    assert_eq!(paths(&CODEX, User, Some("/m")), ["/m/hooks.json", "/m/config.toml"]);
    assert_eq!(paths(&GEMINI, Project, Some("/m")), ["/p/.gemini/settings.json"]);
    assert_eq!(paths(&GEMINI, User, None), ["/h/.gemini/settings.json"]);
    assert_eq!(paths(&GEMINI, User, Some("/m")), ["/m/.gemini/settings.json"]);
}

#[test]
fn the_project_is_the_nearest_repository_above_or_the_folder_itself() {
    let place = tempfile::tempdir().unwrap();
    let deep = place.path().join("repo/a/b");
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::create_dir_all(place.path().join("repo/.git")).unwrap();
    assert_eq!(project_of(&deep), place.path().join("repo"));
    std::fs::write(place.path().join("repo/a/.git"), "gitdir: elsewhere").unwrap();
    assert_eq!(project_of(&deep), place.path().join("repo/a"), "a worktree is a repository too");
    let bare = Path::new("/no/such/folder");
    assert_eq!(project_of(bare), bare);
}

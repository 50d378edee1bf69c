//! Who an agent is, and in which project, as far as can be said without asking anybody.
//!
//! What was said comes first: by a flag or the environment. The `agent` of the settings is whoever sits at the terminal, and
//! not each agent that works there. A session that began with us goes on as it began, also when its agent has gone to
//! another folder, because its mail is where its name is known.

use std::path::{Path, PathBuf};

use super::session::Kept;
use crate::identity::Acting;

/// Who the agent of a session is, whose client is at `cwd`. The name is empty if nobody knows one.
pub fn me(acting: &Acting, kept: Option<Kept>, cwd: &Path) -> anyhow::Result<Kept> {
    let here = if cwd.is_absolute() { cwd.to_owned() } else { std::env::current_dir()?.join(cwd) };
    // Joining nothing leaves a slash at the end, which would make another project.
    let here: PathBuf = here.components().collect();
    // A shell that goes through a link is told where it really is; so are we.
    let here = here.canonicalize().unwrap_or(here);
    let project = if acting.project.is_given() { Some(acting.project.key_at(&here)?) } else { None };
    let who = acting.said();
    let is_mine = |kept: &Kept| {
        who.as_ref().is_none_or(|who| who.name == kept.agent) && project.as_ref().is_none_or(|key| *key == kept.project)
    };
    let kept = kept.filter(is_mine);
    let (agent, token) = who.map_or_else(Default::default, |who| (who.name, who.token));
    if let Some(kept) = kept {
        return Ok(Kept { token: token.or(kept.token.clone()), ..kept });
    }
    let project = project.map_or_else(|| acting.project.key_at(&here), Ok)?;
    Ok(Kept { agent, token, project })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        acting: Acting,
    }

    fn who(flags: &[&str], kept: Option<&Kept>) -> (String, Option<String>, String) {
        let line = Line::parse_from([&["postrider"], flags].concat());
        let Kept { agent, token, project } = me(&line.acting, kept.cloned(), Path::new("/nowhere/app")).unwrap();
        (agent, token, project)
    }

    fn is(agent: &str, token: Option<&str>, project: &str) -> (String, Option<String>, String) {
        (agent.to_owned(), token.map(str::to_owned), project.to_owned())
    }

    #[test]
    fn what_is_said_comes_before_what_was_kept() {
        let kept = Kept { agent: "Kept".to_owned(), token: Some("t".to_owned()), project: "/home/p".to_owned() };
        assert_eq!(who(&[], Some(&kept)), is("Kept", Some("t"), "/home/p"));
        assert_eq!(who(&["--as", "Said"], Some(&kept)), is("Said", None, "/nowhere/app"));
        assert_eq!(who(&["--as", "Kept"], Some(&kept)), is("Kept", Some("t"), "/home/p"));
        assert_eq!(who(&["--project", "/home/p"], Some(&kept)), is("Kept", Some("t"), "/home/p"));
    }

    #[test]
    fn a_client_that_does_not_say_where_it_is_is_where_its_hook_is() {
        let line = Line::parse_from(["postrider", "--project", "./x"]);
        let there = me(&line.acting, None, Path::new("")).unwrap().project;
        assert_eq!(Path::new(&there), std::env::current_dir().unwrap().join("x"));
        let nowhere = Line::parse_from(["postrider"]);
        let project = me(&nowhere.acting, None, Path::new("/nowhere/app/")).unwrap().project;
        assert_eq!(project, "/nowhere/app");
    }

    #[test]
    fn a_name_of_another_project_is_nobodys_here() {
        let kept = Kept { agent: "Kept".to_owned(), token: None, project: "/home/p".to_owned() };
        assert_eq!(who(&["--project", "/home/q"], Some(&kept)), is("", None, "/home/q"));
        assert_eq!(who(&[], None), is("", None, "/nowhere/app"));
    }
}

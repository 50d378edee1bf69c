//! Who an agent is, and in which project, as far as can be said without asking anybody.
//!
//! What was said comes first: by a flag, the environment or the settings. A session that began with us goes on as it
//! began, also when its agent has gone to another folder, because its mail is where its name is known.

use std::path::{Path, PathBuf};

use super::session::Kept;
use crate::config::Config;
use crate::identity::Acting;

/// Who the agent of a session is, whose client is at `cwd`. The name is empty if nobody knows one.
pub fn me(acting: &Acting, config: &Config, kept: Option<Kept>, cwd: &Path) -> anyhow::Result<Kept> {
    let here = if cwd.is_absolute() { cwd.to_owned() } else { std::env::current_dir()?.join(cwd) };
    // Joining nothing leaves a slash at the end, which would make another project.
    let here: PathBuf = here.components().collect();
    let project = if acting.project.is_given() { Some(acting.project.key_at(&here)?) } else { None };
    let who = acting.opt_who(config);
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
    use crate::config::File;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        acting: Acting,
    }

    fn who(flags: &[&str], agent: Option<&str>, kept: Option<&Kept>) -> (String, Option<String>, String) {
        let line = Line::parse_from([&["postrider"], flags].concat());
        let file = File { agent: agent.map(str::to_owned), ..File::default() };
        let config = Config { home: "/home".into(), source: None, file };
        let Kept { agent, token, project } =
            me(&line.acting, &config, kept.cloned(), Path::new("/nowhere/app")).unwrap();
        (agent, token, project)
    }

    fn is(agent: &str, token: Option<&str>, project: &str) -> (String, Option<String>, String) {
        (agent.to_owned(), token.map(str::to_owned), project.to_owned())
    }

    #[test]
    fn what_is_said_comes_before_what_was_kept() {
        let kept = Kept { agent: "Kept".to_owned(), token: Some("t".to_owned()), project: "/home/p".to_owned() };
        assert_eq!(who(&[], None, Some(&kept)), is("Kept", Some("t"), "/home/p"));
        assert_eq!(who(&[], Some("Set"), Some(&kept)), is("Set", None, "/nowhere/app"));
        assert_eq!(who(&["--as", "Said"], Some("Set"), None), is("Said", None, "/nowhere/app"));
        assert_eq!(who(&["--as", "Kept"], None, Some(&kept)), is("Kept", Some("t"), "/home/p"));
        assert_eq!(who(&["--project", "/home/p"], None, Some(&kept)), is("Kept", Some("t"), "/home/p"));
    }

    #[test]
    fn a_client_that_does_not_say_where_it_is_is_where_its_hook_is() {
        let line = Line::parse_from(["postrider", "--project", "./x"]);
        let config = Config { home: "/home".into(), source: None, file: File::default() };
        let there = me(&line.acting, &config, None, Path::new("")).unwrap().project;
        assert_eq!(Path::new(&there), std::env::current_dir().unwrap().join("x"));
        let nowhere = Line::parse_from(["postrider"]);
        let project = me(&nowhere.acting, &config, None, Path::new("/nowhere/app/")).unwrap().project;
        assert_eq!(project, "/nowhere/app");
    }

    #[test]
    fn a_name_of_another_project_is_nobodys_here() {
        let kept = Kept { agent: "Kept".to_owned(), token: None, project: "/home/p".to_owned() };
        assert_eq!(who(&["--project", "/home/q"], None, Some(&kept)), is("", None, "/home/q"));
        assert_eq!(who(&[], None, None), is("", None, "/nowhere/app"));
    }
}

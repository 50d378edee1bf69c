//! Which command lines act in an agent's name, as the commands themselves say: those that have the option `--as`, which our
//! variable sets too.

use std::ffi::OsString;

use clap::{Arg, CommandFactory};

use super::{Cli, called};
use crate::identity::VARIABLE;

/// The option that says who acts.
const NAME: &str = "as";

/// Whether the command that these words call, without the name of the program, takes the name of an agent.
pub fn takes_a_name(words: &[&str]) -> bool {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let mut whole = Cli::command();
    whole.build();
    let (mut command, mut words) = (&whole, words.as_slice());
    loop {
        let with_value: Vec<String> = command.get_arguments().flat_map(options_with_value).collect();
        let with_value: Vec<&str> = with_value.iter().map(String::as_str).collect();
        let below = called(words, &with_value);
        let before = below.map_or(words, |(_, rest)| &words[..words.len() - rest.len()]);
        if before.iter().any(|word| word == "--help") {
            return false;
        }
        match below.and_then(|(word, rest)| Some((command.find_subcommand(word)?, rest))) {
            // It only tells.
            Some((help, _)) if help.get_name() == "help" => return false,
            Some((found, rest)) => (command, words) = (found, rest),
            None => return command.get_arguments().any(says_who_acts),
        }
    }
}

fn says_who_acts(arg: &Arg) -> bool {
    let is_called_so = arg.get_long() == Some(NAME) || arg.get_all_aliases().unwrap_or_default().contains(&NAME);
    is_called_so && arg.get_env().is_some_and(|variable| variable == VARIABLE)
}

/// What an option is called whose value is the next word.
fn options_with_value(arg: &Arg) -> Vec<String> {
    if !arg.get_action().takes_values() {
        return Vec::new();
    }
    let long = arg.get_long().map(|long| format!("--{long}"));
    let short = arg.get_short().map(|short| format!("-{short}"));
    long.into_iter().chain(short).collect()
}

#[cfg(test)]
mod tests {
    use clap::Command;
    use clap::error::ErrorKind;

    use super::*;

    /// The words that call each command, and each that is below one.
    fn all(command: &Command, above: &[String]) -> Vec<Vec<String>> {
        let below = command.get_subcommands().filter(|below| below.get_name() != "help");
        let mut paths = Vec::new();
        for below in below {
            let path = [above, &[below.get_name().to_owned()]].concat();
            paths.extend(all(below, &path));
            paths.push(path);
        }
        paths
    }

    #[test]
    fn every_command_that_is_said_to_take_a_name_takes_one_and_no_other_does() {
        let paths = all(&Cli::command(), &[]);
        assert!(paths.len() > 60, "{paths:?}");
        // Whatever stands behind that one is the request of another program.
        for path in paths.into_iter().filter(|path| path[0] != "exec-mail") {
            let line = ["postrider".to_owned()].into_iter().chain(path.clone());
            let line = line.chain(["--as".to_owned(), "Me/agent-0000".to_owned()]);
            let refused = Cli::command().try_get_matches_from(line).err();
            let is_unknown = refused.is_some_and(|error| {
                error.kind() == ErrorKind::UnknownArgument && error.to_string().contains("'--as'")
            });
            let words: Vec<&str> = path.iter().map(String::as_str).collect();
            // That one says who is installed.
            let takes = !is_unknown && words != ["install"];
            assert_eq!(takes_a_name(&words), takes, "{path:?}");
            let words = [&["--json", "--home", "mail", "--config=x"][..], &words].concat();
            assert_eq!(takes_a_name(&words), takes, "{words:?}");
        }
    }
}

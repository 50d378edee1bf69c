//! What may stand behind `cargo xtask`, read by hand so that the commands build in a moment.

use crate::clients::Part;
use crate::crash::Plan;
use crate::fuzz;

/// The commands, for `--help` and after a mistake.
pub const USAGE: &str = "\
usage: cargo xtask <command>

  test [--quick]               install what tests need, then run every check; --quick leaves out clippy and conformance
  tidy                         check the rules of the house
  crash --rounds N             kill the server N times and look for lost mail
        [--clients C] [--seed S]
  fuzz [--cases N]             try N texts (100,000) on every property of the readers
  conformance [--revision R]   run the MCP conformance suite against a server, on every revision or on one
  clients [--only CLIENT,…]    the lab: install real coding agents, try every promise with each, write docs/clients.md
          [--promise NAME]     one client, one promise
          [--open]             only leave the client at a terminal, to look at it
          [--speed N]          only measure, N times each, how fast an idle client is woken
  clients --sdk                client libraries from PyPI, through a small workflow
  screenshots                  take the pictures of the page in docs/page anew, of the demo that does not move";

/// What a developer asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// Show the commands.
    Help,
    /// Check the rules of the house.
    Tidy,
    /// Run everything.
    Test {
        /// Without clippy and conformance.
        quick: bool,
    },
    /// Look for lost mail.
    Crash(Plan),
    /// Try many texts on the readers.
    Fuzz {
        /// How many on each property.
        cases: u64,
    },
    /// Run the conformance suite.
    Conformance {
        /// One revision of the protocol instead of all.
        revision: Option<String>,
    },
    /// Try real clients.
    Clients(Part),
    /// Try client libraries.
    Libraries,
    /// Take pictures of the page.
    Screenshots,
}

impl Request {
    /// Reads the words behind `cargo xtask`; what is wrong comes back as a sentence.
    pub fn read(words: &[String]) -> Result<Self, String> {
        let Some((command, rest)) = words.split_first() else { return Err("which command?".to_owned()) };
        let mut options = Options { words: rest };
        let request = match command.as_str() {
            "help" | "--help" | "-h" => Self::Help,
            "tidy" => Self::Tidy,
            "test" => Self::Test { quick: options.flag("--quick") },
            "crash" => Self::Crash(crash_plan(&mut options)?),
            "fuzz" => Self::Fuzz { cases: options.cases()? },
            "conformance" => Self::Conformance { revision: options.revision()? },
            "clients" if options.flag("--sdk") => Self::Libraries,
            "clients" => Self::Clients(clients_part(&mut options)?),
            "screenshots" => Self::Screenshots,
            other => return Err(format!("there is no command '{other}'")),
        };
        match options.words.first() {
            None => Ok(request),
            Some(word) => Err(format!("'{command}' does not know '{word}'")),
        }
    }
}

fn crash_plan(options: &mut Options) -> Result<Plan, String> {
    let (mut rounds, mut clients, mut seed) = (None, None, None);
    while let Some((name, rest)) = options.words.split_first() {
        let place = match name.as_str() {
            "--rounds" => &mut rounds,
            "--clients" => &mut clients,
            "--seed" => &mut seed,
            _ => break,
        };
        options.words = rest;
        *place = Some(options.number(name)?);
    }
    let rounds = rounds.filter(|rounds| *rounds > 0).ok_or("'crash' needs --rounds, at least 1")?;
    Ok(Plan { rounds, clients, seed })
}

fn clients_part(options: &mut Options) -> Result<Part, String> {
    let mut part = Part::default();
    while let Some((name, rest)) = options.words.split_first() {
        let place = match name.as_str() {
            "--only" => &mut part.clients,
            "--promise" => &mut part.promise,
            "--open" => {
                options.words = rest;
                part.opens = true;
                continue;
            }
            "--speed" => {
                options.words = rest;
                part.rounds = Some(options.number(name)?);
                continue;
            }
            _ => break,
        };
        options.words = rest;
        *place = Some(options.value(name)?);
    }
    Ok(part)
}

struct Options<'a> {
    words: &'a [String],
}

impl Options<'_> {
    fn flag(&mut self, name: &str) -> bool {
        let given = self.words.first().is_some_and(|word| word == name);
        if given {
            self.words = &self.words[1..];
        }
        given
    }

    fn cases(&mut self) -> Result<u64, String> {
        let cases = if self.flag("--cases") { self.number("--cases")? } else { fuzz::CASES };
        // The tests count their cases in 32 bits.
        if (1..=u64::from(u32::MAX)).contains(&cases) { Ok(cases) } else { Err(format!("--cases cannot be {cases}")) }
    }

    fn revision(&mut self) -> Result<Option<String>, String> {
        if self.flag("--revision") { self.value("--revision").map(Some) } else { Ok(None) }
    }

    fn number(&mut self, name: &str) -> Result<u64, String> {
        let value = self.value(name)?;
        value.parse().map_err(|_| format!("{name} needs a number, not '{value}'"))
    }

    fn value(&mut self, name: &str) -> Result<String, String> {
        let (value, rest) = self.words.split_first().ok_or_else(|| format!("{name} needs a value"))?;
        self.words = rest;
        Ok(value.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Request, String> {
        Request::read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn every_command_is_read_with_its_options() {
        assert_eq!(read("tidy"), Ok(Request::Tidy));
        assert_eq!(read("test"), Ok(Request::Test { quick: false }));
        assert_eq!(read("test --quick"), Ok(Request::Test { quick: true }));
        assert_eq!(read("clients"), Ok(Request::Clients(Part::default())));
        let part =
            Part { clients: Some("codex,qwen".into()), promise: Some("idle".into()), opens: true, rounds: Some(50) };
        assert_eq!(read("clients --promise idle --only codex,qwen --open --speed 50"), Ok(Request::Clients(part)));
        assert_eq!(read("clients --sdk"), Ok(Request::Libraries));
        assert_eq!(read("screenshots"), Ok(Request::Screenshots));
        assert_eq!(read("conformance"), Ok(Request::Conformance { revision: None }));
        assert_eq!(read("conformance --revision x"), Ok(Request::Conformance { revision: Some("x".into()) }));
        assert_eq!(read("fuzz"), Ok(Request::Fuzz { cases: 100_000 }));
        assert_eq!(read("fuzz --cases 5"), Ok(Request::Fuzz { cases: 5 }));
        let plan = Plan { rounds: 9, clients: Some(4), seed: Some(7) };
        assert_eq!(read("crash --seed 7 --rounds 9 --clients 4"), Ok(Request::Crash(plan)));
    }

    #[test]
    fn a_mistake_is_named() {
        for (line, named) in [
            ("", "which command"),
            ("tydi", "'tydi'"),
            ("tidy --all", "'--all'"),
            ("test --quick --quick", "'--quick'"),
            ("crash", "--rounds"),
            ("crash --rounds 0", "at least 1"),
            ("crash --rounds many", "'many'"),
            ("crash --rounds", "needs a value"),
            ("crash --rounds 1 --speed 2", "'--speed'"),
            ("conformance --revision", "needs a value"),
            ("clients --only", "needs a value"),
            ("clients --all", "'--all'"),
            ("fuzz --cases 0", "cannot be 0"),
            ("fuzz --cases 4294967296", "cannot be"),
            ("fuzz --case 1", "'--case'"),
        ] {
            let problem = read(line).unwrap_err();
            assert!(problem.contains(named), "{line}: {problem}");
        }
    }

    #[test]
    fn the_usage_names_every_command() {
        for command in ["test", "tidy", "crash", "fuzz", "conformance", "clients", "screenshots"] {
            assert!(USAGE.lines().any(|line| line.trim_start().starts_with(command)), "{command}");
        }
    }
}

//! The tools and resources that a server offers, free of any transport.
//!
//! A registry is built once and then only read; what clients are shown of it is rendered when it is
//! built, so that the bytes are the same in every answer. It decides nothing about the protocol.

use std::any::Any;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::arguments::{self, Arguments, Takes};
use crate::foreign::{Foreign, Treatment};
use crate::nearest::nearest;
use crate::outcome::{Output, Refusal};
use crate::params::{Hints, Param, push_schema};
use crate::resources::Resources;
use crate::wire::{push_list, push_member};

type Handler = Box<dyn Fn(CallerKind, Arguments) -> BoxFuture<'static, Result<Output, Refusal>> + Send + Sync>;
/// The name of a tool for people, made of its name for programs, in a list that has one.
type Titled = fn(&str) -> Option<String>;
type Observer = Box<dyn Fn(&'static str, Option<&'static str>, Duration) + Send + Sync>;

/// What is known of who calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallerKind {
    /// Nothing: it calls a tool and has not said who it is. Programs do so, and our own client counts as one.
    #[default]
    Bare,
    /// A client that said who it is: by `initialize`, or in `_meta`. A model stands behind it, and pays for what it reads.
    Introduced,
}

/// One tool: what clients are told of it, and what it does.
pub struct Tool {
    /// The name that clients call.
    pub name: &'static str,
    /// What it is for, as the model reads it.
    pub about: &'static str,
    /// What it takes.
    pub params: &'static [Param],
    /// What it does to the world.
    pub hints: Hints,
    /// Whether clients are told of it. Whoever knows a tool that is not listed can call it.
    pub listed: bool,
    /// What clients of other servers send to it.
    foreign: Vec<Foreign>,
    /// Whether there was such a tool once. Its arguments are not read.
    retired: bool,
    handler: Handler,
}

/// How the server introduces itself.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    /// The name for programs.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// The version of the server.
    pub version: String,
    /// A picture of it as an SVG document. Empty for none.
    pub icon: String,
    /// How to use the server, for the model. Empty for none.
    pub instructions: String,
}

/// Everything that a server offers.
pub struct Registry {
    pub(crate) info: ServerInfo,
    pub(crate) resources: Arc<dyn Resources>,
    pub(crate) tools: Vec<Tool>,
    places: HashMap<&'static str, usize>,
    pub(crate) observer: Option<Observer>,
    /// The member `"tools":[…]`, ready to be sent.
    pub(crate) tools_member: String,
}

impl Tool {
    /// Declares a tool. `handler` runs once for each call, on whatever task serves the request.
    pub fn new<H, F>(
        name: &'static str,
        about: &'static str,
        params: &'static [Param],
        hints: Hints,
        handler: H,
    ) -> Tool
    where
        H: Fn(Arguments) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Output, Refusal>> + Send + 'static,
    {
        Tool::knowing_caller(name, about, params, hints, move |_, arguments| handler(arguments))
    }

    /// The same of a tool whose answer depends on who calls.
    pub fn knowing_caller<H, F>(
        name: &'static str,
        about: &'static str,
        params: &'static [Param],
        hints: Hints,
        handler: H,
    ) -> Tool
    where
        H: Fn(CallerKind, Arguments) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Output, Refusal>> + Send + 'static,
    {
        let handler: Handler = Box::new(move |caller, arguments| handler(caller, arguments).boxed());
        Tool { name, about, params, hints, listed: true, foreign: Vec::new(), retired: false, handler }
    }

    /// A tool that is gone: every call is refused, whatever its arguments are.
    pub fn retired(name: &'static str, refusal: Refusal) -> Tool {
        let refuse = move |_| std::future::ready(Err(refusal.clone()));
        Tool { listed: false, retired: true, ..Tool::new(name, "", &[], Hints::READS, refuse) }
    }

    /// The same tool, for callers of our own alone: it is in no list, and costs no agent any context.
    pub fn unlisted(self) -> Tool {
        Tool { listed: false, ..self }
    }

    /// The same tool, which takes what the table says that clients of other servers send to it.
    pub fn taking(mut self, table: &[Foreign]) -> Tool {
        let has = |name: &str| self.params.iter().any(|param| param.name == name);
        let is_taken = |row: &&Foreign| match row.treatment {
            Treatment::Means(meant) if row.tools.is_empty() => has(meant),
            _ => row.tools.contains(&self.name),
        };
        self.foreign = table.iter().filter(is_taken).copied().collect();
        self
    }

    fn push_declaration(&self, json: &mut String, titled: Titled, shown: &dyn Fn(&Param) -> bool) {
        push_member(json, "{\"name\":", self.name);
        if let Some(title) = titled(self.name) {
            push_member(json, ",\"title\":", &title);
        }
        push_member(json, ",\"description\":", self.about);
        json.push_str(",\"inputSchema\":");
        push_schema(json, self.params, shown);
        json.push_str(",\"annotations\":");
        self.hints.push_annotations(json);
        json.push('}');
    }

    /// Checks the arguments, then runs the handler. A handler that panics is a refusal like any other.
    async fn call(&self, caller: CallerKind, arguments: Option<&str>) -> Result<Output, Refusal> {
        let takes = Takes { params: self.params, foreign: &self.foreign };
        let (arguments, ignored) = arguments::parse(takes, arguments.filter(|_| !self.retired))?;
        // The handler's own body may panic before its future exists, hence the block around both.
        let running = async { (self.handler)(caller, arguments).await };
        let outcome = AssertUnwindSafe(running).catch_unwind().await.unwrap_or_else(|panic| {
            tracing::error!(tool = self.name, panic = panic_text(&*panic), "a tool panicked");
            Err(Refusal::new("INTERNAL", format!("The tool '{}' failed unexpectedly.", self.name))
                .hint("Try once more; the server's log has the cause."))
        });
        outcome.map(|output| output.warned(&ignored))
    }
}

impl Registry {
    /// Gathers what a server offers. Tools are listed in the order given.
    ///
    /// # Panics
    /// If two tools share a name, since one of them could never be called.
    pub fn new(info: ServerInfo, tools: Vec<Tool>, resources: Arc<dyn Resources>) -> Registry {
        let places: HashMap<_, _> = tools.iter().enumerate().map(|(at, tool)| (tool.name, at)).collect();
        assert_eq!(places.len(), tools.len(), "every tool has a name of its own");
        let tools_member = tools_member(tools.iter().filter(|tool| tool.listed), title, &|_| true);
        Registry { info, resources, tools, places, observer: None, tools_member }
    }

    /// Lists only the tools of these names, with those of their parameters that `shown` says and without titles. The others
    /// stay callable, for those who know them.
    pub fn list_only(mut self, names: &[&str], shown: &dyn Fn(&Param) -> bool) -> Registry {
        let listed = self.tools.iter().filter(|tool| names.contains(&tool.name));
        self.tools_member = tools_member(listed, |_| None, shown);
        self
    }

    /// Tells `observer` of every call that came to an end: the tool, the code if it was refused, and how long it took.
    /// Calls of a tool that there is not are not told: their names are the caller's and without number.
    pub fn observed_by(
        mut self,
        observer: impl Fn(&'static str, Option<&'static str>, Duration) + Send + Sync + 'static,
    ) -> Registry {
        self.observer = Some(Box::new(observer));
        self
    }

    /// The tool of this name.
    pub(crate) fn tool(&self, name: &str) -> Option<&Tool> {
        self.places.get(name).map(|at| &self.tools[*at])
    }

    /// Calls a tool of this registry, and tells the observer.
    pub(crate) async fn call(
        &self,
        tool: &Tool,
        caller: CallerKind,
        arguments: Option<&str>,
    ) -> Result<Output, Refusal> {
        let start = Instant::now();
        let outcome = tool.call(caller, arguments).await;
        if let Some(observer) = &self.observer {
            observer(tool.name, outcome.as_ref().err().map(|refusal| refusal.code), start.elapsed());
        }
        outcome
    }

    pub(crate) fn nearest_tool(&self, name: &str) -> Option<&'static str> {
        nearest(name, self.tools.iter().filter(|tool| tool.listed).map(|tool| tool.name))
    }
}

fn tools_member<'a>(tools: impl Iterator<Item = &'a Tool>, titled: Titled, shown: &dyn Fn(&Param) -> bool) -> String {
    let mut json = String::from("\"tools\":");
    push_list(&mut json, tools, |json, tool| tool.push_declaration(json, titled, shown));
    json
}

/// `macro_start_session` is `Start session` to people.
fn title(name: &str) -> Option<String> {
    let words = name.strip_prefix("macro_").unwrap_or(name).replace('_', " ");
    let first = words.get(..1)?.to_ascii_uppercase();
    Some(first + &words[1..])
}

/// What a panic said, if it said anything.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let owned = || panic.downcast_ref::<String>().map(String::as_str);
    panic.downcast_ref::<&str>().copied().or_else(owned).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures_core::stream::BoxStream;

    use super::*;
    use crate::params::ParamKind;
    use crate::resources::{ReadError, ResourceEntry, ResourceTemplate};

    struct NoResources;

    #[async_trait::async_trait]
    impl Resources for NoResources {
        fn templates(&self) -> Vec<ResourceTemplate> {
            Vec::new()
        }

        async fn list(&self, _: Option<&str>) -> Result<(Vec<ResourceEntry>, Option<String>), Refusal> {
            unreachable!("only tools are called here")
        }

        async fn read(&self, _: &str) -> Result<String, ReadError> {
            unreachable!("only tools are called here")
        }

        async fn watch(&self, _: &str) -> Result<BoxStream<'static, ()>, ReadError> {
            unreachable!("only tools are called here")
        }
    }

    const NAME: &[Param] = &[Param::required("name", ParamKind::Text, "")];

    fn registry() -> Registry {
        let greet = Tool::new("greet", "Greet.", NAME, Hints::READS, |arguments: Arguments| async move {
            Ok(Output::json(&format!("Hello {}", arguments["name"].as_str().unwrap_or_default())))
        });
        let crash = Tool::new("crash", "Crash.", &[], Hints::READS, |_| async { panic!("on purpose") });
        let crash_early = Tool::new("crash_early", "Crash.", &[], Hints::READS, |arguments: Arguments| {
            assert!(!arguments.is_empty(), "before there is a future");
            async { Ok(Output::json(&())) }
        });
        let info = ServerInfo {
            name: "toy".into(),
            title: "Toy".into(),
            version: "1".into(),
            icon: String::new(),
            instructions: String::new(),
        };
        Registry::new(info, vec![greet, crash, crash_early], Arc::new(NoResources))
    }

    async fn call(tool: &str, arguments: Option<&str>) -> Result<Output, Refusal> {
        registry().tool(tool).expect("the tool is there").call(CallerKind::Bare, arguments).await
    }

    #[tokio::test]
    async fn a_tool_runs_with_checked_arguments() {
        let output = call("greet", Some(r#"{"name":"Ada"}"#)).await.expect("a greeting");
        assert_eq!(output.json, "\"Hello Ada\"");
        let refusal = call("greet", Some("{}")).await.expect_err("no name");
        assert_eq!(refusal.code, "INVALID_ARGUMENT");
    }

    #[tokio::test]
    async fn a_tool_takes_what_the_table_of_foreign_arguments_has_for_it_and_warns_of_what_it_does_not_do() {
        const TABLE: &[Foreign] = &[
            Foreign { tools: &[], name: "person", treatment: Treatment::Means("name") },
            Foreign { tools: &["greet"], name: "loud", treatment: Treatment::Ignored(ParamKind::Flag, "it is quiet") },
            Foreign { tools: &["part"], name: "sad", treatment: Treatment::Ignored(ParamKind::Flag, "") },
        ];
        let greet = Tool::new("greet", "Greet.", NAME, Hints::READS, |arguments: Arguments| async move {
            Ok(Output::json(&arguments))
        });
        let greet = greet.taking(TABLE);
        let output = greet.call(CallerKind::Bare, Some(r#"{"person":"Ada","loud":true}"#)).await.expect("a greeting");
        let warning = r#"{"code":"ARGUMENT_IGNORED","hint":"Leave it out.","message":"Argument 'loud' was not acted on: it is quiet."}"#;
        assert_eq!(output.json, format!(r#"{{"name":"Ada","warnings":[{warning}]}}"#));
        let refusal =
            greet.call(CallerKind::Bare, Some(r#"{"name":"Ada","sad":true}"#)).await.expect_err("another tool's");
        assert_eq!(refusal.message, "Unknown argument 'sad'.");
        let mut declared = String::new();
        greet.push_declaration(&mut declared, title, &|_| true);
        assert!(!declared.contains("person") && !declared.contains("loud"), "{declared}");
    }

    #[tokio::test]
    async fn a_retired_tool_is_in_no_list_and_refuses_whatever_it_is_called_with() {
        let gone = Tool::retired("gone", Refusal::new("CLIENT_OUTDATED", "Gone"));
        for arguments in [None, Some("{}"), Some(r#"{"verb":"get","id":7}"#)] {
            let refusal = gone.call(CallerKind::Bare, arguments).await.expect_err("it is gone");
            assert_eq!(refusal.code, "CLIENT_OUTDATED");
        }
        assert!(!gone.listed);
    }

    #[tokio::test]
    async fn a_panic_is_answered_as_a_refusal_wherever_it_happens() {
        for tool in ["crash", "crash_early"] {
            let refusal = call(tool, None).await.expect_err("it panicked");
            assert_eq!(refusal.code, "INTERNAL");
            assert!(!refusal.text().contains("on purpose"), "the cause goes to the log, not to the caller");
        }
    }

    #[tokio::test]
    async fn an_observer_hears_of_every_call_whatever_it_came_to() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hearing = Arc::clone(&heard);
        let registry = registry().observed_by(move |tool, refusal, _| hearing.lock().unwrap().push((tool, refusal)));
        for (name, arguments) in [("greet", Some(r#"{"name":"Ada"}"#)), ("greet", Some("{}")), ("crash", None)] {
            let tool = registry.tool(name).expect("the tool is there");
            let _ = registry.call(tool, CallerKind::Bare, arguments).await;
        }
        let expected = [("greet", None), ("greet", Some("INVALID_ARGUMENT")), ("crash", Some("INTERNAL"))];
        assert_eq!(*heard.lock().unwrap(), expected);
    }

    #[test]
    fn an_unlisted_tool_stays_callable() {
        let lean = registry().list_only(&["greet"], &|_| true);
        assert!(lean.tools_member.contains("\"greet\"") && !lean.tools_member.contains("\"crash\""));
        assert!(lean.tool("crash").is_some());
    }

    #[test]
    fn people_read_a_title_where_there_is_room_for_one() {
        assert_eq!(title("macro_start_session").as_deref(), Some("Start session"));
        assert_eq!(title("whois").as_deref(), Some("Whois"));
        assert_eq!(title(""), None);
        let full = registry();
        assert!(full.tools_member.contains(r#"{"name":"crash_early","title":"Crash early","#), "{}", full.tools_member);
        assert!(!full.list_only(&["greet"], &|_| true).tools_member.contains("title"));
    }

    #[test]
    fn a_misspelt_tool_has_a_nearest_one() {
        assert_eq!(registry().nearest_tool("gret"), Some("greet"));
        assert_eq!(registry().nearest_tool("launch_rocket"), None);
    }
}

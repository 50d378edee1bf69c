//! The MCP server in a client's JSON: put in, brought up to date and taken out. Text in, text out.
//!
//! The entry is ours by what it calls. One of our name that runs something else was not written by us and is left alone.

use serde_json::Value;

use super::ConfigFault;
use super::entries::{expect_objects, is_our_program, size};
use super::json::{self, New, PathStep, quoted};
use crate::clients::ConfigPart;

/// The name of the MCP server.
pub(crate) const SERVER: &str = "postrider";
/// The command that it runs.
const STDIO: &str = "stdio";

/// The entry of the MCP server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// There is none.
    Missing,
    /// Ours, and how it calls the program.
    Ours(String),
    /// One of that name which runs something else, or is somewhere else.
    Foreign,
}

/// How a client has its servers in JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerShape {
    /// The object of all servers.
    servers: &'static str,
    /// Whether program and arguments are one list.
    is_one_list: bool,
    /// The member of the entry that has program and arguments in it, if it is not the entry itself.
    inside: Option<&'static str>,
    /// What the entry says of how the server is reached.
    kind: Option<&'static str>,
    /// Whether the entry lists the tools that may be used.
    lists_tools: bool,
}

const USUAL: ServerShape =
    ServerShape { servers: "mcpServers", is_one_list: false, inside: None, kind: None, lists_tools: false };

impl ServerShape {
    /// That of a part of a configuration, if it is a server in JSON.
    pub(crate) fn of(part: ConfigPart) -> Option<Self> {
        match part {
            ConfigPart::Server => Some(USUAL),
            ConfigPart::ServerWithTools => Some(Self { kind: Some("local"), lists_tools: true, ..USUAL }),
            ConfigPart::ServerInOneList => {
                Some(Self { servers: "mcp", is_one_list: true, kind: Some("local"), ..USUAL })
            }
            ConfigPart::ServerInTransport => Some(Self { inside: Some("transport"), kind: Some("stdio"), ..USUAL }),
            _ => None,
        }
    }

    /// The text with the server in it, called by `program`. A server of that name that is not ours stays.
    pub(crate) fn install(self, text: &str, program: &str) -> Result<String, ConfigFault> {
        expect_objects(text, self.servers)?;
        let servers = [PathStep::Member(self.servers)];
        match self.server(text)? {
            Server::Foreign => Ok(text.to_owned()),
            Server::Ours(called) if called == program => Ok(text.to_owned()),
            Server::Ours(_) => {
                let mut path = vec![servers[0], PathStep::Member(SERVER)];
                path.extend(self.inside.map(PathStep::Member));
                path.push(PathStep::Member("command"));
                path.extend(self.is_one_list.then_some(PathStep::Item(0)));
                json::replace(text, &path, &quoted(program))
            }
            Server::Missing => {
                let entry = self.entry(program);
                if json::read(text)?.get(self.servers).is_some() {
                    return json::append(text, &servers, Some(SERVER), &entry);
                }
                json::append(text, &[], Some(self.servers), &New::Object(vec![(SERVER, entry)]))
            }
        }
    }

    /// The text without the server, and without the object of servers if there is no other.
    pub(crate) fn uninstall(self, text: &str) -> Result<String, ConfigFault> {
        if !matches!(self.server(text)?, Server::Ours(_)) {
            return Ok(text.to_owned());
        }
        let path = [PathStep::Member(self.servers), PathStep::Member(SERVER)];
        let is_alone = size(&json::read(text)?[self.servers]) == 1;
        json::remove(text, if is_alone { &path[..1] } else { &path })
    }

    /// Which server there is.
    pub(crate) fn server(self, text: &str) -> Result<Server, ConfigFault> {
        let value = json::read(text)?;
        let entry = &value[self.servers][SERVER];
        if entry.is_null() && value[self.servers].get(SERVER).is_none() {
            return Ok(Server::Missing);
        }
        let entry = self.inside.map_or(entry, |inside| &entry[inside]);
        let command = &entry["command"];
        let (called, argument): (&Value, &Value) =
            if self.is_one_list { (&command[0], &command[1]) } else { (command, &entry["args"][0]) };
        let called = called.as_str().filter(|called| is_ours(called, argument.as_str()));
        Ok(called.map_or(Server::Foreign, |called| Server::Ours(called.to_owned())))
    }

    fn entry(self, program: &str) -> New<'_> {
        let kind = self.kind.map(|kind| ("type", New::Text(kind)));
        let mut members: Vec<(&str, New<'_>)> = kind.into_iter().collect();
        if self.is_one_list {
            members.push(("command", New::List(vec![New::Text(program), New::Text(STDIO)])));
        } else {
            members.push(("command", New::Text(program)));
            members.push(("args", New::List(vec![New::Text(STDIO)])));
        }
        members.extend(self.lists_tools.then_some(("tools", New::List(vec![New::Text("*")]))));
        let entry = New::Object(members);
        self.inside.map_or(entry.clone(), |inside| New::Object(vec![(inside, entry)]))
    }
}

/// Whether a server that runs `program` with this first argument is ours.
pub(crate) fn is_ours(program: &str, argument: Option<&str>) -> bool {
    is_our_program(program) && argument == Some(STDIO)
}

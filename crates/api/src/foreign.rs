//! What clients of other servers send, which no list of tools shows: a row for each argument and each tool.
//!
//! What can be done is done; what cannot is named in the `warnings` of the answer and changes nothing else. An argument that
//! is in no row is refused.

use mcp::Foreign;
use mcp::Param;
use mcp::ParamKind::{Flag, Names, Text};
use mcp::Treatment::{Ignored, Means, Parameter};

use crate::params::PROJECT;

/// The arguments.
pub const FOREIGN: &[Foreign] = &[
    Foreign { tools: &[], name: "human_key", treatment: Means(PROJECT.name) },
    Foreign { tools: &["fetch_inbox"], name: "since_ts", treatment: Parameter },
    Foreign { tools: &["macro_start_session"], name: "inbox_limit", treatment: Parameter },
    Foreign { tools: &["macro_start_session"], name: "file_reservation_paths", treatment: Means("reserve_paths") },
    Foreign {
        tools: &["release_file_reservations", "renew_file_reservations"],
        name: "file_reservation_ids",
        treatment: Parameter,
    },
    Foreign { tools: &["renew_file_reservations"], name: "extend_seconds", treatment: Parameter },
    Foreign { tools: &["send_message", "reply_message"], name: "sender_token", treatment: Means("registration_token") },
    Foreign {
        tools: &["send_message", "reply_message"],
        name: "attachment_paths",
        treatment: Ignored(Names, "a message carries text alone, so name the files in its body"),
    },
    Foreign { tools: &["summarize_thread"], name: "include_examples", treatment: Parameter },
    Foreign {
        tools: &["summarize_thread"],
        name: "llm_mode",
        treatment: Ignored(Flag, "a thread is summed up without a model"),
    },
];

/// A tool that clients of other servers call, and for which there is nothing to do here.
#[derive(Clone, Copy, Debug)]
pub struct ForeignTool {
    /// The name that they call.
    pub name: &'static str,
    /// What they give.
    pub params: &'static [Param],
    /// What they are answered, as JSON.
    pub answer: &'static str,
}

/// The tools.
pub const FOREIGN_TOOLS: &[ForeignTool] = &[ForeignTool {
    name: "macro_contact_handshake",
    params: &[
        PROJECT,
        Param::required("requester", Text, ""),
        Param::required("target", Text, ""),
        Param::optional("auto_accept", Flag, ""),
        Param::optional("requester_registration_token", Text, ""),
        Param::optional("target_registration_token", Text, ""),
    ],
    answer: r#"{"status":"approved","approval_required":false,"message":"No approval is needed here: send_message reaches every registered agent of the project."}"#,
}];

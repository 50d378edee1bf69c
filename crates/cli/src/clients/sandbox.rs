//! The sandboxes that clients put their shells into: how one is known from inside, and what lets the mail through.
//!
//! Which setting works was seen with the clients themselves. Other settings say the same and do nothing on Linux, or open more.

use serde_json::Value;

/// The sandbox of a client's shells.
#[derive(Debug)]
pub(crate) struct Sandbox {
    /// Environment variables that only a shell inside has.
    pub inside: &'static [&'static str],
    /// Environment variables that each shell of the client has.
    pub shell: &'static [&'static str],
    /// The file of the client's settings that speaks of it, as its path below the user's home.
    pub settings: &'static str,
    /// Whether the client's settings, with what it does by default, put its shells into a sandbox that keeps them from the mail.
    pub keeps_out: fn(&Value) -> bool,
    /// Whether the client's settings turn on a sandbox with which it does not start while hooks or MCP servers are in them.
    pub excludes_us: fn(&Value) -> bool,
    /// What lets the mail through.
    pub opening: Opening,
}

/// What lets the mail through a sandbox.
#[derive(Debug)]
pub(crate) enum Opening {
    /// Nothing does, or it is not known.
    Unknown,
    /// The socket of a server that runs: it needs no setting.
    Socket,
    /// The home folder of the mail in a list of folders that shells may write to.
    WritableHome {
        /// Where the list is in the settings.
        list: &'static [&'static str],
        /// Where the list is of what stays closed in such a folder; empty where there is none.
        closed: &'static [&'static str],
        /// Whether the client knows `~`.
        knows_tilde: bool,
    },
}

impl Sandbox {
    /// No sandbox, or none that is known.
    pub(crate) const NONE: Self = Self {
        inside: &[],
        shell: &[],
        settings: "",
        keeps_out: |_| false,
        excludes_us: |_| false,
        opening: Opening::Unknown,
    };

    /// Codex: on by default. With permission profiles, or a mode in which nothing may be written, the list has no effect.
    pub(crate) const CODEX: Self = Self {
        inside: &["CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"],
        shell: &["CODEX_THREAD_ID"],
        settings: ".codex/config.toml",
        keeps_out: |settings| {
            let is_usual = settings["sandbox_mode"].as_str().is_none_or(|mode| mode == "workspace-write");
            let has_network = settings["sandbox_workspace_write"]["network_access"] == true;
            is_usual && !has_network && settings.get("default_permissions").is_none()
        },
        excludes_us: |_| false,
        opening: Opening::WritableHome {
            list: &["sandbox_workspace_write", "writable_roots"],
            closed: &[],
            knows_tilde: false,
        },
    };

    /// Claude Code: off by default. The socket would need all sockets of the machine to be opened.
    pub(crate) const CLAUDE: Self = Self {
        inside: &[],
        shell: &["CLAUDE_CODE_SESSION_ID"],
        settings: ".claude/settings.json",
        keeps_out: |settings| {
            let sandbox = &settings["sandbox"];
            sandbox["enabled"] == true && sandbox["network"]["allowAllUnixSockets"] != true
        },
        excludes_us: |_| false,
        opening: Opening::WritableHome {
            list: &["sandbox", "filesystem", "allowWrite"],
            closed: &["sandbox", "filesystem", "denyWrite"],
            knows_tilde: true,
        },
    };

    /// Gemini CLI: off by default.
    pub(crate) const GEMINI: Self = Self {
        inside: &[],
        shell: &["GEMINI_CLI"],
        settings: ".gemini/settings.json",
        keeps_out: |settings| settings["security"]["toolSandboxing"] == true,
        excludes_us: |_| false,
        opening: Opening::Socket,
    };

    /// Qwen Code: off by default. Where it is on, nothing but a shell works.
    pub(crate) const QWEN: Self = Self {
        inside: &[],
        shell: &["QWEN_CODE_SESSION_ID"],
        settings: ".qwen/settings.json",
        keeps_out: |settings| settings["tools"]["executionSandbox"]["network"] == "closed",
        excludes_us: |settings| settings["tools"]["executionSandbox"].is_object(),
        opening: Opening::Socket,
    };

    /// What a person is told to write where, for a home folder.
    pub(crate) fn setting(&self, home: &str) -> Option<String> {
        let Opening::WritableHome { list, .. } = &self.opening else { return None };
        Some(format!("\"{home}\" in `{}` of ~/{}", list.join("."), self.settings))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_sandbox_of_codex_keeps_the_mail_out_unless_the_settings_open_it_or_know_another() {
        let keeps_out = Sandbox::CODEX.keeps_out;
        assert!(keeps_out(&json!({})) && keeps_out(&json!({ "sandbox_mode": "workspace-write" })));
        for opened in [
            json!({ "sandbox_mode": "danger-full-access" }),
            json!({ "sandbox_mode": "read-only" }),
            json!({ "sandbox_workspace_write": { "network_access": true } }),
            json!({ "default_permissions": "mine" }),
        ] {
            assert!(!keeps_out(&opened), "{opened}");
        }
    }

    #[test]
    fn the_sandboxes_of_the_others_are_there_when_the_settings_say_so() {
        let enabled = json!({ "sandbox": { "enabled": true } });
        assert!((Sandbox::CLAUDE.keeps_out)(&enabled) && !(Sandbox::CLAUDE.keeps_out)(&json!({})));
        let open = json!({ "sandbox": { "enabled": true, "network": { "allowAllUnixSockets": true } } });
        assert!(!(Sandbox::CLAUDE.keeps_out)(&open));
        assert!((Sandbox::GEMINI.keeps_out)(&json!({ "security": { "toolSandboxing": true } })));
        assert!(!(Sandbox::GEMINI.keeps_out)(&json!({ "security": { "toolSandboxing": false } })));
        let qwen = |network: &str| json!({ "tools": { "executionSandbox": { "network": network } } });
        assert!((Sandbox::QWEN.keeps_out)(&qwen("closed")) && !(Sandbox::QWEN.keeps_out)(&qwen("open")));
        assert!(!(Sandbox::NONE.keeps_out)(&qwen("closed")));
    }
}

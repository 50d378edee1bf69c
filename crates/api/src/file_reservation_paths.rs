//! Reserves files before they are edited.

use std::time::Duration;

use mail::office::ReserveRequest;
use mail::reservations::DEFAULT_TTL_SECONDS;

use crate::prelude::*;

declare! {
    /// Reserves all of the paths, or none.
    FileReservationPaths(
        "file_reservation_paths",
        REPEATABLE,
        "Reserve files before editing them: all of the paths or none. Conflicts name the holders."
    ) {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        /// Globs, relative to the project.
        paths: Vec<String> =
            Param::required("paths", Names, "Globs relative to the project, e.g. src/**")
                .mistaken_for(&["path", "patterns", "files", "globs"]);
        ttl_seconds: Option<i64> =
            Param::optional("ttl_seconds", TTL, "Default 600").mistaken_for(&["ttl", "duration", "duration_seconds"]);
        exclusive: Option<bool> = Param::optional("exclusive", Flag, "Keep others out; default false");
        reason: Option<String> = Param::optional("reason", Text, "").rare();
        /// How long to wait when others hold them.
        wait_seconds: Option<i64> =
            Param::optional("wait_seconds", Number { min: 0, max: LONGEST_WAIT }, "Stand in line when taken")
                .mistaken_for(&["timeout_seconds", "wait", "timeout"]);
        registration_token: Option<String> = TOKEN;
    }

    /// What was granted. A conflict grants nothing and is a refusal that lists the conflicts.
    GrantedAnswer {
        /// One reservation for each path.
        granted: Vec<ReservationAnswer>,
        /// Always empty here.
        conflicts: [(); 0],
    }
}

impl Verb for FileReservationPaths {
    type Answer = GrantedAnswer;

    async fn run(self, office: &Office) -> Result<GrantedAnswer, Error> {
        let request = ReserveRequest {
            project_key: &self.project_key,
            agent: claim(&self.agent_name, self.registration_token.as_deref()),
            paths: &self.paths,
            ttl_seconds: self.ttl_seconds.unwrap_or(DEFAULT_TTL_SECONDS),
            exclusive: self.exclusive.unwrap_or(false),
            reason: self.reason.as_deref().unwrap_or_default(),
            wait: Duration::from_secs(self.wait_seconds.unwrap_or(0).max(0) as u64),
        };
        let granted = office.reserve(request).await?;
        Ok(GrantedAnswer { granted: granted.into_iter().map(ReservationAnswer::new).collect(), conflicts: [] })
    }
}

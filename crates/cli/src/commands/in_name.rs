//! Requests that are made in an agent's name.

use api::{
    AcknowledgeMessage, Actor, FetchInbox, FileReservationPaths, Leave, LeaveLine, MarkMessageRead, PostToChannel,
    ReadOutbox, ReleaseFileReservations, ReleaseRole, ReplyMessage, RevokeTokens, SendMail, SendMessage, SetPresence,
    StandInLine, TakeRole, WaitForMail,
};

/// A request that says who makes it, and in which project.
pub(super) trait InName {
    /// The same request, made by `actor`.
    fn by(self, actor: Actor) -> Self;
}

macro_rules! in_name {
    ($name:ident: $($request:ident),+) => {$(
        impl InName for $request {
            fn by(mut self, actor: Actor) -> Self {
                self.project_key = actor.project_key;
                self.$name = actor.agent_name;
                self.registration_token = actor.registration_token;
                self
            }
        }
    )+};
}

in_name!(
    agent_name: AcknowledgeMessage, FetchInbox, Leave, MarkMessageRead, ReadOutbox, ReleaseRole, SetPresence,
    TakeRole, WaitForMail
);
in_name!(agent_name: FileReservationPaths, LeaveLine, ReleaseFileReservations, RevokeTokens, StandInLine);
in_name!(sender_name: PostToChannel, ReplyMessage, SendMail, SendMessage);

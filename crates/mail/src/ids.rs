//! The numbers by which the store knows things.
//!
//! They are made by the store alone, and only here do they differ in type, so that a message's number cannot be handed
//! to a call that wants an agent's. What people and agents see are names; of the numbers only a message's goes outside.

use std::fmt;

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

id! {
    /// A project.
    ProjectId,
    /// An agent of one project.
    AgentId,
    /// A message. Ids rise in the order of commits, over all projects.
    MessageId,
    /// A reservation on a pattern of files.
    ReservationId,
    /// A place in the line for reservations that others hold.
    TicketId,
}

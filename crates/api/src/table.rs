//! The table of all verbs: to whom each is offered, in the order in which agents are shown them.

use super::*;

/// To whom a verb is offered. Every verb can be called by whoever knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// In every list of tools.
    Lean,
    /// In the full list.
    Full,
    /// In no list, so that it costs agents no context: for our own programs.
    Unlisted,
}

/// Somebody who goes through the table, such as a door that makes a tool of each verb.
pub trait Visitor {
    /// Is told of one verb.
    fn verb<V: Verb>(&mut self, offered: Offered);
}

/// Names that earlier versions of our own programs call. A server refuses them, and says that the caller is older than it is.
pub const RETIRED: &[&str] = &["channel", "mailbox", "presence", "watch"];

/// Shows the whole table to a visitor.
pub fn visit_all(visitor: &mut impl Visitor) {
    use Offered::{Full, Lean, Unlisted};
    visitor.verb::<HealthCheck>(Full);
    visitor.verb::<EnsureProject>(Full);
    visitor.verb::<RegisterAgent>(Full);
    visitor.verb::<Whois>(Full);
    visitor.verb::<SendMessage>(Lean);
    visitor.verb::<ReplyMessage>(Lean);
    visitor.verb::<FetchInbox>(Lean);
    visitor.verb::<WaitForMail>(Lean);
    visitor.verb::<MarkMessageRead>(Full);
    visitor.verb::<AcknowledgeMessage>(Lean);
    visitor.verb::<SearchMessages>(Lean);
    visitor.verb::<SummarizeThread>(Full);
    visitor.verb::<FileReservationPaths>(Lean);
    visitor.verb::<ReleaseFileReservations>(Lean);
    visitor.verb::<RenewFileReservations>(Full);
    visitor.verb::<MacroStartSession>(Lean);
    visitor.verb::<MacroPrepareThread>(Full);
    visitor.verb::<BeginWatch>(Unlisted);
    visitor.verb::<CountDeliveries>(Unlisted);
    visitor.verb::<CountHops>(Unlisted);
    visitor.verb::<DeliverMessage>(Unlisted);
    visitor.verb::<EndSession>(Unlisted);
    visitor.verb::<EndWatch>(Unlisted);
    visitor.verb::<FindConflicts>(Unlisted);
    visitor.verb::<FinishRun>(Unlisted);
    visitor.verb::<HoldWatch>(Unlisted);
    visitor.verb::<Leave>(Unlisted);
    visitor.verb::<ListAgents>(Unlisted);
    visitor.verb::<ListChannels>(Unlisted);
    visitor.verb::<ListDeliveries>(Unlisted);
    visitor.verb::<ListProjects>(Unlisted);
    visitor.verb::<ListReservations>(Unlisted);
    visitor.verb::<ListRuns>(Unlisted);
    visitor.verb::<ListThreadDeliveries>(Unlisted);
    visitor.verb::<ListWork>(Unlisted);
    visitor.verb::<MarkDelivery>(Unlisted);
    visitor.verb::<PostToChannel>(Unlisted);
    visitor.verb::<ReadChannel>(Unlisted);
    visitor.verb::<ReadDelivery>(Unlisted);
    visitor.verb::<ReadMessage>(Unlisted);
    visitor.verb::<ReadOutbox>(Unlisted);
    visitor.verb::<ReadThread>(Unlisted);
    visitor.verb::<ReadWork>(Unlisted);
    visitor.verb::<RetryRuns>(Unlisted);
    visitor.verb::<SetPresence>(Unlisted);
    visitor.verb::<TakeMessage>(Unlisted);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    struct Declarations;

    impl Visitor for Declarations {
        fn verb<V: Verb>(&mut self, _: Offered) {
            let empty: V = serde_json::from_str("{}").expect("every field has a default");
            let request = serde_json::to_value(empty).expect("a request is JSON");
            let fields: BTreeSet<&str> = request.as_object().into_iter().flatten().map(|(name, _)| &**name).collect();
            let params: BTreeSet<&str> = V::PARAMS.iter().map(|param| param.name).collect();
            assert_eq!(fields, params, "{}", V::NAME);
        }
    }

    #[test]
    fn the_fields_of_a_request_are_its_parameters() {
        visit_all(&mut Declarations);
    }
}

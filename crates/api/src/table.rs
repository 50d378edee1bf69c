//! What a row of the table of verbs becomes. The rows stand in `lib.rs`, beside the modules.

use crate::Ask;

/// To whom a verb is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// In every list of tools.
    Lean,
    /// In the full list.
    Full,
    /// In no list, so that it costs agents no context: for our own programs.
    Unlisted,
    /// To people at the page, and to no program: it is no tool.
    People,
}

/// Somebody who goes through the table, such as a door that makes a tool of each verb.
pub trait Visitor {
    /// Is told of one verb.
    fn verb<V: Ask>(&mut self, offered: Offered);
}

/// Names that earlier versions of our own programs call. A server refuses them, and says that the caller is older than it is.
pub const RETIRED: &[&str] = &["channel", "mailbox", "presence", "watch"];

/// One row a verb: its file, its request, and to whom it is offered.
macro_rules! verbs {
    ($($file:ident::$request:ident $offered:ident,)*) => {
        $(
            pub use crate::$file::*;

            impl Ask for $request {
                fn ask(self, office: &Office) -> Answering<'_, Self::Answer> {
                    Box::pin(self.run(office))
                }
            }
        )*

        /// Shows the whole table to a visitor.
        pub fn visit_all(visitor: &mut impl Visitor) {
            $(visitor.verb::<$request>(Offered::$offered);)*
        }
    };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mcp::{Param, ParamKind};
    use serde_json::Value;

    use super::*;
    use crate::visit_all;

    struct Declarations;

    impl Visitor for Declarations {
        fn verb<V: Ask>(&mut self, _: Offered) {
            let empty = V::read(mcp::Arguments::new()).expect("every field has a default");
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

    /// What is in no list, of each verb.
    #[derive(Default)]
    struct Unlisted(BTreeSet<(&'static str, &'static str)>);

    impl Visitor for Unlisted {
        fn verb<V: Ask>(&mut self, _: Offered) {
            self.0.extend(V::PARAMS.iter().filter(|param| !param.listed).map(|param| (V::NAME, param.name)));
        }
    }

    #[test]
    fn a_parameter_that_is_in_no_list_is_in_the_table_of_foreign_arguments() {
        let mut unlisted = Unlisted::default();
        visit_all(&mut unlisted);
        let rows = crate::FOREIGN.iter().filter(|row| matches!(row.treatment, mcp::Treatment::Parameter));
        let rows: BTreeSet<_> = rows.flat_map(|row| row.tools.iter().map(|tool| (*tool, row.name))).collect();
        assert_eq!(unlisted.0, rows);
    }

    /// Every parameter given, in the form that checked arguments have.
    struct Given;

    impl Visitor for Given {
        fn verb<V: Ask>(&mut self, _: Offered) {
            let value = |param: &Param| match param.kind {
                ParamKind::Text if param.name == "since" && V::NAME == "begin_watch" => {
                    "2026-01-11T16:33:15.000000Z".into()
                }
                ParamKind::Text => "text".into(),
                ParamKind::Flag => true.into(),
                ParamKind::Number { max, .. } => max.min(1000).into(),
                ParamKind::Id => 17.into(),
                ParamKind::Names => vec!["a", "b"].into(),
                ParamKind::Ids => vec![1, 2].into(),
                ParamKind::Choice(choices) => choices[choices.len() - 1].into(),
            };
            let given: mcp::Arguments = V::PARAMS.iter().map(|param| (param.name.to_owned(), value(param))).collect();
            let request = V::read(given.clone()).unwrap_or_else(|refusal| panic!("{}: {}", V::NAME, refusal.message));
            assert_eq!(serde_json::to_value(request).expect("a request is JSON"), Value::Object(given), "{}", V::NAME);
        }
    }

    #[test]
    fn a_request_has_what_was_given() {
        visit_all(&mut Given);
    }
}

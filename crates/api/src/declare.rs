//! How a verb declares its request and its answers: each field is written once, with where its value comes from.

/// Declares requests and answers, one after the other.
///
/// - `SendMessage("send_message", WRITES, "Send a message.") { to: Vec<String> = TO; }` is a request: the name it is called
///   by, what it does to the world, what a model reads of it, and each field with its parameter. A flattened field has
///   several.
/// - `Actor { agent_name: String = AGENT; }` is a part that requests have in common.
/// - `SentAnswer { count: usize, bcc[if_any]: Vec<String>, }` is an answer. What is marked `[if_any]` is left out when it
///   is empty.
/// - `SentAnswer::new(sent: Sent) { count: usize = sent.count, }` is an answer that is made of something else.
macro_rules! declare {
    () => {};
    (
        $(#[$meta:meta])*
        $request:ident($name:literal, $hints:ident, $about:literal) {
            $($(#[$field_meta:meta])* $field:ident: $type:ty = $($param:expr),+;)*
        }
        $($rest:tt)*
    ) => {
        declare! { $(#[$meta])* $request { $($(#[$field_meta])* $field: $type = $($param),+;)* } }
        impl $crate::VerbRequest for $request {
            const NAME: &'static str = $name;
            const ABOUT: &'static str = $about;
            const PARAMS: &'static [mcp::Param] = &[$($($param),+),*];
            const HINTS: mcp::Hints = mcp::Hints::$hints;
        }
        declare! { $($rest)* }
    };
    (
        $(#[$meta:meta])*
        $part:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty = $($param:expr),+;)* }
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, serde::Serialize)]
        pub struct $part {
            $($(#[$field_meta])* pub $field: $type,)*
        }
        impl $crate::params::RequestField for $part {
            #[allow(unused_variables, reason = "a request may have no fields")]
            fn take(arguments: &mut mcp::Arguments, _: &str) -> Result<Self, mcp::Refusal> {
                Ok(Self { $($field: $crate::params::RequestField::take(arguments, const { [$($param.name),+][0] })?,)* })
            }
        }
        declare! { $($rest)* }
    };
    (
        $(#[$meta:meta])*
        $answer:ident { $($(#[$field_meta:meta])* $field:ident $([$if_any:ident])?: $type:ty,)* }
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub struct $answer {
            $(
                $(#[$field_meta])*
                // The second attribute is never there; it ties the first to the mark.
                $(#[serde(default, skip_serializing_if = "crate::declare::is_empty")] #[cfg_attr(any(), $if_any)])?
                pub $field: $type,
            )*
        }
        // A mark of another name does not compile.
        $($(const _: () = $crate::declare::$if_any();)?)*
        declare! { $($rest)* }
    };
    (
        $(#[$meta:meta])*
        $answer:ident::new($($from:ident: $from_type:ty),+) {
            $($(#[$field_meta:meta])* $field:ident $([$if_any:ident])?: $type:ty = $value:expr,)*
        }
        $($rest:tt)*
    ) => {
        declare! { $(#[$meta])* $answer { $($(#[$field_meta])* $field $([$if_any])?: $type,)* } }
        impl $answer {
            pub fn new($($from: $from_type),+) -> Self {
                Self { $($field: $value,)* }
            }
        }
        declare! { $($rest)* }
    };
}

/// The one mark that a field may have.
pub(crate) const fn if_any() {}

/// Whether a field says nothing: no text, an empty list, not so.
pub(crate) fn is_empty<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

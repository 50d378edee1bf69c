//! What a tool takes and what it may do, declared once as constants.
//!
//! A declaration is both the schema that clients are shown and the rule that `arguments` checks.
//! There is no general JSON Schema here: seven kinds are enough, and models get them right.

use std::fmt::Write;

use crate::wire::{push_list, push_member, push_text};

/// One named argument of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// The name that callers use.
    pub name: &'static str,
    /// What a value must look like.
    pub kind: ParamKind,
    /// Whether a call without it is refused.
    pub required: bool,
    /// What it means, for the model. Empty when the name says it all, since every agent pays for it.
    pub about: &'static str,
    /// Other words that callers try instead of the name. They are never accepted, only explained.
    pub mistaken_for: &'static [&'static str],
    /// Whether a list that has to be short may leave it out. It is accepted all the same.
    pub rare: bool,
    /// Whether any list shows it. What is in no list is for callers who know it from elsewhere.
    pub listed: bool,
}

/// What the value of an argument must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    /// A string.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number within the range, ends included.
    Number {
        /// The least value.
        min: i64,
        /// The greatest value.
        max: i64,
    },
    /// A list of strings. One bare string is taken as a list of one.
    Names,
    /// A whole number, or a string of digits.
    Id,
    /// A list of these. One alone is taken as a list of one.
    Ids,
    /// One of these strings.
    Choice(&'static [&'static str]),
}

impl Param {
    /// An argument that every call must give.
    pub const fn required(name: &'static str, kind: ParamKind, about: &'static str) -> Param {
        Param { name, kind, required: true, about, mistaken_for: &[], rare: false, listed: true }
    }

    /// An argument that a call may leave out or give as `null`.
    pub const fn optional(name: &'static str, kind: ParamKind, about: &'static str) -> Param {
        Param { name, kind, required: false, about, mistaken_for: &[], rare: false, listed: true }
    }

    /// Says that few callers need it.
    pub const fn rare(mut self) -> Param {
        self.rare = true;
        self
    }

    /// Leaves it out of every list.
    pub const fn unlisted(mut self) -> Param {
        self.listed = false;
        self
    }

    /// Names the words that callers try instead, so that a refusal can point here.
    pub const fn mistaken_for(mut self, words: &'static [&'static str]) -> Param {
        self.mistaken_for = words;
        self
    }
}

/// What a tool does to the world, as clients are told before they ask their user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// Calling it again with the same arguments changes nothing more.
    pub idempotent: bool,
    /// It may destroy something.
    pub destructive: bool,
}

impl Hints {
    /// Looks and changes nothing.
    pub const READS: Hints = Hints { read_only: true, idempotent: true, destructive: false };
    /// Adds something with every call.
    pub const WRITES: Hints = Hints { read_only: false, idempotent: false, destructive: false };
    /// Changes something, and the same call again changes no more.
    pub const REPEATABLE: Hints = Hints { read_only: false, idempotent: true, destructive: false };

    /// Renders the annotations, all of them: what a client assumes of a tool that does not say is the worst.
    pub(crate) fn push_annotations(self, json: &mut String) {
        let Hints { read_only, idempotent, destructive } = self;
        let _ = write!(
            json,
            r#"{{"readOnlyHint":{read_only},"idempotentHint":{idempotent},"destructiveHint":{destructive}}}"#
        );
    }
}

/// Renders the input schema of a tool that takes `params`, of which those are shown that `shown` says.
pub(crate) fn push_schema(json: &mut String, params: &[Param], shown: &dyn Fn(&Param) -> bool) {
    json.push_str("{\"type\":\"object\",\"properties\":{");
    for (at, param) in params.iter().filter(|param| param.listed && shown(param)).enumerate() {
        if at > 0 {
            json.push(',');
        }
        push_text(json, param.name);
        json.push(':');
        push_property(json, param);
    }
    json.push('}');
    let required: Vec<&str> = params.iter().filter(|param| param.required).map(|param| param.name).collect();
    if !required.is_empty() {
        json.push_str(",\"required\":");
        push_list(json, required, push_text);
    }
    json.push('}');
}

fn push_property(json: &mut String, param: &Param) {
    match param.kind {
        ParamKind::Text => json.push_str("{\"type\":\"string\""),
        ParamKind::Flag => json.push_str("{\"type\":\"boolean\""),
        ParamKind::Names => json.push_str("{\"type\":\"array\",\"items\":{\"type\":\"string\"}"),
        // Digits in a string are taken too, but some clients cannot read a list of types.
        ParamKind::Id => json.push_str("{\"type\":\"integer\""),
        ParamKind::Ids => json.push_str("{\"type\":\"array\",\"items\":{\"type\":\"integer\"}"),
        ParamKind::Number { min, max } => {
            json.push_str("{\"type\":\"integer\"");
            if min != i64::MIN {
                let _ = write!(json, ",\"minimum\":{min}");
            }
            if max != i64::MAX {
                let _ = write!(json, ",\"maximum\":{max}");
            }
        }
        ParamKind::Choice(choices) => {
            json.push_str("{\"type\":\"string\",\"enum\":");
            push_list(json, choices, |json, choice| push_text(json, choice));
        }
    }
    if !param.about.is_empty() {
        push_member(json, ",\"description\":", param.about);
    }
    json.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(params: &[Param]) -> String {
        let mut json = String::new();
        push_schema(&mut json, params, &|_| true);
        json
    }

    fn annotations(hints: Hints) -> String {
        let mut json = String::new();
        hints.push_annotations(&mut json);
        json
    }

    #[test]
    fn a_tool_without_parameters_has_the_smallest_schema() {
        assert_eq!(schema(&[]), r#"{"type":"object","properties":{}}"#);
    }

    #[test]
    fn each_kind_has_one_plain_type() {
        let params = [
            Param::required("a", ParamKind::Text, "Say \"what\"."),
            Param::optional("b", ParamKind::Flag, ""),
            Param::optional("c", ParamKind::Number { min: 1, max: 9 }, ""),
            Param::optional("d", ParamKind::Number { min: i64::MIN, max: i64::MAX }, ""),
            Param::required("e", ParamKind::Names, ""),
            Param::optional("f", ParamKind::Id, ""),
            Param::optional("g", ParamKind::Choice(&["x", "y"]), ""),
        ];
        let expected = concat!(
            r#"{"type":"object","properties":{"#,
            r#""a":{"type":"string","description":"Say \"what\"."},"#,
            r#""b":{"type":"boolean"},"#,
            r#""c":{"type":"integer","minimum":1,"maximum":9},"#,
            r#""d":{"type":"integer"},"#,
            r#""e":{"type":"array","items":{"type":"string"}},"#,
            r#""f":{"type":"integer"},"#,
            r#""g":{"type":"string","enum":["x","y"]}},"#,
            r#""required":["a","e"]}"#,
        );
        assert_eq!(schema(&params), expected);
    }

    #[test]
    fn a_short_list_leaves_out_what_is_rare() {
        let params = [Param::required("a", ParamKind::Text, ""), Param::optional("b", ParamKind::Flag, "").rare()];
        let mut json = String::new();
        push_schema(&mut json, &params, &|param| !param.rare);
        assert_eq!(json, r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}"#);
    }

    #[test]
    fn no_list_shows_what_is_unlisted() {
        let params = [Param::optional("a", ParamKind::Ids, ""), Param::optional("b", ParamKind::Flag, "").unlisted()];
        let expected = r#"{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}}}"#;
        assert_eq!(schema(&params), expected);
    }

    #[test]
    fn annotations_say_all_three() {
        assert_eq!(
            annotations(Hints::REPEATABLE),
            r#"{"readOnlyHint":false,"idempotentHint":true,"destructiveHint":false}"#
        );
    }
}

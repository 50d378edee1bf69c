//! The arguments of one call, checked against what the tool declares before the tool runs.
//!
//! A handler therefore never sees a missing, misspelt or misshapen argument. What a value *means*
//! (does this agent exist?) is the handler's business and is not asked here.

mod request;

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::nearest::nearest;
use crate::outcome::Refusal;
use crate::params::{Param, ParamKind};
use crate::wire::quoted;

/// The code of every refusal made here.
pub const INVALID_ARGUMENT: &str = "INVALID_ARGUMENT";

/// Checked arguments, which become a request.
#[derive(Debug, Clone)]
pub struct Arguments {
    params: &'static [Param],
    /// One place for each of `params`; empty where nothing was given.
    given: Vec<Option<Given>>,
}

#[derive(Debug, Clone, PartialEq)]
enum Given {
    Text(String),
    Flag(bool),
    Number(i64),
    Names(Vec<String>),
}

impl Arguments {
    /// Reads a JSON object of arguments for a tool that takes `params`. `None` is an empty object.
    pub fn parse(params: &'static [Param], json: Option<&str>) -> Result<Arguments, Refusal> {
        let mut given = vec![None; params.len()];
        if let Some(json) = json {
            if !json.trim_start().starts_with('{') {
                return Err(invalid(format!("'arguments' must be an object, not {}.", described(json.trim_start()))));
            }
            read_members(params, json, &mut given)?;
        }
        let missing = params.iter().zip(&given).find(|(param, given)| param.required && given.is_none());
        if let Some((param, _)) = missing {
            return Err(
                invalid(format!("Argument '{}' is missing.", param.name)).hint(format!("Give {}.", wanted(param.kind)))
            );
        }
        Ok(Arguments { params, given })
    }
}

fn read_members(params: &'static [Param], json: &str, given: &mut [Option<Given>]) -> Result<(), Refusal> {
    let mut refusal = None;
    let mut reader = serde_json::Deserializer::from_str(json);
    let members = Members { params, given, refusal: &mut refusal };
    let read = reader.deserialize_map(members).and_then(|()| reader.end());
    match (refusal, read) {
        (Some(refusal), _) => Err(refusal),
        (None, Err(error)) => Err(invalid(format!("'arguments' cannot be read: {error}."))),
        (None, Ok(())) => Ok(()),
    }
}

/// Reads the members one by one and stops at the first that is wrong.
struct Members<'m> {
    params: &'static [Param],
    given: &'m mut [Option<Given>],
    refusal: &'m mut Option<Refusal>,
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = members.next_key::<Name<'de>>()? {
            let Some(at) = self.params.iter().position(|param| param.name == name) else {
                *self.refusal = Some(unknown(&name, self.params));
                members.next_value::<IgnoredAny>()?;
                return Err(A::Error::custom("an unknown argument"));
            };
            match check(&self.params[at], members.next_value::<&RawValue>()?) {
                Ok(value) => self.given[at] = value,
                Err(refusal) => {
                    *self.refusal = Some(refusal);
                    return Err(A::Error::custom("an argument of the wrong shape"));
                }
            }
        }
        Ok(())
    }
}

/// A member's name, borrowed from the text when it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Name<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Cow<'de, str>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a name")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }
        deserializer.deserialize_str(Text).map(Name)
    }
}

/// Reads one value by its kind. `null` counts as not given.
fn check(param: &Param, raw: &RawValue) -> Result<Option<Given>, Refusal> {
    let json = raw.get();
    if json == "null" {
        return Ok(None);
    }
    let value = match param.kind {
        ParamKind::Text => serde_json::from_str(json).ok().map(Given::Text),
        ParamKind::Flag => serde_json::from_str(json).ok().map(Given::Flag),
        ParamKind::Names => names(param, json)?.map(Given::Names),
        ParamKind::Id => id(json).map(Given::Number),
        ParamKind::Number { min, max } => match whole(json) {
            Some(number) if number < min || number > max => {
                let range = format!("Argument '{}' is {number}, which is not from {min} to {max}.", param.name);
                return Err(invalid(range));
            }
            number => number.map(Given::Number),
        },
        ParamKind::Choice(choices) => match serde_json::from_str::<String>(json) {
            Ok(choice) if !choices.contains(&choice.as_str()) => return Err(no_choice(param, &choice, choices)),
            choice => choice.ok().map(Given::Text),
        },
    };
    match value {
        Some(value) => Ok(Some(value)),
        None => Err(misshapen(param, json)),
    }
}

fn names(param: &Param, json: &str) -> Result<Option<Vec<String>>, Refusal> {
    if json.starts_with('"') {
        return Ok(serde_json::from_str(json).ok().map(|name| vec![name]));
    }
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(json) else {
        return Ok(None);
    };
    let read = |(at, item): (usize, &&RawValue)| {
        serde_json::from_str::<String>(item.get()).map_err(|_| {
            let found = described(item.get());
            invalid(format!("Argument '{}' must be a list of strings, but item {} is {found}.", param.name, at + 1))
        })
    };
    items.iter().enumerate().map(read).collect::<Result<_, _>>().map(Some)
}

fn id(json: &str) -> Option<i64> {
    match json.strip_prefix('"') {
        Some(rest) => {
            let digits = rest.strip_suffix('"')?;
            // `parse` alone would also take a sign.
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
        }
        None => whole(json),
    }
}

/// A whole number, also when a client writes it as `20.0`.
fn whole(json: &str) -> Option<i64> {
    /// Beyond this a float no longer holds every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    serde_json::from_str(json).ok().or_else(|| {
        let number = serde_json::from_str::<f64>(json).ok()?;
        (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
    })
}

fn invalid(message: String) -> Refusal {
    Refusal::new(INVALID_ARGUMENT, message)
}

fn misshapen(param: &Param, json: &str) -> Refusal {
    invalid(format!("Argument '{}' must be {}, not {}.", param.name, wanted(param.kind), described(json)))
}

fn no_choice(param: &Param, choice: &str, choices: &'static [&'static str]) -> Refusal {
    let refusal = invalid(format!(
        "Argument '{}' is {}, which is not one of: {}.",
        param.name,
        quoted(choice),
        choices.join(", ")
    ));
    match nearest(choice, choices.iter().copied()) {
        Some(near) => refusal.hint(format!("Did you mean '{near}'?")),
        None => refusal,
    }
}

fn unknown(name: &str, params: &'static [Param]) -> Refusal {
    let refusal = invalid(format!("Unknown argument {}.", quoted(name)));
    let confused = params.iter().find(|param| param.mistaken_for.contains(&name)).map(|param| param.name);
    match confused.or_else(|| nearest(name, params.iter().map(|param| param.name))) {
        Some(near) => refusal.hint(format!("Did you mean '{near}'?")),
        None if params.is_empty() => refusal.hint("This tool takes no arguments."),
        None => {
            let names: Vec<&str> = params.iter().map(|param| param.name).collect();
            refusal.hint(format!("This tool takes: {}.", names.join(", ")))
        }
    }
}

fn wanted(kind: ParamKind) -> Cow<'static, str> {
    match kind {
        ParamKind::Text => "a string".into(),
        ParamKind::Flag => "true or false".into(),
        ParamKind::Names => "a list of strings".into(),
        ParamKind::Id => "a whole number or a string of digits".into(),
        ParamKind::Number { min: i64::MIN, .. } | ParamKind::Number { max: i64::MAX, .. } => "a whole number".into(),
        ParamKind::Number { min, max } => format!("a whole number from {min} to {max}").into(),
        ParamKind::Choice(choices) => format!("one of: {}", choices.join(", ")).into(),
    }
}

/// Says what a JSON text is, with its value when that is short.
fn described(json: &str) -> Cow<'static, str> {
    match json.as_bytes().first() {
        Some(b'{') => "an object".into(),
        Some(b'[') => "a list".into(),
        Some(b'"') => match serde_json::from_str::<String>(json) {
            Ok(text) => format!("the string {}", quoted(&text)).into(),
            Err(_) => "a string".into(),
        },
        Some(b't' | b'f' | b'n') => json.to_owned().into(),
        _ => format!("the number {}", quoted(json)).into(),
    }
}

#[cfg(test)]
mod tests;

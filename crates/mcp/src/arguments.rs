//! The arguments of one call, checked against what the tool declares before the tool runs.
//!
//! A handler therefore never sees a missing, misspelt or misshapen argument. What a value *means*
//! (does this agent exist?) is the handler's business and is not asked here.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer as _};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::nearest::nearest;
use crate::outcome::Refusal;
use crate::params::{Param, ParamKind};
use crate::wire::quoted;

/// The code of every refusal made here.
pub const INVALID_ARGUMENT: &str = "INVALID_ARGUMENT";

/// Checked arguments: a member for each parameter that was given, in the one form that its kind has.
pub type Arguments = Map<String, Value>;

/// Reads a JSON object of arguments for a tool that takes `params`. `None` is an empty object.
pub(crate) fn parse(params: &'static [Param], json: Option<&str>) -> Result<Arguments, Refusal> {
    let mut given = Map::new();
    if let Some(json) = json {
        if !json.trim_start().starts_with('{') {
            return Err(invalid(format!("'arguments' must be an object, not {}.", described(json.trim_start()))));
        }
        read_members(params, json, &mut given)?;
    }
    if let Some(missing) = params.iter().find(|param| param.required && !given.contains_key(param.name)) {
        let hint = format!("Give {}.", wanted(missing.kind));
        return Err(invalid(format!("Argument '{}' is missing.", missing.name)).hint(hint));
    }
    Ok(given)
}

fn read_members(params: &'static [Param], json: &str, given: &mut Arguments) -> Result<(), Refusal> {
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
    given: &'m mut Arguments,
    refusal: &'m mut Option<Refusal>,
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = members.next_key::<Name<'de>>()? {
            let Some(param) = self.params.iter().find(|param| param.name == name) else {
                *self.refusal = Some(unknown(&name, self.params));
                members.next_value::<IgnoredAny>()?;
                return Err(A::Error::custom("an unknown argument"));
            };
            match check(param, members.next_value::<&RawValue>()?) {
                Ok(Value::Null) => drop(self.given.remove(param.name)),
                Ok(value) => drop(self.given.insert(param.name.to_owned(), value)),
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
#[derive(Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads one value by its kind. `null` counts as not given.
fn check(param: &Param, raw: &RawValue) -> Result<Value, Refusal> {
    let json = raw.get();
    if json == "null" {
        return Ok(Value::Null);
    }
    let value = match param.kind {
        ParamKind::Text => serde_json::from_str(json).ok().map(Value::String),
        ParamKind::Flag => serde_json::from_str(json).ok().map(Value::Bool),
        ParamKind::Names => names(param, json)?,
        ParamKind::Id => id(json).map(Value::from),
        ParamKind::Number { min, max } => match whole(json) {
            Some(number) if number < min || number > max => {
                let range = format!("Argument '{}' is {number}, which is not from {min} to {max}.", param.name);
                return Err(invalid(range));
            }
            number => number.map(Value::from),
        },
        ParamKind::Choice(choices) => match serde_json::from_str::<String>(json) {
            Ok(choice) if !choices.contains(&choice.as_str()) => return Err(no_choice(param, &choice, choices)),
            choice => choice.ok().map(Value::String),
        },
    };
    let (name, wanted) = (param.name, wanted(param.kind));
    value.ok_or_else(|| invalid(format!("Argument '{name}' must be {wanted}, not {}.", described(json))))
}

fn names(param: &Param, json: &str) -> Result<Option<Value>, Refusal> {
    if json.starts_with('"') {
        return Ok(serde_json::from_str(json).ok().map(|name| Value::Array(vec![Value::String(name)])));
    }
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(json) else {
        return Ok(None);
    };
    let read = |(at, item): (usize, &&RawValue)| {
        serde_json::from_str(item.get()).map(Value::String).map_err(|_| {
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

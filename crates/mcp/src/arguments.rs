//! The arguments of one call, checked against what the tool declares before the tool runs.
//!
//! A handler therefore never sees a missing, misspelt or misshapen argument. What a value *means*
//! (does this agent exist?) is the handler's business and is not asked here.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer as _};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::foreign::{Foreign, Ignored, Treatment, asks};
use crate::nearest::nearest;
use crate::outcome::Refusal;
use crate::params::{Param, ParamKind};
use crate::wire::quoted;

/// The code of every refusal made here.
pub const INVALID_ARGUMENT: &str = "INVALID_ARGUMENT";

/// Checked arguments: a member for each parameter that was given, in the one form that its kind has.
pub type Arguments = Map<String, Value>;

/// What a tool takes.
#[derive(Clone, Copy)]
pub(crate) struct Takes<'t> {
    pub params: &'static [Param],
    /// What clients of other servers send to it.
    pub foreign: &'t [Foreign],
}

/// What was read of a call's arguments so far.
#[derive(Default)]
struct Given {
    arguments: Arguments,
    /// What came under another name: that name, what it means, and the value.
    meant: Vec<(&'static str, &'static str, Value)>,
    ignored: Vec<Ignored>,
}

/// Reads a JSON object of arguments for a tool. `None` is an empty object. Beside them comes what is not acted on.
pub(crate) fn parse(takes: Takes<'_>, json: Option<&str>) -> Result<(Arguments, Vec<Ignored>), Refusal> {
    let mut given = Given::default();
    if let Some(json) = json {
        if !json.trim_start().starts_with('{') {
            return Err(invalid(format!("'arguments' must be an object, not {}.", described(json.trim_start()))));
        }
        read_members(takes, json, &mut given)?;
    }
    let Given { mut arguments, meant, ignored } = given;
    for (name, meant, value) in meant {
        if *arguments.entry(meant).or_insert_with(|| value.clone()) != value {
            let differ = invalid(format!("Arguments '{name}' and '{meant}' mean the same and differ."));
            return Err(differ.hint(format!("Give '{meant}' alone.")));
        }
    }
    if let Some(missing) = takes.params.iter().find(|param| param.required && !arguments.contains_key(param.name)) {
        let hint = format!("Give {}.", wanted(missing.kind));
        return Err(invalid(format!("Argument '{}' is missing.", missing.name)).hint(hint));
    }
    Ok((arguments, ignored))
}

fn read_members(takes: Takes<'_>, json: &str, given: &mut Given) -> Result<(), Refusal> {
    let mut refusal = None;
    let mut reader = serde_json::Deserializer::from_str(json);
    let members = Members { takes, given, refusal: &mut refusal };
    let read = reader.deserialize_map(members).and_then(|()| reader.end());
    match (refusal, read) {
        (Some(refusal), _) => Err(refusal),
        (None, Err(error)) => Err(invalid(format!("'arguments' cannot be read: {error}."))),
        (None, Ok(())) => Ok(()),
    }
}

/// Reads the members one by one and stops at the first that is wrong.
struct Members<'m> {
    takes: Takes<'m>,
    given: &'m mut Given,
    refusal: &'m mut Option<Refusal>,
}

impl Members<'_> {
    /// Reads one member, under whichever name it came. `null` counts as not given.
    fn read(&mut self, name: &str, raw: &RawValue) -> Result<(), Refusal> {
        let params = self.takes.params;
        let of_name = |name: &str| params.iter().find(|param| param.name == name);
        if let Some(param) = of_name(name) {
            match check(param, raw)? {
                Value::Null => drop(self.given.arguments.remove(param.name)),
                value => drop(self.given.arguments.insert(param.name.to_owned(), value)),
            }
            return Ok(());
        }
        let Some(row) = self.takes.foreign.iter().find(|row| row.name == name) else {
            // What is null is not given, whatever it is called.
            return if raw.get() == "null" { Ok(()) } else { Err(unknown(name, params)) };
        };
        match row.treatment {
            Treatment::Ignored(kind, why) => {
                if asks(&check(&Param::optional(row.name, kind, ""), raw)?) {
                    self.given.ignored.push(Ignored { name: row.name, why });
                }
            }
            Treatment::Means(meant) => {
                let param = of_name(meant).ok_or_else(|| unknown(name, params))?;
                let value = check(&Param { name: row.name, ..*param }, raw)?;
                if !value.is_null() {
                    self.given.meant.push((row.name, meant, value));
                }
            }
            // It would have been found above.
            Treatment::Parameter => return Err(unknown(name, params)),
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = members.next_key::<Name<'de>>()? {
            if let Err(refusal) = self.read(&name, members.next_value::<&RawValue>()?) {
                *self.refusal = Some(refusal);
                return Err(A::Error::custom("an argument that is refused"));
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
        ParamKind::Flag => flag(json).map(Value::Bool),
        ParamKind::Names => list(param, json, |item| serde_json::from_str(item).ok().map(Value::String))?,
        ParamKind::Id => id(json).map(Value::from),
        ParamKind::Ids => list(param, json, |item| id(item).map(Value::from))?,
        ParamKind::Number { min, max } => match number(json) {
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

/// A list of what `read` takes, or one alone as a list of one. An item that is none of these is named by its place.
fn list(param: &Param, json: &str, read: impl Fn(&str) -> Option<Value>) -> Result<Option<Value>, Refusal> {
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(json) else {
        return Ok(read(json).map(|only| Value::Array(vec![only])));
    };
    let item = |(at, item): (usize, &&RawValue)| {
        read(item.get()).ok_or_else(|| {
            let (wanted, found) = (wanted(param.kind), described(item.get()));
            invalid(format!("Argument '{}' must be {wanted}, but item {} is {found}.", param.name, at + 1))
        })
    };
    items.iter().enumerate().map(item).collect::<Result<_, _>>().map(Some)
}

/// `true` or `false`, also as text in any case: that can mean only one thing.
fn flag(json: &str) -> Option<bool> {
    serde_json::from_str(json).ok().or_else(|| match text_of(json)?.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    })
}

/// A whole number, also as text.
fn number(json: &str) -> Option<i64> {
    whole(json).or_else(|| whole(&text_of(json)?))
}

/// The text of a JSON string, without white space around it.
fn text_of(json: &str) -> Option<String> {
    serde_json::from_str::<String>(json).ok().map(|text| text.trim().to_owned())
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
            let names: Vec<&str> = params.iter().filter(|param| param.listed).map(|param| param.name).collect();
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
        ParamKind::Ids => "a list of whole numbers".into(),
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
            Err(_) => "a string that is not Unicode".into(),
        },
        Some(b't' | b'f' | b'n') => json.to_owned().into(),
        _ => format!("the number {}", quoted(json)).into(),
    }
}

#[cfg(test)]
mod tests;

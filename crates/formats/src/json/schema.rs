//! The rules of a type as JSON Schema 2020-12, for whoever checks messages without us.
//!
//! Made from the same tables as the validator's verdict, so the two agree on every message. A schema stands alone: it
//! refers to no other document.

use serde_json::{Map, Value, json};

use super::VERSION;
use super::fields::{TYPE_NAME, Type, tables};
use super::form::Form;
use super::table::{Field, Shape};

/// The JSON Schema of a type of message.
pub fn schema(kind: Type) -> Value {
    let tables = tables(Some(kind));
    let mut schema = object_schema(&tables);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = kind.as_str().into();
    schema["description"] = format!("A {kind} message, format version {VERSION}.").into();
    // The table says which types there are; the schema of one type takes that one alone.
    schema["properties"][TYPE_NAME] = json!({ "const": kind.as_str() });
    schema
}

fn object_schema(tables: &[&[Field]]) -> Value {
    let fields = || tables.iter().copied().flatten();
    let properties: Map<String, Value> = fields().map(|field| (field.name.to_owned(), field_schema(field))).collect();
    let required: Vec<&str> = fields().filter(|field| field.rule.required).map(|field| field.name).collect();
    let agreements: Vec<Value> = fields().flat_map(agreements).collect();

    let parts = [("properties", properties.into()), ("required", required.into()), ("allOf", agreements.into())];
    let mut schema = json!({ "type": "object" });
    for (name, part) in parts.into_iter().filter(|(_, part)| ![json!({}), json!([])].contains(part)) {
        schema[name] = part;
    }
    schema
}

fn field_schema(field: &Field) -> Value {
    let mut schema = shape_schema(&field.rule.shape);
    if !field.rule.required {
        allow_null(&mut schema);
    }
    schema["description"] = field.about.trim().into();
    schema
}

fn shape_schema(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Name => json!({ "type": "string", "minLength": 1 }),
        Shape::Form(form @ (Form::Time | Form::ZonedTime)) => {
            json!({ "type": "string", "format": "date-time", "pattern": form.pattern() })
        }
        Shape::Form(form) => json!({ "type": "string", "pattern": form.pattern() }),
        Shape::Choice(words) => json!({ "type": "string", "enum": words }),
        Shape::Number => json!({ "type": "number" }),
        Shape::Between(low, high) => json!({ "type": "number", "minimum": low, "maximum": high }),
        // For JSON Schema, too, 1.0 is an integer.
        Shape::PlaceOf { words, .. } => {
            json!({ "type": "integer", "minimum": 0, "maximum": words.len().saturating_sub(1) })
        }
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Shape::List => json!({ "type": "array" }),
        Shape::Object(fields) => object_schema(&[fields]),
    }
}

/// Lets `null` stand for an absent value. The other keywords judge only values of their own type, but for `enum`.
fn allow_null(schema: &mut Value) {
    if let Some(kind) = schema.get_mut("type") {
        *kind = json!([kind.take(), "null"]);
    }
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.push(Value::Null);
    }
}

/// What two fields must agree on: for each word of the one, the number of the other.
fn agreements(field: &Field) -> Vec<Value> {
    let Shape::PlaceOf { field: other, words } = &field.rule.shape else { return Vec::new() };
    let agreement = |(place, word)| {
        json!({
            "if": { "properties": { *other: { "const": word } }, "required": [other] },
            "then": { "properties": { field.name: { "const": place } } },
        })
    };
    words.iter().enumerate().map(agreement).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_names_its_type_and_describes_every_field() {
        for kind in Type::ALL {
            let schema = schema(kind);
            assert_eq!(schema["title"], kind.as_str());
            assert_eq!(schema["properties"]["type"]["const"], kind.as_str());
            for (name, property) in schema["properties"].as_object().unwrap() {
                let described = property["description"].as_str().is_some_and(|about| !about.is_empty());
                assert!(described || name == TYPE_NAME, "{kind}.{name}");
            }
        }
    }

    #[test]
    fn an_optional_field_may_be_null_and_a_required_one_may_not() {
        let schema = schema(Type::StatusUpdate);
        assert_eq!(schema["properties"]["progress"]["type"], json!(["object", "null"]));
        assert_eq!(schema["properties"]["blockers"]["type"], "array");
        let required = json!(["version", "timestamp", "sender_id", "message_id", "type", "task_id", "update_type"]);
        assert_eq!(schema["required"].as_array().unwrap()[..7], required.as_array().unwrap()[..]);
    }

    #[test]
    fn a_schema_ties_each_priority_to_its_number() {
        let schema = schema(Type::TaskAssignment);
        let ties = schema["allOf"].as_array().unwrap();
        assert_eq!(ties.len(), 4);
        assert_eq!(ties[1]["if"]["properties"]["priority"]["const"], "high");
        assert_eq!(ties[1]["then"]["properties"]["priority_value"]["const"], 1);
    }
}

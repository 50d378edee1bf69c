//! Objects with known fields, as structs: one declaration gives the struct, its rules, its reading and its writing.
//!
//! Reading loses nothing. A field takes the value that is of its type; whatever no field takes (unknown names, `null`,
//! values of a wrong type) stays in the record's `extra` and is written back from there. Judging is the validator's work.

use serde_json::{Map, Number, Value};

use super::table::Field;

/// Declares a struct and the table of its fields.
///
/// Each field has one line of doc comment (which is also its description in the schema), a Rust type, and a rule. The
/// parts behind the fields share the record's object: common fields, and `extra` for all that is left.
macro_rules! record {
    (
        $(#[doc = $about:literal])+
        $name:ident {
            $(#[doc = $note:literal] $field:ident: $slot:ty = $rule:expr,)*
        }
        $(#[doc = $part_note:literal] $part:ident: $part_type:ty)*
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct $name {
            $(#[doc = $note] pub $field: $slot,)*
            $(#[doc = $part_note] pub $part: $part_type,)*
        }

        impl crate::json::record::Record for $name {
            const FIELDS: &'static [crate::json::table::Field] = &[
                $(crate::json::table::Field { name: stringify!($field), about: $note, rule: $rule },)*
            ];
        }

        impl crate::json::record::Part for $name {
            fn take(from: &mut serde_json::Map<String, serde_json::Value>) -> Self {
                Self {
                    $($field: crate::json::record::Slot::take(from, stringify!($field)),)*
                    $($part: crate::json::record::Part::take(from),)*
                }
            }

            fn put(&self, into: &mut serde_json::Map<String, serde_json::Value>) {
                $(crate::json::record::Slot::put(&self.$field, into, stringify!($field));)*
                $(crate::json::record::Part::put(&self.$part, into);)*
            }
        }

        impl crate::json::record::Content for $name {
            fn read(value: serde_json::Value) -> Result<Self, serde_json::Value> {
                match value {
                    serde_json::Value::Object(mut map) => Ok(crate::json::record::Part::take(&mut map)),
                    other => Err(other),
                }
            }

            fn write(&self) -> serde_json::Value {
                let mut map = serde_json::Map::new();
                crate::json::record::Part::put(self, &mut map);
                map.into()
            }
        }
    };
}

/// A struct whose fields have rules.
pub(super) trait Record: Part {
    /// The rules, in the order of the format's own tables.
    const FIELDS: &'static [Field];
}

/// A share of an object's fields.
pub(super) trait Part: Sized {
    /// Takes out of `from` what belongs to this part.
    fn take(from: &mut Map<String, Value>) -> Self;
    /// Puts it back.
    fn put(&self, into: &mut Map<String, Value>);
}

/// All that is left. It is put back last: a value that its field could not take goes before the field's empty one.
impl Part for Map<String, Value> {
    fn take(from: &mut Map<String, Value>) -> Self {
        std::mem::take(from)
    }

    fn put(&self, into: &mut Map<String, Value>) {
        for (name, value) in self {
            into.insert(name.clone(), value.clone());
        }
    }
}

/// The place of one field in a struct: a type of content, or an `Option` of it.
pub(super) trait Slot {
    /// Takes the value out of `from` if it is of this type; leaves it there if not.
    fn take(from: &mut Map<String, Value>, name: &str) -> Self;
    /// Puts it back.
    fn put(&self, into: &mut Map<String, Value>, name: &str);
}

impl<C: Content> Slot for Option<C> {
    fn take(from: &mut Map<String, Value>, name: &str) -> Self {
        match C::read(from.remove(name)?) {
            Ok(content) => Some(content),
            Err(other) => {
                from.insert(name.to_owned(), other);
                None
            }
        }
    }

    fn put(&self, into: &mut Map<String, Value>, name: &str) {
        if let Some(content) = self {
            into.insert(name.to_owned(), content.write());
        }
    }
}

impl<C: Content + Default> Slot for C {
    fn take(from: &mut Map<String, Value>, name: &str) -> Self {
        <Option<C> as Slot>::take(from, name).unwrap_or_default()
    }

    fn put(&self, into: &mut Map<String, Value>, name: &str) {
        into.insert(name.to_owned(), self.write());
    }
}

/// A Rust type for a JSON value. `read` gives back what is not of the type.
pub(super) trait Content: Sized {
    /// The value as this type.
    fn read(value: Value) -> Result<Self, Value>;
    /// The same as JSON.
    fn write(&self) -> Value;
}

/// Declares that a JSON value of one variant is a Rust type as it stands.
macro_rules! content {
    ($($variant:ident: $type:ty),+) => {
        $(impl Content for $type {
            fn read(value: Value) -> Result<Self, Value> {
                match value {
                    Value::$variant(content) => Ok(content),
                    other => Err(other),
                }
            }

            fn write(&self) -> Value {
                Value::$variant(self.clone())
            }
        })+
    };
}

content!(String: String, Number: Number, Bool: bool, Array: Vec<Value>, Object: Map<String, Value>);

impl Content for Vec<String> {
    fn read(value: Value) -> Result<Self, Value> {
        match value {
            Value::Array(items) if items.iter().all(Value::is_string) => {
                Ok(items.into_iter().filter_map(|item| String::read(item).ok()).collect())
            }
            other => Err(other),
        }
    }

    fn write(&self) -> Value {
        self.iter().map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::table::{Shape, optional, required};
    use super::*;

    record! {
        /// A record to test with.
        Parcel {
            /// Whose it is.
            owner: String = required(Shape::Text),
            /// What is in it.
            contents: Option<Vec<String>> = optional(Shape::Texts),
        }
        /// The rest.
        extra: Map<String, Value>
    }

    fn there_and_back(value: Value) -> (Parcel, Value) {
        let parcel = Parcel::read(value).unwrap();
        let back = parcel.write();
        (parcel, back)
    }

    #[test]
    fn what_no_field_takes_stays_in_extra_and_is_written_back() {
        let value = json!({"owner": 7, "contents": ["a", 1], "colour": null});
        let (parcel, back) = there_and_back(value.clone());
        assert_eq!((parcel.owner.as_str(), &parcel.contents), ("", &None));
        assert_eq!((Value::Object(parcel.extra), back), (value.clone(), value));
    }

    #[test]
    fn an_empty_list_is_not_an_absent_one() {
        let (parcel, back) = there_and_back(json!({"owner": "o", "contents": []}));
        assert_eq!(parcel.contents, Some(vec![]));
        assert_eq!(back, json!({"owner": "o", "contents": []}));
        assert_eq!(there_and_back(json!({"owner": "o"})).1, json!({"owner": "o"}));
    }

    #[test]
    fn a_declaration_gives_the_rules_in_its_order() {
        let rules: Vec<_> = Parcel::FIELDS.iter().map(|field| (field.name, field.rule.required)).collect();
        assert_eq!(rules, [("owner", true), ("contents", false)]);
        assert_eq!(Parcel::FIELDS[0].about.trim(), "Whose it is.");
    }
}

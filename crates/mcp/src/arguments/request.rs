//! Checked arguments become the request that a handler declares beside its parameters, by its field names.
//!
//! The values were checked before, so a failure here is a mistake in a declaration, and tests of the declarations find it.

use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::{Arguments, Given, invalid};
use crate::outcome::Refusal;

impl Arguments {
    /// The request with these arguments. What was not given keeps the default of its field.
    pub fn into_request<T: DeserializeOwned>(self) -> Result<T, Refusal> {
        let given = self.params.iter().zip(self.given).filter_map(|(param, given)| Some((param.name, given?)));
        T::deserialize(MapDeserializer::<_, Error>::new(given))
            .map_err(|error| invalid(format!("'arguments' cannot be read: {error}.")))
    }
}

impl IntoDeserializer<'_, Error> for Given {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Given {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Text(text) => visitor.visit_string(text),
            Self::Flag(flag) => visitor.visit_bool(flag),
            Self::Number(number) => visitor.visit_i64(number),
            Self::Names(names) => visitor.visit_seq(SeqDeserializer::new(names.into_iter())),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Self::Text(choice) => choice.into_deserializer().deserialize_enum(name, variants, visitor),
            other => other.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::params::{Param, ParamKind};

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Size {
        #[default]
        Small,
        Large,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Asked {
        size: Size,
        name: String,
        to: Vec<String>,
        id: i64,
        limit: Option<u32>,
        flag: Option<bool>,
        paths: Option<Vec<String>>,
    }

    const PARAMS: &[Param] = &[
        Param::required("name", ParamKind::Text, ""),
        Param::optional("to", ParamKind::Names, ""),
        Param::optional("id", ParamKind::Id, ""),
        Param::optional("limit", ParamKind::Number { min: 1, max: 9 }, ""),
        Param::optional("flag", ParamKind::Flag, ""),
        Param::optional("paths", ParamKind::Names, ""),
        Param::optional("size", ParamKind::Choice(&["small", "large"]), ""),
    ];

    fn asked(json: &str) -> Asked {
        Arguments::parse(PARAMS, Some(json)).unwrap().into_request().unwrap()
    }

    #[test]
    fn a_request_has_what_was_given_and_the_defaults_of_the_rest() {
        assert_eq!(asked(r#"{"name":"a"}"#), Asked { name: "a".to_owned(), ..Asked::default() });
        let all = asked(r#"{"name":"a","to":"b","id":"17","limit":2,"flag":true,"paths":[],"size":"large"}"#);
        let wanted = Asked {
            size: Size::Large,
            name: "a".to_owned(),
            to: vec!["b".to_owned()],
            id: 17,
            limit: Some(2),
            flag: Some(true),
            paths: Some(Vec::new()),
        };
        assert_eq!(all, wanted);
    }
}

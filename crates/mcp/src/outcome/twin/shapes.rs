//! How each shape of value is written: what serde asks of whoever writes. Nothing here knows JSON's marks but for brackets.

use serde::Serialize;
use serde::ser::{Error as _, Serializer};
use serde_json::ser::{CompactFormatter, Formatter};
use serde_json::{Error, Result};

use super::Twin;

impl Twin {
    fn members(&mut self, begin: &[u8], end: &'static [u8]) -> Members<'_> {
        self.both(begin);
        Members { twin: self, is_first: true, end }
    }

    /// The members of `{"variant":…}`.
    fn variant(&mut self, variant: &'static str, begin: &[u8], end: &'static [u8]) -> Members<'_> {
        self.both(b"{");
        self.key(true, variant);
        self.members(begin, end)
    }
}

macro_rules! numbers {
    ($($method:ident: $type:ty => $write:ident),+ $(,)?) => {$(
        fn $method(self, value: $type) -> Result<()> {
            self.number(|into| CompactFormatter.$write(into, value.into()))
        }
    )+};
}

impl<'a> Serializer for &'a mut Twin {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Members<'a>;
    type SerializeTuple = Members<'a>;
    type SerializeTupleStruct = Members<'a>;
    type SerializeTupleVariant = Members<'a>;
    type SerializeMap = Members<'a>;
    type SerializeStruct = Members<'a>;
    type SerializeStructVariant = Members<'a>;

    numbers! {
        serialize_bool: bool => write_bool,
        serialize_i8: i8 => write_i64, serialize_i16: i16 => write_i64,
        serialize_i32: i32 => write_i64, serialize_i64: i64 => write_i64,
        serialize_u8: u8 => write_u64, serialize_u16: u16 => write_u64,
        serialize_u32: u32 => write_u64, serialize_u64: u64 => write_u64,
    }

    fn serialize_f32(self, value: f32) -> Result<()> {
        match value.is_finite() {
            true => self.number(|into| CompactFormatter.write_f32(into, value)),
            false => self.serialize_unit(),
        }
    }

    fn serialize_f64(self, value: f64) -> Result<()> {
        match value.is_finite() {
            true => self.number(|into| CompactFormatter.write_f64(into, value)),
            false => self.serialize_unit(),
        }
    }

    fn serialize_char(self, value: char) -> Result<()> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<()> {
        self.text(value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<()> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        self.both(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, _: &'static str, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<()> {
        let members = self.variant(variant, b"", b"}");
        value.serialize(&mut *members.twin)?;
        members.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Members<'a>> {
        Ok(self.members(b"[", b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Members<'a>> {
        Ok(self.members(b"[", b"]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Members<'a>> {
        Ok(self.members(b"[", b"]"))
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<Members<'a>> {
        Ok(self.variant(variant, b"[", b"]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'a>> {
        Ok(self.members(b"{", b"}"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members<'a>> {
        Ok(self.members(b"{", b"}"))
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<Members<'a>> {
        Ok(self.variant(variant, b"{", b"}}"))
    }
}

/// A list or an object that is being written.
pub(super) struct Members<'a> {
    twin: &'a mut Twin,
    is_first: bool,
    /// What closes it.
    end: &'static [u8],
}

impl Members<'_> {
    fn begin(&mut self, key: Option<&'static str>) {
        let is_first = std::mem::take(&mut self.is_first);
        match key {
            Some(key) => self.twin.key(is_first, key),
            None => self.twin.element(is_first),
        }
    }

    fn close(self) -> Result<()> {
        self.twin.both(self.end);
        Ok(())
    }
}

macro_rules! members {
    ($($trait:ident::$method:ident($($key:ident)?)),+ $(,)?) => {$(
        impl serde::ser::$trait for Members<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: ?Sized + Serialize>(&mut self, $($key: &'static str,)? value: &T) -> Result<()> {
                self.begin(None$(.or(Some($key)))?);
                value.serialize(&mut *self.twin)
            }

            fn end(self) -> Result<()> {
                self.close()
            }
        }
    )+};
}

members! {
    SerializeSeq::serialize_element(), SerializeTuple::serialize_element(),
    SerializeTupleStruct::serialize_field(), SerializeTupleVariant::serialize_field(),
    SerializeStruct::serialize_field(key), SerializeStructVariant::serialize_field(key),
}

impl serde::ser::SerializeMap for Members<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<()> {
        self.begin(None);
        let start = self.twin.plain.len();
        key.serialize(&mut *self.twin)?;
        self.twin.both(b":");
        match self.twin.plain[start] {
            b'"' => Ok(()),
            _ => Err(Error::custom("the key of a member is no text")),
        }
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        value.serialize(&mut *self.twin)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}

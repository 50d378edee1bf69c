//! The values that go into a statement and come out of its rows, whichever engine runs it.
//!
//! Both directions go through one small enum, so that a noun is compiled once. Nothing is copied on the way in.

use bytes::BytesMut;
use jiff::Timestamp;
use mail::clock::from_micros;
use mail::ids::{AgentId, MessageId, ProjectId, ReservationId, TicketId};
use rusqlite::types::{ToSqlOutput, ValueRef};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::error::{Outcome, SqlError};

/// A value of a statement or of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Int(i64),
    Bool(bool),
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl Value<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Int(_) => "integer",
            Self::Bool(_) => "boolean",
            Self::Text(_) => "text",
            Self::Bytes(_) => "blob",
        }
    }
}

/// The values of a statement, in the order of its parameters.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::row::Value::from($value)),*] };
}
pub(crate) use values;

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Value<'a> {
    fn from(value: &'a [u8; N]) -> Self {
        Self::Bytes(value)
    }
}

macro_rules! into_value {
    ($($type:ty: $value:ident => $made:expr),* $(,)?) => {$(
        impl<'a> From<$type> for $crate::row::Value<'a> {
            fn from($value: $type) -> Self {
                $made
            }
        }
    )*};
}
pub(crate) use into_value;

into_value! {
    i64: value => Self::Int(value),
    i32: value => Self::Int(value.into()),
    i16: value => Self::Int(value.into()),
    u32: value => Self::Int(value.into()),
    bool: value => Self::Bool(value),
    // A limit or a count that does not fit is as good as none.
    usize: value => Self::Int(i64::try_from(value).unwrap_or(i64::MAX)),
    &'a str: value => Self::Text(value),
    &'a String: value => Self::Text(value),
    &'a Option<String>: value => value.as_deref().into(),
    Timestamp: value => Self::Int(value.as_microsecond()),
    ProjectId: value => Self::Int(value.0),
    AgentId: value => Self::Int(value.0),
    MessageId: value => Self::Int(value.0),
    ReservationId: value => Self::Int(value.0),
    TicketId: value => Self::Int(value.0),
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Bool(is) => ValueRef::Integer((*is).into()),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self, wanted: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match (self, wanted) {
            (Self::Null, _) => Ok(IsNull::Yes),
            (Self::Int(number), &Type::INT2) => i16::try_from(*number)?.to_sql(wanted, out),
            (Self::Int(number), &Type::INT4) => i32::try_from(*number)?.to_sql(wanted, out),
            (Self::Int(number), &Type::INT8) => number.to_sql(wanted, out),
            (Self::Bool(is), &Type::BOOL) => is.to_sql(wanted, out),
            // As SQLite keeps it.
            (Self::Int(number), &Type::BOOL) => (*number != 0).to_sql(wanted, out),
            (Self::Text(text), &Type::TEXT | &Type::VARCHAR) => text.to_sql(wanted, out),
            (Self::Bytes(bytes), &Type::BYTEA) => bytes.to_sql(wanted, out),
            (value, wanted) => Err(format!("{} is no {wanted}", value.kind()).into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        // What does not fit is refused when it is written.
        true
    }

    to_sql_checked!();
}

/// A row of either engine.
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r tokio_postgres::Row),
}

impl<'r> Row<'r> {
    /// The value in a column. What is wrong with it is asked only if it cannot be read: an inbox asks this some hundreds
    /// of times.
    #[inline(always)]
    pub(crate) fn get<T: Column<'r>>(&self, column: usize) -> Outcome<T> {
        match self.value(column).and_then(T::of) {
            Some(read) => Ok(read),
            None => Err(self.unreadable(column, T::WHAT)),
        }
    }

    /// What is read of the first columns.
    pub(crate) fn read<T: FromRow>(&self) -> Outcome<T> {
        T::from_row(self, &mut 0)
    }

    /// What stands in a column, if that can be read at all.
    #[inline(always)]
    pub(crate) fn value(&self, column: usize) -> Option<Value<'r>> {
        match self {
            Self::Sqlite(row) => match row.get_ref(column) {
                Ok(ValueRef::Null) => Some(Value::Null),
                Ok(ValueRef::Integer(number)) => Some(Value::Int(number)),
                Ok(ValueRef::Text(text)) => str::from_utf8(text).ok().map(Value::Text),
                Ok(ValueRef::Blob(bytes)) => Some(Value::Bytes(bytes)),
                Ok(ValueRef::Real(_)) | Err(_) => None,
            },
            Self::Postgres(row) => postgres_value(row, column).ok(),
        }
    }

    /// Names the type and not the value, but for words and numbers of ours (`what` they are): it may be mail, or what a
    /// token is known by, and errors are logged.
    #[cold]
    pub(crate) fn unreadable(&self, column: usize, what: &'static str) -> SqlError {
        let found = match self {
            Self::Sqlite(row) => row.get_ref(column).map(|value| value.data_type().to_string()).map_err(SqlError::from),
            Self::Postgres(row) => {
                postgres_value(row, column).map(|value| value.kind().to_owned()).map_err(SqlError::from)
            }
        };
        match (found, self.value(column)) {
            (Err(error), _) => error,
            (Ok(_), Some(Value::Int(number))) if !what.is_empty() => unknown(what, number),
            (Ok(_), Some(Value::Text(word))) if !what.is_empty() => unknown(what, word),
            (Ok(kind), _) => SqlError::Unknown(format!("column {column} holds an unexpected {kind}")),
        }
    }
}

/// Nothing is known to stand for this: no program of this version wrote it.
pub(crate) fn unknown(what: &'static str, value: impl std::fmt::Display) -> SqlError {
    SqlError::Unknown(format!("unknown {what} '{value}'"))
}

fn postgres_value(row: &tokio_postgres::Row, column: usize) -> Result<Value<'_>, tokio_postgres::Error> {
    let value = match *row.columns()[column].type_() {
        Type::INT8 => row.try_get::<_, Option<i64>>(column)?.map(Value::Int),
        Type::INT4 => row.try_get::<_, Option<i32>>(column)?.map(Value::from),
        Type::INT2 => row.try_get::<_, Option<i16>>(column)?.map(Value::from),
        Type::BOOL => row.try_get::<_, Option<bool>>(column)?.map(Value::Bool),
        Type::BYTEA => row.try_get::<_, Option<&[u8]>>(column)?.map(Value::Bytes),
        _ => row.try_get::<_, Option<&str>>(column)?.map(Value::Text),
    };
    Ok(value.unwrap_or(Value::Null))
}

/// What a column can be read as.
pub(crate) trait Column<'r>: Sized {
    /// What it is called in an error that tells its value.
    const WHAT: &'static str = "";

    /// `None` if the value is something else.
    fn of(value: Value<'r>) -> Option<Self>;
}

macro_rules! column {
    ($($type:ty $(as $what:literal)?: $pattern:pat => $made:expr),* $(,)?) => {$(
        impl<'r> $crate::row::Column<'r> for $type {
            const WHAT: &'static str = concat!($($what)?);

            #[inline]
            fn of(value: $crate::row::Value<'r>) -> Option<Self> {
                match value {
                    $pattern => $made,
                    _ => None,
                }
            }
        }
    )*};
}
pub(crate) use column;

column! {
    i64: Value::Int(number) => Some(number),
    u32: Value::Int(number) => u32::try_from(number).ok(),
    // Counts and sizes, which are never negative.
    u64: Value::Int(number) => Some(number.unsigned_abs()),
    usize: Value::Int(number) => Some(usize::try_from(number).unwrap_or(0)),
    &'r str: Value::Text(text) => Some(text),
    String: Value::Text(text) => Some(text.to_owned()),
    [u8; 32]: Value::Bytes(bytes) => bytes.try_into().ok(),
    Vec<u8>: Value::Bytes(bytes) => Some(bytes.to_vec()),
    Timestamp: Value::Int(micros) => Some(from_micros(micros)),
    ProjectId: Value::Int(number) => Some(Self(number)),
    AgentId: Value::Int(number) => Some(Self(number)),
    MessageId: Value::Int(number) => Some(Self(number)),
    ReservationId: Value::Int(number) => Some(Self(number)),
    TicketId: Value::Int(number) => Some(Self(number)),
}

impl<'r> Column<'r> for bool {
    #[inline]
    fn of(value: Value<'r>) -> Option<Self> {
        match value {
            Value::Bool(is) => Some(is),
            // As SQLite keeps it.
            Value::Int(number) => Some(number != 0),
            _ => None,
        }
    }
}

impl<'r, T: Column<'r>> Column<'r> for Option<T> {
    const WHAT: &'static str = T::WHAT;

    #[inline]
    fn of(value: Value<'r>) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::of(value).map(Some),
        }
    }
}

/// What can be read of some columns of a row.
pub(crate) trait FromRow: Sized {
    /// Reads it from column `at` on, and moves `at` behind it.
    fn from_row(row: &Row<'_>, at: &mut usize) -> Outcome<Self>;
}

impl<T: for<'r> Column<'r>> FromRow for T {
    #[inline]
    fn from_row(row: &Row<'_>, at: &mut usize) -> Outcome<Self> {
        *at += 1;
        row.get(*at - 1)
    }
}

macro_rules! tuple_from_row {
    ($(($($part:ident),*))*) => {$(
        impl<$($part: FromRow),*> FromRow for ($($part,)*) {
            #[inline]
            fn from_row(row: &Row<'_>, at: &mut usize) -> Outcome<Self> {
                Ok(($($part::from_row(row, at)?,)*))
            }
        }
    )*};
}

tuple_from_row! { (A, B) (A, B, C) (A, B, C, D) }

/// Says in which order the columns of a type stand in a row.
macro_rules! from_row {
    ($($type:ident { $($field:ident),* $(,)? })*) => {$(
        impl $crate::row::FromRow for $type {
            #[inline]
            fn from_row(row: &$crate::row::Row<'_>, at: &mut usize) -> $crate::error::Outcome<Self> {
                Ok(Self { $($field: $crate::row::FromRow::from_row(row, at)?),* })
            }
        }
    )*};
}
pub(crate) use from_row;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_as_wide_as_the_column_and_refused_where_it_does_not_fit() {
        for (wanted, bytes) in [(Type::INT2, 2), (Type::INT4, 4), (Type::INT8, 8)] {
            let mut out = BytesMut::new();
            ToSql::to_sql(&Value::Int(7), &wanted, &mut out).unwrap();
            assert_eq!(out.len(), bytes, "{wanted}");
        }
        let mut out = BytesMut::new();
        assert!(ToSql::to_sql(&Value::Int(1 << 40), &Type::INT4, &mut out).is_err());
        assert!(ToSql::to_sql(&Value::Int(1), &Type::TEXT, &mut out).is_err());
        assert!(matches!(ToSql::to_sql(&Value::Null, &Type::TEXT, &mut out), Ok(IsNull::Yes)));
    }

    #[test]
    fn a_column_is_read_as_what_it_holds_and_nothing_else() {
        assert_eq!(<Option<i64>>::of(Value::Null), Some(None));
        assert_eq!(i64::of(Value::Null), None);
        assert_eq!(i64::of(Value::Text("1")), None);
        assert_eq!([0, 1].map(|number| bool::of(Value::Int(number))), [Some(false), Some(true)]);
        assert_eq!(bool::of(Value::Bool(true)), Some(true));
        assert_eq!(<[u8; 32]>::of(Value::Bytes(&[1; 31])), None);
    }

    #[test]
    fn an_error_names_the_type_of_a_value_and_never_the_value() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let read = |row: &rusqlite::Row<'_>| Ok(Row::Sqlite(row).get::<i64>(0).unwrap_err().to_string());
        let told = connection.query_row("SELECT 'a secret'", [], read).unwrap();
        assert_eq!(told, "column 0 holds an unexpected Text");
        let mut out = bytes::BytesMut::new();
        let told = ToSql::to_sql(&Value::Text("a secret"), &Type::INT8, &mut out).err().unwrap().to_string();
        assert_eq!(told, "text is no int8");
    }
}

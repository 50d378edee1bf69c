//! What a table of [`crate::TABLES`] is: both engines read and write rows by this, and a checksum is made of it.
//!
//! Tables stand in an order in which each comes after those that it points at. What only one engine has (its index of
//! words, its own bookkeeping) is not here: whoever writes a row makes it again. A test compares this page with both schemas.

use crate::row::Value;

/// A table.
#[derive(Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// How many of its first columns are its key. Both engines sort by it alike.
    pub key: usize,
    /// The names of its columns, in the order in which rows are written down.
    pub columns: &'static str,
}

impl Table {
    /// How many columns it has.
    pub(crate) fn width(&self) -> usize {
        self.columns.split(", ").count()
    }

    /// The names of its key, each with `end` behind it.
    pub(crate) fn key_names(&self, end: &str) -> String {
        let names: Vec<String> = self.columns.split(", ").take(self.key).map(|name| format!("{name}{end}")).collect();
        names.join(", ")
    }
}

/// What stands in a column of a row, whichever engine it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// Nothing.
    Null,
    /// A number; 0 or 1 for a flag, which PostgreSQL does not keep as a number.
    Number(i64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Cell {
    /// What is to be moved of a value.
    pub(crate) fn of(value: Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(number) => Self::Number(number),
            Value::Bool(is) => Self::Number(is.into()),
            Value::Text(text) => Self::Text(text.to_owned()),
            Value::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
        }
    }

    /// What a statement is given.
    pub(crate) fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Number(number) => Value::Int(*number),
            Self::Text(text) => Value::Text(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }

    /// How many bytes it takes in memory, about.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Null | Self::Number(_) => 8,
            Self::Text(text) => text.len() + 8,
            Self::Bytes(bytes) => bytes.len() + 8,
        }
    }

    /// Adds it to a checksum, so that no two different rows add the same bytes.
    pub(crate) fn hash_into(&self, sum: &mut blake3::Hasher) {
        let (mark, bytes): (u8, &[u8]) = match self {
            Self::Null => (0, &[]),
            Self::Number(number) => (1, &number.to_be_bytes()),
            Self::Text(text) => (2, text.as_bytes()),
            Self::Bytes(bytes) => (3, bytes),
        };
        sum.update(&[mark]).update(&(bytes.len() as u64).to_be_bytes()).update(bytes);
    }
}

pub(crate) const fn table(name: &'static str, key: usize, columns: &'static str) -> Table {
    Table { name, key, columns }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(row: &[Cell]) -> blake3::Hash {
        let mut sum = blake3::Hasher::new();
        row.iter().for_each(|value| value.hash_into(&mut sum));
        sum.finalize()
    }

    #[test]
    fn rows_that_differ_have_other_checksums_however_their_values_are_cut() {
        let text = |text: &str| Cell::Text(text.to_owned());
        let rows = [
            vec![text("ab"), text("")],
            vec![text("a"), text("b")],
            vec![text("ab"), Cell::Null],
            vec![Cell::Bytes(b"ab".to_vec()), text("")],
            vec![Cell::Number(0), Cell::Null],
            vec![Cell::Null, Cell::Number(0)],
        ];
        for (at, row) in rows.iter().enumerate() {
            assert!(rows[..at].iter().all(|other| sum(other) != sum(row)), "{row:?}");
            assert_eq!(sum(row), sum(&row.clone()));
        }
    }
}

//! The steps of a schema, whichever engine it is of: numbered, each applied once, and never changed afterwards.
//!
//! The checksum of each step that was applied is kept with the mail, so that a changed step is noticed rather than half
//! believed. How a step is applied is the engine's affair.

/// One step.
pub(crate) struct Migration {
    /// Its number; they count from 1 without gaps.
    pub(crate) version: i64,
    /// What it is about.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) sql: &'static str,
}

/// Why a store is not opened that carries the mark of a move ([`crate::moving`]).
pub(crate) const UNFINISHED: &str = "MIGRATION_UNFINISHED: not all mail was moved here yet; run `postrider migrate` again \
     with the same --from and --to, which goes on where it stopped";

/// Why the steps that were applied are not those that are known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Mismatch {
    /// Written by a newer program.
    #[error("the database has schema version {found}, and this program knows versions up to {known}; use a newer one")]
    Newer { found: i64, known: i64 },
    /// A step was changed after it was applied.
    #[error("migration {version} ('{name}') is not the one that this database was made with")]
    Changed { version: i64, name: &'static str },
}

impl Migration {
    /// What its text comes to.
    pub(crate) fn checksum(&self) -> [u8; 32] {
        *blake3::hash(self.sql.as_bytes()).as_bytes()
    }

    /// The version that all steps lead to.
    pub(crate) fn newest(all: &[Self]) -> i64 {
        all.last().map_or(0, |step| step.version)
    }
}

/// The version that the steps with these checksums led to.
pub(crate) fn applied(all: &[Migration], kept: &[(i64, Vec<u8>)]) -> Result<i64, Mismatch> {
    let found = kept.last().map_or(0, |(version, _)| *version);
    if found > Migration::newest(all) {
        return Err(Mismatch::Newer { found, known: Migration::newest(all) });
    }
    for (step, (_, sum)) in all.iter().zip(kept) {
        if step.checksum() != sum.as_slice() {
            return Err(Mismatch::Changed { version: step.version, name: step.name });
        }
    }
    Ok(found)
}

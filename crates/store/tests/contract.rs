//! Every engine keeps the promises of `mail::contract`.

mod sqlite {
    testing::store_contract!(super::fresh::sqlite);
}

mod postgres {
    testing::store_contract!(super::fresh::postgres);
}

/// Empty stores, each with what has to outlive it.
mod fresh {
    use std::sync::Arc;

    use mail::contract::Shared;
    use store::{Options, Postgres, PostgresOptions, Sqlite};
    use tempfile::TempDir;

    /// A database file in a folder of its own.
    pub async fn sqlite() -> Option<(Shared, TempDir)> {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let store = Sqlite::open(&folder.path().join("mail.db"), &Options::default()).expect("a new file opens");
        Some((Arc::new(store), folder))
    }

    /// A schema of its own.
    pub async fn postgres() -> Option<(Shared, ())> {
        let url = testing::postgres::fresh_url()?;
        let store = Postgres::open(&url, &PostgresOptions::default()).await.expect("an empty schema opens");
        Some((Arc::new(store), ()))
    }
}

//! Every engine keeps the promises of `mail::contract`.

mod sqlite {
    mail::store_contract!(super::fresh::sqlite);
}

/// Empty stores, each with what has to outlive it.
mod fresh {
    use std::sync::Arc;

    use mail::contract::Shared;
    use store::{Options, Sqlite};
    use tempfile::TempDir;

    /// A database file in a folder of its own.
    pub async fn sqlite() -> (Shared, TempDir) {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let store = Sqlite::open(&folder.path().join("mail.db"), &Options::default()).expect("a new file opens");
        (Arc::new(store), folder)
    }
}

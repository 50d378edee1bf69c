//! The promises of every store, each written once and run on every engine.
//!
//! A promise is a function whose name says it; `contract/<noun>.rs` holds those of one noun, and `contract/listed/` lists
//! them. An engine's tests call
//! [`store_contract!`](crate::store_contract) with a function that makes a fresh store, and get a test for each promise.
//! Nothing here knows an engine. What takes two handles on one store is told by each engine's own tests.

// Each function is a test: its name is its documentation, and it may panic.
#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::Arc;

use crate::Store;

pub mod activity;
pub mod agents;
pub mod channels;
pub mod copies;
pub mod events;
mod fixtures;
mod listed;
pub mod mailboxes;
pub mod marks;
pub mod messages;
pub mod overview;
pub mod pages;
pub mod presence;
pub mod projects;
pub mod reservations;
pub mod retiring;
pub mod search;
pub mod threads;
pub mod transfer;
pub mod waiting;
pub mod watches;
pub mod work;

/// A store as the promises get it: some of them use it from several tasks at once.
pub type Shared = Arc<dyn Store>;

/// Makes one test of each promise, in a module for each noun.
///
/// `$fresh` names an async function without arguments that returns an empty store as [`Shared`](crate::contract::Shared)
/// and a guard that is kept until the promise was checked, or `None` where it has said that there is no such engine here.
#[macro_export]
macro_rules! store_contract {
    (@one $($noun:ident: [$($promise:ident),+ $(,)?]),+ $(,)?) => {$(
        mod $noun {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                let Some((store, _guard)) = super::fresh_store().await else { return };
                $crate::contract::$noun::$promise(&store).await;
                drop(store); // before its guard
            }
        )+}
    )+};
    (@two $($noun:ident: [$($promise:ident),+ $(,)?]),+ $(,)?) => {$(
        mod $noun {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                let Some((store, _guard)) = super::fresh_store().await else { return };
                let Some((second, _second_guard)) = super::fresh_store().await else { return };
                $crate::contract::$noun::$promise(&store, &second).await;
                drop((store, second)); // before their guards
            }
        )+}
    )+};
    ($fresh:path) => {
        async fn fresh_store() -> Option<($crate::contract::Shared, impl std::any::Any)> {
            $fresh().await
        }
        $crate::store_contract_of_people! {}
        $crate::store_contract_of_mail! {}
        $crate::store_contract_of_together! {}
        $crate::store_contract_of_transfer! {}
    };
}

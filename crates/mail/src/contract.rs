//! The promises of every store, each written once and run on every engine.
//!
//! A promise is a `pub async fn` whose name says it; `contract/<noun>.rs` holds those of one noun. To write it is to have it
//! run: an engine's tests call `testing::store_contract!` with a function that makes a fresh store, and get a test for each
//! promise. A promise with two parameters gets two stores. Nothing here knows an engine. What takes two handles on one
//! store is told by each engine's own tests.

// Each function is a test: its name is its documentation, and it may panic.
#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::Arc;

use crate::Store;

pub mod activity;
pub mod agents;
pub mod answering;
pub mod channels;
pub mod colleagues;
pub mod deliveries;
pub mod events;
mod fixtures;
mod leaving;
pub mod mailboxes;
pub mod marks;
pub mod messages;
pub mod open_keys;
pub mod overview;
pub mod pages;
pub mod presence;
pub mod projects;
pub mod renaming;
pub mod reservations;
pub mod responses;
pub mod retiring;
pub mod roles;
pub mod search;
pub mod sessions;
pub mod threads;
pub mod tokens;
pub mod transfer;
pub mod waiting;
pub mod wake_ups;
pub mod watches;
pub mod work;

/// A store as the promises get it: some of them use it from several tasks at once.
pub type Shared = Arc<dyn Store>;

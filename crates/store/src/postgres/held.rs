//! A connection that is closed, and not used by others, when somebody goes away in the middle of a transaction.

use std::ops::Deref;

use deadpool_postgres::Object;

/// A connection of a pool.
pub(super) struct Held {
    client: Option<Object>,
    is_open: bool,
}

impl Held {
    /// A connection in the middle of something: it is closed unless it is given back.
    pub(super) fn of(client: Object) -> Self {
        Self { client: Some(client), is_open: true }
    }

    /// A connection on which nothing is under way.
    pub(super) fn idle(client: Object) -> Self {
        Self { client: Some(client), is_open: false }
    }

    /// Something is under way from here on.
    pub(super) fn hold(&mut self) {
        self.is_open = true;
    }

    /// Nothing is under way any more; the connection goes back to its pool when this is dropped.
    pub(super) fn give_back(&mut self) {
        self.is_open = false;
    }
}

impl Deref for Held {
    type Target = Object;

    fn deref(&self) -> &Object {
        self.client.as_ref().expect("it is taken when this is dropped")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.is_open {
            self.client.take().map(Object::take);
        }
    }
}

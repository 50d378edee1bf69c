//! What a job did for its caller alone, such as taking mail: when the caller goes away before it has the answer, the job is not
//! begun, or undone.
//!
//! A client cancels a call at any moment, and what was taken for it would be told to nobody. Deliberately absent: a caller
//! that goes away after it had the answer.

use std::sync::Arc;

use mail::Stored;
use tokio::runtime::Handle;

use crate::Engine;
use crate::engine::Home;
use crate::job::{Work, in_job};

/// What was done, until its caller has it.
struct Undelivered<T, U: FnOnce(T)> {
    done: Option<(T, U)>,
}

impl<T, U: FnOnce(T)> Drop for Undelivered<T, U> {
    fn drop(&mut self) {
        if let Some((done, undo)) = self.done.take() {
            undo(done);
        }
    }
}

impl Engine {
    /// Runs `work` as [`write`](Engine::write) does, but only while somebody waits for the answer. What is done and not
    /// delivered is undone in a later transaction; `undo` has to leave alone what was changed in between.
    pub(crate) async fn write_for_caller<T, W>(
        &self,
        doing: &'static str,
        home: Home,
        work: impl Work<T>,
        undo: impl FnOnce(T) -> Option<W> + Send + 'static,
    ) -> Stored<T>
    where
        T: Send + 'static,
        W: Work<()>,
    {
        let waiting = Arc::new(());
        let caller = Arc::downgrade(&waiting);
        // A job keeps no store open: the thread that does it would have to wait for its own end.
        let (engine, runtime) = (self.downgrade(), Handle::current());
        let undo = move |done: T| {
            if let Some(undoing) = undo(done) {
                runtime.spawn(async move {
                    let Some(engine) = engine.upgrade() else { return };
                    if let Err(error) = engine.write("undo what nobody waits for", home, undoing).await {
                        tracing::warn!(%error, doing, "what was done for a caller that went away stays done");
                    }
                });
            }
        };
        let work = in_job!(|tx| {
            if caller.strong_count() == 0 {
                return Ok(Undelivered { done: None });
            }
            let done = work(tx).await?;
            Ok(Undelivered { done: Some((done, undo)) })
        });
        let mut delivered = self.write(doing, home, work).await?;
        let (done, _) = delivered.done.take().expect("it is done unless its caller is gone");
        drop(waiting);
        Ok(done)
    }
}

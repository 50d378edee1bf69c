//! What the file of every noun uses.

pub(crate) use async_trait::async_trait;
pub(crate) use jiff::Timestamp;
pub(crate) use mail::Stored;
pub(crate) use mail::events::EventKind;
pub(crate) use mail::ids::{AgentId, MessageId, ProjectId};

pub(crate) use crate::Engine;
pub(crate) use crate::engine::Home;
pub(crate) use crate::error::Outcome;
pub(crate) use crate::job::in_job;
pub(crate) use crate::row::{FromRow, Row, Value, from_row, values};
pub(crate) use crate::tx::Tx;

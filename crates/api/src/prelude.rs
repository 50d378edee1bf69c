//! What the file of a verb is written with.

pub(crate) use mail::ids::MessageId;
pub(crate) use mail::{Error, Office};
pub(crate) use mcp::Param;
pub(crate) use mcp::ParamKind::{Choice, Flag, Id, Names, Number, Text};
pub(crate) use serde::{Deserialize, Serialize};

pub(crate) use crate::answers::*;
pub(crate) use crate::params::*;
pub(crate) use crate::{Time, Verb};

//! The Model Context Protocol on the wire, for a server that offers tools and resources.
//!
//! Three kinds of clients are served on one address: those of revision 2026-07-28, those that begin
//! with `initialize`, and those that simply call a tool. The layer is thin on purpose. It reads an
//! envelope, finds a handler, and writes the answer around the handler's own JSON.
//!
//! Deliberately absent: any word about mail, any web server, prompts, sampling, roots and tasks.

mod arguments;
mod calls;
mod endpoint;
mod eras;
mod exchange;
mod foreign;
mod headers;
mod nearest;
mod outcome;
mod params;
mod registry;
mod resources;
mod sessions;
mod stdio;
mod streams;
mod wire;

pub use arguments::{Arguments, INVALID_ARGUMENT};
#[cfg(feature = "conformance-fixtures")]
pub use endpoint::fixtures::{Asked, Cue, Ending, Fixtures, Scene};
pub use endpoint::{Endpoint, Reply, ReplyBody};
pub use foreign::{Foreign, Treatment};
pub use nearest::nearest;
pub use outcome::{Output, Refusal};
pub use params::{Hints, Param, ParamKind};
pub use registry::{CallerKind, Registry, ServerInfo, Tool};
pub use resources::{ReadError, ResourceEntry, ResourceTemplate, Resources};
pub use stdio::{Line, StdioPeer, next_line, write_lines};

//! What answers show of each noun.
//!
//! Fields that say nothing (no cc, not read yet) are left out, because every agent pays for what it reads.

mod agents;
mod channels;
mod deliveries;
mod messages;
mod presence;
mod reservations;
mod roles;
mod sent;
mod sessions;
mod threads;
mod work;

use std::borrow::Cow;

pub use agents::{AgentAnswer, AliasAnswer, ProjectAnswer, ProjectSumAnswer, RegisteredAnswer};
pub use channels::{ChannelAnswer, PostAnswer};
pub use deliveries::{CountAnswer, DeliveriesAnswer, DoneAnswer, ReceivedAnswer};
pub use messages::{FollowedAnswer, MarkedAnswer, MessageAnswer, ProblemAnswer, RecipientAnswer, WakeReceiptAnswer};
pub use presence::{ColleagueAnswer, NotedAnswer, PresenceAnswer, PresentAnswer};
pub use reservations::{ConflictAnswer, FilesAnswer, GrantedFilesAnswer, ReservationAnswer, WaitingAnswer};
pub use roles::RoleAnswer;
pub use sent::{AddressAnswer, BriefAnswer, DeliveryAnswer, Payload, SentAnswer, StandingAnswer, WarningAnswer};
pub use sessions::OpenSessionAnswer;
pub use threads::{
    ActionAnswer, ExampleAnswer, FoundAnswer, GistAnswer, ParticipantAnswer, PointAnswer, SummaryAnswer,
};
pub use work::{DetailAnswer, HelpAnswer, OpenAckAnswer, StoryAnswer, WorkAnswer};

/// One of few words: ours when an answer is made, whatever came when it is read.
pub type Word = Cow<'static, str>;

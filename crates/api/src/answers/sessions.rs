//! Sessions, as answers show them.

use mail::sessions::Session;

use crate::Time;

declare! {
    /// A session that is open.
    #[derive(PartialEq)]
    OpenSessionAnswer::new(session: Session) {
        /// The client, such as `claude`.
        client: String = session.client,
        /// The machine.
        host: String = session.host,
        /// The top of the working tree that it began in, else its folder.
        place: String = session.place,
        /// Whether it waits for its user.
        is_idle: bool = session.is_idle,
        /// When it began.
        began_ts: Time = Time(session.began_at),
        /// When it was last heard of.
        seen_ts: Time = Time(session.seen_at),
    }
}

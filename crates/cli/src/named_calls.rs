//! The calls of our tools that an agent makes in its own name, and where each says it. For those who fill in a name that is missing, or
//! keep an agent below another from being taken for it.

/// The calls that somebody makes in its own name, and the argument that says it.
pub(crate) const NAMED: [(&str, &str); 13] = [
    ("acknowledge_message", "agent_name"),
    ("fetch_inbox", "agent_name"),
    ("file_reservation_paths", "agent_name"),
    ("macro_prepare_thread", "agent_name"),
    ("macro_start_session", "agent_name"),
    ("mark_message_read", "agent_name"),
    ("register_agent", "name"),
    ("release_file_reservations", "agent_name"),
    ("rename_agent", "agent_name"),
    ("renew_file_reservations", "agent_name"),
    ("reply_message", "sender_name"),
    ("send_message", "sender_name"),
    ("wait_for_mail", "agent_name"),
];
/// Words for a name that a call may have used instead: the office says which one it wants.
pub(crate) const NAMES: [&str; 5] = ["agent_name", "sender_name", "name", "agent", "from"];

//! What the errors of PostgreSQL mean, and what to do about them.

use tokio_postgres::error::SqlState;

/// Whether the connection is lost, or the server will not serve it.
pub(crate) fn is_gone(error: &tokio_postgres::Error) -> bool {
    let away = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::READ_ONLY_SQL_TRANSACTION, // a standby that was not yet promoted
    ];
    error.code().map_or_else(
        || error.is_closed() || is_of_the_wire(error),
        |code| away.contains(code) || code.code().starts_with("08"),
    )
}

fn is_of_the_wire(error: &tokio_postgres::Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
    // What TLS finds fault with, such as a certificate, does not pass by itself.
    cause.is_some_and(|cause| cause.kind() != std::io::ErrorKind::InvalidData)
        || error.to_string().starts_with("error connecting")
}

/// Whether a statement took longer than it may.
pub(crate) fn is_slow(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::QUERY_CANCELED)
}

/// Whether somebody else was in the way.
pub(crate) fn is_in_the_way(error: &tokio_postgres::Error) -> bool {
    let busy = [SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE];
    error.code().is_some_and(|code| busy.contains(code))
}

/// What PostgreSQL said, without the values that it said it of.
pub(crate) fn fact(error: &tokio_postgres::Error) -> String {
    let fact = match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(said), _) => format!("PostgreSQL says: {} ({})", said.message(), said.code().code()),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    };
    match advice(error.code(), &fact) {
        Some(next) => format!("{fact}. {next}"),
        None => fact,
    }
}

/// What to do about it, where that is known.
fn advice(code: Option<&SqlState>, fact: &str) -> Option<&'static str> {
    let by_code = [
        (SqlState::INVALID_PASSWORD, "Check the user and the password of the URL."),
        (SqlState::INVALID_AUTHORIZATION_SPECIFICATION, "Check the user of the URL, and pg_hba.conf."),
        (SqlState::INVALID_CATALOG_NAME, "Make it: createdb --encoding UTF8 --template template0."),
        (SqlState::UNTRANSLATABLE_CHARACTER, "Make the database with --encoding UTF8 --template template0."),
        (SqlState::INSUFFICIENT_PRIVILEGE, "Let the user of the URL own the database."),
        (SqlState::READ_ONLY_SQL_TRANSACTION, "Name a server and a database that can be written to."),
        (SqlState::TOO_MANY_CONNECTIONS, "Raise max_connections, or the limit of the role: a server uses up to 14."),
    ];
    let by_words = [
        ("password missing", "Write it into the URL."),
        (
            "does not support TLS",
            "Set ssl = on in PostgreSQL, or add ?sslmode=disable to the URL where nobody can listen.",
        ),
        ("UnknownIssuer", "Name the file of its authority with ?sslrootcert=FILE."),
    ];
    let known = code.and_then(|code| by_code.into_iter().find(|(known, _)| known == code).map(|(_, next)| next));
    known.or_else(|| by_words.into_iter().find(|(words, _)| fact.contains(words)).map(|(_, next)| next))
}

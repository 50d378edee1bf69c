//! The address of a resource: `resource://kind/name?key=value&…`, percent-encoded.
//!
//! Each kind has the keys it understands; any other key is refused by name, because a misspelt filter that is passed
//! over would answer another question than was asked.

use mcp::{ReadError, Refusal};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What stays as it is in an address that we write.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The keys of each kind of resource, beside the name in its path.
const KINDS: [(&str, &str); 10] = [
    ("projects", "limit after"),
    ("agents", "project limit after"),
    (
        "inbox",
        "project limit before since_ts unread_only urgent_only thread_id kind work_id include_bodies registration_token",
    ),
    ("outbox", "project limit before include_bodies registration_token"),
    ("thread", "project limit after before include_bodies"),
    ("message", "project"),
    ("reservations", "project limit after"),
    ("work", "project id state agent limit before after"),
    ("channel", "project since limit thread_id before"),
    ("channels", "project"),
];

/// An address that was read.
#[derive(Debug)]
pub struct Address {
    uri: String,
    /// What kind of resource it is.
    pub kind: &'static str,
    /// The name in its path.
    pub name: String,
    values: Vec<(String, String)>,
}

impl Address {
    /// Reads an address. Nothing is looked up.
    pub fn parse(uri: &str) -> Result<Self, ReadError> {
        let unknown = || not_found(uri);
        let rest = uri.strip_prefix("resource://").ok_or_else(unknown)?;
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (kind, name) = path.split_once('/').unwrap_or((path, ""));
        let (kind, keys) = KINDS.iter().find(|(known, _)| *known == kind).ok_or_else(unknown)?;
        let mut values = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (key, value) = (decode_query(key), decode_query(value));
            if !keys.split(' ').any(|known| known == key) {
                let near = mail::nearest::nearest(&key, keys.split(' '), 1);
                let hint = match near.first() {
                    Some(near) => format!("Did you mean '{near}'?"),
                    None => format!("Use {}.", keys.replace(' ', ", ")),
                };
                let message = format!("Unknown parameter '{}' in '{}'", mail::error::shown(&key), shown(uri));
                return Err(ReadError::Refused(Refusal::new("INVALID_ARGUMENT", message).hint(hint)));
            }
            values.push((key, value));
        }
        Ok(Self { uri: uri.to_owned(), kind, name: decode(name.trim_end_matches('/')), values })
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The value of a key, for a request.
    pub fn text(&self, key: &str) -> Option<String> {
        self.get(key).map(str::to_owned)
    }

    /// The project, which every mailbox and thread needs.
    pub fn project(&self) -> Result<&str, ReadError> {
        self.get("project").ok_or_else(|| {
            let message = format!("'{}' names no project", shown(&self.uri));
            let hint = "Add ?project= with the URL-encoded project path.";
            ReadError::Refused(Refusal::new("INVALID_ARGUMENT", message).hint(hint))
        })
    }

    /// The project, which may stand in the path.
    pub fn project_or_name(&self) -> Result<&str, ReadError> {
        if self.name.is_empty() { self.project() } else { Ok(&self.name) }
    }

    /// A whole number.
    pub fn number(&self, key: &'static str) -> Result<Option<i64>, ReadError> {
        self.get(key).map(|value| value.parse().map_err(|_| self.wrong(key, value, "a whole number"))).transpose()
    }

    /// How much is asked for.
    pub fn limit(&self, default: usize) -> Result<usize, ReadError> {
        Ok(self.opt_limit()?.map_or(default, |limit| limit as usize))
    }

    /// How much is asked for, if that is said: 1 to 1000.
    pub fn opt_limit(&self) -> Result<Option<u32>, ReadError> {
        match self.number("limit")? {
            None => Ok(None),
            Some(limit @ 1..=1000) => Ok(Some(limit as u32)),
            Some(limit) => Err(self.wrong("limit", &limit.to_string(), "1 to 1000")),
        }
    }

    /// Yes or no.
    pub fn flag(&self, key: &'static str, default: bool) -> Result<bool, ReadError> {
        match self.get(key) {
            None => Ok(default),
            Some("true" | "1") => Ok(true),
            Some("false" | "0") => Ok(false),
            Some(other) => Err(self.wrong(key, other, "true or false")),
        }
    }

    /// The address of the page at a cursor.
    pub fn page_at(&self, key: &str, cursor: i64) -> String {
        let cursor = cursor.to_string();
        let kept = self.values.iter().filter(|(known, _)| known != key && known != "registration_token");
        let pairs: Vec<String> = kept
            .map(|(known, value)| (known.as_str(), value.as_str()))
            .chain([(key, cursor.as_str())])
            .map(|(known, value)| format!("{known}={}", encode(value)))
            .collect();
        format!("{}?{}", address_of(self.kind, &self.name), pairs.join("&"))
    }

    /// That nothing is there.
    pub fn unknown(&self) -> ReadError {
        not_found(&self.uri)
    }

    /// The refusal of the value of a key.
    pub fn wrong(&self, key: &str, value: &str, wanted: &str) -> ReadError {
        let message = format!("Invalid {key}: '{}'; wanted: {wanted}", mail::error::shown(value));
        ReadError::Refused(Refusal::new("INVALID_ARGUMENT", message).hint("Correct it and read again."))
    }
}

/// The address of a resource, without keys.
pub fn address_of(kind: &str, name: &str) -> String {
    if name.is_empty() { format!("resource://{kind}") } else { format!("resource://{kind}/{}", encode(name)) }
}

/// A value as it stands in an address.
pub fn encode(value: &str) -> String {
    utf8_percent_encode(value, ENCODED).to_string()
}

fn decode(value: &str) -> String {
    percent_decode_str(value).decode_utf8_lossy().into_owned()
}

/// The same of what stands in a query, where `+` is a space, as browsers write it.
fn decode_query(value: &str) -> String {
    decode(&value.replace('+', " "))
}

fn not_found(uri: &str) -> ReadError {
    let message = format!("Resource '{}' not found", shown(uri));
    let hint = "resources/templates/list names what there is.";
    ReadError::NotFound(Refusal::new("RESOURCE_NOT_FOUND", message).hint(hint))
}

/// An address as an error may show it: without its keys, one of which is a secret.
fn shown(uri: &str) -> String {
    mail::error::shown(uri.split('?').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_project_is_read() {
        let address = Address::parse("resource://inbox/Green%20Dog?project=%2Fdata%2Fmy%20app&limit=5").unwrap();
        assert_eq!((address.kind, &*address.name), ("inbox", "Green Dog"));
        assert_eq!(address.project().unwrap(), "/data/my app");
        assert_eq!(address.limit(20).unwrap(), 5);
    }

    #[test]
    fn a_plus_is_a_space_in_a_query_and_itself_elsewhere() {
        let address = Address::parse("resource://inbox/a+b?project=%2Fdata%2Fmy+app&thread_id=c%2B%2B+plan").unwrap();
        assert_eq!((&*address.name, address.project().unwrap()), ("a+b", "/data/my app"));
        assert_eq!(address.get("thread_id"), Some("c++ plan"));
    }

    #[test]
    fn a_misspelt_key_is_refused_with_the_nearest() {
        let error = Address::parse("resource://inbox/a?project=x&unred_only=true").unwrap_err();
        let ReadError::Refused(refusal) = error else { panic!("{error:?}") };
        assert_eq!(refusal.hint, "Did you mean 'unread_only'?");
    }

    #[test]
    fn the_next_page_keeps_the_filters_and_drops_the_secret() {
        let uri = "resource://inbox/a?project=%2Fx&unread_only=true&registration_token=secret&limit=2";
        let next = Address::parse(uri).unwrap().page_at("before", 7);
        assert_eq!(next, "resource://inbox/a?project=%2Fx&unread_only=true&limit=2&before=7");
    }

    #[test]
    fn a_secret_in_an_address_is_not_repeated() {
        for uri in ["resource://inbox/a?registration_token=secret&x=1", "resource://none/a?registration_token=secret"] {
            let error = format!("{:?}", Address::parse(uri).unwrap_err());
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn what_has_no_place_is_not_found() {
        for uri in ["", "http://inbox/a", "resource://nothing/a", "resource://"] {
            assert!(matches!(Address::parse(uri), Err(ReadError::NotFound(_))), "{uri}");
        }
    }
}

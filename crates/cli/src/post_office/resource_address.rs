//! Writing the addresses of resources. Reading them, and knowing which there are, is the office's business.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stays as it is in an address.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The address of a resource: its kind, its name, and the keys that have a value.
pub fn resource(kind: &str, name: &str, keys: &[(&str, Option<&str>)]) -> String {
    let mut uri = format!("resource://{kind}/{}", encoded(name));
    let given = keys.iter().filter_map(|(key, value)| value.map(|value| (key, value)));
    for (at, (key, value)) in given.enumerate() {
        uri.push(if at == 0 { '?' } else { '&' });
        uri.push_str(&format!("{key}={}", encoded(value)));
    }
    uri
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_can_stand_in_an_address() {
        let uri = resource("work", "/data/my app", &[("state", None), ("id", Some("a&b=c?")), ("limit", Some("5"))]);
        assert_eq!(uri, "resource://work/%2Fdata%2Fmy%20app?id=a%26b%3Dc%3F&limit=5");
        assert_eq!(resource("work", "app", &[]), "resource://work/app");
    }
}

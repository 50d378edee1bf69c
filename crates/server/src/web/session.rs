//! Who looks at the page: signing in, forms that only our own pages can send, and the name that a person writes under.
//!
//! Nothing is kept on the server. What is given out is signed with a key that follows from the token, or without one from
//! the number of the office: any server of an office takes it, also after it was started again, and none takes it once the
//! token was changed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::http::header::{COOKIE, HOST, ORIGIN};
use ::http::{HeaderMap, HeaderValue};
use subtle::ConstantTimeEq;

/// How long somebody stays signed in.
const SIGNED_IN_FOR: Duration = Duration::from_secs(7 * 24 * 3600);
/// How long a browser remembers the name that a person writes under.
const NAME_KEPT_FOR: Duration = Duration::from_secs(365 * 24 * 3600);
/// The longest name that is remembered, in bytes as it is written in a cookie.
const LONGEST_NAME: usize = 1_536;

/// What is signed with.
pub struct Keys {
    token: Option<String>,
    /// For those who showed the token; none where there is no token.
    session: Option<[u8; 32]>,
    forms: [u8; 32],
}

/// What a browser sent along.
#[derive(Clone, Debug, Default)]
pub struct Visitor {
    /// Tells this browser from others, so that no form of one is taken from another.
    pub browser: Option<String>,
    /// The name that the person writes under, if it was chosen.
    pub name: Option<String>,
    session: Option<String>,
    port: String,
}

/// What cookies are called. Browsers send those of one port to all others of a machine, so each port has its own.
const SESSION: &str = "session";
const BROWSER: &str = "browser";
const NAME: &str = "name";

fn cookie_name(what: &str, port: &str) -> String {
    format!("postrider_{what}_{port}")
}

impl Keys {
    /// The keys of an office that is known by `secret`, and of those who sign in with that token, if they have to.
    pub fn new(token: Option<String>, secret: &str) -> Self {
        let key = |what| blake3::derive_key(what, secret.as_bytes());
        let session = token.is_some().then(|| key("postrider page 1: signed in"));
        Self { token, session, forms: key("postrider page 1: forms") }
    }

    /// Whether that is the token that people sign in with.
    pub fn is_token(&self, given: &str) -> bool {
        self.token.as_ref().is_some_and(|token| bool::from(given.as_bytes().ct_eq(token.as_bytes())))
    }

    /// Whether one has to sign in at all.
    pub fn asks_for_a_token(&self) -> bool {
        self.session.is_some()
    }

    /// Whether the visitor has signed in, or need not.
    pub fn lets_in(&self, visitor: &Visitor) -> bool {
        let Some(key) = &self.session else { return true };
        let Some(session) = &visitor.session else { return false };
        let Some((until, _)) = session.split_once('.') else { return false };
        let is_over = until.parse::<u64>().map_or(true, |until| until <= seconds_now());
        !is_over && is_signed(key, session, "")
    }

    /// The cookie of somebody who has shown the token.
    pub fn signed_in(&self, visitor: &Visitor, headers: &HeaderMap) -> HeaderValue {
        let until = seconds_now() + SIGNED_IN_FOR.as_secs();
        let session = self.session.map(|key| signed(&key, &format!("{until}.{}", random()), ""));
        visitor.cookie(SESSION, &session.unwrap_or_default(), SIGNED_IN_FOR, headers)
    }

    /// What a form of this visitor carries. It differs each time, so that nothing is learnt from how well a page compresses.
    pub fn form(&self, browser: &str) -> String {
        signed(&self.forms, &random(), browser)
    }

    /// Whether a form comes from a page that this visitor was given.
    pub fn is_form_of(&self, visitor: &Visitor, form: &str) -> bool {
        visitor.browser.as_deref().is_some_and(|browser| is_signed(&self.forms, form, browser))
    }
}

impl Visitor {
    /// Reads what a browser sent along. What is no cookie of ours says nothing.
    pub fn of(headers: &HeaderMap) -> Self {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let port = host.rsplit_once(':').map_or("80", |(_, port)| port);
        let port: String = port.chars().filter(char::is_ascii_digit).take(5).collect();
        let sent = |what: &str| {
            let name = cookie_name(what, &port);
            let all = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
            let pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
            pairs.filter(|(known, _)| *known == name).map(|(_, value)| value.to_owned()).next()
        };
        let name = sent(NAME).filter(|name| name.len() <= LONGEST_NAME);
        let name = name.and_then(|name| percent_encoding::percent_decode_str(&name).decode_utf8().ok().map(Into::into));
        let browser = sent(BROWSER).filter(|browser| browser.len() == 32);
        Self { browser, name, session: sent(SESSION), port }
    }

    /// The cookie that gives the browser its name.
    pub fn browser_cookie(&self, browser: &str, headers: &HeaderMap) -> HeaderValue {
        self.cookie(BROWSER, browser, NAME_KEPT_FOR, headers)
    }

    /// The cookie that remembers the name that the person writes under.
    pub fn name_cookie(&self, name: &str, headers: &HeaderMap) -> HeaderValue {
        let name = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC).to_string();
        self.cookie(NAME, &name, NAME_KEPT_FOR, headers)
    }

    /// The cookie of somebody who signs out.
    pub fn signed_out(&self, headers: &HeaderMap) -> HeaderValue {
        self.cookie(SESSION, "", Duration::ZERO, headers)
    }

    fn cookie(&self, what: &str, value: &str, kept_for: Duration, headers: &HeaderMap) -> HeaderValue {
        let (name, seconds) = (cookie_name(what, &self.port), kept_for.as_secs());
        // Behind something that speaks TLS, only the browser knows that it does.
        let is_https = headers.get(ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://"));
        let secure = if is_https { "; Secure" } else { "" };
        let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::try_from(text).expect("a cookie of ours is plain ASCII")
    }
}

/// Whether a request that changes something was sent by a page of this server.
///
/// Browsers say from where a request comes, and no page can make them say otherwise. Who says nothing is no browser of this
/// century, and is not let in either.
pub fn is_from_our_page(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get("sec-fetch-site")
        && site != "same-origin"
    {
        return false;
    }
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let (Some(origin), Some(host)) = (text(ORIGIN), text(HOST)) else { return false };
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

/// `text`, and what only the owner of the key can write behind it.
fn signed(key: &[u8; 32], text: &str, whose: &str) -> String {
    format!("{text}.{}", mac(key, text, whose).to_hex())
}

fn is_signed(key: &[u8; 32], signed: &str, whose: &str) -> bool {
    let Some((text, given)) = signed.rsplit_once('.') else { return false };
    // Hashes are compared in constant time.
    blake3::Hash::from_hex(given).is_ok_and(|given| given == mac(key, text, whose))
}

fn mac(key: &[u8; 32], text: &str, whose: &str) -> blake3::Hash {
    blake3::keyed_hash(key, format!("{}:{text}{whose}", text.len()).as_bytes())
}

/// A name that nobody can guess: 32 digits.
pub fn random() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    format!("{:032x}", u128::from_be_bytes(bytes))
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    /// What a browser sends back that was given this cookie.
    fn with(cookie: &HeaderValue) -> Visitor {
        let cookie = cookie.to_str().unwrap().split(';').next().unwrap();
        Visitor::of(&headers(&[("host", "localhost:8765"), ("cookie", cookie)]))
    }

    fn signing_in(token: &str) -> Keys {
        Keys::new(Some(token.to_owned()), token)
    }

    fn open(office: &str) -> Keys {
        Keys::new(None, office)
    }

    fn stranger() -> Visitor {
        Visitor::of(&headers(&[("host", "localhost:8765")]))
    }

    #[test]
    fn who_showed_the_token_is_let_in_until_the_token_changes() {
        let (keys, changed) = (signing_in("secret"), signing_in("other"));
        assert!(!keys.lets_in(&stranger()));
        let cookie = keys.signed_in(&stranger(), &HeaderMap::new());
        assert!(keys.lets_in(&with(&cookie)) && signing_in("secret").lets_in(&with(&cookie)), "at any server");
        assert!(!changed.lets_in(&with(&cookie)));
        let text = cookie.to_str().unwrap();
        assert!(text.contains("HttpOnly") && text.contains("SameSite=Lax") && !text.contains("secret"), "{text}");
    }

    #[test]
    fn a_session_that_is_over_made_up_or_of_another_port_lets_nobody_in() {
        let keys = signing_in("secret");
        let session = |value: &str| {
            let cookie = format!("postrider_session_8765={value}");
            Visitor::of(&headers(&[("host", "localhost:8765"), ("cookie", &cookie)]))
        };
        let over = signed(&keys.session.unwrap(), "1000.abc", "");
        for made_up in ["", ".", "9999999999.x", "9999999999.x.00", &over] {
            assert!(!keys.lets_in(&session(made_up)), "{made_up}");
        }
        let good = keys.signed_in(&stranger(), &HeaderMap::new());
        let elsewhere = good.to_str().unwrap().split(';').next().unwrap().to_owned();
        assert!(!keys.lets_in(&Visitor::of(&headers(&[("host", "localhost:9000"), ("cookie", &elsewhere)]))));
        assert!(open("office").lets_in(&stranger()), "without a token nobody has to");
    }

    #[test]
    fn a_form_is_taken_from_the_browser_that_it_was_given_to_alone() {
        let keys = open("office");
        let (mine, other) = (random(), random());
        let visitor = |browser: &str| with(&stranger().browser_cookie(browser, &HeaderMap::new()));
        let form = keys.form(&mine);
        assert_ne!(form, keys.form(&mine), "it differs each time");
        assert!(keys.is_form_of(&visitor(&mine), &form));
        assert!(!keys.is_form_of(&visitor(&other), &form) && !keys.is_form_of(&stranger(), &form));
        assert!(!keys.is_form_of(&visitor(&mine), "") && !open("other").is_form_of(&visitor(&mine), &form));
    }

    #[test]
    fn only_pages_of_this_server_may_change_something() {
        let from = |pairs: &[(&'static str, &str)]| is_from_our_page(&headers(pairs));
        let (host, own) = (("host", "localhost:8765"), ("origin", "http://localhost:8765"));
        assert!(from(&[host, own]) && from(&[host, own, ("sec-fetch-site", "same-origin")]));
        assert!(from(&[("host", "mail.example"), ("origin", "https://mail.example")]));
        for foreign in ["http://localhost:9000", "https://evil.example", "null", "http://127.0.0.1:8765"] {
            assert!(!from(&[host, ("origin", foreign)]), "{foreign}");
        }
        assert!(!from(&[host]) && !from(&[own]));
        assert!(!from(&[host, own, ("sec-fetch-site", "cross-site")]));
    }

    #[test]
    fn a_name_of_any_script_is_remembered() {
        let visitor = with(&stranger().name_cookie("Jürgen; Ω=1", &HeaderMap::new()));
        assert_eq!(visitor.name.as_deref(), Some("Jürgen; Ω=1"));
        let long = stranger().name_cookie(&"x".repeat(2_000), &HeaderMap::new());
        assert_eq!(with(&long).name, None);
    }

    #[test]
    fn behind_tls_cookies_are_for_tls_alone() {
        let cookie = stranger().browser_cookie("b", &headers(&[("origin", "https://mail.example")]));
        assert!(cookie.to_str().unwrap().ends_with("; Secure"));
    }
}

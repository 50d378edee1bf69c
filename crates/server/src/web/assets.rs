//! The style sheet and the script, out of the binary. Their addresses change with their content, so that a browser may
//! keep them for ever.

use std::sync::LazyLock;

use ::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE};
use ::http::{HeaderMap, HeaderValue};
use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use bytes::Bytes;

use super::refused::{PageResult, Refused};

const CSS: &str = include_str!("../../assets/page.css");
const JS: &str = include_str!("../../assets/page.js");
pub const ICON: &str = include_str!("../../assets/icon.svg");

/// One file, and the same made small.
struct Asset {
    kind: &'static str,
    plain: Bytes,
    small: Bytes,
}

impl Asset {
    fn new(kind: &'static str, text: &'static str) -> Self {
        Self { kind, plain: Bytes::from_static(text.as_bytes()), small: compressed(text.as_bytes(), 9).into() }
    }
}

static SHEET: LazyLock<Asset> = LazyLock::new(|| Asset::new("text/css; charset=utf-8", CSS));
static SCRIPT: LazyLock<Asset> = LazyLock::new(|| Asset::new("text/javascript; charset=utf-8", JS));
static FAVICON: LazyLock<Asset> = LazyLock::new(|| Asset::new("image/svg+xml", ICON));

/// What tells this content from any other.
pub static VERSION: LazyLock<String> =
    LazyLock::new(|| blake3::hash([CSS, JS].concat().as_bytes()).to_hex()[..12].to_owned());

/// `GET /assets/{version}/{name}`
pub async fn show(Path((version, name)): Path<(String, String)>, headers: HeaderMap) -> PageResult {
    let asset = match name.as_str() {
        "page.css" => &*SHEET,
        "page.js" => &*SCRIPT,
        _ => return Err(Refused::nothing_here()),
    };
    let mut response = sent(asset, &headers);
    // A page of another version asks for what it had; it gets what there is, and asks again.
    let keep = if version == *VERSION { "public, max-age=31536000, immutable" } else { "no-store" };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(keep));
    Ok(response)
}

/// `GET /favicon.svg`
pub async fn icon(headers: HeaderMap) -> Response {
    let mut response = sent(&FAVICON, &headers);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400"));
    response
}

fn sent(asset: &Asset, headers: &HeaderMap) -> Response {
    let is_small = takes_gzip(headers);
    let mut response = Response::new(Body::from(if is_small { asset.small.clone() } else { asset.plain.clone() }));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    if is_small {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Whether the browser takes what was made small.
pub fn takes_gzip(headers: &HeaderMap) -> bool {
    let all = headers.get_all(ACCEPT_ENCODING).into_iter().filter_map(|value| value.to_str().ok());
    let mut ways = all.flat_map(|line| line.split(','));
    ways.any(|way| {
        let (name, weight) = way.split_once(';').unwrap_or((way, ""));
        name.trim().eq_ignore_ascii_case("gzip") && weight.trim().replace(' ', "") != "q=0"
    })
}

/// Makes something small.
pub fn compressed(bytes: &[u8], level: u32) -> Vec<u8> {
    use std::io::Write;
    let mut small = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
    small.write_all(bytes).and_then(|()| small.finish()).expect("memory can be written to")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_taken_where_it_is_named_and_not_refused() {
        let takes = |value: &str| takes_gzip(&[(ACCEPT_ENCODING, value.parse().unwrap())].into_iter().collect());
        assert!(takes("gzip, deflate, br") && takes("br, GZIP;q=0.5"));
        assert!(!takes("br") && !takes("gzip;q=0") && !takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn nothing_in_a_style_sheet_or_script_comes_from_elsewhere() {
        for text in [CSS, JS, ICON] {
            let outside = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!outside.contains("http://") && !outside.contains("https://") && !outside.contains("@import"));
        }
        assert!(!JS.contains("innerHTML = ") && !JS.contains("eval("), "nothing is made to run");
    }
}

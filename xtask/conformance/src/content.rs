//! The pieces that the fixtures' answers are made of: texts, a picture, a sound, a resource.
//!
//! Each is the smallest of its kind that is valid.

use mcp::{Ending, Scene};
use serde_json::{Value, json};

/// A picture of one red pixel.
pub const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// A sound without a sample.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// A text.
pub fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// The picture.
pub fn image() -> Value {
    json!({ "type": "image", "data": PNG, "mimeType": "image/png" })
}

/// The sound.
pub fn audio() -> Value {
    json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" })
}

/// A resource that travels with the answer.
pub fn embedded(uri: &str, kind: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": kind, "text": text } })
}

/// The result of a tool.
pub fn result(content: &[Value]) -> Ending {
    Ending::Complete(json!({ "content": content }))
}

/// The result of a tool, at once.
pub fn plain(content: &[Value]) -> Scene {
    Scene::Plain(result(content))
}

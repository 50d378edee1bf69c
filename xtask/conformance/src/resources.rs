//! The test resources, beside those of the mail.
//!
//! Text and template are resources like ours. A binary one is played, for ours are all text.

use std::sync::Arc;

use async_trait::async_trait;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, stream};
use mcp::{Asked, Ending, ReadError, Refusal, ResourceEntry, ResourceTemplate, Resources, Scene};
use serde_json::json;

use crate::content::PNG;

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";

/// The mail's resources, and those of the suite.
pub struct TestResources {
    /// The mail's.
    pub others: Arc<dyn Resources>,
}

#[async_trait]
impl Resources for TestResources {
    fn templates(&self) -> Vec<ResourceTemplate> {
        let template = ResourceTemplate {
            uri_template: "test://template/{id}/data",
            name: "test template",
            description: "The id, told back.",
        };
        self.others.templates().into_iter().chain([template]).collect()
    }

    async fn list(&self, cursor: Option<&str>) -> Result<(Vec<ResourceEntry>, Option<String>), Refusal> {
        let (mut entries, next) = self.others.list(cursor).await?;
        if cursor.is_none() {
            let entry = |uri: &str| ResourceEntry { uri: uri.to_owned(), name: uri.to_owned() };
            entries.extend([TEXT, BINARY, WATCHED].map(entry));
        }
        Ok((entries, next))
    }

    async fn read(&self, uri: &str) -> Result<String, ReadError> {
        match uri {
            TEXT => Ok("This is the content of the static text resource.".to_owned()),
            WATCHED => Ok("Nothing ever changes here.".to_owned()),
            _ => match uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data")) {
                Some(id) => {
                    let data = format!("Data for ID: {id}");
                    Ok(json!({ "id": id, "templateTest": true, "data": data }).to_string())
                }
                None => self.others.read(uri).await,
            },
        }
    }

    async fn watch(&self, uri: &str) -> Result<BoxStream<'static, ()>, ReadError> {
        match uri {
            WATCHED => Ok(stream::pending().boxed()),
            _ => self.others.watch(uri).await,
        }
    }
}

/// What a read comes to of a resource that is not text.
pub fn play(asked: &Asked<'_>) -> Option<Scene> {
    if asked.params["uri"] != BINARY {
        return None;
    }
    let mut read = json!({ "contents": [{ "uri": BINARY, "mimeType": "image/png", "blob": PNG }] });
    if asked.is_modern {
        read["ttlMs"] = json!(0);
        read["cacheScope"] = json!("private");
    }
    Some(Scene::Plain(Ending::Complete(read)))
}

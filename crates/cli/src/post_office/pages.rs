//! Reading a list of the office to its end, page by page.
//!
//! Two pages are two questions: mail that comes between them may be missed, and the next look has it.

use serde_json::Value;

use super::{PostOffice, Refused};

/// How many entries are asked for at a time.
pub const PAGE: &str = "500";
/// The same, of a verb.
pub const MOST_AT_ONCE: u32 = 500;
/// How many entries, and how many pages, are read at most.
const MOST_ENTRIES: usize = 10_000;
const MOST_PAGES: usize = 100;

/// What all pages say together.
pub struct Pages {
    /// The last page, without its entries.
    pub last: Value,
    /// The entries of all pages.
    pub entries: Vec<Value>,
    /// Whether there are more than are worth reading.
    pub has_more: bool,
}

/// Reads the list called `name` from the page at `first` on.
pub async fn read(post_office: &PostOffice, first: String, name: &str) -> Result<Pages, Refused> {
    let mut pages = Pages { last: Value::Null, entries: Vec::new(), has_more: false };
    let mut next = Some(first);
    for _ in 0..MOST_PAGES {
        let Some(uri) = next else { break };
        pages.last = post_office.read(&uri).await?;
        if let Some(Value::Array(entries)) = pages.last.get_mut(name).map(Value::take) {
            pages.entries.extend(entries);
        }
        next = pages.last["next"].as_str().map(str::to_owned);
        pages.has_more = next.is_some();
        if pages.entries.len() >= MOST_ENTRIES {
            break;
        }
    }
    Ok(pages)
}

/// Reads a list of a verb to its end: `ask` gets a cursor, and brings a page with the cursor of the next. Returns the entries,
/// and whether there are more than are worth reading.
pub async fn all<T>(
    mut ask: impl AsyncFnMut(Option<i64>) -> Result<(Vec<T>, Option<i64>), Refused>,
) -> Result<(Vec<T>, bool), Refused> {
    let (mut entries, mut cursor) = (Vec::new(), None);
    for _ in 0..MOST_PAGES {
        let (page, next) = ask(cursor).await?;
        entries.extend(page);
        cursor = next;
        if cursor.is_none() || entries.len() >= MOST_ENTRIES {
            break;
        }
    }
    Ok((entries, cursor.is_some()))
}

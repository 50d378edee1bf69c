//! Reading a list of the office to its end, page by page.
//!
//! Two pages are two questions: mail that comes between them may be missed, and the next look has it.

use super::Refused;

/// How many entries are asked for at a time.
pub const MOST_AT_ONCE: u32 = 500;
/// How many entries, and how many pages, are read at most.
const MOST_ENTRIES: usize = 10_000;
const MOST_PAGES: usize = 100;

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

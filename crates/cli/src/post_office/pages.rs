//! Reading a list of the office to its end, page by page.
//!
//! Two pages are two questions: mail that comes between them may be missed, and the next look has it.

use std::mem;

use api::Ask;

use super::{PostOffice, Refused};

/// How many entries are asked for at a time.
pub const MOST_AT_ONCE: u32 = 500;
/// How many entries, and how many pages, are read at most.
const MOST_ENTRIES: usize = 10_000;
const MOST_PAGES: usize = 100;

/// Reads a list of a verb to its end: `turn` puts the cursor of the next page into the request, and `entries` finds the
/// entries and that cursor in a page. Returns the last page with all the entries, and whether there are more than are worth
/// reading.
pub async fn all<V: Ask + Clone, T>(
    post_office: &PostOffice,
    mut request: V,
    turn: impl Fn(&mut V, i64),
    entries: impl Fn(&mut V::Answer) -> (&mut Vec<T>, Option<i64>),
) -> Result<(V::Answer, bool), Refused> {
    let mut page = post_office.ask(request.clone()).await?;
    for _ in 1..MOST_PAGES {
        let (read, next) = entries(&mut page);
        let Some(next) = next.filter(|_| read.len() < MOST_ENTRIES) else { break };
        let mut read = mem::take(read);
        turn(&mut request, next);
        page = post_office.ask(request.clone()).await?;
        let (more, _) = entries(&mut page);
        read.append(more);
        *more = read;
    }
    let has_more = entries(&mut page).1.is_some();
    Ok((page, has_more))
}

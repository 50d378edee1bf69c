//! Finding what was said, with the words that were found marked.

use askama::Template;
use jiff::Timestamp;
use mail::ids::MessageId;
use mail::messages::About;
use mail::office::{Found, SearchRequest};
use mail::projects::Project;
use mail::search::query::{LANGUAGE, Query as Wanted};
use mail::search::words;
use mail::{Error, Office};
use serde::Deserialize;

use super::frame::Frame;
use super::markdown::line;
use super::messages::{address, last_part, projects, subject};
use super::refused::PageResult;
use super::times::When;
use super::visit::{Query, Visit, encoded};
use super::who::Who;

/// How many messages a page shows, and how many projects are looked through.
const HITS: usize = 30;
const PROJECTS: usize = 200;

/// A part of a text, and whether it is what was looked for.
pub struct Excerpt {
    text: String,
    is_hit: bool,
}

struct Hit {
    id: i64,
    address: String,
    from: Who,
    project: String,
    when: When,
    subject: Vec<Excerpt>,
    excerpt: Vec<Excerpt>,
}

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    frame: Frame,
    query: SearchQuery,
    projects: Vec<Project>,
    hits: Vec<Hit>,
    older: Option<String>,
    refusal: Option<String>,
    /// What may be asked.
    language: &'static str,
}

/// What an address asks for.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct SearchQuery {
    q: String,
    project: String,
    before: Option<i64>,
}

/// `GET /search`
pub async fn show(Query(query): Query<SearchQuery>, visit: Visit) -> PageResult {
    let office = visit.office();
    let project = visit.project_if_any(&query.project).await?;
    let (mut hits, mut refusal) = (Vec::new(), None);
    if !query.q.trim().is_empty() {
        match find(office, project.as_ref(), &query).await {
            Ok(found) => hits = found,
            // What is wrong with a question is said beside it.
            Err(error @ (Error::Query(_) | Error::SearchTooSlow)) => {
                refusal = Some(format!("{error}. {}", crate::hints::for_person(&error)));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let older = (hits.len() > HITS).then(|| {
        hits.truncate(HITS);
        let last = hits.last().map_or(0, |hit| hit.id);
        format!("/search?q={}&project={}&before={last}", encoded(&query.q), encoded(&query.project))
    });
    let frame = visit.frame("Search", "search");
    visit.page(&SearchPage {
        frame: Frame { project, ..frame },
        projects: projects(office).await?,
        query,
        hits,
        older,
        refusal,
        language: LANGUAGE,
    })
}

/// What matches, newest first, one more than a page shows.
async fn find(office: &Office, project: Option<&Project>, query: &SearchQuery) -> Result<Vec<Hit>, Error> {
    let wanted = words(&Wanted::parse(&query.q)?);
    let all = match project {
        Some(project) => vec![project.clone()],
        None => office.projects(None, PROJECTS).await?,
    };
    let (now, mut hits) = (office.now(), Vec::new());
    for project in all {
        let request = SearchRequest {
            project_key: &project.slug,
            query: &query.q,
            about: About::default(),
            before: query.before.map(MessageId),
            limit: HITS + 1,
        };
        let found = office.search(request).await?;
        hits.extend(found.iter().map(|found| hit(&project, found, &wanted, now)));
    }
    hits.sort_by_key(|hit| std::cmp::Reverse(hit.id));
    hits.truncate(HITS + 1);
    Ok(hits)
}

fn hit(project: &Project, found: &Found, wanted: &[String], now: Timestamp) -> Hit {
    let message = &found.message;
    Hit {
        id: message.id.0,
        address: address(&project.slug, &message.thread, message.id.0),
        from: Who::wrote(message),
        project: line(last_part(&project.human_key), 40),
        when: When::ago(message.created_at, now),
        subject: marked(&subject(&message.subject), wanted),
        excerpt: marked(&line(&found.snippet, 300), wanted),
    }
}

/// A text in parts, those that begin with a wanted word apart from the others.
fn marked(text: &str, wanted: &[String]) -> Vec<Excerpt> {
    let mut parts: Vec<Excerpt> = Vec::new();
    let mut rest = text;
    let mut is_inside = false;
    while let Some(first) = rest.chars().next() {
        // A word is found where one begins.
        let found = if is_inside { None } else { wanted.iter().filter_map(|word| begins_with(rest, word)).max() };
        let (length, is_hit) = found.map_or((first.len_utf8(), false), |length| (length, true));
        let (piece, behind) = rest.split_at(length);
        match parts.last_mut().filter(|last| last.is_hit == is_hit && !is_hit) {
            Some(last) => last.text.push_str(piece),
            None => parts.push(Excerpt { text: piece.to_owned(), is_hit }),
        }
        is_inside = piece.chars().last().is_some_and(char::is_alphanumeric);
        rest = behind;
    }
    parts
}

/// How many bytes of `text` are `word`, whatever the case of their letters, if it begins so.
fn begins_with(text: &str, word: &str) -> Option<usize> {
    let mut letters = word.chars();
    let mut end = 0;
    for (at, letter) in text.char_indices() {
        if letters.as_str().is_empty() {
            break;
        }
        for lower in letter.to_lowercase() {
            if letters.next()? != lower {
                return None;
            }
        }
        end = at + letter.len_utf8();
    }
    (letters.as_str().is_empty() && end > 0).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, wanted: &[&str]) -> String {
        let wanted: Vec<String> = wanted.iter().map(|word| (*word).to_owned()).collect();
        let parts = marked(text, &wanted);
        parts.iter().map(|part| if part.is_hit { format!("[{}]", part.text) } else { part.text.clone() }).collect()
    }

    #[test]
    fn words_are_marked_where_they_begin_in_any_case() {
        assert_eq!(shown("The Lexer lexes a relexer", &["lexer", "lex"]), "The [Lexer] [lex]es a relexer");
        assert_eq!(shown("ÄRGER über <b>", &["ärger", "<b>"]), "[ÄRGER] über [<b>]");
        assert_eq!(shown("off by one error", &["off by one"]), "[off by one] error");
        assert_eq!(shown("", &["x"]), "");
        assert_eq!(shown("nothing", &["", "nothing at all"]), "nothing");
    }
}

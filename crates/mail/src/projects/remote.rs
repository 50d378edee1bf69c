//! The URL of a repository as a key: one text for all the ways in which git writes it.

use super::LONGEST_KEY;

/// How every such key begins.
pub(super) const SCHEME: &str = "https://";

/// The schemes under which git reaches a repository on another machine.
const SCHEMES: [&str; 6] = ["https", "http", "ssh", "git", "git+ssh", "ssh+git"];

/// Whether a text has the form of a repository's URL, and so cannot be a path or a slug.
pub(super) fn is_url(text: &str) -> bool {
    text.contains("://") || text.split_once(':').is_some_and(|(host, _)| host.contains('@') && !host.contains('/'))
}

/// The key of the repository at a URL, such as `https://git.example/team/app`; for one on this machine its path. None if
/// the text is no place of a repository.
///
/// The protocol, who connects (which may hold a password), the port of `ssh`, and `.git` at the end make no difference.
pub fn remote_key(url: &str) -> Option<String> {
    let url = url.trim();
    if url.len() > LONGEST_KEY || url.chars().any(|letter| letter.is_control() || letter.is_whitespace()) {
        return None;
    }
    let (host, path) = match url.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => return own_path(rest),
        Some((scheme, rest)) => {
            let scheme = SCHEMES.into_iter().find(|known| scheme.eq_ignore_ascii_case(known))?;
            let (authority, path) = rest.split_once('/')?;
            (host_of(authority, scheme), path)
        }
        None if url.starts_with('/') => return own_path(url),
        None => {
            // `git@host:team/app`; what has a slash before the colon is a path.
            let (authority, path) = url.split_once(':').filter(|(authority, _)| !authority.contains('/'))?;
            (host_of(authority, "ssh"), path)
        }
    };
    // One letter before a colon is a drive of Windows.
    if host.chars().count() < 2 || path.split('/').any(|part| part == "..") {
        return None;
    }
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    (!path.is_empty()).then(|| format!("{SCHEME}{host}/{path}"))
}

/// The host in lower case, with its port where that tells one server from another.
fn host_of(authority: &str, scheme: &str) -> String {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_ascii_lowercase();
    let Some((name, port)) = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
    else {
        return host;
    };
    match scheme {
        "https" if port != "443" => host,
        "http" if port != "80" => host,
        // Whoever comes by ssh comes to the same server as by its pages.
        _ => name.to_owned(),
    }
}

/// A repository on this machine is the one that its folder belongs to.
fn own_path(path: &str) -> Option<String> {
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix("/.git").or_else(|| path.strip_suffix(".git")).unwrap_or(path);
    let is_whole = path.starts_with('/') && path.len() > 1 && path.split('/').all(|part| part != "..");
    is_whole.then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_a_repository_is_reached_its_key_is_one() {
        for url in [
            "https://git.example/team/app",
            "https://git.example/team/app.git",
            "https://git.example:443/team/app/",
            "http://Git.Example/team/app.git/",
            "https://me:s3cret@git.example/team/app",
            "ssh://git@git.example:2222/team/app.git",
            "git+ssh://git.example/team/app",
            "git://git.example/team/app",
            "git@git.example:team/app.git",
            "git.example:/team/app",
            " git@GIT.example:team/app ",
        ] {
            assert_eq!(remote_key(url).as_deref(), Some("https://git.example/team/app"), "{url}");
        }
        assert_eq!(remote_key("http://localhost:3000/a/b.git").as_deref(), Some("https://localhost:3000/a/b"));
    }

    #[test]
    fn a_key_is_its_own_key() {
        for url in ["git@git.example:Team/App.git", "http://localhost:3000/a", "ssh://git@[::1]:22/x"] {
            let key = remote_key(url).unwrap();
            assert_eq!(remote_key(&key), Some(key.clone()), "{url}");
        }
    }

    #[test]
    fn a_repository_of_this_machine_is_its_folder() {
        for url in ["/srv/app.git", "/srv/app", "/srv/app/.git", "/srv/app/", "file:///srv/app.git"] {
            assert_eq!(remote_key(url).as_deref(), Some("/srv/app"), "{url}");
        }
    }

    #[test]
    fn what_is_no_place_of_a_repository_has_no_key() {
        for url in [
            "",
            "/",
            "app",
            "../app.git",
            "C:\\app",
            "C:/app",
            "https://",
            "https://git.example",
            "https://x/",
            "ftp://git.example/a",
            "git@git.example:",
            "git@git.example:../a",
            "https://git.example/a b",
            "https://git.example/a\nb",
            "file://../x",
            "/srv/../app",
            "./a:b",
            "git.example:.git",
        ] {
            assert_eq!(remote_key(url), None, "{url:?}");
        }
    }
}

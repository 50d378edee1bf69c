//! `completions` and `man`: what shells and readers are told of the commands.

use std::fs;

use crate::harness::Place;

#[test]
fn a_shell_that_is_known_gets_its_script_and_another_is_refused() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.done(&["completions", shell]);
        assert!(script.contains("postrider") && script.contains("mark-unread"), "{shell}");
        assert_eq!(place.json(&["completions", shell])["shell"], shell);
    }
    let refused = place.run(&["completions", "tcsh"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("fish"), "{}", refused.stderr);
    assert!(!place.database().exists(), "nothing is opened for it");
}

#[test]
fn bash_takes_the_script() {
    let place = Place::new();
    let checked = place.shell("postrider completions bash > script && bash -n script").output().expect("a shell runs");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

#[test]
fn a_page_names_no_page_that_is_not_there() {
    let place = Place::new();
    let folder = place.file("pages");
    place.done(&["man", "--dir", folder.to_str().expect("a plain path")]);
    let mut named = 0;
    for entry in fs::read_dir(&folder).expect("the folder is there") {
        let page = fs::read_to_string(entry.expect("a folder can be read").path()).expect("a page is text");
        for line in page.lines().filter_map(|line| line.strip_suffix("(1)")) {
            named += 1;
            assert!(folder.join(format!("{}.1", line.replace('\\', ""))).exists(), "{line}");
        }
    }
    assert!(named > 20, "{named}");
}

#[test]
fn there_is_a_page_for_each_command_and_one_for_all() {
    let place = Place::new();
    let page = place.done(&["man"]);
    assert!(page.contains(".TH postrider 1") && page.contains("postrider\\-mail(1)"), "{page}");
    let folder = place.file("pages");
    place.done(&["man", "--dir", folder.to_str().expect("a plain path")]);
    for name in ["postrider.1", "postrider-serve.1", "postrider-mail.1", "postrider-mail-send.1"] {
        let page = fs::read_to_string(folder.join(name)).unwrap_or_else(|_| panic!("there is no {name}"));
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
    let written = fs::read_to_string(folder.join("postrider.1")).expect("the main page");
    assert_eq!(page, written, "what is printed names no other pages than what is written");
    assert!(!page.contains("postrider\\-help(1)"), "{page}");
    let send = fs::read_to_string(folder.join("postrider-mail-send.1")).expect("a page of a verb");
    assert!(send.contains(".SH EXAMPLES\n.nf\npostrider mail send") && !send.contains("EXTRA"), "{send}");
    for section in ["ENVIRONMENT", "FILES", "EXIT STATUS"] {
        assert!(page.contains(&format!(".SH \"{section}\"")), "{section}");
    }
    fs::write(place.file("taken"), "").expect("the place can be written to");
    let refused = place.run(&["man", "--dir", place.file("taken").to_str().expect("a plain path")]);
    assert!(refused.code == Some(1) && refused.stderr.contains("cannot write the pages to"), "{}", refused.stderr);
}

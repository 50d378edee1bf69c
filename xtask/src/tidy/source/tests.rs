//! What the scanner must tell apart.

use super::*;

fn strings(text: &str) -> Vec<String> {
    Source::scan(text).strings.into_iter().map(|literal| literal.text).collect()
}

fn functions(text: &str) -> Vec<(String, usize, usize)> {
    Source::scan(text).functions().into_iter().map(|f| (f.name, f.line, f.lines)).collect()
}

#[test]
fn comments_and_literals_are_blanked_and_lines_stay() {
    let text = "let a = \"todo!(1)\"; // todo!(2)\n/* todo!(3) /* nested */ todo!(4) */ let b = 1;\n";
    let code = Source::scan(text).code;
    assert!(!code.contains("todo"));
    assert_eq!(code.len(), text.len());
    assert!(code.lines().nth(1).unwrap().ends_with("let b = 1;"));
}

#[test]
fn every_kind_of_string_is_collected() {
    assert_eq!(
        strings(r###"f("a", b"b", r"c\", br#"d"e"#, r##"f"#g"##, "h\"i")"###),
        ["a", "b", "c\\", "d\"e", "f\"#g", "h\\\"i"]
    );
}

#[test]
fn raw_names_and_words_that_end_in_r_open_no_string() {
    assert!(strings("let r#type = for_r; bar # \n").is_empty());
    assert_eq!(strings("bar!(\"x\")"), ["x"]);
}

#[test]
fn a_lifetime_is_no_character_and_a_quote_may_be_one() {
    let source = Source::scan("fn f<'a>(x: &'a str) { g('\"', '\\'', '{', 'é', b'}', '\\u{7d}') }");
    assert!(source.strings.is_empty());
    assert_eq!(source.functions().len(), 1);
}

#[test]
fn a_string_begins_on_the_line_of_its_quote() {
    let source = Source::scan("\n\nf(\"x\ny\");\nf(\"z\");");
    let lines: Vec<usize> = source.strings.iter().map(|literal| literal.line).collect();
    assert_eq!(lines, [3, 5]);
}

#[test]
fn a_function_is_measured_from_its_fn_to_its_brace() {
    let text =
        "/// Doc.\n#[inline]\npub fn a(x: [u8; 2]) -> u8\nwhere\n    u8: Copy,\n{\n    fn b() {}\n    \"}\";\n}\n";
    assert_eq!(functions(text), [("b".into(), 7, 1), ("a".into(), 3, 7)]);
}

#[test]
fn what_has_no_body_is_no_function() {
    assert!(functions("trait T { fn a(&self); fn b(x: fn(u8) -> u8); }\nstruct S { call: fn() }").is_empty());
}

#[test]
fn test_code_is_what_stands_behind_the_attribute() {
    let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { {} }\n}\nfn c() {}\n#[cfg(not(test))]\nfn d() {}\n";
    let source = Source::scan(text);
    let test_lines: Vec<usize> = (1..=8).filter(|line| source.is_test_line(*line)).collect();
    assert_eq!(test_lines, [2, 3, 4, 5]);
}

#[test]
fn a_test_module_in_another_file_is_named() {
    let source = Source::scan("#[cfg(test)]\nmod made_up;\n#[cfg(all(test, unix))]\nmod tests { }\nmod real;\n");
    assert_eq!(source.test_modules().collect::<Vec<_>>(), ["made_up"]);
    assert!(!source.is_test_line(5));
}

#[test]
fn a_word_is_found_whole_and_with_its_tail() {
    assert!(has_word("  todo!()", "todo", "!"));
    assert!(!has_word("my_todo!()", "todo", "!"));
    assert!(!has_word("todos!()", "todo", "!"));
    assert!(!has_word("todo()", "todo", "!"));
}

#[test]
fn broken_files_are_scanned_to_their_end() {
    for text in ["\"", "'", "r#\"", "/* /*", "b'", "'\\", "fn", "fn f(", "}}}", "#[cfg(test)]", "#[", "é'é", "r", "br"]
    {
        let source = Source::scan(text);
        source.functions();
        assert_eq!(source.code.len(), text.len(), "{text}");
    }
}

//! Lists the promises of every store and of every provider, so that writing one is enough to have it run.
//!
//! A promise is a `pub async fn` of `mail/src/contract/<noun>.rs`, of `mail/src/provider/suite.rs` with `suite/archived.rs`,
//! or of `suite/kept.rs`. What is written here is a macro for each of the three, which hands the list to the macro that makes
//! the tests.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

const OPENING: &str = "\npub async fn ";

fn main() {
    let mail = Path::new("../../crates/mail/src");
    let (contract, suite) = (mail.join("contract"), mail.join("provider/suite.rs"));
    println!("cargo::rerun-if-changed={}", contract.display());
    let [archived, kept] = ["archived.rs", "kept.rs"].map(|file| mail.join("provider/suite").join(file));
    for file in [&suite, &archived, &kept] {
        println!("cargo::rerun-if-changed={}", file.display());
    }

    let mut files: Vec<PathBuf> = fs::read_dir(&contract)
        .expect("the contract is a folder of mail")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    let mut nouns = String::new();
    for file in files {
        let promises = promises_of(&file);
        if !promises.is_empty() {
            let noun = file.file_stem().expect("a file has a name").display();
            writeln!(nouns, "{noun} {{ {promises} }}").expect("a string takes all");
        }
    }
    let macros = [
        macro_of("promises_of_stores", "store_contract", &nouns),
        macro_of(
            "promises_of_providers",
            "provider_suite",
            &[&suite, &archived].map(|file| promises_of(file)).concat(),
        ),
        macro_of("promises_of_keepers", "kept_suite", &promises_of(&kept)),
    ]
    .concat();
    let out = env::var("OUT_DIR").expect("cargo says where to write");
    fs::write(Path::new(&out).join("promises.rs"), macros).expect("the folder can be written to");
}

/// The promises of a file, each with a name for what it is given: `promise(first)` or `promise(first, second)`.
fn promises_of(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("a file of mail can be read");
    let mut promises = String::new();
    for function in text.split(OPENING).skip(1) {
        let (name, rest) = function.split_once('(').expect("a function has parameters");
        let (parameters, _) = rest.split_once(')').expect("parameters end");
        let given = if parameters.matches(':').count() == 1 { "first" } else { "first, second" };
        write!(promises, "{name}({given}) ").expect("a string takes all");
    }
    promises
}

fn macro_of(name: &str, makes_tests: &str, list: &str) -> String {
    format!(
        "#[doc(hidden)]\n#[macro_export]\nmacro_rules! {name} {{\n\
         ($($words:tt)*) => {{ $crate::{makes_tests}! {{ @tests $($words)*\n{list}}} }};\n}}\n"
    )
}

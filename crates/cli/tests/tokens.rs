//! `postrider token revoke`: after it a token opens nothing, and a name is never left to whoever comes first.

use serde_json::Value;

use crate::harness::{Place, Ran};

/// A home where names have to be proved, and GreenDog's token in it.
fn strict() -> (Place, String) {
    let place = Place::with_settings("identity = \"strict\"");
    let token = join(&place);
    (place, token)
}

fn join(place: &Place) -> String {
    place.json(&["join", "GreenDog"])["registration_token"].as_str().unwrap().to_owned()
}

fn as_green_dog(place: &Place, arguments: &[&str], token: &str) -> Ran {
    place.run(&[arguments, &["--as", "GreenDog", "--token", token, "--json"]].concat())
}

fn is_proved(place: &Place, token: &str) -> bool {
    as_green_dog(place, &["mail", "inbox"], token).code == Some(0)
}

#[test]
fn all_tokens_are_worth_nothing_but_the_one_that_is_printed() {
    let (place, first) = strict();
    let revoked = as_green_dog(&place, &["token", "revoke", "--all"], &first);
    let told: Value = serde_json::from_str(&revoked.stdout).unwrap();
    assert_eq!((revoked.code, &told["revoked"], &told["left"]), (Some(0), &1.into(), &1.into()));
    let new = told["registration_token"].as_str().unwrap();
    assert!(!is_proved(&place, &first) && is_proved(&place, new));
    let taken = place.run(&["join", "GreenDog", "--json"]);
    assert!(taken.code == Some(1) && taken.stdout.contains("IDENTITY_REQUIRED"), "{}", taken.stdout);
}

#[test]
fn revoking_takes_a_token_and_leaves_what_was_not_named() {
    let (place, first) = strict();
    for wrong in ["", "wrong"] {
        let refused = as_green_dog(&place, &["token", "revoke", "--all"], wrong);
        assert!(refused.code == Some(1) && refused.stdout.contains("IDENTITY_REQUIRED"), "{}", refused.stdout);
    }
    let nothing = as_green_dog(&place, &["token", "revoke", "never-given"], &first);
    assert!(
        nothing.stdout.contains("\"revoked\":0") && !nothing.stdout.contains("registration_token"),
        "{}",
        nothing.stdout
    );
    assert!(is_proved(&place, &first));
    let last = place.run(&["token", "revoke", &first, "--as", "GreenDog", "--token", &first]);
    let new = last.stdout.lines().last().unwrap();
    assert!(last.stdout.starts_with("Revoked 1 token of 'GreenDog'.") && is_proved(&place, new), "{}", last.stdout);
    assert!(!is_proved(&place, &first));
}

//! The page for people, in a real browser: what it promises to those who look, and to those who must not get in.
//!
//! Each promise is a function of a script beside this file, which drives Chromium and speaks with the server over MCP as
//! agents do. Whatever a browser complains of on any page breaks the promise at hand: a message of the console, a script
//! that fails, what the policy forbids, a dialog, a request to anywhere but our own pages. What needs no browser is in
//! `forms`.

mod browser;
mod forms;

use crate::harness::Place;

/// What people sign in with, where they have to.
const TOKEN: &str = "a-token-for-tests";

/// A test for each promise of a script, with a server of its own: `open` to everybody, or asking for the `token`.
macro_rules! promises {
    ($($script:ident, $server:ident: [$($promise:ident,)*])*) => {
        $(mod $script {
            $(#[test]
            fn $promise() {
                super::look(stringify!($script), stringify!($promise), super::$server);
            })*
        })*

        const PROMISES: &[(&str, &[&str])] = &[$((stringify!($script), &[$(stringify!($promise)),*])),*];
    };
}

promises! {
    live, OPEN: [
        mail_appears_in_the_inbox_without_a_reload,
        what_is_typed_and_where_one_is_outlives_changes,
        counts_and_presence_turn_on_pages_that_are_open,
    ]
    stepping_in, OPEN: [
        an_answer_reaches_the_agent_vouched_for_as_human,
        a_message_to_several_names_and_to_a_channel_arrives,
        what_was_typed_outlives_a_refusal,
        an_answer_that_is_refused_keeps_its_text,
        a_form_that_is_sent_twice_sends_once,
        a_person_acknowledges_in_their_own_name,
        a_delivery_is_archived_and_brought_back,
        a_reservation_is_released_and_its_holder_told,
        a_retired_agent_gets_no_mail_until_it_returns,
    ]
    signing_in, CLOSED: [
        whoever_signs_in_comes_to_the_page_that_was_asked_for,
        whoever_signs_out_sees_nothing_more,
    ]
    without_script, CLOSED: [
        without_a_script_mail_is_read_filtered_paged_and_searched,
        without_a_script_a_person_signs_in_and_steps_in,
    ]
    keys, OPEN: [
        keys_lead_through_mail,
        keys_open_search_writing_and_the_list_of_keys,
    ]
    finding, OPEN: [
        what_was_looked_for_is_marked,
        a_question_that_cannot_be_read_is_explained_beside_it,
        filters_live_in_the_address,
        a_few_hundred_messages_are_paged_through_without_gap_or_repeat,
    ]
    hostile, OPEN: [
        hostile_mail_is_shown_as_text_and_does_nothing,
        hostile_threads_and_mail_that_comes_later_do_nothing,
        hostile_addresses_and_names_do_nothing,
    ]
    heavy, OPEN: [
        mail_of_any_shape_leaves_the_page_usable_and_its_text_to_be_had,
    ]
    every_page, CLOSED: [
        no_page_breaks_its_own_policy_and_every_page_carries_it,
        every_page_is_accessible_in_light_and_in_dark,
        every_page_fits_a_phone_and_is_accessible_there,
        a_first_look_at_the_overview_or_a_full_inbox_is_small,
    ]
}

/// A server that lets everybody in, and one that asks for the token.
const OPEN: Option<&str> = None;
const CLOSED: Option<&str> = Some(TOKEN);

/// Looks whether a promise holds, at a server of its own.
fn look(script: &str, promise: &str, token: Option<&str>) {
    let Some(browser) = browser::browser() else { return };
    let place = Place::new();
    let token_set = token.map(|token| ("AGENT_MAIL_BEARER_TOKEN", token));
    // The person of the page is called as whoever runs the tests, which must not matter.
    let environment: Vec<_> = [("USER", "Ada")].into_iter().chain(token_set).collect();
    let server = place.serve_with(&[], &environment);
    browser.look(script, promise, &server, token);
    server.stop();
}

#[test]
fn every_promise_of_the_scripts_is_looked_at() {
    for (script, listed) in PROMISES {
        let path = format!("{}/tests/page/{script}.mjs", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).expect("every script is a file");
        let exported = text.lines().filter_map(|line| line.strip_prefix("export async function "));
        let written: Vec<&str> = exported.filter_map(|line| line.split('(').next()).collect();
        assert_eq!(written, *listed, "{path}");
    }
}

//! Mail that leaves one store and enters another.

/// The promises of these nouns; a part of [`store_contract!`](crate::store_contract).
#[doc(hidden)]
#[macro_export]
macro_rules! store_contract_of_transfer {
    () => {
        $crate::store_contract! { @two
            transfer: [
                a_post_stays_a_post,
                what_was_taken_in_before_an_export_is_known_after_the_import,
                what_an_office_said_is_known_where_its_mail_was_imported,
                what_an_office_said_is_the_same_document_where_its_mail_was_imported,
                an_export_tells_each_message_with_all_that_belongs_to_it,
                an_export_is_read_in_pages_over_all_projects,
                what_was_imported_is_exported_again_as_it_was,
                an_import_in_parts_gives_the_same,
                an_import_makes_projects_and_agents,
                an_import_uses_the_projects_and_agents_that_are_there,
                imported_mail_is_found_at_every_door,
                importing_twice_adds_nothing,
                importing_again_takes_nothing_back,
                an_import_goes_on_where_the_last_one_ended,
                another_message_under_the_number_is_a_clash,
                a_number_below_the_highest_is_a_clash,
                a_time_that_does_not_rise_is_a_clash,
                after_a_clash_nothing_of_the_call_is_kept,
                new_mail_follows_what_was_imported,
                archived_mail_is_left_out_of_the_mailboxes,
                counts_tell_how_much_there_is,
                a_fresh_store_is_ready_and_being_asked_changes_nothing,
            ],
        }
    };
}

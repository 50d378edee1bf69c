//! The promises of every store, each written once and run on every engine.
//!
//! A promise is a function whose name says it; `contract/<noun>.rs` holds those of one noun. An engine's tests call
//! [`store_contract!`](crate::store_contract) with a function that makes a fresh store, and get a test for each promise.
//! Nothing here knows an engine. What takes two handles on one store is told by each engine's own tests.

// Each function is a test: its name is its documentation, and it may panic.
#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::Arc;

use crate::Store;

pub mod agents;
pub mod channels;
pub mod copies;
pub mod events;
mod fixtures;
pub mod mailboxes;
pub mod marks;
pub mod messages;
pub mod pages;
pub mod presence;
pub mod projects;
pub mod reservations;
pub mod search;
pub mod threads;
pub mod transfer;
pub mod waiting;
pub mod watches;
pub mod work;

/// A store as the promises get it: some of them use it from several tasks at once.
pub type Shared = Arc<dyn Store>;

/// Makes one test of each promise, in a module for each noun.
///
/// `$fresh` names an async function without arguments that returns an empty store as [`Shared`](crate::contract::Shared)
/// and a guard that is kept until the promise was checked, or `None` where it has said that there is no such engine here.
#[macro_export]
macro_rules! store_contract {
    (@one $($noun:ident: [$($promise:ident),+ $(,)?]),+ $(,)?) => {$(
        mod $noun {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                let Some((store, _guard)) = super::fresh_store().await else { return };
                $crate::contract::$noun::$promise(&store).await;
                drop(store); // before its guard
            }
        )+}
    )+};
    (@two $($noun:ident: [$($promise:ident),+ $(,)?]),+ $(,)?) => {$(
        mod $noun {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                let Some((store, _guard)) = super::fresh_store().await else { return };
                let Some((second, _second_guard)) = super::fresh_store().await else { return };
                $crate::contract::$noun::$promise(&store, &second).await;
                drop((store, second)); // before their guards
            }
        )+}
    )+};
    ($fresh:path) => {
        async fn fresh_store() -> Option<($crate::contract::Shared, impl std::any::Any)> {
            $fresh().await
        }
        $crate::store_contract! { @one
            projects: [
                ensuring_makes_a_project_named_after_its_path,
                ensuring_again_changes_nothing,
                a_taken_slug_gets_the_hash_of_its_own_path,
                a_project_is_found_by_its_path,
                a_project_is_found_by_its_slug,
                looking_for_a_project_does_not_make_it,
                projects_are_listed_in_the_order_they_were_made,
                pages_of_projects_meet_without_gap_or_repeat,
                a_path_of_any_script_is_kept_as_given,
                the_longest_path_is_kept_and_found,
                ensuring_one_path_at_once_makes_one_project,
                ensuring_clashing_paths_at_once_gives_each_its_own_slug,
            ],
            agents: [
                a_new_agent_is_kept_as_it_said,
                what_a_new_agent_leaves_out_is_empty,
                registering_again_keeps_number_and_time,
                registering_again_keeps_what_it_leaves_out,
                registering_again_tells_that_the_agent_is_active,
                only_a_new_name_writes_an_event,
                names_are_compared_exactly,
                agents_are_found_in_any_case_where_that_is_asked_for,
                a_name_of_any_script_is_kept_as_given,
                each_agent_asked_for_is_told_once,
                thousands_of_names_can_be_asked_for_at_once,
                one_name_in_two_projects_is_two_agents,
                agents_are_listed_in_pages_in_the_order_they_were_registered,
                tokens_are_told_newest_first,
                of_an_agents_tokens_the_newest_16_stay_valid,
                a_token_proves_one_agent_alone,
                registering_without_a_token_keeps_the_tokens,
                sending_moves_on_when_the_sender_was_last_active,
                registering_one_name_at_once_makes_one_agent,
                who_wants_only_a_new_name_changes_nothing_of_a_known_one,
                a_known_name_without_a_token_is_taken_once,
                of_many_who_race_for_a_new_name_one_gets_it,
            ],
            messages: [
                a_message_is_kept_as_it_was_sent,
                what_a_message_does_not_say_is_kept_as_not_said,
                every_kind_importance_and_voucher_is_read_back,
                a_message_without_a_thread_starts_one_named_after_its_number,
                a_message_of_another_project_is_not_found,
                numbers_rise_over_all_projects,
                created_at_rises_while_the_clock_stands_still,
                created_at_rises_when_the_clock_goes_back,
                the_time_of_one_project_does_not_move_another,
                copies_are_told_by_role_and_then_in_the_senders_order,
                blind_recipients_are_not_told_in_the_message,
                one_may_write_to_oneself,
                an_unknown_message_has_no_copies,
                hundreds_of_recipients_each_get_a_copy_in_order,
                text_is_kept_byte_for_byte,
                a_body_of_a_mebibyte_is_kept,
                a_word_of_four_mebibytes_is_kept,
                an_append_that_fails_leaves_nothing_behind,
                an_append_that_fails_harms_no_other,
                appending_at_once_loses_nothing_and_keeps_the_order,
                appending_twice_with_one_key_keeps_one,
                a_key_used_for_other_content_is_taken,
                a_repeated_key_adds_nothing,
                a_key_counts_within_its_sender,
                keys_are_compared_exactly,
                a_key_is_remembered_after_much_other_mail,
                the_same_content_without_a_key_is_sent_twice,
                appending_at_once_with_one_key_keeps_one,
            ],
            mailboxes: [
                the_inbox_is_newest_first_and_a_limit_keeps_the_newest,
                pages_of_the_inbox_meet_without_gap_or_repeat,
                an_entry_holds_the_whole_message_and_the_own_copy,
                an_inbox_holds_only_what_was_sent_to_its_agent,
                unread_only_leaves_out_what_was_read,
                ack_required_only_keeps_what_was_acknowledged_too,
                an_inbox_can_be_narrowed_to_one_thread,
                all_conditions_of_an_inbox_hold_together,
                without_bodies_an_inbox_tells_all_but_the_body,
                looking_at_mail_changes_nothing,
                the_outbox_is_newest_first_and_a_limit_keeps_the_newest,
                the_outbox_holds_only_what_its_agent_sent,
                without_bodies_an_outbox_tells_all_but_the_body,
                unseen_mail_is_taken_oldest_first_and_a_limit_keeps_the_oldest,
                what_was_read_or_shown_is_not_unseen,
                after_a_number_unread_mail_is_told_whether_shown_or_not,
                of_many_who_take_at_once_each_message_goes_to_one,
                taking_nothing_writes_nothing,
            ],
            pages: [
                a_mailbox_of_long_bodies_is_read_in_short_pages,
                a_thread_of_long_bodies_is_read_in_short_pages,
                unseen_mail_with_long_bodies_is_taken_in_short_pages,
                an_export_of_long_bodies_is_read_in_short_pages,
                a_body_longer_than_a_page_is_a_page,
            ],
            marks: [
                reading_is_noted_with_its_time,
                acknowledging_also_reads,
                acknowledging_what_was_read_keeps_when_it_was_read,
                reading_again_keeps_the_first_time,
                acknowledging_again_keeps_the_first_time_and_note,
                acknowledging_writes_one_event,
                one_recipients_mark_leaves_the_other_copies_alone,
                who_has_no_copy_marks_nothing,
                being_shown_is_noted_without_being_read,
                being_shown_again_keeps_the_first_time,
                what_one_is_shown_is_not_noted_for_others,
                acknowledging_at_once_counts_the_first,
            ],
            copies: [
                open_copies_are_oldest_first_and_each_has_its_place,
                everybodys_open_copies_are_told_with_their_recipients,
                unread_copies_are_told_alone,
                pages_of_copies_meet_without_gap_or_repeat,
                open_copies_with_long_bodies_are_read_in_short_pages,
                what_is_put_away_is_hidden_for_its_recipient_alone,
                putting_away_twice_is_told_and_keeps_the_first_time,
                of_many_who_put_away_at_once_one_does,
                who_has_no_copy_puts_nothing_away,
                what_was_read_can_be_unread_again,
                being_unread_again_keeps_an_acknowledgement,
                what_is_open_is_counted,
                nothing_is_taken_for_who_has_gone,
            ],
            threads: [
                a_thread_is_oldest_first_and_a_limit_keeps_the_oldest,
                pages_of_a_thread_meet_without_gap_or_repeat,
                the_tail_of_a_thread_is_its_newest_messages_oldest_first,
                a_thread_tells_its_length,
                an_unknown_thread_is_empty,
                one_thread_name_in_two_projects_is_two_threads,
                without_bodies_a_thread_tells_all_but_the_body,
                a_thread_named_after_its_first_message_holds_the_answers,
                a_thread_holds_what_anybody_said_to_anybody,
                a_thread_of_any_name_is_found,
            ],
            search: [
                a_word_is_found_in_subject_and_body,
                what_is_found_is_told_as_it_was_kept,
                words_are_whole_and_never_stemmed,
                common_words_are_found_too,
                case_and_accents_do_not_count,
                words_of_any_script_are_found,
                several_words_have_to_be_there_together,
                not_leaves_out,
                a_query_that_only_says_not_finds_the_rest,
                parentheses_group,
                a_phrase_is_found_in_its_order,
                a_phrase_does_not_cross_from_subject_to_body,
                a_prefix_finds_what_starts_with_it,
                subject_narrows_to_the_subject,
                from_compares_the_whole_name_without_ascii_case,
                from_goes_together_with_words,
                results_are_newest_first_and_a_limit_keeps_the_newest,
                before_and_limit_hold_for_every_form_of_query,
                a_search_stays_within_its_project,
                only_subject_and_body_have_words,
                words_with_punctuation_are_found_as_written,
                the_parts_of_a_path_or_name_are_words,
                no_query_that_parses_is_an_error_of_the_store,
                a_word_far_down_a_long_body_is_found,
                a_message_repeated_by_its_key_is_found_once,
            ],
            reservations: [
                a_grant_is_one_lease_for_each_pattern_in_the_order_asked,
                what_another_holds_is_refused_with_the_holder,
                patterns_that_share_no_path_do_not_conflict,
                one_conflict_grants_nothing,
                a_refusal_names_a_bounded_number_of_conflicts,
                shared_leases_meet_and_exclusive_ones_do_not,
                ones_own_leases_are_not_in_the_way,
                a_lease_of_another_project_is_not_in_the_way,
                the_same_pattern_again_keeps_its_number,
                a_new_mode_that_another_forbids_changes_nothing,
                a_lease_that_ended_blocks_nobody,
                a_lease_that_ended_is_not_listed,
                a_pattern_asked_for_after_its_end_is_a_new_lease,
                release_gives_back_the_patterns_named,
                release_gives_back_all_of_ones_own,
                what_is_not_held_is_not_given_back,
                a_lease_that_ended_is_not_given_back,
                renewing_moves_the_end,
                renewing_all_moves_every_active_lease_of_ones_own,
                renewing_what_is_not_held_changes_nothing,
                a_lease_that_ended_cannot_be_renewed,
                a_lease_that_went_to_another_cannot_be_renewed_with_an_old_clock,
                pages_of_leases_meet_without_gap_or_repeat,
                of_many_who_race_for_one_path_one_wins,
                of_many_who_race_for_patterns_that_meet_one_wins,
            ],
            waiting: [
                who_waits_is_told_what_is_in_the_way_and_when_to_look_again,
                waiting_grants_nothing_and_tells_nobody,
                what_is_free_is_granted_without_waiting,
                asking_again_with_the_ticket_keeps_the_place,
                who_came_first_is_served_first,
                nobody_overtakes_an_earlier_waiter,
                who_only_shares_does_not_wait_for_those_who_share,
                a_lease_from_the_line_lasts_from_its_grant,
                a_grant_leaves_the_line,
                a_refusal_leaves_the_line,
                asking_after_the_end_of_the_wait_is_refused,
                a_place_is_lost_when_the_wait_ends,
                a_place_is_lost_when_its_owner_does_not_ask_again,
                asking_again_holds_the_place_anew,
                asking_again_at_once_changes_nothing,
                a_holder_reserves_again_what_others_wait_for,
                who_lost_the_place_goes_to_the_end,
                who_lost_the_place_does_not_overtake_with_the_old_ticket,
                who_lost_the_place_is_granted_what_is_free,
                a_line_stays_within_its_project,
                two_who_would_wait_for_each_other_are_told_of_the_circle,
                who_was_told_of_a_circle_does_not_stand_in_line,
                a_circle_of_three_is_found,
                a_wait_that_ended_closes_no_circle,
            ],
            events: [
                the_log_tells_what_happened_to_what_by_whom_and_when,
                a_message_event_carries_the_time_of_the_message,
                each_lease_is_told_by_an_event_of_its_own,
                what_changed_nothing_is_not_told,
                the_log_is_read_in_pages_from_where_one_stood,
                each_project_has_a_log_of_its_own,
                what_is_written_at_once_is_numbered_without_gaps,
                a_follower_of_the_log_misses_nothing,
                a_cursor_never_moves_back,
                cursors_tell_how_far_each_sink_has_come_and_what_is_newest,
                one_holder_does_the_work_of_a_sink_until_its_time_is_over,
                the_change_stamp_changes_with_every_commit,
            ],
            watches: [
                one_watcher_holds_a_place_and_the_next_is_told_who,
                of_many_who_begin_at_once_one_watches,
                a_watcher_whose_time_is_over_or_that_is_gone_is_replaced,
                a_position_is_kept_and_never_moves_back,
                the_first_watcher_begins_behind_what_came_before_a_time,
                a_message_is_taken_on_once,
                an_agent_stays_while_anybody_holds_a_place_for_it,
                a_chain_of_answers_is_counted_where_watchers_gave_them,
                what_a_watcher_has_answered_in_the_channel_is_not_taken_on,
                of_many_who_take_a_message_on_at_once_one_gets_it,
                runs_are_told_as_they_stand,
                what_a_watcher_left_running_is_taken_on_again_once,
                what_was_answered_before_its_watcher_was_killed_is_answered,
                who_is_refused_the_place_changes_no_run,
                failed_runs_are_taken_on_again_when_somebody_wants_it,
                watching_tells_nothing_in_the_event_log,
            ],
            channels: [
                a_post_is_kept_with_all_that_belongs_to_it,
                a_post_of_our_own_gets_its_name_when_it_is_kept,
                what_is_no_post_is_none,
                a_message_tells_its_channel_before_its_recipients,
                a_broadcast_is_nobodys_mail,
                a_key_is_taken_in_once,
                of_many_who_take_in_one_key_at_once_one_does,
                the_other_keys_of_what_is_known_are_noted,
                a_key_that_is_taken_stays_with_its_post,
                keys_of_two_channels_do_not_meet,
                a_channel_is_told_oldest_first_and_a_limit_keeps_the_newest,
                after_a_number_a_limit_keeps_the_oldest,
                since_a_time_the_oldest_that_came_later_are_told,
                pages_of_a_channel_meet_without_gap_or_repeat,
                a_channel_can_be_narrowed_to_a_thread,
                a_channel_of_long_bodies_is_read_in_short_pages,
                a_post_is_found_by_its_name_and_by_what_its_author_called_it,
                an_answer_tells_the_name_of_what_it_answers,
                a_post_that_stands_outside_goes_by_its_name_there,
                another_name_leads_to_a_post_and_is_not_its_name,
                a_post_gets_a_name_that_nothing_else_in_the_channel_has,
                an_answer_that_came_first_tells_what_it_answers_and_where_it_is_discussed,
                channels_are_listed_by_name_with_their_counts,
                a_channel_stays_within_its_project,
                which_office_it_is_never_changes,
            ],
            work: [
                items_that_changed_last_come_first_and_a_limit_keeps_them,
                pages_of_items_meet_without_gap_or_repeat,
                an_item_is_told_by_all_words_but_those_that_were_replaced,
                of_very_many_words_about_an_item_the_newest_are_told,
                only_typed_messages_make_an_item,
                work_of_another_project_is_not_told,
                ids_of_work_are_compared_exactly,
                acks_are_open_until_they_are_given,
                an_open_ack_does_not_betray_a_blind_copy,
                a_story_holds_what_names_the_item_and_what_stands_in_its_thread,
                a_thread_is_about_what_its_newest_message_with_work_is_about,
                the_stamp_of_work_rises_with_mail_and_acks_alone,
                an_inbox_can_be_narrowed_to_a_kind_and_a_piece_of_work,
                a_search_can_be_narrowed_to_a_kind_and_a_piece_of_work,
            ],
            presence: [
                a_presence_is_kept_as_it_was_said,
                a_change_is_told_and_a_sign_of_life_is_not,
                what_a_file_says_too_late_is_passed_over,
                who_acts_is_awake,
                many_acts_are_one_sign_of_life,
                the_stamp_of_presence_changes_with_what_is_told_and_with_no_sign_of_life,
                an_act_leaves_a_watcher_its_word,
                everybody_is_listed_with_presence_mail_and_leases,
                those_who_are_listed_come_in_pages_and_from_one_project,
                when_mail_came_does_not_betray_a_blind_copy,
                who_was_heard_of_of_late_is_told_unless_that_was_on_nats,
            ],
        }
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

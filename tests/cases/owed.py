"""Which public failure report is held by which test, and which later part owes the rest.

The reports are numbered as in the project's collection of them, which lies outside this repository. `test_owed.py`
checks this table against the tests that exist, and against the collection where it is at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Part: TypeAlias = Literal[
    "store and lanes",
    "command-line backends",
    "server",
    "sub-processes",
    "MCP and console",
]
STORE: Part = "store and lanes"
COMMAND_LINES: Part = "command-line backends"
SERVER: Part = "server"
SUB_PROCESSES: Part = "sub-processes"
CONSOLE: Part = "MCP and console"


@dataclass(frozen=True, slots=True)
class Row:
    """One report: the tests here that hold it, the parts that owe all of it (no tests) or the rest of it, and why."""

    tests: tuple[str, ...] = ()
    later: tuple[Part, ...] = ()
    why: str = ""


# A shorter list fails: whoever takes a test away, or puts a row off, changes these numbers and says why.
ROWS = 83
ROWS_WITH_TESTS = 73
ROWS_OWED_WHOLLY_LATER = 10
TESTS = 282

TABLE: Mapping[str, Row] = {
    "C01": Row(
        tests=(
            "test_c01_an_announcement_without_a_call_is_corrected_once_and_the_turn_goes_on",
            "test_c01_holds_for_a_server_that_is_named_by_the_environment",
            "test_c01_no_word_in_a_text_makes_it_an_answer",
        ),
    ),
    "C02": Row(
        tests=(
            "test_c02_the_course_of_a_turn_is_the_same_in_every_language",
            "test_c02_a_model_that_only_announces_ends_in_the_same_way_in_every_language",
        ),
    ),
    "C03": Row(
        tests=(
            "test_c03_text_beside_a_work_call_is_narration_and_spends_no_correction",
            "test_c03_thinking_before_a_call_is_no_answer_either",
        ),
    ),
    "C04": Row(
        tests=(
            "test_c04_a_turn_that_the_provider_keeps_open_is_sampled_again_with_nothing_of_ours",
            "test_c04_an_open_turn_with_thinking_only_is_sampled_again_unchanged",
            "test_c04_three_open_replies_in_a_row_are_enough",
            "test_c04_open_replies_count_against_the_cap",
            "test_c04_a_paused_turn_of_anthropic_is_sampled_again_with_nothing_of_ours",
            "test_c04_paused_replies_of_anthropic_count_against_the_cap",
            "test_c04_gemini_has_no_word_for_it_so_such_a_text_is_narration",
        ),
    ),
    "C06": Row(
        tests=("test_c06_a_worker_stays_running_while_it_is_corrected",),
        later=(STORE,),
        why="the worker here lives in memory; the stored one comes with the store",
    ),
    "C07": Row(
        tests=(
            "test_c07_text_after_tools_is_answered_with_exactly_the_options_there_are",
            "test_c07_a_model_without_tools_is_told_of_respond_alone",
        ),
    ),
    "C08": Row(
        tests=(
            "test_c08_whatever_happens_a_turn_has_a_message_or_a_typed_reason",
            "test_c08_an_answer_without_end_is_a_typed_failure",
            "test_c08_a_question_has_its_data_or_a_typed_error_and_never_neither",
        ),
    ),
    "C10": Row(
        tests=("test_c10_a_flag_that_is_left_out_is_the_roles_and_no_words_of_a_call_stop_the_loop",),
    ),
    "C11": Row(
        tests=(
            "test_c11_a_side_effect_alone_never_ends_a_turn",
            "test_c11_under_natural_a_side_effect_is_followed_by_a_text",
        ),
    ),
    "C12": Row(
        tests=(
            "test_c12_a_worker_that_asks_ends_its_turn_and_nobody_answers_in_the_users_name",
            "test_c12_no_request_ever_holds_a_user_message_that_nobody_wrote",
        ),
        later=(SUB_PROCESSES,),
        why="the turn and its flag here; the event at the parent later",
    ),
    "C13": Row(
        tests=(
            "test_c13_a_message_to_a_blocked_process_wakes_it_exactly_once",
            "test_c13_a_message_that_comes_while_the_process_goes_to_rest_is_not_left_lying",
            "test_c13_messages_that_come_together_wake_the_process_once",
        ),
        later=(STORE,),
        why="waking in memory here; across a restart later",
    ),
    "C14": Row(
        tests=(
            "test_c14_what_the_contract_costs_is_known_and_a_recipe_can_switch_it",
            "test_c14_a_model_that_keeps_the_contract_pays_nothing_for_it",
        ),
    ),
    "C15": Row(
        tests=(
            "test_c15_nothing_is_asked_after_an_accepted_answer",
            "test_c15_the_end_of_a_turn_needs_no_answer_from_the_model",
        ),
    ),
    "C18": Row(
        tests=(
            "test_c18_a_process_can_ask_and_can_ask_and_go_on_and_both_reach_the_reader_once",
            "test_c18_with_nothing_running_a_primary_is_told_once_and_then_believed",
        ),
        later=(SUB_PROCESSES,),
        why="both ways of asking here; what a parent makes of them later",
    ),
    "C19": Row(
        tests=(
            "test_c19_an_answer_beside_work_is_refused_and_the_next_one_uses_the_data",
            "test_c19_a_guess_that_was_shown_is_taken_back",
            "test_c19_a_model_that_always_does_both_runs_its_work_and_is_narrowed_at_the_third_time",
        ),
    ),
    "C20": Row(
        tests=(
            "test_c20_of_two_answers_none_is_delivered_both_are_told_and_one_correction_is_spent",
            "test_c20_a_model_that_always_answers_twice_reaches_nobody",
        ),
    ),
    "C21": Row(
        tests=(
            "test_c21_a_bad_answer_beside_work_lets_the_work_run_and_the_turn_go_on",
            "test_c21_a_bad_answer_alone_is_told_what_is_wrong_with_it",
        ),
    ),
    "C22": Row(
        tests=(
            "test_c22_after_any_reply_every_call_has_exactly_one_result",
            "test_c22_no_reply_of_any_provider_leaves_a_call_without_its_one_result",
        ),
    ),
    "C24": Row(
        tests=("test_c24_delivery_happens_at_acceptance_and_only_then",),
    ),
    "C25": Row(
        tests=(
            "test_c25_an_answer_as_json_beside_a_call_is_narration_and_the_call_runs",
            "test_c25_an_action_as_text_beside_a_call_does_not_count_on_a_constrained_server",
            "test_c25_in_a_question_calls_win_over_a_valid_answer_beside_them",
            "test_c25_an_answer_that_always_comes_with_calls_is_asked_for_alone_in_the_end",
            "test_c25_a_json_text_beside_a_call_is_no_answer_over_their_apis_either",
        ),
    ),
    "C26": Row(
        tests=(
            "test_c26_where_content_and_calls_come_together_the_calls_win",
            "test_c26_in_an_envelope_of_a_question_calls_win_over_content",
            "test_c26_in_an_envelope_of_a_turn_content_beside_calls_is_narration_and_the_calls_run",
        ),
    ),
    "C28": Row(
        tests=(
            "test_c28_no_two_requests_in_a_row_are_the_same",
            "test_c28_an_empty_answer_to_a_typed_request_is_not_asked_again_in_the_same_words",
        ),
    ),
    "C29": Row(
        tests=(
            "test_c29_a_call_that_the_provider_could_not_read_is_never_a_success",
            "test_c29_one_unreadable_call_costs_one_correction",
            "test_c29_text_of_a_reply_with_an_unreadable_call_is_kept_as_best_text",
            "test_c29_a_finish_that_nobody_knows_is_no_success_by_itself",
            "test_c29_a_call_that_gemini_could_not_read_is_never_a_success",
            "test_c29_one_call_that_gemini_could_not_read_costs_one_correction",
            "test_c29_no_finish_that_google_names_makes_a_success_of_nothing",
            "test_c29_no_finish_that_anthropic_names_or_does_not_name_makes_a_success_of_nothing",
        ),
    ),
    "C30": Row(
        tests=(
            "test_c30_nothing_after_a_result_costs_one_more_request_at_once",
            "test_c30_nothing_twice_is_the_end",
            "test_c30_without_corrections_nothing_is_the_end_at_once",
            "test_c30_a_stop_without_parts_after_a_result_costs_one_more_request_at_once",
        ),
    ),
    "C32": Row(
        tests=(
            "test_c32_a_server_that_never_says_anything_is_asked_twice_and_no_more",
            "test_c32_nothing_and_something_by_turns_is_bounded_by_the_corrections",
            "test_c32_near_the_limit_of_the_window_old_turns_make_room_before_anything_is_asked",
            "test_c32_calls_that_are_promised_and_never_come_end_the_turn",
            "test_c32_anthropic_and_gemini_that_never_say_anything_are_asked_twice_and_no_more",
            "test_c32_what_does_not_fit_in_a_providers_own_words_is_not_asked_again",
        ),
        why="the design leaves old turns out as a whole instead of compacting them: nothing to wait for",
    ),
    "C34": Row(
        tests=(
            "test_c34_a_model_that_never_mends_its_reply_costs_the_budget_and_one",
            "test_c34_the_same_mistake_is_told_with_its_place_and_what_was_expected",
            "test_c34_one_budget_is_shared_by_all_routes",
            "test_c34_the_budget_is_not_refilled_by_work_between_the_mistakes",
            "test_c34_every_turn_of_a_process_has_its_own_budget_and_none_has_more",
            "test_c34_calls_that_never_fit_end_in_a_last_round_after_three",
            "test_c34_no_message_hides_in_the_replies_that_must_not_deliver_one",
            "test_c34_a_model_that_never_fits_costs_exactly_its_attempts",
            "test_c34_the_same_mistake_twice_is_answered_with_its_place_and_that_part_of_the_schema",
            "test_c34_the_same_mistake_a_third_time_is_the_end",
            "test_c34_the_cap_holds_over_every_way_of_going_on",
            "test_c34_a_model_of_a_provider_that_never_fits_costs_exactly_its_attempts",
        ),
        later=(SUB_PROCESSES,),
        why="one turn, a question and the turns of one process here; a question inside a turn and a child later",
    ),
    "C35": Row(
        tests=(
            "test_c35_the_number_of_corrections_is_the_number_that_was_asked_for",
            "test_c35_the_number_is_read_from_a_recipe_and_an_argument_comes_before_it",
            "test_c35_a_number_that_cannot_be_is_refused_before_anything_is_sent",
            "test_c35_no_library_between_us_and_a_provider_tries_again_by_itself",
        ),
    ),
    "C37": Row(
        tests=(
            "test_c37_an_outcome_of_respond_means_that_the_arguments_fit_the_form",
            "test_c37_prose_of_a_server_that_drops_the_constraint_is_marked_and_never_a_respond",
            "test_c37_success_means_that_the_data_fits_the_callers_schema",
            "test_c37_what_fits_only_the_servers_form_of_the_schema_is_no_success",
        ),
    ),
    "C38": Row(
        tests=(
            "test_c38_an_enforcement_that_the_model_lacks_is_refused_at_once",
            "test_c38_a_server_that_drops_our_tools_is_not_begged_for_ever",
        ),
        later=(COMMAND_LINES,),
        why="refusal and bound here; the contract in a command line's prompt later",
    ),
    "C39": Row(
        tests=(
            "test_c39_respond_is_offered_in_every_request_of_a_turn",
            "test_c39_respond_survives_two_hundred_other_tools",
            "test_c39_a_recipe_that_takes_respond_away_does_not_load",
            "test_c39_a_tool_cannot_take_the_place_of_the_runtimes_own",
        ),
    ),
    "C40": Row(
        tests=(
            "test_c40_the_last_round_offers_respond_alone_says_why_and_keeps_the_best_text",
            "test_c40_whatever_comes_in_the_last_round_is_the_last_thing_asked",
            "test_c40_under_natural_the_last_round_has_no_tools",
            "test_c40_at_the_cap_respond_alone_is_offered_and_forced_in_the_providers_own_words",
        ),
    ),
    "C41": Row(
        tests=(
            "test_c41_a_forced_choice_is_for_one_request_and_the_next_turn_is_free_again",
            "test_c41_corrections_never_force_anything",
            "test_c41_a_choice_that_was_forced_on_a_provider_is_for_one_request",
        ),
    ),
    "C42": Row(
        tests=(
            "test_c42_at_the_cap_no_work_tool_is_forced_offered_or_run",
            "test_c42_at_the_cap_no_work_tool_is_forced_on_a_provider_or_run",
        ),
    ),
    "C43": Row(
        tests=(
            "test_c43_a_schema_for_the_text_never_stands_beside_tools",
            "test_c43_the_callers_schema_is_sent_only_where_no_tool_can_be_called",
            "test_c43_a_chat_turn_with_the_same_tools_never_sends_a_schema_beside_them",
            "test_c43_no_schema_stands_beside_tools_in_a_request_to_a_provider",
            "test_c43_no_schema_stands_beside_tools_in_a_request_to_any_kind_of_server",
        ),
    ),
    "C45": Row(
        tests=(
            "test_c45_where_a_server_refuses_forced_choices_none_is_sent",
            "test_c45_where_anthropic_refuses_forcing_beside_thinking_nothing_is_forced",
            "test_c45_models_of_anthropic_that_take_no_forced_choice_get_none",
            "test_c45_no_model_of_the_catalogue_is_asked_for_what_its_api_refuses_beside_thinking",
        ),
    ),
    "C46": Row(
        tests=(
            "test_c46_a_cut_reply_is_called_cut_and_not_wrong",
            "test_c46_cut_twice_is_a_failure_of_its_own",
            "test_c46_a_cut_after_progress_counts_anew",
            "test_c46_whole_calls_of_a_cut_reply_run_and_only_the_cut_one_is_told",
            "test_c46_a_message_that_was_cut_is_never_delivered",
            "test_c46_a_limit_of_a_provider_in_the_middle_of_anything_is_called_a_cut",
            "test_c46_cut_twice_by_a_provider_is_a_failure_of_its_own",
            "test_c46_half_a_text_in_a_call_of_anthropic_that_came_whole_is_never_run_or_delivered",
        ),
    ),
    "C47": Row(
        tests=(
            "test_c47_a_correction_that_is_answered_by_nothing_costs_at_most_one_more_request",
            "test_c47_with_the_default_budget_the_turn_is_over_even_sooner",
            "test_c47_a_correction_that_gemini_or_anthropic_answers_with_nothing_costs_one_more_request",
        ),
    ),
    "C48": Row(
        tests=("test_c48_one_turn_leaves_one_message_under_one_id",),
        later=(STORE,),
        why="one message under one id here; the stored row with its key later",
    ),
    "C49": Row(
        tests=(
            "test_c49_equal_answers_of_different_turns_are_all_delivered_under_different_ids",
            "test_c49_an_answer_equal_to_an_earlier_narration_is_still_an_answer",
        ),
    ),
    "C51": Row(
        tests=(
            "test_c51_every_field_of_a_servers_reply_reaches_the_turn",
            "test_c51_every_field_of_a_reply_of_anthropic_and_gemini_reaches_the_engine",
            "test_c51_why_a_reply_ended_reaches_the_engine",
            "test_c51_what_is_streamed_is_what_the_reply_says",
            "test_c51_thinking_that_was_signed_goes_back_while_its_turn_runs_and_not_later",
        ),
        later=(COMMAND_LINES,),
        why="our OpenAI-compatible client and the two behind extras here; each command line later",
    ),
    "C52": Row(
        tests=(
            "test_c52_text_beside_an_accepted_answer_is_never_delivered",
            "test_c52_nobody_asks_for_a_text_after_an_accepted_answer",
        ),
    ),
    "C53": Row(
        tests=(
            "test_c53_an_accepted_answer_is_in_the_next_request_exactly_once",
            "test_c53_a_message_that_was_refused_is_not_shown_to_later_turns",
        ),
    ),
    "C54": Row(
        later=(SUB_PROCESSES,),
        why="it needs children",
    ),
    "C55": Row(
        later=(SUB_PROCESSES,),
        why="it needs children",
    ),
    "C56": Row(
        later=(SUB_PROCESSES,),
        why="it needs children",
    ),
    "C57": Row(
        later=(SUB_PROCESSES,),
        why="it needs children",
    ),
    "C59": Row(
        tests=(
            "test_c59_a_turn_can_be_interrupted_at_any_event_and_the_next_request_is_valid",
            "test_c59_a_turn_can_be_stopped_at_any_event_and_its_history_is_whole",
            "test_c59_an_ask_that_is_cancelled_at_any_event_leaves_nothing_running",
            "test_c59_an_interrupt_reaches_a_stream_after_any_number_of_pieces",
            "test_c59_a_running_tool_and_those_behind_it_get_the_result_interrupted",
            "test_c59_an_interrupt_between_two_calls_keeps_what_has_finished",
            "test_c59_an_interrupt_in_a_correction_leaves_no_trace_of_it",
            "test_c59_a_server_that_dies_in_the_middle_leaves_a_history_that_goes_on",
            "test_c59_a_history_with_an_orphan_is_refused_before_it_can_poison_a_request",
            "test_c59_a_history_that_ends_in_a_failure_goes_on",
            "test_c59_after_an_interrupt_at_any_event_anthropic_and_gemini_take_the_next_request",
            "test_c59_an_ask_of_a_provider_that_is_cancelled_at_any_event_leaves_nothing_running",
            "test_c59_a_cancelled_request_of_a_provider_lets_go_of_its_connection_and_the_next_one_works",
            "test_c59_an_interrupt_reaches_a_stream_of_a_provider_after_any_number_of_pieces",
            "test_c59_interrupted_tools_have_results_that_anthropic_and_gemini_take",
            "test_c59_an_interrupt_between_two_calls_leaves_both_a_provider_with_their_results",
            "test_c59_a_provider_that_dies_in_the_middle_leaves_a_history_that_goes_on",
            "test_c59_a_history_of_another_provider_is_one_that_anthropic_and_gemini_take",
            "test_c59_a_history_goes_from_provider_to_provider_and_stays_one_that_each_takes",
            "test_c59_an_interrupt_in_a_correction_of_a_provider_leaves_no_trace_of_it",
            "test_c59_models_of_anthropic_with_a_budget_for_thinking_take_every_turn_of_a_chat",
            "test_c59_nor_does_an_interrupt_at_any_event_make_them_refuse_what_follows",
        ),
    ),
    "C61": Row(
        tests=(
            "test_c61_whatever_ids_a_provider_gives_ours_are_unique_for_ever",
            "test_c61_a_history_of_another_process_does_not_collide_with_new_ids",
            "test_c61_whatever_ids_anthropic_or_gemini_give_ours_are_unique_for_ever",
        ),
    ),
    "C62": Row(
        later=(STORE,),
        why="it needs a store whose writes can fail",
    ),
    "C63": Row(
        tests=(
            "test_c63_a_turn_that_had_its_answer_gives_the_same_text_again_without_the_model",
            "test_c63_a_turn_that_breaks_off_after_any_step_goes_on_behind_it",
            "test_c63_a_turn_over_a_provider_gives_the_same_text_again_without_the_model",
        ),
        later=(STORE,),
        why="over a journal in memory here; through kill -9 later",
    ),
    "C64": Row(
        later=(STORE,),
        why="it needs recovery after a crash",
    ),
    "C66": Row(
        tests=("test_c66_one_failing_call_loses_none_of_its_siblings",),
    ),
    "C67": Row(
        tests=(
            "test_c67_results_come_in_the_order_of_the_calls_and_none_is_blank",
            "test_c67_results_for_a_provider_come_in_the_order_of_the_calls_and_none_is_blank",
        ),
    ),
    "C69": Row(
        later=(CONSOLE,),
        why="it needs approvals",
    ),
    "C70": Row(
        tests=(
            "test_c70_the_order_in_which_calls_finished_does_not_change_a_replay",
            "test_c70_calls_that_finished_before_a_break_do_not_run_again",
        ),
        later=(STORE,),
        why="over a journal in memory here; after a restart later",
    ),
    "C71": Row(
        tests=(
            "test_c71_a_replay_counts_nothing_twice",
            "test_c71_a_budget_that_was_kept_is_kept_in_a_replay",
            "test_c71_a_replay_pays_nothing_twice_and_is_refused_nothing",
            "test_c71_a_turn_that_goes_on_behind_a_break_pays_only_what_it_had_not",
        ),
        later=(STORE,),
        why="over a journal in memory and a ledger beside it here; spent money in the store later",
    ),
    "C72": Row(
        tests=(
            "test_c72_a_stop_in_a_batch_keeps_the_rest_of_it_from_starting",
            "test_c72_no_call_of_a_refused_reply_runs",
            "test_c72_no_call_of_a_reply_that_anthropic_or_gemini_refused_runs",
        ),
    ),
    "C74": Row(
        tests=(
            "test_c74_a_message_is_in_the_history_exactly_once_at_whatever_event_it_came",
            "test_c74_a_steering_message_joins_at_the_next_round_and_a_follow_up_waits_for_the_next_turn",
            "test_c74_many_messages_from_many_tasks_keep_their_order_and_their_number",
            "test_c74_a_message_is_a_users_message_and_never_hidden_in_a_result",
            "test_c74_an_interrupt_keeps_the_queue_or_gives_it_back",
        ),
        later=(STORE,),
        why="in memory here; across a crash later",
    ),
    "C75": Row(
        tests=(
            "test_c75_two_processes_side_by_side_never_see_each_others_messages",
            "test_c75_an_interrupt_of_one_process_leaves_the_others_alone",
        ),
        later=(STORE,),
        why="processes of one program here; lanes of a store later",
    ),
    "C76": Row(
        later=(STORE,),
        why="it needs two programs on one store",
    ),
    "C77": Row(
        later=(SERVER,),
        why="it needs connections that drop",
    ),
    "C78": Row(
        tests=(
            "test_c78_every_piece_says_to_what_it_belongs_and_where_and_the_end_has_the_same_id",
            "test_c78_the_stream_of_events_is_what_a_listener_gets_and_ends_with_the_turn",
        ),
        later=(SERVER,),
        why="ids and offsets here; late subscribers later",
    ),
    "C79": Row(
        later=(SERVER,),
        why="it needs a server that restarts",
    ),
    "C80": Row(
        tests=(
            "test_c80_a_name_that_is_nearly_right_is_answered_with_the_right_one",
            "test_c80_three_names_in_a_row_that_are_none_end_in_a_last_round",
            "test_c80_calls_without_a_name_are_told_so",
            "test_c80_a_name_like_nothing_is_answered_with_all_there_are",
        ),
    ),
    "C81": Row(
        tests=(
            "test_c81_an_unknown_name_is_never_taken_for_somebody_elses",
            "test_c81_respond_under_natural_is_an_unknown_name_like_any_other",
        ),
    ),
    "C83": Row(
        tests=(
            "test_c83_a_value_that_came_as_text_is_decoded_once_where_the_schema_wants_another_type",
            "test_c83_a_value_that_may_be_text_is_never_decoded",
            "test_c83_whole_arguments_in_another_dress_are_understood",
            "test_c83_only_one_level_is_decoded",
            "test_c83_arguments_that_came_as_an_object_with_texts_in_it_are_decoded_once",
        ),
    ),
    "C84": Row(
        tests=("test_c84_what_hides_in_a_text_is_decoded_before_it_is_checked",),
    ),
    "C85": Row(
        tests=(
            "test_c85_an_answer_inside_another_value_is_refused_told_and_kept_as_it_came",
            "test_c85_a_schema_that_asks_for_the_wrapping_gets_it",
            "test_c85_arguments_inside_another_object_are_an_error_that_names_what_is_missing",
            "test_c85_a_wrapped_answer_is_refused_and_told_so",
        ),
        why="the design refuses to unwrap: what is inside another value is told and asked for again",
    ),
    "C86": Row(
        tests=(
            "test_c86_a_result_of_200_mb_leaves_head_tail_and_a_handle_and_can_be_read_on",
            "test_c86_many_capped_results_do_not_break_the_next_request",
            "test_c86_a_turn_that_alone_is_too_large_is_told_so_without_another_request",
            "test_c86_an_odd_output_breaks_no_request",
        ),
    ),
    "C87": Row(
        tests=(
            "test_c87_a_server_that_says_too_long_is_not_asked_again",
            "test_c87_what_does_not_fit_is_known_before_anything_is_paid",
        ),
        why="the design leaves old turns out instead of compacting them: what does not fit ends at once",
    ),
    "C89": Row(
        tests=("test_c89_a_turn_of_two_hundred_calls_makes_room_as_a_whole",),
        why="the design leaves old turns out as a whole instead of compacting them, tool-heavy ones as well",
    ),
    "C90": Row(
        tests=(
            "test_c90_an_object_ends_where_it_ends_and_not_at_the_last_bracket",
            "test_c90_an_object_inside_a_sentence_is_a_quotation_and_asked_for_again",
            "test_c90_brackets_and_quotes_in_a_string_are_no_ends",
        ),
        why="the design takes an object inside a sentence for a quotation and asks again",
    ),
    "C91": Row(
        tests=(
            "test_c91_a_fence_is_where_a_line_says_so_and_not_in_a_string",
            "test_c91_an_empty_fence_is_no_answer_and_no_crash",
        ),
    ),
    "C92": Row(
        tests=("test_c92_what_a_terminal_adds_to_an_answer_is_undone",),
        later=(COMMAND_LINES,),
        why="a text as a terminal prints it here; a command line's own output later",
    ),
    "C94": Row(
        tests=(
            "test_c94_raw_line_breaks_in_a_string_are_repaired_without_an_attempt",
            "test_c94_what_was_repaired_is_still_judged",
            "test_c94_a_list_instead_of_an_object_is_told_so",
            "test_c94_a_cut_second_attempt_is_not_the_end",
        ),
    ),
    "C95": Row(
        tests=(
            "test_c95_what_is_no_strict_json_is_no_argument",
            "test_c95_a_tool_that_returns_a_number_that_json_cannot_hold_breaks_no_request",
            "test_c95_a_number_that_json_does_not_have_is_never_a_value",
            "test_c95_the_last_invalid_value_is_always_json",
            "test_c95_numbers_that_json_has_arrive_as_they_are",
        ),
    ),
    "C96": Row(
        tests=(
            "test_c96_under_a_strict_format_every_object_is_closed_wherever_it_stands",
            "test_c96_a_server_that_refuses_the_schema_is_asked_without_it_and_not_again",
            "test_c96_every_object_is_closed_for_a_provider_wherever_it_stands",
            "test_c96_a_provider_that_refuses_the_schema_is_asked_without_it",
        ),
    ),
    "C97": Row(
        tests=(
            "test_c97_a_union_at_the_root_is_wrapped_where_it_would_be_refused_and_unwrapped_again",
            "test_c97_what_we_did_not_wrap_is_not_unwrapped",
            "test_c97_a_union_at_the_root_is_judged_as_it_stands",
            "test_c97_a_root_that_can_be_no_object_is_refused_before_anything_is_sent",
            "test_c97_wrapped_in_an_object_the_same_root_works",
            "test_c97_a_union_at_the_root_reaches_each_provider_in_a_form_that_it_takes",
        ),
    ),
    "C98": Row(
        tests=(
            "test_c98_whatever_a_provider_takes_of_a_schema_the_whole_of_it_judges",
            "test_c98_a_schema_that_refers_to_itself_is_sent_to_no_provider_and_the_whole_of_it_judges",
            "test_c98_a_reference_beside_other_rules_reaches_a_provider_without_what_it_refuses",
            "test_c98_a_reference_to_elsewhere_is_refused_before_anything_is_sent",
        ),
    ),
    "C99": Row(
        tests=(
            "test_c99_a_message_arrives_the_same_in_every_chunking",
            "test_c99_a_message_arrives_the_same_in_packets_of_any_size",
            "test_c99_arguments_never_leak_into_the_narration",
            "test_c99_an_action_text_is_not_shown_as_narration",
            "test_c99_a_message_of_any_provider_arrives_the_same_in_every_chunking",
        ),
    ),
    "C101": Row(
        tests=(
            "test_c101_a_fenced_answer_costs_no_attempt",
            "test_c101_a_model_that_fences_only_sometimes_always_answers",
        ),
    ),
    "C102": Row(
        tests=(
            "test_c102_at_the_cap_one_last_request_asks_for_the_answer",
            "test_c102_a_model_that_ignores_the_cap_leaves_its_work_its_words_and_a_reason",
            "test_c102_the_same_calls_again_and_again_end_in_a_last_round_too",
            "test_c102_a_cap_that_allows_nothing_is_refused",
            "test_c102_when_time_is_up_one_last_request_asks_for_the_answer",
            "test_c102_a_model_that_falls_silent_is_asked_once_more_and_then_given_up",
            "test_c102_a_provider_whose_model_ignores_the_cap_leaves_its_work_its_words_and_a_reason",
        ),
    ),
    "C103": Row(
        tests=(
            "test_c103_a_budget_is_checked_before_every_request_of_whatever_kind",
            "test_c103_what_the_provider_says_was_used_counts_and_not_what_we_guessed",
            "test_c103_a_server_that_counts_nothing_is_counted_by_us",
            "test_c103_every_reply_that_was_paid_for_is_counted",
            "test_c103_what_was_found_before_the_money_ran_out_is_kept",
            "test_c103_money_without_a_price_is_refused_before_anything_is_sent",
            "test_c103_each_turn_of_a_process_is_held_to_its_budget",
            "test_c103_what_a_provider_counts_is_paid_at_its_price",
            "test_c103_what_anthropic_writes_to_its_cache_is_dearer_and_what_it_reads_is_cheaper",
            "test_c103_a_long_request_of_anthropic_is_paid_at_the_long_price",
            "test_c103_thinking_of_gemini_that_is_counted_beside_the_answer_is_paid_too",
            "test_c103_a_provider_that_counts_nothing_is_counted_by_us_and_paid",
            "test_c103_what_openrouter_itself_says_it_cost_goes_before_our_price",
            "test_c103_a_budget_in_dollars_is_checked_before_every_request_of_whatever_kind",
            "test_c103_a_budget_that_the_output_limit_alone_could_break_sends_nothing",
            "test_c103_what_was_found_before_the_dollars_ran_out_is_kept",
            "test_c103_every_attempt_at_a_question_is_paid_and_held_to_the_budget",
            "test_c103_a_repair_is_paid_and_held_to_the_budget_as_any_other_request",
            "test_c103_money_for_a_model_without_a_price_is_refused_before_anything_is_sent",
            "test_c103_a_stream_that_broke_off_counts_what_it_may_have_cost",
            "test_c103_a_request_that_was_turned_away_costs_nothing",
            "test_c103_an_interrupted_call_counts_what_it_may_have_cost_and_holds_nothing_more",
            "test_c103_a_budget_of_a_scope_is_held_over_its_turns",
            "test_c103_a_budget_of_a_tenant_is_shared_by_turns_and_questions_and_both_providers",
            "test_c103_calls_at_the_same_time_cannot_spend_the_same_dollars",
            "test_c103_people_are_told_once_when_most_of_the_money_is_spent",
            "test_c103_on_the_command_line_a_budget_holds_from_run_to_run",
            "test_c103_a_model_that_writes_all_it_may_never_goes_over_the_budget",
        ),
        later=(
            STORE,
            SUB_PROCESSES,
        ),
        why="turns, chats, questions and runs of the command line here; a store's processes, and children, later",
    ),
}

"""Which public failure report about structured output is held by which test, and which later part owes the rest.

The reports are numbered as in the project's collection of them, which lies outside this repository.
`test_structured_owed.py` checks this table as `test_owed.py` checks the one about turns.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.cases.owed import COMMAND_LINES, Row

# A shorter list fails: whoever takes a test away, or puts a row off, changes these numbers and says why.
ROWS = 30
ROWS_WITH_TESTS = 30
TESTS = 83

TABLE: Mapping[str, Row] = {
    "S01": Row(
        tests=(
            "test_s01_of_a_reply_that_the_limit_cut_nothing_is_taken_however_whole_it_looks",
            "test_s01_a_reply_that_stops_anywhere_is_never_made_into_another_object",
            "test_s01_an_open_list_is_never_closed",
            "test_s01_of_a_reply_that_a_providers_limit_cut_nothing_is_taken",
        ),
        why="the design adds a last brace only to a reply that says it had ended, and never closes a list",
    ),
    "S02": Row(
        tests=(
            "test_s02_why_a_reply_ended_is_read_before_the_reply",
            "test_s02_a_reply_that_was_filtered_or_refused_is_not_read_either",
            "test_s02_why_anthropic_or_gemini_stopped_is_read_before_what_they_wrote",
        ),
    ),
    "S03": Row(
        tests=(
            "test_s03_a_cut_reply_is_not_asked_for_again_in_the_same_way_and_never_sent_back",
            "test_s03_a_model_that_is_always_cut_costs_two_requests",
            "test_s03_a_reply_that_a_provider_cut_is_not_asked_for_in_the_same_way_and_never_sent_back",
        ),
    ),
    "S04": Row(
        tests=("test_s04_a_cut_has_an_error_of_its_own_and_its_text_is_not_in_the_message",),
    ),
    "S05": Row(
        tests=(
            "test_s05_the_limit_is_raised_once_and_then_the_question_ends",
            "test_s05_where_the_limit_cannot_be_raised_the_first_cut_is_the_end",
            "test_s05_the_limit_of_a_provider_is_raised_once_to_what_its_model_can_do",
        ),
    ),
    "S06": Row(
        tests=(
            "test_s06_white_space_without_end_is_a_cut_reply",
            "test_s06_white_space_without_end_is_read_in_no_time_and_taken_for_nothing",
        ),
    ),
    "S07": Row(
        tests=(
            "test_s07_a_schema_that_allows_everything_is_warned_about_and_asked_for_in_words",
            "test_s07_a_number_of_thousands_of_digits_breaks_nothing",
            "test_s07_under_a_schema_that_allows_everything_no_json_is_picked_out_of_prose",
        ),
    ),
    "S08": Row(
        tests=(
            "test_s08_a_loop_up_to_the_limit_is_a_cut_reply",
            "test_s08_the_faults_that_ship_for_it_come_to_the_same",
            "test_s08_a_loop_that_says_it_stopped_is_only_a_wrong_reply",
            "test_s08_a_loop_of_gemini_or_anthropic_up_to_the_limit_is_a_cut_reply",
        ),
    ),
    "S10": Row(
        tests=(
            "test_s10_a_format_that_is_accepted_and_never_enforced_is_marked_and_still_judged",
            "test_s10_a_format_that_is_kept_is_said_to_be_kept",
            "test_s10_a_format_that_a_provider_takes_and_does_not_keep_is_marked_and_still_judged",
        ),
    ),
    "S11": Row(
        tests=(
            "test_s11_a_doubled_brace_is_refused_or_left_outside",
            "test_s11_the_fault_that_ships_for_it_is_asked_again",
        ),
    ),
    "S12": Row(
        tests=(
            "test_s12_prose_of_a_server_that_dropped_the_format_is_caught_by_the_text_path",
            "test_s12_thinking_before_the_object_does_no_harm",
            "test_s12_prose_and_thinking_around_the_object_of_a_provider_do_no_harm",
        ),
    ),
    "S14": Row(
        tests=("test_s14_a_server_that_takes_the_schema_and_writes_prose_is_told_once_and_then_answers",),
        later=(COMMAND_LINES,),
        why="a server that takes the schema and writes prose here; `codex exec` and its option later",
    ),
    "S15": Row(
        tests=("test_s15_that_a_reply_ended_well_does_not_make_it_an_answer",),
        later=(COMMAND_LINES,),
        why="an end that says it went well without an answer here; the result of `claude` later",
    ),
    "S17": Row(
        tests=(
            "test_s17_nothing_is_never_a_success",
            "test_s17_nothing_from_gemini_or_anthropic_is_never_a_success",
            "test_s17_no_odd_finish_of_gemini_makes_an_answer_of_nothing",
        ),
    ),
    "S18": Row(
        tests=(
            "test_s18_the_last_invalid_value_is_kept_whatever_comes_later",
            "test_s18_the_last_text_is_kept_where_there_was_no_value",
            "test_s18_the_last_invalid_value_is_kept_whatever_a_providers_library_raises",
        ),
    ),
    "S19": Row(
        tests=(
            "test_s19_whatever_a_server_does_there_is_a_wrapper_that_says_success_or_not",
            "test_s19_whatever_a_provider_does_there_is_a_wrapper_that_says_success_or_not",
        ),
    ),
    "S20": Row(
        tests=("test_s20_what_stands_in_a_string_is_only_a_string",),
    ),
    "S21": Row(
        tests=(
            "test_s21_neither_the_first_nor_the_last_of_several_answers_wins",
            "test_s21_braces_in_strings_do_not_move_the_ends_of_an_object",
            "test_s21_an_example_that_does_not_fit_beside_the_answer_is_no_answer",
        ),
        why="the design refuses to choose between a draft and an answer: it asks again",
    ),
    "S23": Row(
        tests=(
            "test_s23_no_value_is_bent_until_it_fits",
            "test_s23_each_member_of_a_union_stays_the_one_it_was",
        ),
        why="the design refuses coercion, so no member of a union is ever made to fit",
    ),
    "S24": Row(
        tests=(
            "test_s24_what_is_repaired_holds_every_string_unchanged",
            "test_s24_where_content_is_lost_nothing_is_put_in_its_place",
            "test_s24_only_a_last_brace_is_ever_added",
        ),
    ),
    "S26": Row(
        tests=(
            "test_s26_what_a_grammar_lets_through_is_still_judged_by_the_callers_schema",
            "test_s26_a_bound_that_the_format_cannot_hold_is_said_in_words",
        ),
    ),
    "S27": Row(
        tests=("test_s27_a_correction_does_not_repeat_the_object_for_every_error",),
    ),
    "S28": Row(
        tests=(
            "test_s28_rate_limits_and_failures_never_enter_a_correction",
            "test_s28_rate_limits_of_a_provider_never_enter_a_correction",
        ),
    ),
    "S29": Row(
        tests=(
            "test_s29_ten_attempts_cost_about_ten_times_one",
            "test_s29_a_budget_of_tokens_ends_the_attempts_before_the_one_that_would_break_it",
            "test_s29_ten_attempts_over_a_provider_cost_about_ten_times_one",
        ),
    ),
    "S30": Row(
        tests=(
            "test_s30_an_option_of_the_server_reaches_it_in_every_attempt",
            "test_s30_an_option_may_replace_the_response_format",
            "test_s30_an_option_reaches_anthropic_and_gemini_in_every_attempt",
        ),
    ),
    "S32": Row(
        tests=(
            "test_s32_the_attempts_of_one_question_are_not_those_of_another",
            "test_s32_nor_of_those_that_run_at_the_same_time",
            "test_s32_the_attempts_of_questions_that_share_a_provider_are_counted_apart",
        ),
    ),
    "S33": Row(
        tests=(
            "test_s33_a_schema_over_a_providers_counts_is_asked_for_in_words_and_people_are_told",
            "test_s33_a_schema_just_below_the_counts_is_sent",
            "test_s33_a_grammar_that_is_too_large_for_the_server_falls_back_cleanly",
            "test_s33_over_a_providers_counts_no_schema_is_sent_to_it_and_people_are_told",
            "test_s33_just_below_the_counts_the_schema_is_sent_to_the_provider",
            "test_s33_unions_are_counted_for_anthropic_too",
            "test_s33_a_grammar_that_is_too_large_for_a_provider_falls_back_once_and_for_all",
        ),
    ),
    "S34": Row(
        tests=(
            "test_s34_every_object_of_a_strict_format_is_closed_and_complete",
            "test_s34_strict_is_asked_for_and_what_was_filled_with_null_is_taken_out",
            "test_s34_every_object_of_what_a_provider_is_sent_is_closed_where_it_demands_that",
            "test_s34_the_schema_stands_where_the_provider_reads_it",
        ),
    ),
    "S35": Row(
        tests=(
            "test_s35_only_keywords_that_a_provider_keeps_to_are_sent_to_it",
            "test_s35_a_place_without_a_type_is_never_sent_where_the_provider_needs_one",
            "test_s35_only_keywords_that_a_provider_keeps_to_reach_it_and_the_rest_is_said_in_words",
            "test_s35_a_place_without_a_type_never_reaches_a_provider",
        ),
    ),
    "S38": Row(
        tests=(
            "test_s38_a_text_instead_of_a_call_is_read_before_anything_is_spent",
            "test_s38_a_call_instead_of_the_object_is_told_and_asked_again",
            "test_s38_a_text_of_a_provider_instead_of_a_call_is_read_before_anything_is_spent",
            "test_s38_a_call_of_a_provider_instead_of_the_object_is_told_and_asked_again",
        ),
    ),
}

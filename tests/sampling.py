"""Which of many cases `make test` runs. The others are marked `exhaustive`: `make test-all` runs them too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

__all__ = ["draws", "every", "leave_out", "only", "thin"]

_left_out = False
_EMULATED = 16  # one in so many cases on the GPU in software
_EVERYWHERE = "lang/behaviour/"  # where other arches run each test: so many of all cases of a file

# What takes seconds. Of the cases of such a test, or of the tests of such a file, `make test` runs one in so many
# (0: none).
# `[emulated]`: of the cases on the GPU in software. `[python]`: of the cases with arch=python.
SLOW = {
    "bench/test_bench.py::test_a_gradient_in_a_bounded_memory_is_measured": 0,
    "bench/test_bench.py::test_an_instruction_set_has_a_column": 0,
    "bench/test_bench.py::test_frames_of_a_demo_are_measured": 0,
    "bench/test_bench.py::test_goals_of_sparse_fields_are_measured": 0,
    "bench/test_bench.py::test_loops_over_cells_are_measured": 0,
    "bench/test_bench.py::test_times_of_compiling_are_measured": 0,
    "codegen/test_amdgcn.py": 6,
    "codegen/test_assembling.py::test_many_texts_for_several_targets": 0,
    "codegen/test_coarsening.py::test_groups": 3,
    "codegen/test_float_extremes.py::test_extremes_in_mixed_types": 3,
    "codegen/test_folds.py": 2,
    "codegen/test_folds.py::test_cells_anywhere": 4,
    "codegen/test_lane_memory.py": 2,
    "codegen/test_lane_memory.py::test_atomics_where_all_lanes_meet_and_where_some_do": 4,
    "codegen/test_lane_memory.py::test_places_of_every_kind": 6,
    "codegen/test_lane_moves.py": 2,
    "codegen/test_lane_moves.py::test_the_same_in_lanes": 8,
    "codegen/test_lane_programs.py": 2,
    "codegen/test_lane_scatters.py": 2,
    "codegen/test_lane_strides.py::test_loads_and_stores": 4,
    "codegen/test_legality.py": 2,
    "codegen/test_outline.py::test_long_bodies": 2,
    "codegen/test_parts.py": 2,
    "codegen/test_ptx.py::test_demos": 12,
    "codegen/test_ptx_borrow.py::test_differences_to_quotients": 0,
    "codegen/test_ptx_borrow.py::test_high_words_that_become_wide": 4,
    "codegen/test_ptx_schedules.py::test_filters_of_rows_that_begin_anywhere": 0,
    "codegen/test_runtime_library.py": 3,
    "codegen/test_scalar_ops.py::test_binary": 6,
    "codegen/test_scalar_ops.py::test_cast": 6,
    "codegen/test_scalar_ops.py::test_unary": 6,
    "codegen/test_sparse_code.py": 4,
    "codegen/test_synchronization.py::test_on_threads_of_the_cpu": 4,
    "codegen/test_unordered.py::test_the_evaluator_finds_an_order_that_matters": 3,
    "codegen/test_vectors.py::test_elementwise": 3,
    "codegen/test_vectors.py::test_first_lanes_of_any_count": 3,
    "codegen/test_vectors.py::test_shuffle": 3,
    "codegen/test_warps_per_row.py::test_loops": 3,
    "codegen/test_warps_per_row.py::test_what_stands_around": 3,
    "codegen/test_wide_sums.py::test_runs": 3,
    "cuda/test_device.py": 2,
    "cuda/test_device.py::test_math": 0,
    "cuda/test_filters.py::test_a_line_that_begins_anywhere": 0,
    "cuda/test_filters.py::test_arrays": 0,
    "cuda/test_schedule_limits.py::test_loops_of_any_known_number_of_rounds": 0,
    "cuda/test_schedules.py::test_filters_of_arrays": 0,
    "cuda/test_schedules.py::test_neighbours_in_arrays": 2,
    "cuda/test_speedups.py::test_neighbours_together": 4,
    "cuda/test_sums.py::test_extremes_of_what_changed_meanwhile": 0,
    "cuda/test_sums.py::test_integers": 3,
    "cuda/test_sums.py::test_sums_into_rows_of_cells": 4,
    "cuda/test_windows.py::test_pictures_are_those_of_the_cpu": 0,
    "demos/test_demos.py::test_a_frame_without_races": 6,
    "demos/test_demos.py::test_frames": 14,
    "demos/test_demos.py::test_life_is_the_same_in_python": 0,
    "demos/test_demos.py::test_the_same_seed_gives_the_same_picture": 4,
    "demos/test_files.py": 4,
    "demos/test_fluids.py": 5,
    "demos/test_fluids.py::test_the_pressure_of_the_plume_is_that_of_a_dense_grid": 0,
    "demos/test_learning.py": 9,
    "demos/test_patterns.py::test_the_same_in_python": 2,
    "demos/test_pictures.py": 3,
    "demos/test_sculptor.py": 3,
    "demos/test_superpixels.py": 2,
    "demos/test_superpixels.py::test_connecting_has_no_races": 0,
    "docs/test_pages.py::test_program": 8,
    "docs/test_tutorials.py::test_a_notebook_runs_in_jupyter": 0,
    "docs/test_tutorials.py::test_program": 12,
    "docs/test_walkthrough.py::test_it_goes_as_the_page_says": 0,
    "fuzz/test_derivatives.py": 12,
    "fuzz/test_programs.py::test_passes_keep_what_random_programs_mean": 8,
    "fuzz/test_programs.py::test_random_programs": 8,
    "fuzz/test_programs.py::test_random_programs_as_python": 4,
    "fuzz/test_runner.py": 2,
    "ir/test_activate_ahead.py": 5,
    "ir/test_count_appends.py": 6,
    "ir/test_peel_cells.py": 4,
    "ir/test_adversary.py::test_every_level_of_the_ir": 0,
    "ir/test_archive.py::test_other_descriptions": 0,
    "ir/test_collapse.py::test_one_box_means_what_the_nest_meant": 4,
    "ir/test_count_appends.py::test_the_order_is_that_of_one_thread": 4,
    "ir/test_cpu_schedules.py": 2,
    "ir/test_cpu_schedules.py::test_loops_in_lanes_and_loops_of_lanes": 0,
    "docs/test_api_reference.py::test_example": 8,
    "ir/test_forward_conditions.py": 4,
    "ir/test_forward_mode.py": 3,
    "ir/test_gather_adjoints.py": 4,
    "ir/test_cells_around.py": 8,
    "ir/test_hashed_slots.py::test_values": 6,
    "ir/test_index_analyses.py::test_intervals_hold_every_result": 3,
    "ir/test_interrupted_cells.py": 3,
    "ir/test_keeping.py": 2,
    "ir/test_keeping.py::test_large_tensors_are_copied_by_loops": 3,
    "ir/test_loop_tensors.py::test_random_kernels_mean_the_same": 0,
    "ir/test_mask_accesses.py::test_random_kernels_that_go_out_of_bounds": 12,
    "ir/test_mask_accesses.py::test_these_kernels_reach_what_they_should": 0,
    "ir/test_masked_indices.py": 4,
    "ir/test_nested_modes.py": 3,
    "ir/test_passes_agree.py::test_a_pass_alone": 2,
    "ir/test_passes_agree.py::test_a_wrong_pass_is_caught": 2,
    "ir/test_passes_agree.py::test_the_pipelines": 0,
    "ir/test_passes_agree.py::test_the_pipelines_from_the_tree": 0,
    "ir/test_passes_agree.py::test_the_pipelines_with_checks_of_indices": 0,
    "ir/test_records.py": 6,
    "ir/test_reverse_memory.py": 3,
    "ir/test_reverse_mode.py": 2,
    "ir/test_reverse_mode.py::test_the_dot_product_is_that_of_forward_mode": 5,
    "ir/test_reverse_mode.py::test_the_dot_product_of_random_kernels_is_that_of_forward_mode": 0,
    "ir/test_reverse_promotion.py": 3,
    "ir/test_rules.py::test_both_sides_agree": 3,
    "ir/test_runtime_library.py": 3,
    "ir/test_sparse_derivatives.py": 8,
    "ir/test_sparse_deactivation.py": 3,
    "ir/test_sparse_loops.py": 4,
    "ir/test_sparse_loops.py::test_a_hundred_rebuilds_need_the_slots_of_one": 0,
    "ir/test_sparse_lowering.py": 3,
    "ir/test_sparse_random.py": 5,
    "ir/test_task_passes.py::test_random_kernels_mean_the_same": 2,
    "ir/test_vector_memory.py::test_each_legal_move_means_the_same": 4,
    "ir/test_vector_memory.py::test_meaning": 4,
    "ir/test_weak_memory.py": 2,
    "lang/algorithms/test_algorithms.py": 2,
    "lang/algorithms/test_algorithms.py::test_sorting_every_type": 12,
    "lang/algorithms/test_algorithms.py::test_sorting_in_parts": 0,
    "lang/algorithms/test_algorithms.py::test_sorting_is_stable": 0,
    "lang/algorithms/test_algorithms.py::test_where_keys_and_values_lie": 0,
    "lang/behaviour/test_arguments.py::test_arguments_that_are_not_integers": 8,
    "lang/behaviour/test_array_derivatives.py": 4,
    "lang/behaviour/test_array_expressions.py": 2,
    "lang/behaviour/test_array_expressions.py::test_random_expressions_are_their_steps[emulated]": 0,
    "lang/behaviour/test_array_operators.py": 2,
    "lang/behaviour/test_array_reductions.py": 4,
    "lang/behaviour/test_array_reductions.py::test_types[emulated]": 0,
    "lang/behaviour/test_array_reductions.py::test_random_reductions_are_numpys[emulated]": 0,
    "lang/behaviour/test_arrays.py::test_types_and_orders": 3,
    "lang/behaviour/test_atomics.py::test_kinds_and_old_values": 5,
    "lang/behaviour/test_control.py": 2,
    "lang/behaviour/test_copies.py::test_every_type_goes_to_numpy_and_back": 3,
    "lang/behaviour/test_decompositions.py": 2,
    "lang/behaviour/test_decompositions.py::test_svd_is_exact": 2,
    "lang/behaviour/test_derivative_in_kernels.py": 2,
    "lang/behaviour/test_elementwise.py::test_shapes_broadcast_as_numpys": 3,
    "lang/behaviour/test_expected_launches.py": 4,
    "lang/behaviour/test_fields.py::test_element_types": 2,
    "lang/behaviour/test_fields.py::test_fields_of_more_elements_than_an_i32_counts": 4,
    "lang/behaviour/test_fields.py::test_fields_of_more_elements_than_an_i32_counts[emulated]": 0,
    "lang/behaviour/test_fields.py::test_nested_blocks_of_extent_one": 3,
    "lang/behaviour/test_function_derivatives.py": 16,
    "lang/behaviour/test_function_memory.py": 2,
    "lang/behaviour/test_growing_in_threads.py": 4,
    "lang/behaviour/test_hash_nodes.py": 4,
    "lang/behaviour/test_hash_nodes.py::test_elements_around_the_own_one[python]": 0,
    "lang/behaviour/test_hash_nodes.py::test_nodes_below_a_hash_node[python]": 0,
    "lang/behaviour/test_jacobians.py": 2,
    "lang/behaviour/test_jacobians.py::test_runs_begin_with_the_same_cells": 0,
    "lang/behaviour/test_kept_gradients.py": 2,
    "lang/behaviour/test_libraries.py::test_lent_memory_stays": 2,
    "lang/behaviour/test_long_loops.py": 2,
    "lang/behaviour/test_masked_values.py": 2,
    "lang/behaviour/test_matrices.py::test_elementwise_operators": 3,
    "lang/behaviour/test_matrices.py::test_products": 3,
    "lang/behaviour/test_misplaced_elements.py::test_elements_that_are_not_there": 3,
    "lang/behaviour/test_narrow_integers.py::test_extremes_of_negated_numbers": 3,
    "lang/behaviour/test_narrow_integers.py::test_wrapped_values_are_read_wrapped": 4,
    "lang/behaviour/test_nested_derivatives.py": 8,
    "lang/behaviour/test_order_of_evaluation.py::test_expressions_evaluate_as_in_python": 4,
    "lang/behaviour/test_order_of_evaluation.py::test_expressions_evaluate_as_in_python[emulated]": 0,
    "lang/behaviour/test_overflow.py::test_values_are_those_without_the_check[emulated]": 0,
    "lang/behaviour/test_overflow.py::test_what_the_program_does_not_compute[emulated]": 0,
    "lang/behaviour/test_overlaps.py": 2,
    "lang/behaviour/test_overlaps.py::test_one_array_passed_twice[emulated]": 0,
    "lang/behaviour/test_overlaps.py::test_random_views": 0,
    "lang/behaviour/test_random_expressions.py::test_random_expressions[emulated]": 0,
    "lang/behaviour/test_random_nested_derivatives.py": 6,
    "lang/behaviour/test_random_ranges.py::test_random_ranges[emulated]": 0,
    "lang/behaviour/test_random_ranges.py::test_random_ranges_in_debug": 0,
    "lang/behaviour/test_random_recursive_functions.py": 3,
    "lang/behaviour/test_random_sparse_tapes.py": 3,
    "lang/behaviour/test_random_sparse_tapes.py::test_gradients_in_cells_that_steps_make_again[emulated]": 0,
    "lang/behaviour/test_random_sparse_tapes.py::test_random_series[emulated]": 0,
    "lang/behaviour/test_recorded_kernels.py::test_an_element_that_data_chooses_is_overwritten_twice[emulated]": 0,
    "lang/behaviour/test_recorded_steps.py::test_steps_record_again_what_does_not_fit[emulated]": 0,
    "lang/behaviour/test_random_steps.py": 3,
    "lang/behaviour/test_random_steps.py::test_random_programs": 3,
    "lang/behaviour/test_random_steps.py::test_random_programs[emulated]": 0,
    "lang/behaviour/test_ranges.py": 2,
    "lang/behaviour/test_ranges.py::test_steps_near_the_ends_of_the_type": 3,
    "lang/behaviour/test_real_function_derivatives.py": 3,
    "lang/behaviour/test_recorded_kernels.py": 16,
    "lang/behaviour/test_recorded_steps.py": 4,
    "lang/behaviour/test_recorded_steps.py::test_the_memory_of_steps_counts_records[emulated]": 0,
    "lang/behaviour/test_recorded_steps.py::test_two_tapes_share_records": 0,
    "lang/behaviour/test_ordered_gradients.py": 5,
    "lang/behaviour/test_ordered_lists.py": 2,
    "lang/behaviour/test_ordered_lists.py::test_a_loop_runs_twice_and_rounds_alike[python]": 0,
    "lang/behaviour/test_ordered_lists.py::test_the_order_is_that_of_the_loop[python]": 0,
    "lang/behaviour/test_random_sparse_tapes.py::test_random_hessians": 0,
    "lang/behaviour/test_recursive_function_gradients.py": 4,
    "lang/behaviour/test_reduce.py": 5,
    "lang/behaviour/test_reduce.py::test_axes_are_numpys": 4,
    "lang/behaviour/test_reduce.py::test_equal_calls_give_equal_bits[emulated]": 0,
    "lang/behaviour/test_reduce.py::test_fields_and_ndarrays[emulated]": 0,
    "lang/behaviour/test_reduce.py::test_more_than_one_block": 3,
    "lang/behaviour/test_reduce.py::test_types[emulated]": 0,
    "lang/behaviour/test_repeated_array_calls.py": 4,
    "lang/behaviour/test_repeated_array_calls.py::test_many_shapes_are_not_all_remembered": 0,
    "lang/behaviour/test_repeated_array_calls.py::test_sequences_of_reductions[emulated]": 0,
    "lang/behaviour/test_repeated_tapes.py": 8,
    "lang/behaviour/test_repeated_tapes.py::test_what_else_happens": 6,
    "lang/behaviour/test_results.py::test_results_of_every_type": 2,
    "lang/behaviour/test_scalars.py": 2,
    "lang/behaviour/test_scalars.py::test_integer_arithmetic_wraps": 3,
    "lang/behaviour/test_scalars.py::test_shifts": 3,
    "lang/behaviour/test_scalars.py::test_types_of_results": 4,
    "lang/behaviour/test_scalars.py::test_unary_functions": 2,
    "lang/behaviour/test_scatters.py::test_kinds_and_types": 11,
    "lang/behaviour/test_scatters.py::test_over_rows_again_and_again": 2,
    "lang/behaviour/test_second_derivative_steps.py": 2,
    "lang/behaviour/test_shared_updates.py::test_every_operator_and_type": 3,
    "lang/behaviour/test_solve.py": 16,
    "lang/behaviour/test_sparse_field_gradients.py": 8,
    "lang/behaviour/test_sparse_field_gradients.py::test_a_grid_that_is_made_anew_in_each_step[emulated]": 0,
    "lang/behaviour/test_sparse_field_gradients.py::test_gradients_and_duals_are_those_of_dense_fields[emulated]": 0,
    "lang/behaviour/test_sparse_field_gradients.py::test_hash_nodes[python]": 0,
    "lang/behaviour/test_sparse_field_gradients.py::test_lists[emulated]": 0,
    "lang/behaviour/test_sparse_field_gradients.py::test_lists[python]": 0,
    "lang/behaviour/test_sparse_field_gradients.py::test_what_was_deactivated_is_back_for_gradients[emulated]": 0,
    "lang/behaviour/test_sparse_field_gradients.py::test_what_python_sets_has_no_derivative[emulated]": 0,
    "lang/behaviour/test_sparse_fields.py": 12,
    "lang/behaviour/test_sparse_second_derivatives.py": 6,
    "lang/behaviour/test_sparse_second_derivatives.py::test_a_gradient_that_is_lost_fails_the_check": 0,
    "lang/behaviour/test_sparse_second_derivatives.py::test_a_tape_after_a_tree_has_grown[emulated]": 0,
    "lang/behaviour/test_sparse_second_derivatives.py::test_a_tree_that_grows_keeps_its_contents": 0,
    "lang/behaviour/test_sparse_second_derivatives.py::test_cells_that_come_and_go[emulated]": 0,
    "lang/behaviour/test_sparse_second_derivatives.py::test_second_derivatives_in_steps[emulated]": 0,
    "lang/behaviour/test_sparse_second_derivatives.py::test_jacobians_below_hash_nodes": 0,
    "lang/behaviour/test_sparse_second_derivatives.py::test_numbers_below_a_hash_node_are_those_of_active_elements": 0,
    "lang/behaviour/test_sparse_second_derivatives.py::test_second_derivatives": 5,
    "lang/behaviour/test_sparse_second_derivatives.py::test_second_derivatives[emulated]": 0,
    "lang/behaviour/test_sparse_neighbours.py::test_all_neighbours_in_three_dimensions": 2,
    "lang/behaviour/test_stencil_gradients.py": 3,
    "lang/behaviour/test_steps.py": 6,
    "lang/behaviour/test_steps_again.py": 4,
    "lang/behaviour/test_taichi_derivatives.py": 2,
    "lang/behaviour/test_tape_aliases.py": 2,
    "lang/behaviour/test_tape_launches.py": 6,
    "lang/behaviour/test_tape_python.py": 2,
    "lang/behaviour/test_tape_saves.py": 10,
    "lang/behaviour/test_third_derivatives.py": 6,
    "lang/behaviour/test_torn_kernels.py": 5,
    "lang/behaviour/test_uninitialised.py": 5,
    "lang/behaviour/test_uninitialised.py::test_against_a_reference": 16,
    "lang/behaviour/test_uninitialised.py::test_arrays_that_overlap": 8,
    "lang/cache/test_kernel_cache.py::test_kernels_that_use_what_weft_brings_are_kept": 4,
    "lang/cache/test_kernel_cache.py::test_the_layout_of_fields": 3,
    "lang/cache/test_kernel_cache.py::test_what_is_changed_is_compiled_anew": 8,
    "lang/cache/test_kernel_cache_looking.py::test_what_is_looked_up_without_a_name": 3,
    "lang/cache/test_kernel_cache_objects.py::test_objects_of_a_program": 6,
    "lang/cache/test_kernel_cache_objects.py::test_two_processes": 0,
    "lang/cache/test_kernel_cache_random.py::test_random_edits_never_give_an_old_result": 4,
    "lang/cache/test_kernel_cache_use.py": 2,
    "lang/cache/test_kernel_cache_values.py::test_a_kernel_of_another_value_is_never_used": 5,
    "lang/calls/test_big_kernels.py": 6,
    "lang/calls/test_compile_early.py::test_programs_come_and_go_while_threads_compile": 0,
    "lang/calls/test_compile_together.py": 4,
    "lang/calls/test_direct_calls.py": 3,
    "lang/calls/test_interrupts.py": 3,
    "lang/calls/test_interrupts.py::test_a_handler_that_raises_nothing_runs_beside_the_kernel": 0,
    "lang/calls/test_interrupts.py::test_a_kernel_ends_and_the_next_one_is_right": 8,
    "lang/calls/test_interrupts.py::test_in_one_thread_and_with_checks": 9,
    "lang/calls/test_launch_safety.py": 2,
    "lang/calls/test_launch_safety.py::test_calls_leave_no_references": 9,
    "lang/calls/test_launch_safety.py::test_memory_lives_until_the_launch_is_over": 0,
    "lang/calls/test_memory_faults.py": 2,
    "lang/checks/test_verify_results.py": 3,
    "lang/checks/test_verify_results.py::test_rounding_is_nobodys_fault": 3,
    "lang/explore/test_beside.py": 3,
    "lang/explore/test_explore.py": 3,
    "lang/explore/test_explore.py::test_the_command_takes_all_kernels": 0,
    "lang/explore/test_explore.py::test_themes_tabs_and_links": 0,
    "lang/explore/test_explore.py::test_twenty_thousand_lines": 0,
    "lang/functions/test_captures.py": 2,
    "lang/functions/test_captures.py::test_what_alternates_is_compiled_once_for_each": 3,
    "lang/functions/test_sources.py": 3,
    "lang/interpret/test_debugger.py": 2,
    "lang/measure/test_testing.py::test_the_events_of_a_gpu": 0,
    "lang/notebook/test_notebook.py": 4,
    "lang/program/test_backends.py": 3,
    "lang/program/test_forks.py::test_a_child_compiles_and_launches_whatever_the_parents_threads_did": 0,
    "lang/program/test_forks.py::test_processes_of_all_kinds": 4,
    "lang/program/test_threads.py::test_fields_and_arrays_come_and_go": 0,
    "lang/sparse_fields/test_checkpoints.py": 6,
    "lang/sparse_fields/test_checks.py": 4,
    "lang/sparse_fields/test_elements.py": 3,
    "lang/sparse_fields/test_interrupted_launches.py": 0,
    "lang/sparse_matrices/test_sparse_gradients.py": 8,
    "lang/sparse_matrices/test_sparse_matrices.py": 2,
    "lang/sparse_matrices/test_sparse_matrices.py::test_elimination": 3,
    "lang/sparse_matrices/test_sparse_matrices.py::test_elimination_of_matrices_that_are_not_symmetric": 2,
    "lang/stages/test_stages.py": 2,
    "lang/test_cells_in_parts.py::test_each_store_is_where_it_stands": 3,
    "lang/test_guard_pages.py::test_loops_stay_in_bounds_at_every_length": 0,
    "lang/test_jacobian_patterns.py": 3,
    "lang/test_nonsense.py": 3,
    "lang/test_random.py::test_numbers_are_the_same_everywhere": 0,
    "lang/tuning/test_autotune.py": 2,
    "lang/ui/test_canvas.py::test_shapes_at_no_place_are_left_out": 0,
    "lang/ui/test_gui.py::test_images_of_all_types": 3,
    "lang/ui/test_scenes.py": 3,
    "lang/ui/test_scenes.py::test_drawing_has_no_races_and_does_not_depend_on_threads": 0,
    "lang/ui/test_scenes.py::test_every_arch_draws_the_same": 0,
    "lang/values/test_big_matrices.py": 4,
    "programs/test_programs.py::test_in_python": 0,
    "programs/test_programs.py::test_on_an_emulated_gpu": 6,
    "programs/test_programs.py::test_on_the_processor": 4,
    "programs/test_programs.py::test_without_races": 8,
    "runtime/test_beside_openmp.py::test_both_work": 0,
    "runtime/test_control_groups.py::test_on_one_processor": 2,
    "runtime/test_jit.py::test_code_and_data_lie_together": 2,
    "runtime/test_jit.py::test_dropped_kernels_leave_nothing_behind": 0,
    "runtime/test_mappings.py": 3,
    "runtime/test_mappings.py::test_accesses_within_the_slack_read_zeros": 4,
    "runtime/test_mappings.py::test_mappings_and_memory_do_not_grow": 4,
    # `make check` runs these.
    "test_imports.py": 0,
    "test_structure.py": 0,
}


def leave_out(expression: str) -> bool:
    """Told once, before tests are imported: what `pytest -m` was given. Whether that leaves cases out."""
    global _left_out
    _left_out = "not exhaustive" in expression
    return _left_out


def draws(examples: int) -> int:
    """How many examples a random test draws: all of them, or an eighth in `make test`."""
    return -(-examples // 8) if _left_out else examples


def every(step: int, cases: Iterable[Any]) -> list[Any]:
    """One in `step` of the cases, the first one included; the others are exhaustive."""
    return [case if number % step == 0 else _exhaustive(case) for number, case in enumerate(cases)]


def only(kept: Sequence[Any], cases: Iterable[Any]) -> list[Any]:
    """Those of the cases that are in `kept`; the others are exhaustive."""
    given = list(cases)
    assert all(one in given for one in kept), "a case that is kept is none of the cases"
    return [case if case in kept else _exhaustive(case) for case in given]


def thin(items: Iterable[pytest.Item]) -> None:
    """Of the cases of one test, or of the tests of a file, one in so many is run, the first included; the others are
    exhaustive. That is what `SLOW` says of those that take seconds, and one in 16 on the GPU in software, where a
    kernel takes five times as long to compile as for the CPU, which runs them all."""
    met = Counter[str]()
    for item in items:
        if item.get_closest_marker("exhaustive"):
            continue
        key, step = _step(item)
        if not step or met[key] % step:
            item.add_marker("exhaustive")
        met[key] += bool(step)


def _step(item: pytest.Item) -> tuple[str, int]:
    """What the item is counted with, and of how many one is run."""
    test = item.nodeid.partition("[")[0].removeprefix("tests/")
    file = test.partition("::")[0]
    if item.get_closest_marker("emulated"):
        step = SLOW.get(f"{test}[emulated]", SLOW.get(test, 1) * _EMULATED)
        return f"{file if step == _EMULATED and file.startswith(_EVERYWHERE) else test}[emulated]", step
    own = f"{test}[{_arch(item)}]"
    if own in SLOW:
        return own, SLOW[own]
    key = file if file in SLOW and test not in SLOW else test
    return key, SLOW.get(key, 1)


def _arch(item: pytest.Item) -> str:
    """Where a test of behaviour runs, "" for other tests."""
    found = getattr(item, "callspec", None)
    return str(found.params.get("ti", "")) if found is not None else ""


def _exhaustive(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.exhaustive)

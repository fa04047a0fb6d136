"""Which of many cases `make test` runs. The others are marked `exhaustive`: `make test-all` runs them too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

__all__ = ["draws", "every", "leave_out", "only", "thin"]

_left_out = False

# Of the cases of these tests `make test` runs one in so many; 0: none.
SLOW = {
    "cuda/test_device.py::test_math": 2,
    "cuda/test_filters.py::test_arrays": 4,
    "codegen/test_scalar_ops.py::test_binary": 3,
    "codegen/test_scalar_ops.py::test_unary": 3,
    "demos/test_demos.py::test_frames": 3,
    "fuzz/test_programs.py::test_passes_keep_what_random_programs_mean": 4,
    "ir/test_index_analyses.py::test_intervals_hold_every_result": 3,
    "ir/test_mask_accesses.py::test_random_kernels_that_go_out_of_bounds": 4,
    "ir/test_passes_agree.py::test_a_pass_alone": 2,
    "ir/test_rules.py::test_both_sides_agree": 3,
    "lang/behaviour/test_arguments.py::test_what_is_no_integer": 4,
    "lang/behaviour/test_arrays.py::test_types_and_orders": 3,
    "lang/behaviour/test_atomics.py::test_kinds_and_old_values": 3,
    "lang/behaviour/test_fields.py::test_fields_of_more_elements_than_an_i32_counts": 4,
    "lang/behaviour/test_narrow_integers.py::test_what_wraps_is_seen_wrapped": 2,
    "lang/behaviour/test_overlaps.py::test_random_views": 4,
    "lang/behaviour/test_ranges.py::test_steps_near_the_ends_of_the_type": 3,
    "lang/behaviour/test_reduce.py::test_axes_are_numpys": 4,
    "lang/behaviour/test_reduce.py::test_more_than_one_block": 3,
    "lang/behaviour/test_scalars.py::test_shifts": 3,
    "lang/behaviour/test_scalars.py::test_types_of_results": 4,
    "lang/behaviour/test_scatters.py::test_kinds_and_types": 6,
    "lang/behaviour/test_scatters.py::test_over_rows_again_and_again": 2,
    "lang/behaviour/test_uninitialised.py::test_against_a_reference": 8,
    "lang/test_algorithms.py::test_sorting_every_type": 3,
    "lang/test_fingerprint.py::test_a_kernel_of_another_value_is_never_used": 3,
    "lang/test_forks.py::test_processes_of_all_kinds": 2,
    "lang/test_interrupts.py::test_a_kernel_ends_and_the_next_one_is_right": 2,
    "lang/test_interrupts.py::test_in_one_thread_and_with_checks": 5,
    "lang/test_kernel_cache.py::test_the_layout_of_fields": 3,
    "lang/test_kernel_cache.py::test_what_is_changed_is_compiled_anew": 3,
    "lang/test_kernel_cache_looking.py::test_what_is_looked_up_without_a_name": 3,
    "lang/test_kernel_cache_objects.py::test_objects_of_a_program": 3,
    "lang/test_kernel_cache_random.py::test_random_edits_never_give_an_old_result": 4,
    "lang/test_launch_safety.py::test_calls_leave_no_references": 3,
    "lang/test_launch_safety.py::test_memory_lives_until_the_launch_is_over": 3,
    "lang/test_sparse_matrices.py::test_elimination": 3,
    "lang/test_testing.py::test_the_events_of_a_gpu": 0,
    "lang/test_threads.py::test_fields_and_arrays_come_and_go": 0,
    "lang/test_verify_results.py::test_rounding_is_nobodys_fault": 3,
    "lang/ui/test_canvas.py::test_shapes_at_no_place_are_left_out": 2,
    "lang/ui/test_scenes.py::test_drawing_has_no_races_and_does_not_depend_on_threads": 3,
    "lang/ui/test_scenes.py::test_every_arch_draws_the_same": 0,
    "programs/test_programs.py::test_in_python": 3,
    "programs/test_programs.py::test_on_the_processor": 2,
    "programs/test_programs.py::test_without_races": 8,
    "runtime/test_mappings.py::test_mappings_and_memory_do_not_grow": 3,
    "runtime/test_mappings.py::test_what_misses_by_the_slack_meets_zeros_that_are_nobodys": 4,
}


def leave_out(expression: str) -> bool:
    """Told once, before tests are imported: what `pytest -m` was given. Whether that leaves cases out."""
    global _left_out
    _left_out = "not exhaustive" in expression
    return _left_out


def draws(examples: int) -> int:
    """How many examples a random test draws: all of them, or a quarter in `make test`."""
    return -(-examples // 4) if _left_out else examples


def every(step: int, cases: Iterable[Any]) -> list[Any]:
    """One in `step` of the cases, the first one included; the others are exhaustive."""
    return [case if number % step == 0 else _exhaustive(case) for number, case in enumerate(cases)]


def only(kept: Sequence[Any], cases: Iterable[Any]) -> list[Any]:
    """Those of the cases that are in `kept`; the others are exhaustive."""
    given = list(cases)
    assert all(one in given for one in kept), "a case that is kept is none of the cases"
    return [case if case in kept else _exhaustive(case) for case in given]


def thin(items: Iterable[pytest.Item]) -> None:
    """Of the cases of one test, one in so many is run, the first included; the others are exhaustive. That is one in
    three on the GPU in software, where a kernel takes five times as long to compile as for the CPU, which runs them
    all, and what `SLOW` says of tests that take seconds."""
    met = Counter[tuple[str, bool]]()
    for item in items:
        if item.get_closest_marker("exhaustive"):
            continue
        name, emulated = item.nodeid.partition("[")[0], item.get_closest_marker("emulated") is not None
        step = SLOW.get(name.removeprefix("tests/"), 1) * (3 if emulated else 1)
        if not step or met[name, emulated] % step:
            item.add_marker("exhaustive")
        met[name, emulated] += 1


def _exhaustive(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.exhaustive)

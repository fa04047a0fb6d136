"""Which modules hold legality conditions, and which tests are written for them: those are tried first when one is
broken."""

from __future__ import annotations

__all__ = ["TARGETS", "TESTS"]

TESTS = (
    "tests/ir",
    "tests/codegen",
    "tests/emulated",
    "tests/cuda",
    "tests/lang/behaviour",
    "tests/programs",
    "tests/fuzz/test_programs.py",
)

_PASSES = (
    "tests/ir/test_task_passes.py",
    "tests/ir/test_simplify.py",
    "tests/ir/test_pass_goldens.py",
    "tests/ir/test_synchronization.py",
)
_MEANING = ("tests/ir/test_adversary.py", "tests/ir/test_passes_agree.py")
_RUN = ("tests/codegen/test_legality.py", "tests/fuzz/test_programs.py")
_LANES = (
    "tests/codegen/test_lane_choices.py",
    "tests/codegen/test_lane_moves.py",
    "tests/codegen/test_llvm.py",
    "tests/codegen/test_lanes.py",
    "tests/codegen/test_fold_limits.py",
    "tests/codegen/test_folds.py",
    "tests/codegen/test_fold_versions.py",
    "tests/codegen/test_lane_programs.py",
    "tests/codegen/test_lane_scatters.py",
    *_RUN,
)
_GPU = (
    "tests/codegen/test_groups.py",
    "tests/codegen/test_rounds_together.py",
    "tests/codegen/test_wide_units.py",
    "tests/codegen/test_wide_sums.py",
    "tests/codegen/test_teams.py",
    "tests/codegen/test_axes.py",
    "tests/codegen/test_insides.py",
    "tests/codegen/test_shares.py",
    "tests/codegen/test_ptx.py",
    "tests/codegen/test_ptx_together.py",
    "tests/codegen/test_ptx_borrow.py",
    "tests/codegen/test_ptx_limits.py",
    "tests/emulated",
    "tests/cuda",
    *_RUN,
)
_BOUNDS = (
    "tests/ir/test_bounds.py",
    "tests/ir/test_masked_indices.py",
    "tests/lang/behaviour/test_masked_accesses.py",
    *_MEANING,
    *_RUN,
)
_SHARED = ("tests/ir/test_shared_locals.py", "tests/ir/test_lower_tree.py", "tests/ir/test_lower_tree_meaning.py")

TARGETS: dict[str, tuple[str, ...]] = {
    "weft.ir.addresses": ("tests/ir/test_addresses.py", "tests/ir/test_alias.py", *_PASSES, *_MEANING, *_RUN),
    "weft.ir.atomic_ops": ("tests/ir/test_synchronization.py", "tests/codegen/test_synchronization.py"),
    "weft.ir.alias": ("tests/ir/test_alias.py", *_PASSES, *_MEANING, *_RUN),
    "weft.ir.storage.dense": ("tests/ir/test_storage.py", *_PASSES, *_RUN),
    "weft.ir.storage.path": ("tests/ir/test_storage.py", "tests/codegen/test_shares.py", *_LANES),
    "weft.ir.tasks": ("tests/ir/test_private_spaces.py", *_PASSES, "tests/ir/test_index_analyses.py", *_MEANING, *_RUN),
    "weft.ir.affine": ("tests/ir/test_index_analyses.py", *_PASSES, *_MEANING, *_RUN),
    "weft.ir.intervals": ("tests/ir/test_index_analyses.py", "tests/ir/test_bounds.py", *_PASSES, *_MEANING),
    "weft.ir.linear": (
        "tests/ir/test_linear.py",
        "tests/ir/test_mask_accesses.py",
        "tests/ir/test_index_analyses.py",
        *_PASSES,
        *_BOUNDS,
    ),
    "weft.ir.widen": (*_PASSES, *_MEANING, *_RUN),
    "weft.ir.access_ranges": ("tests/ir/test_mask_accesses.py", "tests/ir/test_index_analyses.py", *_PASSES, *_BOUNDS),
    "weft.ir.uniform": ("tests/ir/test_uniform.py", *_LANES, "tests/codegen/test_ptx_together.py"),
    "weft.ir.overlaps": ("tests/codegen/test_overlap_check.py", "tests/lang/behaviour/test_overlaps.py"),
    "weft.ir.shared_locals": (*_SHARED, "tests/lang/behaviour/test_shared_locals.py"),
    "weft.ir.order_dependence": ("tests/ir/test_order_dependence.py", "tests/ir/test_synchronization.py"),
    "weft.ir.transforms.bounds": ("tests/ir/test_bounds.py", *_PASSES, *_BOUNDS),
    "weft.ir.transforms.mask_accesses": ("tests/ir/test_mask_accesses.py", *_PASSES, *_BOUNDS),
    "weft.ir.transforms.defer_warning": ("tests/ir/test_mask_accesses.py", *_PASSES, *_BOUNDS),
    "weft.ir.transforms.flag_access": (*_PASSES, *_MEANING),
    "weft.ir.transforms.forward": (*_PASSES, *_MEANING, *_RUN),
    "weft.ir.transforms.dead_stores": (*_PASSES, *_MEANING, *_RUN),
    "weft.ir.transforms.cse": (*_PASSES, *_MEANING, *_RUN),
    "weft.ir.transforms.licm": (*_PASSES, *_MEANING, *_RUN),
    "weft.ir.transforms.die": (*_PASSES, *_MEANING, *_RUN),
    "weft.ir.transforms.offload": (*_PASSES, "tests/ir/test_pipeline.py", *_MEANING, *_RUN),
    "weft.ir.transforms.collapse": ("tests/ir/test_collapse.py", *_PASSES, *_MEANING, *_RUN),
    "weft.ir.transforms.demote_atomics": (*_PASSES, *_MEANING, *_RUN),
    "weft.ir.transforms.cache_invariant": (*_PASSES, *_MEANING, *_RUN),
    "weft.ir.transforms.thread_local": (*_PASSES, *_MEANING, *_RUN),
    "weft.ir.transforms.lift_sums": (*_PASSES, "tests/ir/test_scalarize.py", *_MEANING, *_RUN),
    "weft.ir.mapping.fold_choice": _LANES,
    "weft.ir.mapping.lane_choice": _LANES,
    "weft.ir.mapping.cell_parts": _LANES,
    "weft.ir.mapping.rows": ("tests/codegen/test_lane_strides.py", *_LANES),
    "weft.codegen.cpu.lane_atomics": _LANES,
    "weft.codegen.cpu.lane_folds": _LANES,
    "weft.codegen.cpu.lane_gathers": _LANES,
    "weft.codegen.cpu.lane_rows": _LANES,
    "weft.codegen.cpu.lane_strides": _LANES,
    "weft.codegen.cpu.lane_memory": _LANES,
    "weft.ir.mapping.unordered": ("tests/ir/test_synchronization.py", *_LANES),
    "weft.ir.mapping.privatizable": (
        "tests/codegen/test_shares.py",
        "tests/codegen/test_parts.py",
        "tests/lang/behaviour/test_scatters.py",
        *_RUN,
    ),
    "weft.codegen.cpu.privatization": ("tests/codegen/test_parts.py", "tests/lang/behaviour/test_scatters.py", *_RUN),
    "weft.ir.transforms.mapping.choose_axes": _GPU,
    "weft.ir.transforms.mapping.choose_blocks": _GPU,
    "weft.ir.transforms.mapping.warps_per_row": _GPU,
    "weft.ir.mapping.warp_sums": _GPU,
    "weft.ir.mapping.serial_loops": _GPU,
    "weft.codegen.nvptx.lost_borrows": _GPU,
    "weft.codegen.gpu.coarsening": _GPU,
    "weft.codegen.gpu.boundary_peeling": _GPU,
    "weft.codegen.gpu.privatization": _GPU,
    "weft.codegen.gpu.warps_per_row": _GPU,
    "weft.codegen.gpu.unroll_and_jam": _GPU,
    "weft.codegen.gpu.wide_atomics": _GPU,
}

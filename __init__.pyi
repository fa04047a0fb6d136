"""Weft: spatial computing in Python. `import weft as ti` runs programs written for Taichi's Python API.

Type checkers read this file, and `__init__.py` is what runs. The files in `stubs/` say what the names in a kernel are
for a checker: there `ti.f32` is Python's `float`, and `ti.vec3` is `Vector[float]`."""

from typing import Any, TypeAlias

from weft.lang import autodiff as _autodiff
from weft.lang import compat as compat
from weft.lang import simt as simt
from weft.lang.algorithms import sort_and_scan as _sort_and_scan
from weft.lang.arrays import jax_op as _jax_op
from weft.lang.arrays import torch_op as _torch_op
from weft.lang.arrays.elementwise import elementwise as elementwise
from weft.lang.arrays.reduction import reduce as reduce
from weft.lang.autodiff.tape import Tape as Tape
from weft.lang.checkpoints.checkpoint import CheckpointError as CheckpointError
from weft.lang.checkpoints.checkpoint import load as load
from weft.lang.checkpoints.checkpoint import save as save
from weft.lang.compat import Extension as _Extension
from weft.lang.data.axes import Axes as _Axes
from weft.lang.data.axes import Layout as Layout
from weft.lang.data.axes import axes as axes
from weft.lang.data.field_tree import FieldError as FieldError
from weft.lang.data.field_tree import FieldTree as FieldTree
from weft.lang.data.snode_api import FieldsBuilder as FieldsBuilder
from weft.lang.data.snode_api import SNode as SNode
from weft.lang.data.snode_api import deactivate_all_snodes as deactivate_all_snodes
from weft.lang.data.snode_api import root as root
from weft.lang.errors import ArgumentError as ArgumentError
from weft.lang.errors import CompilationError as CompilationError
from weft.lang.errors import DataRace as DataRace
from weft.lang.errors import GradientWarning as GradientWarning
from weft.lang.errors import InternalError as InternalError
from weft.lang.errors import MemoryFault as MemoryFault
from weft.lang.errors import OutOfBoundsWarning as OutOfBoundsWarning
from weft.lang.errors import OutOfMemory as OutOfMemory
from weft.lang.errors import OverflowWarning as OverflowWarning
from weft.lang.errors import PrecisionWarning as PrecisionWarning
from weft.lang.errors import RaceWarning as RaceWarning
from weft.lang.errors import TaichiAssertionError as TaichiAssertionError
from weft.lang.errors import TaichiCompilationError as TaichiCompilationError
from weft.lang.errors import TaichiIndexError as TaichiIndexError
from weft.lang.errors import TaichiNameError as TaichiNameError
from weft.lang.errors import TaichiRuntimeError as TaichiRuntimeError
from weft.lang.errors import TaichiRuntimeTypeError as TaichiRuntimeTypeError
from weft.lang.errors import TaichiSyntaxError as TaichiSyntaxError
from weft.lang.errors import TaichiTypeError as TaichiTypeError
from weft.lang.errors import UninitialisedRead as UninitialisedRead
from weft.lang.errors import WeftError as WeftError
from weft.lang.errors import WrongResult as WrongResult
from weft.lang.exports import views as views
from weft.lang.exports.recorder import Recorder as Recorder
from weft.lang.kernels import graph as graph
from weft.lang.logs.levels import CRITICAL as CRITICAL
from weft.lang.logs.levels import DEBUG as DEBUG
from weft.lang.logs.levels import ERROR as ERROR
from weft.lang.logs.levels import INFO as INFO
from weft.lang.logs.levels import TRACE as TRACE
from weft.lang.logs.levels import WARN as WARN
from weft.lang.logs.levels import is_logging_effective as is_logging_effective
from weft.lang.logs.levels import set_logging_level as set_logging_level
from weft.lang.logs.topics import set_logs as set_logs
from weft.lang.measure import profiler as profiler
from weft.lang.measure import testing as testing
from weft.lang.measure.profile import profile as profile
from weft.lang.program.init import amdgpu as amdgpu
from weft.lang.program.init import arm64 as arm64
from weft.lang.program.init import cpu as cpu
from weft.lang.program.init import cuda as cuda
from weft.lang.program.init import dx11 as dx11
from weft.lang.program.init import dx12 as dx12
from weft.lang.program.init import gles as gles
from weft.lang.program.init import gpu as gpu
from weft.lang.program.init import init as init
from weft.lang.program.init import metal as metal
from weft.lang.program.init import opengl as opengl
from weft.lang.program.init import python as python
from weft.lang.program.init import reset as reset
from weft.lang.program.init import seed as seed
from weft.lang.program.init import sync as sync
from weft.lang.program.init import vulkan as vulkan
from weft.lang.program.init import x64 as x64
from weft.lang.program.init import x86_64 as x86_64
from weft.lang.program.settings import cfg as cfg
from weft.lang.simt.block import global_thread_idx as global_thread_idx
from weft.lang.sparse_fields import grids as _grids
from weft.lang.tuning.autotune import AutotuneError as AutotuneError
from weft.lang.tuning.autotune import Config as Config
from weft.lang.ui import tools as tools
from weft.lang.ui.gui import GUI as GUI
from weft.lang.ui.tools import Timer as Timer
from weft.lang.values.argpack import ArgPack as ArgPack
from weft.lang.values.argpack import ArgPackType as ArgPackType
from weft.lang.values.color import hex_to_rgb as hex_to_rgb
from weft.lang.values.color import rgb_to_hex as rgb_to_hex
from weft.stubs import linalg as linalg
from weft.stubs import math as math
from weft.stubs import types as types
from weft.stubs import ui as ui
from weft.stubs.arrays import Array as Array
from weft.stubs.arrays import Array1 as Array1
from weft.stubs.arrays import Array2 as Array2
from weft.stubs.arrays import Array3 as Array3
from weft.stubs.arrays import Array4 as Array4
from weft.stubs.arrays import NDArray as NDArray
from weft.stubs.decompositions import eig as eig
from weft.stubs.decompositions import get_addr as get_addr
from weft.stubs.decompositions import polar_decompose as polar_decompose
from weft.stubs.decompositions import rescale_index as rescale_index
from weft.stubs.decompositions import solve as solve
from weft.stubs.decompositions import svd as svd
from weft.stubs.decompositions import sym_eig as sym_eig
from weft.stubs.elementwise import abs as abs
from weft.stubs.elementwise import acos as acos
from weft.stubs.elementwise import asin as asin
from weft.stubs.elementwise import atan as atan
from weft.stubs.elementwise import atan2 as atan2
from weft.stubs.elementwise import bit_cast as bit_cast
from weft.stubs.elementwise import bit_not as bit_not
from weft.stubs.elementwise import bit_sar as bit_sar
from weft.stubs.elementwise import bit_shl as bit_shl
from weft.stubs.elementwise import bit_shr as bit_shr
from weft.stubs.elementwise import cast as cast
from weft.stubs.elementwise import ceil as ceil
from weft.stubs.elementwise import clz as clz
from weft.stubs.elementwise import cos as cos
from weft.stubs.elementwise import cosh as cosh
from weft.stubs.elementwise import exp as exp
from weft.stubs.elementwise import exp2 as exp2
from weft.stubs.elementwise import floor as floor
from weft.stubs.elementwise import frexp as frexp
from weft.stubs.elementwise import ifte as ifte
from weft.stubs.elementwise import isinf as isinf
from weft.stubs.elementwise import isnan as isnan
from weft.stubs.elementwise import log as log
from weft.stubs.elementwise import log2 as log2
from weft.stubs.elementwise import logical_and as logical_and
from weft.stubs.elementwise import logical_not as logical_not
from weft.stubs.elementwise import logical_or as logical_or
from weft.stubs.elementwise import max as max
from weft.stubs.elementwise import min as min
from weft.stubs.elementwise import popcnt as popcnt
from weft.stubs.elementwise import pow as pow
from weft.stubs.elementwise import randn as randn
from weft.stubs.elementwise import random as random
from weft.stubs.elementwise import raw_div as raw_div
from weft.stubs.elementwise import raw_mod as raw_mod
from weft.stubs.elementwise import round as round
from weft.stubs.elementwise import rsqrt as rsqrt
from weft.stubs.elementwise import select as select
from weft.stubs.elementwise import sign as sign
from weft.stubs.elementwise import sin as sin
from weft.stubs.elementwise import sinh as sinh
from weft.stubs.elementwise import sqrt as sqrt
from weft.stubs.elementwise import tan as tan
from weft.stubs.elementwise import tanh as tanh
from weft.stubs.elementwise import trunc as trunc
from weft.stubs.fields import Field as Field
from weft.stubs.fields import MatrixField as MatrixField
from weft.stubs.fields import MatrixNdarray as MatrixNdarray
from weft.stubs.fields import Ndarray as Ndarray
from weft.stubs.fields import ScalarField as ScalarField
from weft.stubs.fields import ScalarNdarray as ScalarNdarray
from weft.stubs.fields import StructField as StructField
from weft.stubs.fields import VectorNdarray as VectorNdarray
from weft.stubs.fields import field as field
from weft.stubs.fields import ndarray as ndarray
from weft.stubs.functions import activate as activate
from weft.stubs.functions import append as append
from weft.stubs.functions import assume_in_range as assume_in_range
from weft.stubs.functions import atomic_add as atomic_add
from weft.stubs.functions import atomic_and as atomic_and
from weft.stubs.functions import atomic_max as atomic_max
from weft.stubs.functions import atomic_min as atomic_min
from weft.stubs.functions import atomic_mul as atomic_mul
from weft.stubs.functions import atomic_or as atomic_or
from weft.stubs.functions import atomic_sub as atomic_sub
from weft.stubs.functions import atomic_xor as atomic_xor
from weft.stubs.functions import block_local as block_local
from weft.stubs.functions import cache_read_only as cache_read_only
from weft.stubs.functions import deactivate as deactivate
from weft.stubs.functions import grouped as grouped
from weft.stubs.functions import is_active as is_active
from weft.stubs.functions import length as length
from weft.stubs.functions import loop_config as loop_config
from weft.stubs.functions import no_activate as no_activate
from weft.stubs.functions import one as one
from weft.stubs.functions import static as static
from weft.stubs.functions import static_assert as static_assert
from weft.stubs.functions import static_print as static_print
from weft.stubs.functions import stop_grad as stop_grad
from weft.stubs.functions import zero as zero
from weft.stubs.kernels import Struct as Struct
from weft.stubs.kernels import autotune as autotune
from weft.stubs.kernels import data_oriented as data_oriented
from weft.stubs.kernels import dataclass as dataclass
from weft.stubs.kernels import func as func
from weft.stubs.kernels import kernel as kernel
from weft.stubs.kernels import progress as progress
from weft.stubs.kernels import pyfunc as pyfunc
from weft.stubs.kernels import real_func as real_func
from weft.stubs.kernels import warm as warm
from weft.stubs.loops import ndrange as ndrange
from weft.stubs.math import ivec2 as ivec2
from weft.stubs.math import ivec3 as ivec3
from weft.stubs.math import ivec4 as ivec4
from weft.stubs.math import mat2 as mat2
from weft.stubs.math import mat3 as mat3
from weft.stubs.math import mat4 as mat4
from weft.stubs.math import uvec2 as uvec2
from weft.stubs.math import uvec3 as uvec3
from weft.stubs.math import uvec4 as uvec4
from weft.stubs.math import vec2 as vec2
from weft.stubs.math import vec3 as vec3
from weft.stubs.math import vec4 as vec4
from weft.stubs.matrices import Matrix as Matrix
from weft.stubs.matrices import Vector as Vector
from weft.stubs.numbers import f16 as f16
from weft.stubs.numbers import f32 as f32
from weft.stubs.numbers import f64 as f64
from weft.stubs.numbers import float16 as float16
from weft.stubs.numbers import float32 as float32
from weft.stubs.numbers import float64 as float64
from weft.stubs.numbers import i8 as i8
from weft.stubs.numbers import i16 as i16
from weft.stubs.numbers import i32 as i32
from weft.stubs.numbers import i64 as i64
from weft.stubs.numbers import int8 as int8
from weft.stubs.numbers import int16 as int16
from weft.stubs.numbers import int32 as int32
from weft.stubs.numbers import int64 as int64
from weft.stubs.numbers import u1 as u1
from weft.stubs.numbers import u8 as u8
from weft.stubs.numbers import u16 as u16
from weft.stubs.numbers import u32 as u32
from weft.stubs.numbers import u64 as u64
from weft.stubs.numbers import uint1 as uint1
from weft.stubs.numbers import uint8 as uint8
from weft.stubs.numbers import uint16 as uint16
from weft.stubs.numbers import uint32 as uint32
from weft.stubs.numbers import uint64 as uint64
from weft.stubs.types import ref as ref
from weft.stubs.types import sparse_matrix_builder as sparse_matrix_builder
from weft.stubs.types import template as template

ad = _autodiff
algorithms = _sort_and_scan
extension = _Extension
jax = _jax_op
sparse = _grids
torch = _torch_op

Template: TypeAlias = Any
"""As the annotation of a parameter: a compile-time constant, which can be anything. The kernel is compiled again for
each new value."""

__version__: str
i: _Axes
j: _Axes
k: _Axes
l: _Axes
ij: _Axes
ik: _Axes
il: _Axes
jk: _Axes
jl: _Axes
kl: _Axes
ijk: _Axes
ijl: _Axes
ikl: _Axes
jkl: _Axes
ijkl: _Axes

# pyright: reportOverlappingOverload=false
# mypy: disable-error-code="overload-overlap"
"""Vectors and matrices, as type checkers see them. `ti.vec3` is `Vector[float]`: sizes are not part of a type."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

from numpy.typing import NDArray as NumpyArray
from typing_extensions import Self

from weft.lang.data.axes import Layout
from weft.stubs.fields import MatrixField, MatrixNdarray, Shape

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")

# The elements of a vector by their letters: up to four of one alphabet.
# fmt: off
Swizzle: TypeAlias = Literal[
    "xx", "xy", "xz", "xw", "yx", "yy", "yz", "yw", "zx", "zy", "zz", "zw", "wx", "wy", "wz", "ww", "xxx", "xxy",
    "xxz", "xxw", "xyx", "xyy", "xyz", "xyw", "xzx", "xzy", "xzz", "xzw", "xwx", "xwy", "xwz", "xww", "yxx", "yxy",
    "yxz", "yxw", "yyx", "yyy", "yyz", "yyw", "yzx", "yzy", "yzz", "yzw", "ywx", "ywy", "ywz", "yww", "zxx", "zxy",
    "zxz", "zxw", "zyx", "zyy", "zyz", "zyw", "zzx", "zzy", "zzz", "zzw", "zwx", "zwy", "zwz", "zww", "wxx", "wxy",
    "wxz", "wxw", "wyx", "wyy", "wyz", "wyw", "wzx", "wzy", "wzz", "wzw", "wwx", "wwy", "wwz", "www", "xxxx",
    "xxxy", "xxxz", "xxxw", "xxyx", "xxyy", "xxyz", "xxyw", "xxzx", "xxzy", "xxzz", "xxzw", "xxwx", "xxwy", "xxwz",
    "xxww", "xyxx", "xyxy", "xyxz", "xyxw", "xyyx", "xyyy", "xyyz", "xyyw", "xyzx", "xyzy", "xyzz", "xyzw", "xywx",
    "xywy", "xywz", "xyww", "xzxx", "xzxy", "xzxz", "xzxw", "xzyx", "xzyy", "xzyz", "xzyw", "xzzx", "xzzy", "xzzz",
    "xzzw", "xzwx", "xzwy", "xzwz", "xzww", "xwxx", "xwxy", "xwxz", "xwxw", "xwyx", "xwyy", "xwyz", "xwyw", "xwzx",
    "xwzy", "xwzz", "xwzw", "xwwx", "xwwy", "xwwz", "xwww", "yxxx", "yxxy", "yxxz", "yxxw", "yxyx", "yxyy", "yxyz",
    "yxyw", "yxzx", "yxzy", "yxzz", "yxzw", "yxwx", "yxwy", "yxwz", "yxww", "yyxx", "yyxy", "yyxz", "yyxw", "yyyx",
    "yyyy", "yyyz", "yyyw", "yyzx", "yyzy", "yyzz", "yyzw", "yywx", "yywy", "yywz", "yyww", "yzxx", "yzxy", "yzxz",
    "yzxw", "yzyx", "yzyy", "yzyz", "yzyw", "yzzx", "yzzy", "yzzz", "yzzw", "yzwx", "yzwy", "yzwz", "yzww", "ywxx",
    "ywxy", "ywxz", "ywxw", "ywyx", "ywyy", "ywyz", "ywyw", "ywzx", "ywzy", "ywzz", "ywzw", "ywwx", "ywwy", "ywwz",
    "ywww", "zxxx", "zxxy", "zxxz", "zxxw", "zxyx", "zxyy", "zxyz", "zxyw", "zxzx", "zxzy", "zxzz", "zxzw", "zxwx",
    "zxwy", "zxwz", "zxww", "zyxx", "zyxy", "zyxz", "zyxw", "zyyx", "zyyy", "zyyz", "zyyw", "zyzx", "zyzy", "zyzz",
    "zyzw", "zywx", "zywy", "zywz", "zyww", "zzxx", "zzxy", "zzxz", "zzxw", "zzyx", "zzyy", "zzyz", "zzyw", "zzzx",
    "zzzy", "zzzz", "zzzw", "zzwx", "zzwy", "zzwz", "zzww", "zwxx", "zwxy", "zwxz", "zwxw", "zwyx", "zwyy", "zwyz",
    "zwyw", "zwzx", "zwzy", "zwzz", "zwzw", "zwwx", "zwwy", "zwwz", "zwww", "wxxx", "wxxy", "wxxz", "wxxw", "wxyx",
    "wxyy", "wxyz", "wxyw", "wxzx", "wxzy", "wxzz", "wxzw", "wxwx", "wxwy", "wxwz", "wxww", "wyxx", "wyxy", "wyxz",
    "wyxw", "wyyx", "wyyy", "wyyz", "wyyw", "wyzx", "wyzy", "wyzz", "wyzw", "wywx", "wywy", "wywz", "wyww", "wzxx",
    "wzxy", "wzxz", "wzxw", "wzyx", "wzyy", "wzyz", "wzyw", "wzzx", "wzzy", "wzzz", "wzzw", "wzwx", "wzwy", "wzwz",
    "wzww", "wwxx", "wwxy", "wwxz", "wwxw", "wwyx", "wwyy", "wwyz", "wwyw", "wwzx", "wwzy", "wwzz", "wwzw", "wwwx",
    "wwwy", "wwwz", "wwww", "rr", "rg", "rb", "ra", "gr", "gg", "gb", "ga", "br", "bg", "bb", "ba", "ar", "ag",
    "ab", "aa", "rrr", "rrg", "rrb", "rra", "rgr", "rgg", "rgb", "rga", "rbr", "rbg", "rbb", "rba", "rar", "rag",
    "rab", "raa", "grr", "grg", "grb", "gra", "ggr", "ggg", "ggb", "gga", "gbr", "gbg", "gbb", "gba", "gar", "gag",
    "gab", "gaa", "brr", "brg", "brb", "bra", "bgr", "bgg", "bgb", "bga", "bbr", "bbg", "bbb", "bba", "bar", "bag",
    "bab", "baa", "arr", "arg", "arb", "ara", "agr", "agg", "agb", "aga", "abr", "abg", "abb", "aba", "aar", "aag",
    "aab", "aaa", "rrrr", "rrrg", "rrrb", "rrra", "rrgr", "rrgg", "rrgb", "rrga", "rrbr", "rrbg", "rrbb", "rrba",
    "rrar", "rrag", "rrab", "rraa", "rgrr", "rgrg", "rgrb", "rgra", "rggr", "rggg", "rggb", "rgga", "rgbr", "rgbg",
    "rgbb", "rgba", "rgar", "rgag", "rgab", "rgaa", "rbrr", "rbrg", "rbrb", "rbra", "rbgr", "rbgg", "rbgb", "rbga",
    "rbbr", "rbbg", "rbbb", "rbba", "rbar", "rbag", "rbab", "rbaa", "rarr", "rarg", "rarb", "rara", "ragr", "ragg",
    "ragb", "raga", "rabr", "rabg", "rabb", "raba", "raar", "raag", "raab", "raaa", "grrr", "grrg", "grrb", "grra",
    "grgr", "grgg", "grgb", "grga", "grbr", "grbg", "grbb", "grba", "grar", "grag", "grab", "graa", "ggrr", "ggrg",
    "ggrb", "ggra", "gggr", "gggg", "gggb", "ggga", "ggbr", "ggbg", "ggbb", "ggba", "ggar", "ggag", "ggab", "ggaa",
    "gbrr", "gbrg", "gbrb", "gbra", "gbgr", "gbgg", "gbgb", "gbga", "gbbr", "gbbg", "gbbb", "gbba", "gbar", "gbag",
    "gbab", "gbaa", "garr", "garg", "garb", "gara", "gagr", "gagg", "gagb", "gaga", "gabr", "gabg", "gabb", "gaba",
    "gaar", "gaag", "gaab", "gaaa", "brrr", "brrg", "brrb", "brra", "brgr", "brgg", "brgb", "brga", "brbr", "brbg",
    "brbb", "brba", "brar", "brag", "brab", "braa", "bgrr", "bgrg", "bgrb", "bgra", "bggr", "bggg", "bggb", "bgga",
    "bgbr", "bgbg", "bgbb", "bgba", "bgar", "bgag", "bgab", "bgaa", "bbrr", "bbrg", "bbrb", "bbra", "bbgr", "bbgg",
    "bbgb", "bbga", "bbbr", "bbbg", "bbbb", "bbba", "bbar", "bbag", "bbab", "bbaa", "barr", "barg", "barb", "bara",
    "bagr", "bagg", "bagb", "baga", "babr", "babg", "babb", "baba", "baar", "baag", "baab", "baaa", "arrr", "arrg",
    "arrb", "arra", "argr", "argg", "argb", "arga", "arbr", "arbg", "arbb", "arba", "arar", "arag", "arab", "araa",
    "agrr", "agrg", "agrb", "agra", "aggr", "aggg", "aggb", "agga", "agbr", "agbg", "agbb", "agba", "agar", "agag",
    "agab", "agaa", "abrr", "abrg", "abrb", "abra", "abgr", "abgg", "abgb", "abga", "abbr", "abbg", "abbb", "abba",
    "abar", "abag", "abab", "abaa", "aarr", "aarg", "aarb", "aara", "aagr", "aagg", "aagb", "aaga", "aabr", "aabg",
    "aabb", "aaba", "aaar", "aaag", "aaab", "aaaa", "ss", "st", "sp", "sq", "ts", "tt", "tp", "tq", "ps", "pt",
    "pp", "pq", "qs", "qt", "qp", "qq", "sss", "sst", "ssp", "ssq", "sts", "stt", "stp", "stq", "sps", "spt",
    "spp", "spq", "sqs", "sqt", "sqp", "sqq", "tss", "tst", "tsp", "tsq", "tts", "ttt", "ttp", "ttq", "tps", "tpt",
    "tpp", "tpq", "tqs", "tqt", "tqp", "tqq", "pss", "pst", "psp", "psq", "pts", "ptt", "ptp", "ptq", "pps", "ppt",
    "ppp", "ppq", "pqs", "pqt", "pqp", "pqq", "qss", "qst", "qsp", "qsq", "qts", "qtt", "qtp", "qtq", "qps", "qpt",
    "qpp", "qpq", "qqs", "qqt", "qqp", "qqq", "ssss", "ssst", "sssp", "sssq", "ssts", "sstt", "sstp", "sstq",
    "ssps", "sspt", "sspp", "sspq", "ssqs", "ssqt", "ssqp", "ssqq", "stss", "stst", "stsp", "stsq", "stts", "sttt",
    "sttp", "sttq", "stps", "stpt", "stpp", "stpq", "stqs", "stqt", "stqp", "stqq", "spss", "spst", "spsp", "spsq",
    "spts", "sptt", "sptp", "sptq", "spps", "sppt", "sppp", "sppq", "spqs", "spqt", "spqp", "spqq", "sqss", "sqst",
    "sqsp", "sqsq", "sqts", "sqtt", "sqtp", "sqtq", "sqps", "sqpt", "sqpp", "sqpq", "sqqs", "sqqt", "sqqp", "sqqq",
    "tsss", "tsst", "tssp", "tssq", "tsts", "tstt", "tstp", "tstq", "tsps", "tspt", "tspp", "tspq", "tsqs", "tsqt",
    "tsqp", "tsqq", "ttss", "ttst", "ttsp", "ttsq", "ttts", "tttt", "tttp", "tttq", "ttps", "ttpt", "ttpp", "ttpq",
    "ttqs", "ttqt", "ttqp", "ttqq", "tpss", "tpst", "tpsp", "tpsq", "tpts", "tptt", "tptp", "tptq", "tpps", "tppt",
    "tppp", "tppq", "tpqs", "tpqt", "tpqp", "tpqq", "tqss", "tqst", "tqsp", "tqsq", "tqts", "tqtt", "tqtp", "tqtq",
    "tqps", "tqpt", "tqpp", "tqpq", "tqqs", "tqqt", "tqqp", "tqqq", "psss", "psst", "pssp", "pssq", "psts", "pstt",
    "pstp", "pstq", "psps", "pspt", "pspp", "pspq", "psqs", "psqt", "psqp", "psqq", "ptss", "ptst", "ptsp", "ptsq",
    "ptts", "pttt", "pttp", "pttq", "ptps", "ptpt", "ptpp", "ptpq", "ptqs", "ptqt", "ptqp", "ptqq", "ppss", "ppst",
    "ppsp", "ppsq", "ppts", "pptt", "pptp", "pptq", "ppps", "pppt", "pppp", "pppq", "ppqs", "ppqt", "ppqp", "ppqq",
    "pqss", "pqst", "pqsp", "pqsq", "pqts", "pqtt", "pqtp", "pqtq", "pqps", "pqpt", "pqpp", "pqpq", "pqqs", "pqqt",
    "pqqp", "pqqq", "qsss", "qsst", "qssp", "qssq", "qsts", "qstt", "qstp", "qstq", "qsps", "qspt", "qspp", "qspq",
    "qsqs", "qsqt", "qsqp", "qsqq", "qtss", "qtst", "qtsp", "qtsq", "qtts", "qttt", "qttp", "qttq", "qtps", "qtpt",
    "qtpp", "qtpq", "qtqs", "qtqt", "qtqp", "qtqq", "qpss", "qpst", "qpsp", "qpsq", "qpts", "qptt", "qptp", "qptq",
    "qpps", "qppt", "qppp", "qppq", "qpqs", "qpqt", "qpqp", "qpqq", "qqss", "qqst", "qqsp", "qqsq", "qqts", "qqtt",
    "qqtp", "qqtq", "qqps", "qqpt", "qqpp", "qqpq", "qqqs", "qqqt", "qqqp", "qqqq",
]
# fmt: on

class Tensor(Generic[T_co]):
    """What vectors and matrices have. (The name is of the stubs only.)"""

    @property
    def n(self) -> int:
        """The number of rows, or the length of a vector."""
    @property
    def m(self) -> int:
        """The number of columns; 1 for a vector."""
    @property
    def shape(self) -> tuple[int, ...]:
        """The shape: (n,) for a vector, (n, m) for a matrix."""
    @property
    def ndim(self) -> int:
        """The number of axes: 1 for a vector, 2 for a matrix."""
    @property
    def dtype(self) -> Any:
        """The type of the elements, such as `ti.f32`."""
    @property
    def entries(self) -> NumpyArray[Any]:
        """The elements as a numpy array of the same shape, not copied."""
    def get_shape(self) -> tuple[int, ...]:
        """The shape, as `shape`: (n,) for a vector, (n, m) for a matrix."""
    def copy(self) -> Self:
        """A copy with its own storage, of the same type and shape."""
    def to_numpy(self) -> NumpyArray[Any]:
        """The elements as a new numpy array of the same type and shape."""
    def to_list(self) -> list[Any]:
        """The elements as Python numbers; a list of rows for a matrix."""
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NumpyArray[Any]: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __len__(self) -> int: ...
    def __neg__(self) -> Self: ...
    def __pos__(self) -> Self: ...
    def __abs__(self) -> Self: ...
    def __invert__(self) -> Self: ...
    def sum(self) -> T_co:
        """The sum of all elements, a number of their type."""
    def max(self) -> T_co:
        """The largest of all elements, a number of their type."""
    def min(self) -> T_co:
        """The smallest of all elements, a number of their type."""
    def any(self) -> bool:
        """Whether some element is not zero."""
    def all(self) -> bool:
        """Whether no element is zero."""
    def fill(self, value: float) -> None:
        """Set every element to `value`, which is cast to the type of the elements."""
    def norm(self, eps: float = 0) -> float:
        """The square root of the sum of the squares of all elements, plus `eps` under the root."""
    def norm_sqr(self) -> T_co:
        """The sum of the squares of all elements."""
    def norm_inv(self, eps: float = 0) -> float:
        """1 / norm(eps)."""
    def transpose(self) -> Matrix[T_co]:
        """The transposed matrix."""
    @overload
    @staticmethod
    def unit(n: int, i: int) -> Vector[int]: ...
    @overload
    @staticmethod
    def unit(n: int, i: int, dt: type[T]) -> Vector[T]:
        """The vector of n elements that are 0, but element i is 1."""
    @staticmethod
    def identity(dt: type[T], n: int) -> Matrix[T]:
        """The n x n identity matrix."""
    @staticmethod
    def diag(dim: int, val: T) -> Matrix[T]:
        """A dim x dim matrix with `val` on its diagonal."""
    @staticmethod
    def rows(rows: Iterable[Any]) -> Matrix[float]:
        """The matrix with these rows."""
    @staticmethod
    def cols(cols: Iterable[Any]) -> Matrix[float]:
        """The matrix with these columns."""

class Matrix(Tensor[T_co]):
    """`Matrix([[1, 2], [3, 4]], dt=None)` makes an n x m matrix. A flat list makes a vector.

    `arr` is a list of numbers, a list of rows of equal length (lists or vectors), a numpy array or a matrix. It is
    copied. `dt` is the element type. Without it, Python ints become i64, floats become f64, and the types of numpy
    scalars are combined by the rules of kernels. Operators work element by element, on matrices of equal shape and on
    scalars; `@` is the matrix product. Raises TypeMismatch for anything else.

    Example:
        A = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
        A @ ti.Vector([1.0, 1.0]), A.determinant(), A.trace()  # ([3. 7.], -2.0, 5.0)
        (A * A + 1).to_list(), A.transpose()[0, 1]  # ([[2.0, 5.0], [10.0, 17.0]], 3.0)
        A.inverse() @ A == ti.Matrix.identity(ti.f64, 2)  # [[True True] [True True]]
        ti.Matrix.field(2, 2, ti.f32, shape=3)  # <field f32x2x2, shape=(3,)>
        A + ti.Matrix([[1.0, 2.0, 3.0]])  # raises TypeMismatch
    """

    @overload
    def __init__(self: Matrix[int], arr: Sequence[Sequence[int] | Vector[int]], dt: None = None) -> None: ...
    @overload
    def __init__(self: Matrix[float], arr: Sequence[Sequence[float] | Vector[float]], dt: None = None) -> None: ...
    @overload
    def __init__(self, arr: Iterable[Iterable[T_co]], dt: None = None) -> None: ...
    @overload
    def __init__(self, arr: Iterable[Any], dt: type[T_co]) -> None: ...
    @overload
    def __init__(self, *parts: float | Iterable[Any]) -> None: ...
    def __iter__(self) -> Iterator[list[T_co]]: ...
    @overload
    def __getitem__(self, key: tuple[int, int]) -> T_co: ...
    @overload
    def __getitem__(self, key: tuple[int, slice] | tuple[slice, int]) -> Vector[T_co]: ...
    @overload
    def __getitem__(self, key: tuple[slice, slice]) -> Matrix[T_co]: ...
    def __setitem__(
        self, key: tuple[int | slice, int | slice], value: float | Tensor[float] | Sequence[Any]
    ) -> None: ...
    @overload
    def __add__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    @overload
    def __add__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[float]: ...
    @overload
    def __radd__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    @overload
    def __radd__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[float]: ...
    @overload
    def __sub__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    @overload
    def __sub__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[float]: ...
    @overload
    def __rsub__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    @overload
    def __rsub__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[float]: ...
    @overload
    def __mul__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    @overload
    def __mul__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[float]: ...
    @overload
    def __rmul__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    @overload
    def __rmul__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[float]: ...
    @overload
    def __floordiv__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    @overload
    def __floordiv__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[float]: ...
    @overload
    def __rfloordiv__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    @overload
    def __rfloordiv__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[float]: ...
    @overload
    def __mod__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    @overload
    def __mod__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[float]: ...
    @overload
    def __rmod__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    @overload
    def __rmod__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[float]: ...
    @overload
    def __pow__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    @overload
    def __pow__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[float]: ...
    @overload
    def __rpow__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    @overload
    def __rpow__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[float]: ...
    def __truediv__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[float]: ...
    def __rtruediv__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[float]: ...
    def __and__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    def __rand__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    def __or__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    def __ror__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    def __xor__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    def __rxor__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    def __lshift__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    def __rlshift__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    def __rshift__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    def __rrshift__(self: Matrix[int], other: int | Matrix[int] | Sequence[int]) -> Matrix[int]: ...
    def __lt__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[int]: ...
    def __le__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[int]: ...
    def __gt__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[int]: ...
    def __ge__(self, other: float | Matrix[float] | Sequence[float]) -> Matrix[int]: ...
    def __eq__(self, other: object) -> Matrix[int]: ...  # type: ignore[override]
    def __ne__(self, other: object) -> Matrix[int]: ...  # type: ignore[override]
    @overload
    def __matmul__(self, other: Vector[float]) -> Vector[float]: ...
    @overload
    def __matmul__(self, other: Matrix[float]) -> Matrix[float]: ...
    def trace(self) -> T_co:
        """The sum of the diagonal."""
    def determinant(self) -> float:
        """The determinant of a matrix of up to 4 x 4."""
    def inverse(self) -> Matrix[float]:
        """The inverse of a matrix of up to 4 x 4; inf or nan if it is singular."""
    def cast(self, dtype: type[T]) -> Matrix[T]:
        """The elements converted to `dtype`."""
    @staticmethod
    def zero(dt: type[T], n: int, m: int | None = None) -> Matrix[T]:
        """A matrix of zeros."""
    @staticmethod
    def one(dt: type[T], n: int, m: int | None = None) -> Matrix[T]:
        """A matrix of ones."""
    @overload
    @classmethod
    def field(
        cls,
        n: int,
        m: int,
        dtype: type[T],
        shape: Shape | None = None,
        *,
        name: str = "",
        order: str | None = None,
        offset: Shape | None = None,
        needs_grad: bool = False,
        needs_dual: bool = False,
        layout: Layout = Layout.AOS,
    ) -> MatrixField[Matrix[T]]:
        """Make a field of n x m matrices. The keywords are those of `ti.field`."""
    @overload
    @classmethod
    def field(
        cls,
        shape: Shape | None = None,
        *,
        name: str = "",
        order: str | None = None,
        offset: Shape | None = None,
        needs_grad: bool = False,
        needs_dual: bool = False,
        layout: Layout = Layout.AOS,
    ) -> MatrixField[Self]:
        """Make a field with elements of this type. The keywords are those of `ti.field`."""
    @overload
    @classmethod
    def ndarray(cls, n: int, m: int, dtype: type[T], shape: Shape) -> MatrixNdarray[Matrix[T]]:
        """Make an ndarray of n x m matrices."""
    @overload
    @classmethod
    def ndarray(cls, shape: Shape, *, needs_grad: bool = False, needs_dual: bool = False) -> MatrixNdarray[Self]:
        """Make an ndarray with elements of this type."""

class Vector(Tensor[T_co]):
    """`Vector([1, 2, 3], dt=None)` makes a vector. Everything else is as for `Matrix`. A vector of up to four elements
    has the components `x`, `y`, `z`, `w` and `r`, `g`, `b`, `a`, and swizzles such as `v.zy`.

    Example:
        v = ti.Vector([3.0, 4.0])
        v.norm(), v.normalized(), v.dot(v), v.yx  # (5.0, [0.6 0.8], 25.0, [4. 3.])
        v.x = 1
        v, v.max(), v.outer_product(v).to_list()  # ([1. 4.], 4.0, [[1.0, 4.0], [4.0, 16.0]])
        ti.Vector.field(3, ti.f32, shape=5)  # <field f32x3, shape=(5,)>
        ti.Vector.ndarray(3, ti.f32, 5)  # <ndarray f32x3, shape=(5,)>
    """

    @overload
    def __init__(self, arr: Iterable[T_co], dt: None = None) -> None: ...
    @overload
    def __init__(self, arr: Iterable[Any], dt: type[T_co]) -> None: ...
    @overload
    def __init__(self, *parts: float | Iterable[Any]) -> None: ...
    x: T_co
    y: T_co
    z: T_co
    w: T_co
    r: T_co
    g: T_co
    b: T_co
    a: T_co
    s: T_co
    t: T_co
    p: T_co
    q: T_co
    def __getattr__(self, name: Swizzle) -> Vector[T_co]: ...  # type: ignore[misc]
    def __setattr__(self, name: Swizzle, value: float | Vector[float] | Sequence[float]) -> None: ...  # type: ignore[misc, override]
    def __iter__(self) -> Iterator[T_co]: ...
    @overload
    def __getitem__(self, key: int) -> T_co: ...
    @overload
    def __getitem__(self, key: slice) -> Vector[T_co]: ...
    def __setitem__(self, key: int | slice, value: float | Vector[float] | Sequence[float]) -> None: ...
    @overload
    def __add__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    @overload
    def __add__(self, other: float | Vector[float] | Sequence[float]) -> Vector[float]: ...
    @overload
    def __radd__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    @overload
    def __radd__(self, other: float | Vector[float] | Sequence[float]) -> Vector[float]: ...
    @overload
    def __sub__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    @overload
    def __sub__(self, other: float | Vector[float] | Sequence[float]) -> Vector[float]: ...
    @overload
    def __rsub__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    @overload
    def __rsub__(self, other: float | Vector[float] | Sequence[float]) -> Vector[float]: ...
    @overload
    def __mul__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    @overload
    def __mul__(self, other: float | Vector[float] | Sequence[float]) -> Vector[float]: ...
    @overload
    def __rmul__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    @overload
    def __rmul__(self, other: float | Vector[float] | Sequence[float]) -> Vector[float]: ...
    @overload
    def __floordiv__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    @overload
    def __floordiv__(self, other: float | Vector[float] | Sequence[float]) -> Vector[float]: ...
    @overload
    def __rfloordiv__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    @overload
    def __rfloordiv__(self, other: float | Vector[float] | Sequence[float]) -> Vector[float]: ...
    @overload
    def __mod__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    @overload
    def __mod__(self, other: float | Vector[float] | Sequence[float]) -> Vector[float]: ...
    @overload
    def __rmod__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    @overload
    def __rmod__(self, other: float | Vector[float] | Sequence[float]) -> Vector[float]: ...
    @overload
    def __pow__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    @overload
    def __pow__(self, other: float | Vector[float] | Sequence[float]) -> Vector[float]: ...
    @overload
    def __rpow__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    @overload
    def __rpow__(self, other: float | Vector[float] | Sequence[float]) -> Vector[float]: ...
    def __truediv__(self, other: float | Vector[float] | Sequence[float]) -> Vector[float]: ...
    def __rtruediv__(self, other: float | Vector[float] | Sequence[float]) -> Vector[float]: ...
    def __and__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    def __rand__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    def __or__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    def __ror__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    def __xor__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    def __rxor__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    def __lshift__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    def __rlshift__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    def __rshift__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    def __rrshift__(self: Vector[int], other: int | Vector[int] | Sequence[int]) -> Vector[int]: ...
    def __lt__(self, other: float | Vector[float] | Sequence[float]) -> Vector[int]: ...
    def __le__(self, other: float | Vector[float] | Sequence[float]) -> Vector[int]: ...
    def __gt__(self, other: float | Vector[float] | Sequence[float]) -> Vector[int]: ...
    def __ge__(self, other: float | Vector[float] | Sequence[float]) -> Vector[int]: ...
    def __eq__(self, other: object) -> Vector[int]: ...  # type: ignore[override]
    def __ne__(self, other: object) -> Vector[int]: ...  # type: ignore[override]
    def __matmul__(self, other: Matrix[float]) -> Vector[float]: ...
    def cast(self, dtype: type[T]) -> Vector[T]:
        """The elements converted to `dtype`, as `ti.cast` does: a vector or matrix of the same shape."""
    def normalized(self, eps: float = 0) -> Vector[float]:
        """The vector divided by its norm."""
    @overload
    def dot(self: Vector[int], other: Vector[int]) -> int: ...
    @overload
    def dot(self, other: Vector[float]) -> float:
        """The sum of the products of the elements."""
    def cross(self, other: Vector[float]) -> Any:
        """The cross product: a vector for vectors of three elements, a number for vectors of two."""
    def outer_product(self, other: Vector[float]) -> Matrix[float]:
        """The matrix whose element i, j is self[i] * other[j]."""
    @staticmethod
    def zero(dt: type[T], n: int, m: int | None = None) -> Vector[T]:
        """A vector of zeros."""
    @staticmethod
    def one(dt: type[T], n: int, m: int | None = None) -> Vector[T]:
        """A vector of ones."""
    @overload
    @classmethod
    def field(
        cls,
        n: int,
        dtype: type[T],
        shape: Shape | None = None,
        *,
        name: str = "",
        order: str | None = None,
        offset: Shape | None = None,
        needs_grad: bool = False,
        needs_dual: bool = False,
        layout: Layout = Layout.AOS,
    ) -> MatrixField[Vector[T]]:
        """Make a field of vectors of n elements. The keywords are those of `ti.field`."""
    @overload
    @classmethod
    def field(
        cls,
        shape: Shape | None = None,
        *,
        name: str = "",
        order: str | None = None,
        offset: Shape | None = None,
        needs_grad: bool = False,
        needs_dual: bool = False,
        layout: Layout = Layout.AOS,
    ) -> MatrixField[Self]:
        """Make a field with elements of this type. The keywords are those of `ti.field`."""
    @overload
    @classmethod
    def ndarray(cls, n: int, dtype: type[T], shape: Shape) -> MatrixNdarray[Vector[T]]:
        """Make an ndarray of vectors of n elements."""
    @overload
    @classmethod
    def ndarray(cls, shape: Shape, *, needs_grad: bool = False, needs_dual: bool = False) -> MatrixNdarray[Self]:
        """Make an ndarray with elements of this type."""

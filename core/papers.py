"""Published numbers, each with its inputs, and what the formulas of this package make of them.

`data/worked_examples.toml` holds them. A record says how ours is computed in a small language, read by `ast` and
walked here, never run as code: numbers and units, sums, differences, products and quotients, and

- `kv_cache.tokens_kept(context=8)`: any public function of the formula modules, by keyword;
- `scenario(model="llama-2-7b", batch=8).memory.kv_bytes`: a figure of `evaluate`;
- `model("llama-2-7b").kv_bytes(context=8)`, `gpu("h100-sxm").memory_bytes`: a figure of a catalog's record;
- `params(weights.ffn_tensors(...))`: the parameters of some tensors;
- `stored(params=66e9, format="bf16")`: the bytes of that many parameters of linear layers.
"""

from __future__ import annotations

import ast
import inspect
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import Field, ValidationError, field_validator, model_validator

from core import formulas
from core.catalog import DATA, CatalogError, gpus, models, read_records
from core.evaluate import evaluate
from core.formats import WEIGHT_FORMATS
from core.model import Frozen
from core.report import Cell, Rowset
from core.scenario import Scenario
from core.units import GB, GIB, MIB, TERA, signed_percent, trimmed
from core.weights import ModelShape, Tensor, tensor_bytes

EXPRESSION_CHARS = 600
STATUSES = ("passes", "slip in print", "out of scope", "differs")
Status = Literal["passes", "slip in print", "out of scope", "differs"]
Grade = Literal["primary", "full-text copy", "notes on the paper"]

KILO, MILLI, MICRO, PERCENT = 10**3, 1e-3, 1e-6, 1e-2
# Units of constants and of published values, in base units.
SCALES: dict[str, float] = {
    "B": 1,
    "kB": KILO,
    "KiB": 2**10,
    "MB": KILO**2,
    "MiB": MIB,
    "GB": GB,
    "GiB": GIB,
    "TB": TERA,
    "s": 1,
    "ms": MILLI,
    "us": MICRO,
    "TFLOP": TERA,
    "percent": PERCENT,
    "thousand": KILO,
    "billion": GB,
}
COUNTS = ("FLOP", "FLOP/byte", "tokens", "tokens/s", "times", "GPUs", "parameters", "requests/s")
SIGNS = {"percent": "%", "us": "µs", "thousand": "thousand", "times": "times"}

Operation = Callable[[float, float], float]
OPERATIONS: dict[type[ast.operator], Operation] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b,
}
METHODS = ("kv_bytes", "kv_bytes_per_token", "peak_flops_per_s")


@dataclass(frozen=True, slots=True)
class Step:
    """One call in an expression and what it gives."""

    text: str
    value: float


class _Walk:
    """Computes an expression from its tree, and notes every call on the way."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def number(self, node: ast.expr) -> float:
        """A number; ValueError says what cannot be read."""
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return value
            case ast.Name(id=name) if name in SCALES:
                return SCALES[name]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATIONS:
                return OPERATIONS[type(op)](self.number(left), self.number(right))
            case ast.Call() | ast.Attribute() | ast.Subscript():
                found = self.found(node)
                if isinstance(found, bool) or not isinstance(found, int | float):
                    raise ValueError(f"{ast.unparse(node)} is no number")
                self.steps.append(Step(ast.unparse(node).replace("'", '"'), found))
                return found
            case _:
                raise ValueError(f"{ast.unparse(node)} is no number, unit, operation or call")

    def argument(self, node: ast.expr) -> Any:
        """What a call is given: a number, a text, yes, no or nothing."""
        if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str | bool)):
            return node.value
        return self.number(node)

    def found(self, node: ast.expr) -> Any:
        """What a call or a path gives."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name)):
                return _called(formulas.function(f"{module}.{name}"), self.keywords(node))
            case ast.Call(func=ast.Name(id="params"), args=[inner], keywords=[]):
                tensors = self.found(inner)
                if not isinstance(tensors, list):
                    raise ValueError(f"{ast.unparse(inner)} gives no tensors")
                return sum(tensor.n_params for tensor in cast("list[Tensor]", tensors))
            case ast.Call(func=ast.Name(id="stored")):
                return _called(_stored, self.keywords(node))
            case ast.Call(func=ast.Name(id="scenario")):
                return evaluate(Scenario.model_validate(self.keywords(node)))
            case ast.Call(func=ast.Name(id="model" | "gpu" as kind), args=[ast.Constant(value=str() as slug)]):
                records: Mapping[str, object] = models() if kind == "model" else gpus()
                if slug not in records:
                    raise ValueError(f"{slug} is no {kind} of the catalog")
                return records[slug]
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in METHODS:
                return _called(_attribute(self.found(inner), name), self.keywords(node))
            case ast.Subscript(value=inner, slice=ast.Constant(value=str() as key)):
                table = self.found(inner)
                if not isinstance(table, dict) or key not in table:
                    raise ValueError(f"{ast.unparse(node)} is not there")
                return cast("dict[str, object]", table)[key]
            case ast.Attribute(value=inner, attr=name):
                return _attribute(self.found(inner), name)
            case _:
                raise ValueError(f"{ast.unparse(node)} is no call that is known")

    def keywords(self, node: ast.Call) -> dict[str, Any]:
        """The arguments of a call, which are all named."""
        if node.args:
            raise ValueError(f"{ast.unparse(node)}: arguments are given by name")
        return {word.arg or "**": self.argument(word.value) for word in node.keywords}


def _called(f: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    try:
        inspect.signature(f).bind(**arguments)
    except TypeError as error:
        raise ValueError(f"{getattr(f, '__name__', 'call')}: {error}") from error
    return f(**arguments)


def _attribute(of: object, name: str) -> Any:
    if name.startswith("_") or not hasattr(of, name):
        raise ValueError(f"{type(of).__name__} has no {name}")
    return getattr(of, name)


def _stored(*, params: float, format: str) -> float:
    if format not in WEIGHT_FORMATS:
        raise ValueError(f"{format} is no weight format")
    tensor = Tensor("given", "dense_ffn", "linear", int(params), 1)
    return float(tensor_bytes(tensor, WEIGHT_FORMATS[format], ModelShape(n_layers=1, tied=False)))


@lru_cache(maxsize=4096)
def compute(expression: str) -> tuple[float, tuple[Step, ...]]:
    """The value of an expression in base units, and its calls from the inside out.

    Raises ValueError naming what cannot be read: this is a list of allowed forms, not a language to program in.

    >>> compute("2 * kv_cache.tokens_kept(context=8, span=4) * GB")
    (8000000000, (Step(text='kv_cache.tokens_kept(context=8, span=4)', value=4),))
    """
    if len(expression) > EXPRESSION_CHARS:
        raise ValueError(f"must be at most {EXPRESSION_CHARS} characters, got {len(expression)}")
    try:
        tree = ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"cannot be read: {error}") from error
    walk = _Walk()
    try:
        value = walk.number(tree.body)
    except ValidationError as error:
        raise ValueError(error.errors(include_url=False)[0]["msg"]) from error
    except (ArithmeticError, TypeError) as error:
        raise ValueError(f"cannot be computed: {error}") from error
    if not math.isfinite(value):
        raise ValueError("is not finite")
    return value, tuple(walk.steps)


class Paper(Frozen):
    """A text that prints numbers."""

    slug: str
    name: str
    title: str
    year: Annotated[int, Field(ge=2017, le=2100)]
    url: Annotated[str, Field(pattern=r"^https://[a-z0-9.-]+\.[a-z]{2,}(/[\w./#-]*)?$")]


class Example(Frozen):
    """One published number: its inputs, how ours is computed, and why the two differ."""

    slug: str
    paper: str
    what: str
    where: str
    grade: Grade
    inputs: str
    published: str  # as printed
    value: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None  # the same as a number of `unit`
    unit: str = ""
    tolerance: Annotated[float, Field(gt=0, le=0.25)] | None = None
    ours: str | None = None
    note: str = ""
    slip: bool = False
    out_of_scope: str | None = None

    @field_validator("unit")
    @classmethod
    def _known_unit(cls, value: str) -> str:
        if value and value not in (*SCALES, *COUNTS):
            raise ValueError(f"unit must be one of {', '.join((*SCALES, *COUNTS))}, got {value}")
        return value

    @field_validator("ours")
    @classmethod
    def _computes(cls, value: str | None) -> str | None:
        if value is not None:
            compute(value)
        return value

    @model_validator(mode="after")
    def _one_of_three(self) -> Example:
        if self.slip and self.out_of_scope:
            raise ValueError("slip and out_of_scope exclude each other")
        if self.slip and not (self.note and self.ours and self.value):
            raise ValueError("a slip needs value, ours and a note that explains it")
        if not self.slip and not self.out_of_scope and not (self.value and self.tolerance and self.ours):
            raise ValueError("value, tolerance and ours must be given, or slip, or out_of_scope with its reason")
        if self.out_of_scope and self.ours:
            raise ValueError("out_of_scope: what core computes is in scope")
        return self

    @property
    def in_scope(self) -> bool:
        """Whether it is a test of the formulas."""
        return not self.slip and not self.out_of_scope

    @property
    def scale(self) -> float:
        """Base units in one of `unit`."""
        return SCALES.get(self.unit, 1)

    @property
    def our_value(self) -> float | None:
        """Ours, in `unit`; None out of scope."""
        return None if self.ours is None else compute(self.ours)[0] / self.scale

    @property
    def steps(self) -> tuple[Step, ...]:
        """The calls that ours is made of."""
        return () if self.ours is None else compute(self.ours)[1]

    @property
    def difference(self) -> float | None:
        """Ours over published, less 1; None where one of them is missing."""
        ours = self.our_value
        return None if ours is None or self.value is None else ours / self.value - 1

    @property
    def passes(self) -> bool:
        """Whether a number in scope comes out within its tolerance."""
        return self.in_scope and abs(self.difference or 0.0) <= (self.tolerance or 0.0)

    @property
    def status(self) -> Status:
        """What became of it."""
        if self.slip:
            return "slip in print"
        if self.out_of_scope:
            return "out of scope"
        return "passes" if self.passes else "differs"

    @property
    def why(self) -> str:
        """The reason it is out of scope, or why ours differs."""
        return " ".join(part for part in (self.out_of_scope, self.note) if part)

    @property
    def ours_text(self) -> str:
        """Ours with its unit; empty out of scope."""
        value = self.our_value
        return "" if value is None else f"{trimmed(value, 5)} {SIGNS.get(self.unit, self.unit)}".strip()

    @property
    def arithmetic(self) -> str:
        """The expression and its result; empty out of scope."""
        return "" if self.ours is None else f"{self.ours} = {self.ours_text}"


@lru_cache(maxsize=1)
def papers() -> dict[str, Paper]:
    """The texts by slug, in the file's order.

    >>> papers()["pope-2022"].year
    2022
    """
    return read_records(DATA / FILE, "paper", Paper)


def read_examples(path: Path, known: Mapping[str, Paper]) -> dict[str, Example]:
    """The examples of a file; CatalogError names file, record and key, also of a paper that the file does not list."""
    found = read_records(path, "example", Example)
    for slug, example in found.items():
        if example.paper not in known:
            raise CatalogError(f"{path.name}: example {slug}: paper: no [[paper]] record {example.paper}")
    return found


@lru_cache(maxsize=1)
def examples() -> dict[str, Example]:
    """The published numbers by slug, in the file's order.

    >>> examples()["mla-deepseek-v3"].ours_text
    '70.272 kB'
    """
    return read_examples(DATA / FILE, papers())


FILE = "worked_examples.toml"


@lru_cache(maxsize=1)
def counts() -> dict[str, int]:
    """How many examples have each status.

    >>> sum(counts().values()) == len(examples())
    True
    """
    found = [example.status for example in examples().values()]
    return {status: found.count(status) for status in STATUSES}


def summary() -> list[str]:
    """What came out, in sentences."""
    n = counts()
    tested = [e for e in examples().values() if e.in_scope]
    worst = max(tested, key=lambda e: abs(e.difference or 0.0))
    close = sum(abs(e.difference or 0.0) < 0.005 for e in tested)
    lines = [
        f"{n['passes']} of {len(tested)} published numbers come out within the tolerance that each states, "
        f"{close} of them within half a percent.",
        f"The largest difference is {signed_percent(worst.difference or 0.0)}, at {worst.what} "
        f"({papers()[worst.paper].name}): printed {worst.published}, ours {worst.ours_text}. "
        f"{worst.note}".rstrip(),
        f"{n['slip in print']} are slips in print, listed and never tested; {n['out of scope']} are out of scope.",
    ]
    return lines


def shown(paper: str | None, statuses: tuple[str, ...] = ()) -> list[Example]:
    """The examples of a paper (None: of all) with one of some statuses (none: any).

    >>> [e.slug for e in shown("gpt-fast", ("out of scope",))]
    ['gpt-fast-tp8']
    """
    return [e for e in examples().values() if paper in (None, e.paper) and (not statuses or e.status in statuses)]


def rows(chosen: list[Example]) -> Rowset:
    """What is printed, what comes out and how far off, for a table to sort."""
    header = (
        "status",
        "paper",
        "what",
        "published",
        "ours",
        "difference (%)",
        "tolerance (%)",
        "where",
        "why they differ",
    )
    found: list[tuple[Cell, ...]] = []
    for e in chosen:
        off = None if e.difference is None else round(100 * e.difference, 3)
        allowed = None if e.tolerance is None else round(100 * e.tolerance, 4)
        found.append((e.status, papers()[e.paper].name, e.what, e.published, e.ours_text, off, allowed, e.where, e.why))
    return header, found


def exact_rows(chosen: list[Example]) -> Rowset:
    """Every field of the records and ours in base units, for CSV."""
    header = (
        "slug",
        "status",
        "paper",
        "address",
        "where",
        "source grade",
        "what",
        "inputs",
        "published",
        "published (base unit)",
        "ours (base unit)",
        "unit printed",
        "tolerance",
        "ours computed as",
        "why they differ",
    )
    found: list[tuple[Cell, ...]] = []
    for e in chosen:
        paper = papers()[e.paper]
        published = None if e.value is None else e.value * e.scale
        ours = None if e.ours is None else compute(e.ours)[0]
        origin = (e.slug, e.status, paper.name, paper.url, e.where, e.grade)
        found.append((*origin, e.what, e.inputs, e.published, published, ours, e.unit, e.tolerance, e.ours, e.why))
    return header, found

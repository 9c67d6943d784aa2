"""Small faults that can be put into a module: what `mutants.py` draws from.

A comparison flipped or moved by its edge, an arithmetic sign swapped, a number moved by one, a
condition turned round, `and` for `or`, a minus or a `not` left out, a statement dropped. Words,
annotations, imports and decorators are left alone.
"""

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Mutant:
    """One change: what was there, what stands there instead, and where.

    `name` is a hash of the change and its function: it stays when other lines move. `statement` is
    the line on which its statement begins.
    """

    package: str
    function: str
    kind: str
    before: str
    after: str
    name: str
    file: str
    line: int
    statement: int
    span: tuple[int, int]

    def into(self, text: bytes) -> bytes:
        """The module with this change."""
        start, end = self.span
        return text[:start] + self.after.encode() + text[end:]


class Finder:
    """Walks a module and lists its mutants."""

    def __init__(self, package: str, root: Path, path: Path):
        self.package, self.file = package, str(path)
        self.text = (root / path).read_bytes()
        self.starts = [0]
        for line in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.found: list[Mutant] = []
        self._seen: Counter = Counter()
        self._statement = 1
        self._walk(ast.parse(self.text), ())

    def _walk(self, node: ast.AST, inside: tuple[str, ...]) -> None:
        if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            inside = (*inside, node.name)
        if isinstance(node, ast.stmt):
            self._statement = node.lineno
        for kind, new in changes(node):
            self._add(node, kind, new, inside)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if name in ("test", "ifs"):
                    self._add(child, "condition", f"(not ({ast.unparse(child)}))", inside)
                if isinstance(child, ast.AST):
                    self._walk(child, inside)

    def _add(self, node, kind: str, new: str, inside: tuple[str, ...]) -> None:
        start = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[node.end_lineno - 1] + node.end_col_offset
        before = self.text[start:end].decode()
        words = (self.package, ".".join(inside), kind, before, new)
        self._seen[words] += 1
        name = hashlib.sha256("\0".join((*words, str(self._seen[words]))).encode()).hexdigest()[:12]
        where = {"file": self.file, "line": node.lineno, "statement": self._statement}
        self.found.append(Mutant(*words, name=name, **where, span=(start, end)))


def changes(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The changes of one node, as source."""
    match node:
        case ast.Compare(ops=[op]):
            for other in COMPARISONS[type(op)]:
                yield "comparison", _with(node, ops=[other()])
        case ast.BinOp(op=op) if type(op) in ARITHMETIC and not _words(node):
            yield "arithmetic", _with(node, op=ARITHMETIC[type(op)]())
        case ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield "arithmetic", ast.unparse(_changed(node, op=ARITHMETIC[type(op)]()))
        case ast.BoolOp(op=op):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "and, or", _with(node, op=other)
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield "sign", f"({ast.unparse(node.operand)})"
        case ast.Constant(value=bool() as value):
            yield "constant", str(not value)
        case ast.Constant(value=int() | float() as value):
            yield "constant", f"{value + 1!r}"
            yield "constant", f"({value - 1!r})"
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Break() | ast.Continue():
            yield "dropped", "pass"
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield "dropped", "pass"


def _words(node: ast.BinOp) -> bool:
    """Strings that are joined: no arithmetic."""
    sides = (node.left, node.right)
    return any(isinstance(s, ast.JoinedStr) for s in sides) or any(
        isinstance(s, ast.Constant) and isinstance(s.value, str) for s in sides
    )


def _changed(node: ast.AST, **fields):
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _with(node: ast.AST, **fields) -> str:
    return f"({ast.unparse(_changed(node, **fields))})"

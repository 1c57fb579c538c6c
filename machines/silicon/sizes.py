"""Problem sizes of warpsieve's launch files (docs/launch-files.md): selects a size and replaces expressions by their values."""

import ast
import tomllib
from pathlib import Path

OPERATORS = {
    ast.Add: lambda a, b: str(a) + str(b) if isinstance(a, str) or isinstance(b, str) else a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Mod: lambda a, b: a % b,
}
FUNCTIONS = {
    "div_ceil": lambda a, b: -(-a // b),
    "div_floor": lambda a, b: a // b,
    "max": max,
    "min": min,
    "next_multiple": lambda a, b: -(-a // b) * b,
    "pow": pow,
}


class SizeError(Exception):
    """An expression has no value, or there is no such size."""


class Values:
    """Values of a problem size, computed when an expression names them."""

    def __init__(self, declared):
        self.declared, self.pending = declared, []

    def find(self, name):
        if name not in self.declared:
            raise SizeError(f"[size] has no value {name}")
        if name in self.pending:
            raise SizeError(f"{name} is computed from itself")
        self.pending.append(name)
        value = self.expand(self.declared[name])
        self.pending.pop()
        return value

    def expand(self, value):
        """Returns a value of the file with the expressions in it replaced."""
        if isinstance(value, str) and value.startswith("="):
            return self.compute(ast.parse(value[1:].strip(), mode="eval").body)
        if isinstance(value, list):
            return [self.expand(element) for element in value]
        if isinstance(value, dict):
            return {key: self.expand(element) for key, element in value.items()}
        return value

    def compute(self, node):
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self.find(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.compute(operand)
            case ast.Call(func=ast.Name(id=name), args=[first, second]) if name in FUNCTIONS:
                return FUNCTIONS[name](self.compute(first), self.compute(second))
            case ast.BinOp(op=ast.Div(), left=left, right=right):
                a, b = self.compute(left), self.compute(right)
                if isinstance(a, int) and isinstance(b, int):
                    if a % b:
                        raise SizeError(f"{a} / {b} is not an integer")
                    return a // b
                return a / b
            case ast.BinOp(op=operator, left=left, right=right) if type(operator) in OPERATORS:
                return OPERATORS[type(operator)](self.compute(left), self.compute(right))
        raise SizeError(f"cannot compute {ast.unparse(node)}")


def locate(path):
    """The file of a launch file, and the name of its problem size: KERNEL/small is small.toml, or the size `small` of launch.toml."""
    path = Path(path)
    if path.is_dir():
        return path / "launch.toml", None
    if path.is_file():
        return path, None
    own = path.with_name(path.name + ".toml")
    if own.is_file():
        return own, None
    file = path.parent if path.parent.is_file() else path.parent / "launch.toml"
    return (file, path.name) if file.is_file() and "." not in path.name else (path, None)


def read_toml(path):
    """The contents of a launch file in the size that the path selects, without expressions."""
    file, size = locate(path)
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    declared = table.pop("size", {})
    values = {name: value for name, value in declared.items() if not isinstance(value, dict)}
    if size is not None:
        if not isinstance(declared.get(size), dict):
            raise SizeError(f"{file} has no size {size}")
        values |= declared[size]
    return Values(values).expand(table)


def exists(path):
    file, size = locate(path)
    return file.is_file() and (size is None or isinstance(tomllib.loads(file.read_text(encoding="utf-8")).get("size", {}).get(size), dict))

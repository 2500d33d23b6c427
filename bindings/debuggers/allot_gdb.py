# SPDX-License-Identifier: BSL-1.0
"""Printers of allot's types for GDB. README.md in this folder explains how to load them."""

import os
import sys

import gdb
import gdb.printing

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
try:
    import allot_views
    from allot_memory import Damage
finally:
    sys.path.pop(0)

KINDS = {
    gdb.TYPE_CODE_STRUCT: "class",
    gdb.TYPE_CODE_UNION: "class",
    gdb.TYPE_CODE_ENUM: "enum",
    gdb.TYPE_CODE_PTR: "pointer",
    gdb.TYPE_CODE_ARRAY: "array",
}


def read_or_damage(function):
    """Calls a function of GDB. Its errors mean that the program's memory is damaged or not available."""
    try:
        return function()
    except (gdb.error, RuntimeError, OverflowError, AttributeError) as error:
        raise Damage(str(error)) from None


class Value:
    """A gdb.Value, with the interface that allot_memory.py describes."""

    def __init__(self, value):
        if value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            value = read_or_damage(value.referenced_value)
        self.raw = value
        self.bare = value.type.strip_typedefs().unqualified()
        self.kind = KINDS.get(self.bare.code, "scalar")
        self.type = self.bare.name or str(self.bare)
        self.size = self.bare.sizeof

    @property
    def order(self):
        return "big" if "big" in gdb.execute("show endian", to_string=True) else "little"

    @property
    def address(self):
        where = self.raw.address
        return None if where is None else int(where)

    @property
    def number(self):
        return read_or_damage(lambda: int(self.raw))

    @property
    def enumerator(self):
        return read_or_damage(lambda: str(self.raw)).split("::")[-1]

    def find(self, name):
        try:
            return Value(self.raw[name])
        except (gdb.error, RuntimeError):
            return None

    def member(self, name):
        return Value(read_or_damage(lambda: self.raw[name]))

    @property
    def fields(self):
        return [(None if field.is_base_class else field.name, Value(self.raw[field]))
                for field in self.bare.fields() if hasattr(field, "bitpos")]

    def item(self, index):
        return Value(read_or_damage(lambda: self.raw[index]))

    @property
    def length(self):
        low, high = self.bare.range()
        return high - low + 1

    @property
    def target(self):
        return Value(read_or_damage(self.raw.dereference))

    def argument(self, index):
        return read_or_damage(lambda: self.bare.template_argument(index))

    def at(self, kind, address):
        return Value(read_or_damage(lambda: gdb.Value(address).cast(kind.pointer()).dereference()))

    def read(self, address, size):
        return read_or_damage(lambda: gdb.selected_inferior().read_memory(address, size).tobytes())


class Printer:
    """A printer of GDB for one value."""

    def __init__(self, view):
        self.view = view

    def to_string(self):
        return self.view.summary()

    def children(self):
        for name, part in self.view.children():
            yield name, part.raw if isinstance(part, Value) else part


class Printers(gdb.printing.PrettyPrinter):
    """All printers. `disable pretty-printer global allot` disables them."""

    def __init__(self):
        super().__init__("allot")

    def __call__(self, value):
        kind = value.type.strip_typedefs()
        if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            kind = kind.target().strip_typedefs()
        name = kind.unqualified().name
        if kind.code != gdb.TYPE_CODE_STRUCT or not name or not name.startswith("allot::"):
            return None
        try:
            view = allot_views.view_of(Value(value))
        except Damage:
            return None
        return Printer(view) if view is not None else None


class Show(gdb.Command):
    """Show an allocator, a tensor or another value of allot with all of its blocks and holes.

    allot EXPRESSION

    EXPRESSION is an object or a pointer to one. Unlike `print`, the command has no limit on the size of the object
    (`set max-value-size`) or on the number of lines (`set print elements`)."""

    def __init__(self):
        super().__init__("allot", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, _from_tty):
        value = Value(gdb.parse_and_eval(argument))
        lines = allot_views.lines_of(value.target if value.kind == "pointer" else value)
        gdb.write("\n".join(lines) + "\n")


Show()
gdb.printing.register_pretty_printer(None, Printers(), replace=True)

# SPDX-License-Identifier: BSL-1.0
"""Summaries and children of allot's types for LLDB. README.md in this folder explains how to load them."""

import os
import sys

import lldb

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
try:
    import allot_views
    from allot_memory import Damage
finally:
    sys.path.pop(0)

KINDS = {
    lldb.eTypeClassClass: "class",
    lldb.eTypeClassStruct: "class",
    lldb.eTypeClassUnion: "class",
    lldb.eTypeClassEnumeration: "enum",
    lldb.eTypeClassPointer: "pointer",
    lldb.eTypeClassArray: "array",
}


class Value:
    """An lldb.SBValue, with the interface that allot_memory.py describes."""

    def __init__(self, value):
        value = value.GetNonSyntheticValue()
        if value.GetType().IsReferenceType():
            value = value.Dereference().GetNonSyntheticValue()
        if not value.IsValid() or value.GetError().Fail():
            raise Damage(value.GetError().GetCString() or "the value is not available")
        self.raw = value
        self.bare = value.GetType().GetCanonicalType().GetUnqualifiedType()
        self.kind = KINDS.get(self.bare.GetTypeClass(), "scalar")
        self.type = self.bare.GetName()
        self.size = self.bare.GetByteSize()

    @property
    def order(self):
        return "big" if self.raw.GetTarget().GetByteOrder() == lldb.eByteOrderBig else "little"

    @property
    def address(self):
        where = self.raw.GetLoadAddress()
        return None if where == lldb.LLDB_INVALID_ADDRESS else where

    @property
    def number(self):
        error = lldb.SBError()
        is_signed = self.bare.GetBasicType() in SIGNED
        number = self.raw.GetValueAsSigned(error) if is_signed else self.raw.GetValueAsUnsigned(error)
        if error.Fail():
            raise Damage(error.GetCString())
        return number

    @property
    def enumerator(self):
        return (self.raw.GetValue() or "unknown").split("::")[-1]

    def find(self, name):
        child = self.raw.GetChildMemberWithName(name)
        return Value(child) if child.IsValid() else None

    def member(self, name):
        child = self.find(name)
        if child is None:
            raise Damage("%s has no member %s" % (self.type[:60], name))
        return child

    @property
    def fields(self):
        bases = self.bare.GetNumberOfDirectBaseClasses()
        names = {self.bare.GetDirectBaseClassAtIndex(i).GetName() for i in range(bases)}
        children = [self.raw.GetChildAtIndex(i) for i in range(self.raw.GetNumChildren())]
        return [(None if child.GetName() in names else child.GetName(), Value(child)) for child in children]

    def item(self, index):
        if self.kind == "pointer":  # a child of a pointer would be a member of its target
            target = self.bare.GetPointeeType()
            return self.at(target, self.number + index * target.GetByteSize())
        return Value(self.raw.GetChildAtIndex(index, lldb.eNoDynamicValues, True))

    @property
    def length(self):
        size = self.bare.GetArrayElementType().GetByteSize()
        return self.size // size if size else 0

    @property
    def target(self):
        return Value(self.raw.Dereference())

    def argument(self, index):
        return self.bare.GetTemplateArgumentType(index)

    def at(self, kind, address):
        where = lldb.SBAddress(address, self.raw.GetTarget())
        return Value(self.raw.GetTarget().CreateValueFromAddress("at", where, kind))

    def read(self, address, size):
        error = lldb.SBError()
        data = self.raw.GetProcess().ReadMemory(address, size, error)
        if error.Fail() or data is None or len(data) != size:
            raise Damage(error.GetCString() or "memory at %#x is not readable" % address)
        return data


SIGNED = {
    lldb.eBasicTypeSignedChar, lldb.eBasicTypeChar, lldb.eBasicTypeShort, lldb.eBasicTypeInt, lldb.eBasicTypeLong,
    lldb.eBasicTypeLongLong,
}


def view_of(value):
    try:
        return allot_views.view_of(Value(value))
    except Damage:
        return None


def summary(value, _dictionary):
    view = view_of(value)
    return view.summary() if view is not None else ""


class Children:
    """Children of a value."""

    def __init__(self, value, _dictionary):
        self.value = value
        self.parts = []
        self.update()

    def update(self):
        view = view_of(self.value)
        self.parts = view.children() if view is not None else []
        return False

    def num_children(self):
        return len(self.parts)

    def has_children(self):
        return bool(self.parts)

    def get_child_index(self, name):
        return next((index for index, part in enumerate(self.parts) if part[0] == name), -1)

    def get_child_at_index(self, index):
        if not 0 <= index < len(self.parts):
            return None
        name, part = self.parts[index]
        if isinstance(part, Value):
            return part.raw.Clone(name)
        target = self.value.GetTarget()
        data = lldb.SBData.CreateDataFromCString(target.GetByteOrder(), target.GetAddressByteSize(), part)
        kind = target.GetBasicType(lldb.eBasicTypeChar).GetArrayType(len(part.encode()))
        return self.value.CreateValueFromData(name, data, kind)


def show(debugger, command, result, _dictionary):
    """Show an allocator, a tensor or another value of allot with all of its blocks and holes: allot EXPRESSION"""
    frame = debugger.GetSelectedTarget().GetProcess().GetSelectedThread().GetSelectedFrame()
    found = frame.GetValueForVariablePath(command)
    if not found.IsValid() or found.GetError().Fail():
        found = debugger.GetSelectedTarget().FindFirstGlobalVariable(command)
    if not found.IsValid() or found.GetError().Fail():
        found = frame.EvaluateExpression(command)
    try:
        value = Value(found)
        lines = allot_views.lines_of(value.target if value.kind == "pointer" else value)
        result.AppendMessage("\n".join(lines))
    except Damage as damage:
        result.SetError(str(damage))


def pattern():
    """A regular expression for the names of all types that have a view."""
    names = sorted({name[len("allot::"):] for name in allot_views.VIEWS})
    plain = "|".join(name for name in names if "::" not in name)
    nested = "|".join("%s<.*>::%s" % tuple(name.split("::")) for name in names if "::" in name)
    return r"^allot::(v[0-9]+::)?((%s)(<.*>)?|%s)$" % (plain, nested)


def __lldb_init_module(debugger, _dictionary):
    for command in ("type category define -e allot",
                    "type summary add -w allot -e -F allot_lldb.summary -x '%s'" % pattern(),
                    "type synthetic add -w allot -l allot_lldb.Children -x '%s'" % pattern(),
                    "type category enable allot",
                    "command script add -f allot_lldb.show allot"):
        debugger.HandleCommand(command)

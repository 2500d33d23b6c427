"""Runs in GDB: every member that allot.natvis names exists in the types of the program. ALLOT_NATVIS is the file."""

import re
import xml.etree.ElementTree as ElementTree

import gdb

SPACE = "{http://schemas.microsoft.com/vstudio/debugger/natvis/2010}"
NO_MEMBERS = {"this", "nullptr", "int"}
# A linked list evaluates these in a node.
IN_NODE = {"NextPointer", "ValueNode"}


def bare(kind):
    return kind.strip_typedefs().unqualified().strip_typedefs()


def collect(kind, found):
    """All class types inside a type, by name."""
    kind = bare(kind)
    if kind.code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, gdb.TYPE_CODE_ARRAY):
        collect(kind.target(), found)
    elif kind.code == gdb.TYPE_CODE_STRUCT and kind.name and kind.name not in found:
        found[kind.name] = kind
        for field in kind.fields():
            collect(field.type, found)


def member(kind, name):
    """The type of a member, also of a base class."""
    kind = bare(kind)
    if kind.code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF):
        kind = bare(kind.target())
    if kind.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return None
    for field in kind.fields():
        if field.name == name and not field.is_base_class:
            return field.type
    for field in kind.fields():
        if field.is_base_class or not field.name:  # an anonymous union
            inner = member(field.type, name)
            if inner is not None:
                return inner
    return None


def expressions(element):
    """The expressions of a <Type>, without those that are evaluated in a node."""
    for each in element.iter():
        tag = each.tag.replace(SPACE, "")
        if each.get("Condition"):
            yield each.get("Condition")
        if tag == "DisplayString":
            yield from re.findall(r"\{([^{}]*)\}", each.text)
        elif each.text and each.text.strip() and tag not in IN_NODE:
            yield each.text


def missing(kind, expression):
    """The paths of members in an expression that the type does not have."""
    expression = re.sub(r",\w+$", "", expression)  # a format
    for path in re.findall(r"(?<![\w$.])[A-Za-z_]\w*(?:(?:\.|->)\w+)*", expression):
        if path in NO_MEMBERS:
            continue
        at = kind
        for name in re.split(r"\.|->", path):
            at = member(at, name)
            if at is None:
                yield path
                break


def check(path):
    found = {}
    for symtab_block in (gdb.lookup_global_symbol("main").symtab.global_block(),
                         gdb.lookup_global_symbol("main").symtab.static_block()):
        for symbol in symtab_block:
            if symbol.is_variable:
                collect(symbol.type, found)
    checked = 0
    for element in ElementTree.parse(path).getroot().iter(SPACE + "Type"):
        names = [element.get("Name")] + [each.get("Name") for each in element.iter(SPACE + "AlternativeType")]
        for name in names:
            pattern = ".*".join(re.escape(part) for part in name.split("*"))
            kinds = [kind for full, kind in found.items() if re.fullmatch(pattern, full)]
            if not kinds:
                print("natvis: no type matches", name)
            for kind in kinds:
                for expression in expressions(element):
                    for each in missing(kind, expression):
                        print("natvis: %s has no member %s" % (kind.name[:80], each))
                    checked += 1
    print("natvis: %d expressions checked" % checked)


check(ALLOT_NATVIS)  # pylint: disable=undefined-variable

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No function takes more than six parameters, an error and `...` among them, and no pointer leads to one that does.

usage: parameters.py SOURCE_ROOT

Looks at what src/ defines, and at the pointers to functions in its structs and typedefs.  What include/ashlar declares is
exempt: its signatures are the ABI.
"""
import glob
import os
import re
import sys

MOST = 6

# Comments, strings and characters, and lines of the preprocessor with those that continue them.
NO_CODE = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
                     r"|^[ \t]*#(?:\\\n|/\*.*?\*/|[^\n])*", re.S | re.M)
NOT_NAMES = {"if", "for", "while", "switch", "return", "sizeof", "defined", "_Alignas", "_Static_assert", "__attribute__"}


def without_text(source):
    """The code alone, on the same lines as before."""
    return NO_CODE.sub(lambda m: (m.group(0)[0] if m.group(0)[0] in "\"'" else " ") + "\n" * m.group(0).count("\n"), source)


def closing(code, at):
    """Where the bracket at `at` ends."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0:
            return i
    return len(code)


def count(parameters):
    """Of what stands between the parentheses: commas inside other brackets separate nothing here."""
    depth, number = 0, 1
    for c in parameters:
        depth += (c in "([{") - (c in ")]}")
        number += c == "," and depth == 0
    return 0 if parameters.strip() in ("", "void") else number


def pieces(code):
    """(offset, text in front of its braces) of everything that has braces at the top level."""
    at = start = 0
    while at < len(code):
        if code[at] == "{":
            yield start, code[start:at]
            at = closing(code, at)
            start = at + 1
        elif code[at] == "(":
            at = closing(code, at)
        elif code[at] == ";":
            start = at + 1
        at += 1


def definition(head):
    """(name, parameters) when the text in front of a brace is a function's, else None."""
    for m in re.finditer(r"(\w+)?\s*\(", head):
        before, name, begin = head[:m.start()], m.group(1), m.end() - 1
        if name in NOT_NAMES or "=" in before or before.count("(") > before.count(")"):
            continue
        inner = head[begin + 1:closing(head, begin)]
        # A function that returns a pointer to one: its own parameters are the inner ones.
        returned = re.match(r"\s*\*\s*(\w+)\s*\(", inner)
        if returned:
            return returned.group(1), inner[returned.end():closing(inner, returned.end() - 1)]
        if name is not None:
            return name, inner
    return None


def functions(code):
    """(offset, name, number of parameters) of functions that are defined."""
    for start, head in pieces(code):
        found = definition(head)
        if found is not None:
            yield start + len(head) - len(head.lstrip()), found[0], count(found[1])


def pointers(code):
    """The same of pointers to functions, wherever they are declared."""
    for m in re.finditer(r"\(\s*\*\s*(?:const\s+)?(\w*)(?:\s*\[[^]]*\])?\s*\)\s*\(", code):
        yield m.start(), m.group(1), count(code[m.end():closing(code, m.end() - 1)])


SAMPLE = r"""
#define X(a, b, c, d, e, f, g, h) { a, \
    b }
static const char text[] = "void f(a, b, c, d, e, f, g) {", quote = '"', *more = ")";
typedef int (*ash_fn)(void *ctx, int (*inner)(int a, int b), ...);
struct s { int (*slot)(int a, int b); };
static const struct s rows[] = {{call(1, 2, 3)}};
int none(void) { if (a(b, c, d)) { return (x)(1, 2); } return 0; }
/* int dead(int a, int b) { */ // int too(int a) {
__attribute__((format(printf, 2, 3))) static void
two(int a, /* , , */ int (*f)(int x, int y))
{ struct s t = {1, 2, 3}; }
int four(int a[2], char c, struct s *t, ...) __attribute__((unused)) { }
int (*returns(int a, int b, int c))(int d) { }
static inline int one(int a) { }
"""


def counts_right():
    code = without_text(SAMPLE)
    return ([f[1:] for f in functions(code)] == [("none", 0), ("two", 2), ("four", 4), ("returns", 3), ("one", 1)] and
            [p[1:] for p in pointers(code)] == [("ash_fn", 3), ("inner", 2), ("slot", 2), ("f", 2)] and
            code.count("\n") == SAMPLE.count("\n"))


def read(path):
    with open(path, encoding="utf-8") as f:
        return without_text(f.read())


root = sys.argv[1]
public = set()
for path in glob.glob(os.path.join(root, "include/ashlar/*.h")):
    public.update(re.findall(r"\b(ash_\w+)\s*\(", read(path)))
seen, bad = 0, []
for path in sorted(glob.glob(os.path.join(root, "src/**/*.[ch]"), recursive=True)):
    name, code = os.path.relpath(path, root), read(path)
    for at, function, number in [*functions(code), *pointers(code)]:
        seen += 1
        if number <= MOST or function in public:
            continue
        bad.append(f"{name}:{code.count(chr(10), 0, at) + 1}: {function} takes {number}")
right = counts_right()
print("1..2")
print("ok" if right else "not ok", "1 parameters are counted")
print(f"# {seen} functions and pointers to functions")
for line in bad:
    print(f"# {line}")
print("not ok" if bad else "ok", f"2 no function takes more than {MOST} parameters")
sys.exit(bool(bad or not right))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MongoDB's error codes stand in src/base/server_codes.h, and everywhere else in src by name.

usage: server_codes.py SOURCE_ROOT
"""
import glob
import os
import re
import sys

HEADER = "base/server_codes.h"
PREFIX = "ASH_MONGO_"
NUMBER = r"(?<![\w.])\d+(?![\w.])"
OTHERS = "nats/jetstream/answer.h"  # has the numbers of another server, in a table of its own
LEAST_ODD = 9001  # from here on a code is no number that anything else would have
number = failures = 0


def report(bad, text):
    global number, failures
    number += 1
    failures += bool(bad)
    for line in bad:
        print("#", line)
    print(f"{'not ok' if bad else 'ok'} {number} {text}")


def bare(text):
    """The code without comments and texts, every character where it was."""
    token = r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(token, lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0][0] == "/" else '""'.ljust(len(m[0])), text,
                  flags=re.S)


def constants(text):
    return {name: int(value) for name, value in re.findall(rf"^ *({PREFIX}\w+) = (\d+)", bare(text), re.M)}


def arguments(text, start):
    """What stands between the parentheses that open at start: (where, text) of each."""
    found, depth, begin = [], 0, start + 1
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0 or (depth == 1 and text[at] == ","):
            found.append((begin, text[begin:at]))
            begin = at + 1
        if depth == 0:
            break
    return found


def takers(sources):
    """function → which of its parameters is a code: by its declaration's `int32_t code`, `int32_t …_code`."""
    found = {}
    for text in sources.values():
        for match in re.finditer(r"^(?:[\w *]+[ *])?(\w+)(\((?:[^(){};]|\([^()]*\))*\))\s*(?:__attribute__|;|\{)", text, re.M):
            for place, (_, parameter) in enumerate(arguments(match[2], 0)):
                if re.search(r"\bint32_t (\w+_)?code$", parameter.strip()):
                    found[match[1]] = place
    return found


def tables(sources):
    """Types with a member that is a code, MongoDB's opcodes aside: their tables."""
    found = set()
    for text in sources.values():
        for match in re.finditer(r"^(?:typedef )?struct (\w+) \{(.*?)^\}", text, re.M | re.S):
            if re.search(r"\bint32_t (?!op_code)(\w+_)?code;", match[2]):
                found.add(match[1])
    return found


def values(expression):
    """What an expression may come to: itself, or the arms of its conditions."""
    parts = re.split(r"(\?|:)", expression)
    return [part.strip() for part, behind in zip(parts[::2], [*parts[1::2], ""]) if behind != "?"]


def is_bare(value):
    """A number, or a constant that is another name of one.  0 is no code."""
    return bool(re.fullmatch(r"0*[1-9]\d*|[A-Z][A-Z0-9_]+", value)) and not value.startswith(PREFIX)


def in_calls(text, known):
    for match in re.finditer(r"\b(\w+)\s*\(", text):
        place = known.get(match[1])
        given = arguments(text, match.end() - 1) if place is not None else []
        if place is not None and place < len(given) and any(is_bare(v) for v in values(given[place][1])):
            yield match.start(), f"{match[1]}(… {given[place][1].strip()} …)"


def in_members(text):
    sure = r"(?:server|error|object|unknown|required)_code|ash_error_server_code\([^()]*\)"
    for match in re.finditer(rf"\b(?:{sure}) (?:=|==|!=) (\w+)", text):
        if is_bare(match[1]):
            yield match.start(), match[0]
    # Ashlar's own codes are below zero, so that this is none of them.
    for match in re.finditer(r"\bcode (?:=|==|!=) \d{3,}", text):
        yield match.start(), match[0]


def in_tables(text, types):
    for match in re.finditer(rf"\b(?:{'|'.join(sorted(types))}) \w+(?:\[\])? = (?=\{{)", text):
        body = text[match.end():text.index(";", match.end())]
        for found in re.finditer(NUMBER, body):
            if int(found[0]) >= 100:
                yield match.end() + found.start(), found[0]


def known_numbers(text, codes):
    """A number that is a code and can hardly be anything else, wherever it stands."""
    odd = {value for value in codes.values() if value >= LEAST_ODD}
    for match in re.finditer(NUMBER, text):
        if int(match[0]) in odd:
            yield match.start(), match[0]


def known_names(text, codes):
    """A constant of a file's own that has the name and the number of one in the header."""
    short = {(name[len(PREFIX):].removeprefix("LOCATION_"), value) for name, value in codes.items()}
    for match in re.finditer(r"(?:#define )?\b([A-Z][A-Z0-9_]+)(?: =)? +(\d+)\b", text):
        if (match[1].removeprefix("ASH_"), int(match[2])) in short:
            yield match.start(), match[0]


def numbers(sources, codes):
    """Codes that are written as numbers, in words."""
    functions, types = takers(sources), tables(sources)
    bad = []
    for path, text in sorted(sources.items()):
        found = {}
        for finds in (in_calls(text, functions), in_members(text), in_tables(text, types), known_numbers(text, codes),
                      known_names(text, codes)):
            for at, what in finds:
                found.setdefault(text.count("\n", 0, at) + 1, " ".join(what.split()))
        bad += [f"{path}:{line}: {what}" for line, what in sorted(found.items())]
    return bad


def out_of_order(text):
    """In each of the header's two parts the numbers rise; and no number has two names."""
    codes = constants(text)
    first = [value for name, value in codes.items() if not name.startswith(PREFIX + "LOCATION_")]
    second = [value for name, value in codes.items() if name.startswith(PREFIX + "LOCATION_")]
    bad = [f"{before} stands before {after}" for part in (first, second)
           for before, after in zip(part, part[1:]) if before >= after]
    return bad + [f"{value} has two names" for value in sorted(set(first) & set(second))]


def spelling(name):
    """MongoDB's InvalidBSON is our INVALID_BSON."""
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)).upper()


def misspelt(table):
    return [f"{constant} is called {name}" for constant, name in re.findall(r"^X\((\w+), (\w+),", table, re.M)
            if constant != PREFIX + spelling(name)]


def unused(sources, codes):
    words = set(re.findall(rf"{PREFIX}\w+", "\n".join(sources.values())))
    return sorted(set(codes) - words)


def probe():
    """What these functions are for, they see."""
    codes = {PREFIX + "BAD_VALUE": 2, PREFIX + "WRITE_CONFLICT": 112, PREFIX + "LOCATION_COUNT_DOT": 40160}
    before = '''
int ash__fail_server(ash_error *err, int code, int32_t server_code, const char *format, ...);
static int whole(ash_value v, int32_t code)
{
}
typedef struct shape {
    const char *name;
    int32_t required_code;
} shape;
'''
    seen = ['return ash__fail_server(err, ASH_EINVAL, 2, "");', "return ash__fail_server(err, E, f(1, 2) ? 7 : A, x);",
            "return ash__fail_server(err, ASH_EINVAL, a == 0 ? ASH_MONGO_BAD_VALUE : 7182800, x);", "whole(v, 5107200)",
            "return ash__fail_server(err, ASH_EINVAL, TYPE_MISMATCH, x);", "if (why.server_code == 171)",
            "e->server_code = 9;",
            "if (ash_error_server_code(err) != 17)", "static const shape table[] = {{x, 123}, {y, 0}};", "return code == 280;",
            "enum { WRITE_CONFLICT = 112 };", "#define BAD_VALUE  2", "return i == 0 ? 40160 : 0;", "s.object_code = 77;"]
    passed = ["return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, x, 112);", "if (code == 0)",
              "whole(v, why.server_code)",
              "return ash__fail_server(err, E, n == 0 ? ASH_MONGO_A : ASH_MONGO_B, x);", "ash__fail(err, 2, x, 7);",
              "static const shape table[] = {{x, ASH_MONGO_BAD_VALUE}, {y, 0}};", "enum { TRIES = 112, ASH_MAX = 2 };",
              "/* 40160 */ a = \"40160\";", "m->op_code = 2013;", "if (own.server_code != 0)"]
    header = "enum {\n    ASH_MONGO_B = 2,\n    ASH_MONGO_A = 2,\n    ASH_MONGO_LOCATION_C = 2\n};\n"
    return ([line for line in seen if not numbers({"a.c": bare(before + line)}, codes)]
            + [line for line in passed if numbers({"a.c": bare(before + line)}, codes)]
            + ([] if len(out_of_order(header)) == 2 and misspelt("X(ASH_MONGO_B, BadValue, E)\n") else ["the header"])
            + ([] if unused({"a.c": "ASH_MONGO_A ASH_MONGO_B"}, constants(header)) == ["ASH_MONGO_LOCATION_C"] else ["unused"]))


def main():
    root = os.path.join(sys.argv[1], "src")
    paths = [path for end in ("c", "h", "def") for path in glob.glob(f"{root}/**/*.{end}", recursive=True)]
    sources = {os.path.relpath(path, root): bare(open(path, encoding="utf-8").read()) for path in paths}
    header = open(os.path.join(root, HEADER), encoding="utf-8").read()
    sources.pop(HEADER)
    sources.pop(OTHERS)
    codes = constants(header)
    functions = takers(sources)
    report(probe(), "the checks see what they are for")
    found = len(codes) > 300 and functions.get("ash__fail_server") == 2 and tables(sources) >= {"ash_op_param", "ash_expr_op"}
    report([] if found else [f"{len(codes)} codes, {functions}"], "the codes are found, and who takes them")
    report(out_of_order(header), "the codes stand in order, each once")
    report(misspelt(open(os.path.join(root, "base/server_codes.def"), encoding="utf-8").read()), "the names are MongoDB's")
    report(numbers(sources, codes), "codes are given by name")
    report(unused(sources, codes), "every code is used")
    print(f"1..{number}")
    return failures > 0


sys.exit(main())

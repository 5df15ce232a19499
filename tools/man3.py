#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Manual pages of section 3, made of the public headers as they stand.

usage: man3.py --list HEADER…             the names of the pages
       man3.py FOLDER VERSION HEADER…     writes them

A header is a row of paragraphs with empty lines between them.  One that declares functions is a page named after the
first of them; the others lead to it.  What is said of it stands in its comments, and the structs that its functions
take stand in the page as in the header.  Besides, each header is a page: its first comment, its types, its sample.
"""
import pathlib
import re
import sys

INLINE = re.compile(r'^static inline (.*?\))\n\{\n.*?^\}$', re.M | re.S)
STRUCT = re.compile(r'^typedef (?:struct|enum) (ash_\w+)\s*\{.*?^\} \1;', re.M | re.S)
PROTOTYPE = re.compile(r'^(?:\w+[ *]+)+?(ash_\w+)\([^;{}]*\);(?: */\*.*?\*/)?', re.M | re.S)
OTHERS = [STRUCT, *(re.compile(p, re.M | re.S) for p in (
    r'^typedef [^;{]*;(?: */\*.*?\*/)?', r'^enum \{.*?^\};', r'^template <.*?^\}', r'^#(?:[^\n]*\\\n)*[^\n]*$', r'^extern "C" \{$', r'^\}$'))]
COMMENT = re.compile(r'^/\*(.*?)\*/', re.M | re.S)
ERROR = re.compile(r'\bASH_E[A-Z]+\b')


class Malformed(Exception):
    pass


class Paragraph:
    """Lines of a header between empty ones: comments, declarations, definitions."""

    def __init__(self, text, header, line):
        self.text, self.header, self.line = text, header, line
        self.structs = {m[1]: m[0] for m in STRUCT.finditer(text)}
        self.comments = [clean(m[1]) for m in COMMENT.finditer(text)]
        code = COMMENT.sub('', INLINE.sub(r'\1;', text))
        for other in OTHERS:
            code = other.sub('', code)
        self.prototypes = [m[0] for m in PROTOTYPE.finditer(code)]
        self.functions = [m[1] for m in PROTOTYPE.finditer(code)]
        left = re.sub(r'/\*.*?\*/', '', PROTOTYPE.sub('', code), flags=re.S).strip()
        if left:
            raise Malformed(f'{header.path}:{line}: this cannot be read: {left.splitlines()[0]}')


class Header:
    def __init__(self, path):
        self.path, self.name = path, path.stem
        text = path.read_text()
        self.top = clean(COMMENT.findall(text)[1]) if len(COMMENT.findall(text)) > 1 else ''
        self.paragraphs = [p for p in self.split(text) if p.text.strip()]
        _, mark, rest = text.partition('\n * Example:\n')
        lines = rest.split('\n') if mark else []
        end = next((n for n, line in enumerate(lines) if not (line.startswith(' *     ') or line == ' *')), 0)
        self.sample = '\n'.join(line[7:] for line in lines[:end]).strip('\n')

    def split(self, text):
        line, braces = 1, []
        for part in re.split(r'(\n\n+)', text):
            if part.strip():
                braces.append((part, line))
                if balanced('\n\n'.join(p for p, _ in braces)):
                    yield Paragraph('\n\n'.join(p for p, _ in braces), self, braces[0][1])
                    braces = []
            line += part.count('\n')
        if braces:
            raise Malformed(f'{self.path}:{braces[0][1]}: a brace or a comment is not closed')


def balanced(text):
    code = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
    code = re.sub(r'extern "C" \{|^\}$', '', code, flags=re.M) if 'extern' in code else code
    return '/*' not in code and code.count('{') <= code.count('}') or code.strip() == ''


def clean(comment):
    lines = [re.sub(r'^ ?\* ?', '', line).rstrip() for line in comment.split('\n')]
    return '\n'.join(lines).strip()


# ---- roff ----

def escape(text):
    text = text.replace('\\', '\\e').replace('-', '\\-')
    return re.sub(r"^([.'])", r'\\&\1', text, flags=re.M)


def verbatim(text):
    return f'.PP\n.in +4n\n.nf\n{escape(text)}\n.fi\n.in\n'


def filled(text):
    """Paragraphs; what is indented, as tables and pictures are, stays as it is."""
    out = ''
    for part in re.split(r'\n\s*\n', text):
        shaped = any(line.startswith('  ') for line in part.split('\n'))
        out += verbatim(part) if shaped else f'.PP\n{escape(re.sub(r"  +", " ", part))}\n'
    return out


def summary(text, otherwise):
    first = re.split(r'(?<=[a-z)])[.:;](?:\s|$)', ' '.join(text.split()), maxsplit=1)[0] if text else ''
    first = first if len(first) <= 90 else first[:first.rfind(' ', 0, 87)] + ' …'
    return escape(first or otherwise)


def head(name, version, what):
    return f'.TH {name} 3 "" "Ashlar {version}" "Ashlar"\n.SH NAME\n{escape(name)} \\- {what}\n'


# ---- pages ----

def structs_of(paragraph, every):
    named = re.findall(r'\b(ash_\w+) \*', ''.join(paragraph.prototypes))
    known = list(dict.fromkeys(n for n in named if n in every))
    return [(n, every[n]) for n in known if n != 'ash_error']


def errors_section(texts, codes, where):
    named = sorted(set(ERROR.findall('\n'.join(texts))), key=lambda e: list(codes).index(e) if e in codes else -1)
    unknown = [e for e in named if e not in codes]
    if unknown:
        raise Malformed(f'{where.header.path}:{where.line}: {unknown[0]} is no error')
    rows = ''.join(f'.TP\n.B {e}\n{escape(codes[e])}\n' for e in named)
    return f'.SH ERRORS\n{rows}' if rows else ''


def function_page(paragraph, every, codes, version):
    header = paragraph.header
    names = ', '.join(escape(f) for f in paragraph.functions)
    structs = structs_of(paragraph, every)
    said = paragraph.comments + [text for _, text in structs]
    page = head(paragraph.functions[0], version, summary(paragraph.comments[0] if paragraph.comments else '', f'of <ashlar/{header.name}.h>'))
    page = page.replace(f'.SH NAME\n{escape(paragraph.functions[0])}', f'.SH NAME\n{names}', 1)
    page += '.SH SYNOPSIS\n' + verbatim(f'#include <ashlar/{header.name}.h>\n\n' + '\n'.join(paragraph.prototypes))
    page += '.SH DESCRIPTION\n' + (''.join(filled(c) for c in paragraph.comments) or f'.PP\nSee\n.BR ashlar_{header.name} (3).\n')
    page += ''.join(f'.SH {escape(n)}\n' + verbatim(text) for n, text in structs)
    page += errors_section(said, codes, paragraph)
    return page + f'.SH SEE ALSO\n.BR ashlar_{header.name} (3),\n.BR ashlar (1)\n'


def header_page(header, version):
    page = head(f'ashlar_{header.name}', version, summary(header.top, f'<ashlar/{header.name}.h>'))
    page += '.SH SYNOPSIS\n' + verbatim(f'#include <ashlar/{header.name}.h>\n\ncc … $(pkg-config --cflags --libs ashlar)')
    page += '.SH DESCRIPTION\n' + filled(header.top)
    functions = [f for p in header.paragraphs for f in p.functions]
    if functions:
        page += '.SH FUNCTIONS\n.PP\n' + ',\n'.join(f'.BR {escape(f)} (3)' for f in functions).replace('(3),', '(3),') + '\n'
    types = [p.text for p in header.paragraphs if p.structs or p.text.startswith('enum {')]
    page += ('.SH TYPES\n' + ''.join(verbatim(t) for t in types)) if types else ''
    page += ('.SH EXAMPLE\n' + verbatim(header.sample)) if header.sample else ''
    return page + '.SH SEE ALSO\n.BR ashlar (1)\n'


def pages(paths, version):
    """{name: text} of all pages."""
    headers = [Header(pathlib.Path(p)) for p in paths if not p.endswith('ashlar.h')]
    every = {n: s for h in headers for p in h.paragraphs for n, s in p.structs.items()}
    errors = next(h for h in headers if h.name == 'error').path.read_text()
    codes = {m[1]: ' '.join(m[2].split()) for m in re.finditer(r'(ASH_E\w+) = -\d+,? */\*(.*?)\*/', errors, re.S)}
    made = {}
    for header in headers:
        made[f'ashlar_{header.name}'] = header_page(header, version)
        for paragraph in header.paragraphs:
            for n, name in enumerate(paragraph.functions):
                made[name] = f'.so man3/{paragraph.functions[0]}.3\n' if n else function_page(paragraph, every, codes, version)
    return made


def main():
    try:
        if sys.argv[1] == '--list':
            print('\n'.join(f'{name}.3' for name in pages(sys.argv[2:], '')))
            return 0
        folder = pathlib.Path(sys.argv[1])
        for name, text in pages(sys.argv[3:], sys.argv[2]).items():
            (folder / f'{name}.3').write_text(text)
    except Malformed as problem:
        print(f'man3.py: {problem}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())

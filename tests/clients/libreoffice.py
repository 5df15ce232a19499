#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Works in an office that listens, as somebody at its window would.

usage: libreoffice.py PIPE COMMAND ARGUMENT...

    wait                  until it answers
    end                   the office ends
    new URL TEXT          a document with that text, saved there
    add URL TEXT [CHECK]  opened, one more line, saved; CHECK (a command of a shell) runs while it is open
    text URL              prints what it says
"""
import subprocess
import sys
import time

import uno
from com.sun.star.beans import PropertyValue
from com.sun.star.connection import NoConnectException


def value(name, of):
    prop = PropertyValue()
    prop.Name, prop.Value = name, of
    return prop


def desktop(pipe):
    context = uno.getComponentContext()
    resolver = context.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", context)
    end = time.monotonic() + 60
    while True:
        try:
            there = resolver.resolve("uno:pipe,name=%s;urp;StarOffice.ComponentContext" % pipe)
            return there.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", there)
        except NoConnectException:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def opened(office, url):
    document = office.loadComponentFromURL(url, "_blank", 0, (value("Hidden", True),))
    if document is None:
        sys.exit("%s cannot be opened" % url)
    return document


def append(document, text):
    body = document.getText()
    body.insertString(body.getEnd(), text + "\n", False)


def main(pipe, command, url=None, *rest):
    office = desktop(pipe)
    if command == "wait":
        return
    if command == "end":
        office.terminate()
        return
    if command == "new":
        document = opened(office, "private:factory/swriter")
        append(document, rest[0])
        document.storeAsURL(url, ())
    else:
        document = opened(office, url)
        if command == "add":
            if document.isReadonly():
                sys.exit("%s is open for reading alone" % url)
            append(document, rest[0])
            if len(rest) > 1:
                subprocess.run(rest[1], shell=True, check=True)
            document.store()
        else:
            rest = [document.getText().getString()]
    document.close(True)
    if command == "text":
        print(rest[0])


main(*sys.argv[1:])

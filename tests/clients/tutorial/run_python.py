# SPDX-License-Identifier: Apache-2.0
"""Runs Python blocks of the tutorial as doctests.  usage: run_python.py URI FILE (db: the database of the URI)"""
import doctest
import sys

import pymongo

client = pymongo.MongoClient(sys.argv[1], serverSelectionTimeoutMS=10000)
failed, tried = doctest.testfile(sys.argv[2], module_relative=False,
                                 globs={"client": client, "db": client.get_default_database()})
print(f"# {tried} examples tried, {failed} failed")
sys.exit(failed > 0 or tried == 0)

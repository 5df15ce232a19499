#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the description of what HTTP serves besides trees: docs/openapi.json, which is built into the program, too.

usage: openapi.py > docs/openapi.json
"""
import json

ERROR = {"$ref": "#/components/schemas/Error"}
ENTRY = {"$ref": "#/components/schemas/Entry"}
TEXT = {"text/plain; charset=utf-8": {"schema": {"type": "string"}}}
NDJSON = {"application/x-ndjson": {"schema": {"type": "string"}}}
BYTES = {"*/*": {"schema": {"type": "string", "format": "binary"}}}


def reply(text, content=None):
    return {"description": text, **({"content": content} if content else {})}


def json_reply(text, schema):
    return reply(text, {"application/json": {"schema": schema}})


def errors(*statuses, content=None):
    texts = {400: "a parameter that cannot be", 401: "who asks is not known", 403: "not let in", 404: "nothing of that name", 405: "no such method here",
             409: "it is there already, or stands otherwise", 412: "a condition does not hold", 413: "too long",
             415: "not of a type that is taken", 416: "no such range", 423: "locked", 500: "damaged", 501: "not to be had here",
             503: "not now", 507: "full"}
    content = content or {"application/json": {"schema": ERROR}}
    return {str(status): reply(texts[status], content) for status in sorted({401, *statuses})}


def query(name, schema=None, required=False, text=None):
    return {"name": name, "in": "query", "required": required, "schema": schema or {"type": "string"},
            **({"description": text} if text else {})}


def inside(name, text=None, schema=None):
    return {"name": name, "in": "path", "required": True, "schema": schema or {"type": "string", "minLength": 1},
            **({"description": text} if text else {})}


PATH = query("path", required=True, text="as in the address bar: /a/b")


def limit(most):
    return query("limit", {"type": "integer", "minimum": 1, "maximum": most})


LIMIT = limit(1000000)
AT = query("at", {"type": "string", "format": "date-time"})
VERSION = query("version", {"type": "integer", "minimum": 1})
FLAG = {"type": "boolean"}
TIME = {"type": ["string", "null"], "format": "date-time"}


def read(summary, parameters, schema, *statuses):
    return {"get": {"summary": summary, "parameters": [PATH, *parameters],
                    "responses": {"200": json_reply("found", schema), **errors(400, 403, 404, 500, *statuses)}}}


def change(summary, properties, required, schema, *statuses, of_path=True):
    path = {"path": {"type": "string"}} if of_path else {}
    body = {"type": "object", "properties": {**path, **properties}, "required": [*path, *required]}
    return {"post": {"summary": summary, "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
                     "responses": {"200": json_reply("done", schema),
                                   **errors(400, 403, 404, 409, 412, 413, 415, 423, 500, 501, 503, 507, *statuses)}}}


def listing(extra=None):
    return {"type": "object", "required": ["entries", "more"],
            "properties": {"entries": {"type": "array", "items": ENTRY}, "more": {"type": "boolean"}, **(extra or {})}}


def numbers(*names, optional=()):
    return {"type": "object", "required": list(names), "properties": {name: {"type": "integer"} for name in (*names, *optional)}}


TREE = {
    "list": read("what lies in a folder, by name", [query("after"), LIMIT, query("recursive", FLAG), AT],
                 listing({"damaged": {"type": "integer"}})),
    "stat": read("an entry", [VERSION, AT], ENTRY),
    "history": read("versions, newest first", [LIMIT], listing()),
    "trash": read("what was deleted below", [LIMIT], listing()),
    "search": read("entries below by a part of their names", [query("q", {"type": "string", "minLength": 1}, True), limit(1000)], listing()),
    "usage": read("what it takes", [], numbers("folders", "files", "bytes", "versions", "versionBytes", "contents", "storedBytes",
                                                optional=("quotaBytes", "quotaUsedBytes")), 503),
    "locks": read("who holds what there and below", [], {"type": "object", "required": ["locks"], "properties": {
        "locks": {"type": "array", "items": {"$ref": "#/components/schemas/Lock"}}}}),
    "mkdir": change("make a folder", {"make_folders": FLAG}, [], ENTRY),
    "move": change("rename or move", {"to": {"type": "string"}, "replace": FLAG, "make_folders": FLAG, "if_version": {"type": "integer"}}, ["to"], ENTRY),
    "copy": change("copy", {"to": {"type": "string"}, "replace": FLAG, "make_folders": FLAG}, ["to"], ENTRY),
    "delete": change("delete; it can be undeleted", {"recursive": FLAG, "if_version": {"type": "integer"}}, [], ENTRY),
    "undelete": change("bring back", {"id": {"type": "string"}, "to": {"type": "string"}}, ["id"], ENTRY),
    "restore": change("a version, or a folder as it was", {"version": {"type": "integer"}, "at": {"type": "string"}, "dry_run": FLAG}, [],
                      {"anyOf": [ENTRY, numbers("created", "changed", "moved", "deleted", "unchanged", "failed")]}),
    "forget": change("a version of a file that is not the newest goes for good", {"version": {"type": "integer"}, "if_version": {"type": "integer"}},
                     ["version"], numbers("removed")),
    "tag": change("mark a version", {"version": {"type": "integer"}, "tag": {"type": "string"}, "remove": FLAG}, ["tag"], ENTRY),
    "share": change("a link, told once", {"right": {"enum": ["read", "upload"]}, "expires": {"type": "string"},
                                                "max_bytes": {"type": "integer"}, "max_files": {"type": "integer"}}, [], {
        "allOf": [{"$ref": "#/components/schemas/Share"}, {"required": ["url"]}]}),
    "shares": read("which links there are", [], {"type": "object", "required": ["shares"], "properties": {
        "shares": {"type": "array", "items": {"$ref": "#/components/schemas/Share"}}}}),
    "unshare": change("take a link back", {"id": {"type": "string"}}, ["id"], numbers("removed"), of_path=False),
    "unlock": change("break the lock on a path", {}, [], numbers("broken")),
}
CONTENT = {"get": {"summary": "a version's bytes", "parameters": [PATH, VERSION, AT, query("download", FLAG)],
                   "responses": {"200": reply("all of it", BYTES), "206": reply("a part", BYTES), "304": reply("as before"),
                                 **errors(400, 403, 404, 412, 416, 500, content={"*/*": {"schema": {}}})}}}
DIFF = {"get": {"summary": "what changed between two versions of a text",
                "parameters": [PATH, query("from", VERSION["schema"]), query("to", VERSION["schema"])],
                "responses": {"200": reply("a unified diff", {"text/x-diff; charset=utf-8": {"schema": {"type": "string"}}}),
                              **errors(400, 403, 404, 413, 415, 500)}}}

CAN = errors(400, 403, 404, 405, 409, 412, 413, 416, 423, 500, 501, 503, 507, content=TEXT)


def bytes_read(summary, parameters):
    return {"summary": summary, "parameters": parameters, "responses": {
        "200": reply("all of it", BYTES), "206": reply("a part", BYTES), "304": reply("as before"), **CAN}}


DB, BUCKET, STORE = inside("db"), inside("bucket"), inside("store")
BODY = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
FILE = {"type": "object", "required": ["filename", "length"], "properties": {"filename": {"type": "string"}, "length": {"type": "integer"}}}
STATUS = {"type": "object", "required": ["name", "bytes", "sealed"], "properties": {"name": {"type": "string"}, "bytes": {"type": "integer"},
                                                                                 "sealed": {"type": "boolean"}}}
DONE = {"204": reply("done"), **CAN}
MADE = {"201": json_reply("made", FILE), **CAN}
OBJECT = {"201": json_reply("put", {"type": "object"}), **CAN}

PATHS = {f"/.ashlar/tree/{name}": call for name, call in TREE.items()}
PATHS["/.ashlar/tree/content"] = CONTENT
PATHS["/.ashlar/tree/diff"] = DIFF
PATHS["/.ashlar/share/{token}"] = {"get": {"summary": "what was shared: a file's bytes, or a folder's page",
                                       "parameters": [inside("token"), query("download", FLAG),
                                                      query("format", {"enum": ["zip", "tar", "tar.gz", "tar.zst"]})],
                                       "responses": {"200": reply("all of it", BYTES), "206": reply("a part", BYTES),
                                                     "301": reply("to the folder's page"), "304": reply("as before"), **CAN}}}
PATHS["/.ashlar/share/{token}/{name}"] = {
    "get": bytes_read("a file in a folder that was shared", [inside("token"), inside("name"), query("download", FLAG)]),
    "put": {"summary": "a new file, by a link that takes them", "parameters": [inside("token"), inside("name")], "requestBody": BODY,
            "responses": {"201": reply("received", TEXT), **CAN}}}
MAYBE = {"anyOf": [TIME, {"type": "null"}]}
TOKEN = {"type": "object", "required": ["id", "readOnly"], "properties": {
    "id": {"type": "string"}, "created": TIME, "expires": MAYBE, "used": MAYBE, "readOnly": FLAG, "path": {"type": ["string", "null"]},
    "token": {"type": "string"}}}
PATHS["/.ashlar/tokens"] = {
    "get": {"summary": "tokens of whoever asks", "responses": {
        "200": json_reply("found", {"type": "object", "required": ["tokens"], "properties": {"tokens": {"type": "array", "items": TOKEN}}}), **CAN}},
    "post": {"summary": "a new one, told once", "requestBody": {"required": True, "content": {"application/json": {"schema": {
        "type": "object", "properties": {"expires": {"type": "string"}, "readOnly": FLAG, "path": {"type": "string"}}, "additionalProperties": False}}}},
        "responses": {"201": json_reply("made", TOKEN), **CAN, **errors(415, content=TEXT)}}}
PATHS["/.ashlar/tokens/{id}"] = {"delete": {"summary": "take it back", "parameters": [inside("id")], "responses": DONE}}
PATHS["/.ashlar/buckets/{db}/{bucket}"] = {
    "get": {"summary": "files by name", "parameters": [DB, BUCKET, query("name"), query("prefix"), query("after"), limit(10000)],
            "responses": {"200": reply("a line of JSON for each", NDJSON), **CAN}},
    "post": {"summary": "a new file", "parameters": [DB, BUCKET, query("name", required=True), query("metadata")], "requestBody": BODY, "responses": MADE}}
PATHS["/.ashlar/buckets/{db}/{bucket}/id/{id}"] = {
    "get": bytes_read("a file", [DB, BUCKET, inside("id")]),
    "delete": {"summary": "delete it", "parameters": [DB, BUCKET, inside("id")], "responses": DONE}}
PATHS["/.ashlar/buckets/{db}/{bucket}/name/{name}"] = {
    "get": bytes_read("the newest of that name", [DB, BUCKET, inside("name"), query("revision", {"type": "integer"})]),
    "put": {"summary": "one more of that name", "parameters": [DB, BUCKET, inside("name")], "requestBody": BODY, "responses": MADE},
    "delete": {"summary": "delete all of that name", "parameters": [DB, BUCKET, inside("name")], "responses": DONE}}
PATHS["/.ashlar/objects"] = {"get": {"summary": "object stores", "responses": {"200": reply("a line of JSON for each", NDJSON), **CAN}}}
PATHS["/.ashlar/objects/{store}"] = {
    "get": {"summary": "status", "parameters": [STORE], "responses": {"200": json_reply("found", STATUS), **CAN}},
    "put": {"summary": "make it", "parameters": [STORE], "requestBody": {"content": {"application/json": {"schema": {
        "type": "object", "properties": {"description": {"type": "string"}, "max_bytes": {"type": "integer", "minimum": 0},
                                          "ttl_ms": {"type": "integer", "minimum": 0}, "keep_last": {"type": "integer"}, "compression": FLAG}}}}},
            "responses": {"201": reply("made"), **CAN}},
    "delete": {"summary": "delete it with all that it holds", "parameters": [STORE], "responses": DONE}}
PATHS["/.ashlar/objects/{store}/info"] = {"get": {"summary": "what is said of objects", "parameters": [STORE, query("prefix"), query("deleted", FLAG)],
                                                  "responses": {"200": reply("a line of JSON for each", NDJSON), **CAN}}}
PATHS["/.ashlar/objects/{store}/info/{name}"] = {"get": {"summary": "what is said of one", "parameters": [STORE, inside("name")],
                                                         "responses": {"200": json_reply("found", {"type": "object"}), **CAN}}}
PATHS["/.ashlar/objects/{store}/data/{name}"] = {
    "get": bytes_read("an object's bytes", [STORE, inside("name")]),
    "put": {"summary": "put it", "parameters": [STORE, inside("name"), query("description")], "requestBody": BODY, "responses": OBJECT},
    "delete": {"summary": "delete it", "parameters": [STORE, inside("name")], "responses": DONE}}
PATHS["/.ashlar/health"] = {"get": {"summary": "is all well?", "responses": {
    str(status): reply(text, {"application/health+json": {"schema": {"type": "object", "required": ["status"]}}}) for status, text in ((200, "yes"), (503, "no"))}}}
PATHS["/.ashlar/metrics"] = {"get": {"summary": "Prometheus' text", "responses": {"200": reply("metrics", {"text/plain; version=0.0.4; charset=utf-8": {"schema": {"type": "string"}}})}}}

DESCRIPTION = {
    "openapi": "3.1.0",
    "info": {"title": "Ashlar by HTTP", "version": "0.1.0", "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
             "description": "Trees, buckets and object stores, besides WebDAV; docs/HTTP.md tells of them."},
    "paths": PATHS,
    "security": [{}, {"password": []}, {"token": []}],
    "components": {"securitySchemes": {
        "token": {"type": "http", "scheme": "bearer", "description": "of a user: /.ashlar/tokens"},
        "password": {"type": "http", "scheme": "basic", "description": "where the store has users"}}, "schemas": {
        "Error": {"type": "object", "required": ["error"], "properties": {"error": {"type": "object", "required": ["code", "status", "text"], "properties": {
            "code": {"type": "string"}, "status": {"type": "integer"}, "text": {"type": "string"}}}}},
        "Entry": {"type": "object", "required": ["name", "path", "folder", "version"], "properties": {
            "name": {"type": "string"}, "path": {"type": "string"}, "folder": {"type": "boolean"}, "id": {"type": "string"},
            "version": {"type": "integer"}, "length": {"type": "integer"}, "digest": {"type": "string"}, "type": {"type": "string"},
            "created": TIME, "modified": TIME, "changed": TIME, "ended": TIME, "deleted": {"type": "boolean"},
            "changedBy": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}},
        "Lock": {"type": "object", "required": ["path", "kind", "owner", "webdav"], "properties": {
            "path": {"type": "string"}, "kind": {"enum": ["exclusive", "shared"]}, "owner": {"type": "string"}, "webdav": {"type": "boolean"},
            "since": TIME, "expires": TIME}},
        "Share": {"type": "object", "required": ["id", "path", "right", "created", "expires"], "properties": {
            "id": {"type": "string"}, "path": {"type": ["string", "null"]}, "right": {"enum": ["read", "upload"]}, "created": TIME,
            "expires": TIME, "by": {"type": "string"}, "url": {"type": "string"}, "maxBytes": {"type": "integer"}, "usedBytes": {"type": "integer"},
            "maxFiles": {"type": "integer"}, "usedFiles": {"type": "integer"}}},
    }},
}

# A line for each address.
paths = DESCRIPTION.pop("paths")
head = json.dumps(DESCRIPTION)[:-1]
print(head + ', "paths": {\n' + ',\n'.join(f'{json.dumps(name)}: {json.dumps(what)}' for name, what in paths.items()) + '\n}}')

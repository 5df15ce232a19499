/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/generations/old.h"

#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ---- values ---- */

old_sha old_digest(const void *data, size_t len)
{
    old_sha sha;
    uint8_t out[ASH_DIGEST_MAX_BYTES];
    ash_digest *d = ash__digest_new(ASH_DIGEST_SHA1);
    ash__digest_add(d, data, len);
    assert_int_equal(ash__digest_finish(d, out), sizeof sha.bytes);
    memcpy(sha.bytes, out, sizeof sha.bytes);
    ash__digest_free(d);
    return sha;
}

bson_oid_t old_id(int n)
{
    char text[25];
    bson_oid_t id;
    snprintf(text, sizeof text, "4f25f00000000000000%05x", (unsigned)n);
    bson_oid_init_from_string(&id, text);
    return id;
}

bson_value_t old_id_value(int n)
{
    return (bson_value_t){.value_type = BSON_TYPE_OID, .value.v_oid = old_id(n)};
}

int64_t old_date(int hours)
{
    return 1327881600000 + (int64_t)hours * 3600 * 1000;
}

char *old_text(size_t size, int seed)
{
    char *text = ash__alloc(size + 64);
    size_t len = 0;
    for (int i = 0; len < size; i++)
        len += (size_t)snprintf(text + len, 64, "line %d of text %d\n", i * (seed + 7), seed);
    text[size] = '\0';
    return text;
}

/* ---- documents ---- */

void old_insert(fixture *f, const char *collection, bson_t *doc)
{
    ash_collection *c = NULL;
    assert_ok(ash_collection_new(f->store, NULL, collection, &c, &f->err), &f->err);
    assert_ok(ash_collection_insert_one(c, doc, NULL, &f->err), &f->err);
    ash_collection_free(c);
    bson_destroy(doc);
}

static bool expand_id(ash_buffer *out, const char *at)
{
    char hex[25];
    bson_oid_t id;
    if (at[0] != '%')
        return false;
    id = old_id(at[1] - '0');
    bson_oid_to_string(&id, hex);
    ash__buffer_printf(out, "{\"$oid\": \"%s\"}", hex);
    return true;
}

static bson_t *from_json(const char *json)
{
    static const char date[] = "{\"$date\": ";
    ash_buffer out = ASH_BUFFER_INIT;
    bson_error_t reason;
    for (const char *at = json; *at != '\0';) {
        if (expand_id(&out, at)) {
            at += 2;
        } else if (strncmp(at, date, sizeof date - 1) == 0) {
            char *end;
            long hours = strtol(at + sizeof date - 1, &end, 10);
            ash__buffer_printf(&out, "{\"$date\": {\"$numberLong\": \"%lld\"}",
                               (long long)old_date((int)hours));
            at = end;
        } else {
            ash__buffer_append(&out, at++, 1);
        }
    }
    bson_t *doc = bson_new_from_json((const uint8_t *)ash__buffer_text(&out), -1, &reason);
    if (doc == NULL)
        fail_msg("%s: %s", ash__buffer_text(&out), reason.message);
    ash__buffer_release(&out);
    return doc;
}

void old_json(fixture *f, const char *collection, const char *json)
{
    old_insert(f, collection, from_json(json));
}

void old_file(fixture *f, const char *collection, const char *json, const char *text)
{
    bson_t *doc = from_json(json);
    old_sha sha = old_digest(text, strlen(text));
    bson_append_int32(doc, "length", 6, (int32_t)strlen(text));
    bson_append_binary(doc, "sha", 3, BSON_SUBTYPE_BINARY, sha.bytes, sizeof sha.bytes);
    old_insert(f, collection, doc);
}

/* ---- contents ---- */

uint8_t *old_pack(int bits, const void *data, size_t len, size_t *packed)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t room = deflateBound(&z, len) + 32;
    uint8_t *out = ash__alloc(room);
    z.next_in = (uint8_t *)(uintptr_t)data;
    z.avail_in = (uInt)len;
    z.next_out = out;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *packed = z.total_out;
    deflateEnd(&z);
    return out;
}

static void put16(uint8_t *at, size_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *at, size_t value)
{
    put16(at, value);
    put16(at + 2, value >> 16);
}

uint8_t *old_zip_entry(const char *name, const void *data, size_t len, size_t *size)
{
    enum { HEADER = 30 };
    size_t packed, name_len = strlen(name);
    uint8_t *deflated = old_pack(-15, data, len, &packed);
    uint8_t *out = ash__alloc(HEADER + name_len + packed);
    memset(out, 0, HEADER);
    memcpy(out, "PK\3\4", 4);
    put16(out + 4, 20);
    put16(out + 8, 8);
    put32(out + 14, crc32(0, data, (uInt)len));
    put32(out + 18, packed);
    put32(out + 22, len);
    put16(out + 26, name_len);
    memcpy(out + HEADER, name, name_len);
    memcpy(out + HEADER + name_len, deflated, packed);
    *size = HEADER + name_len + packed;
    ash__free(deflated);
    return out;
}

static void append_owner(bson_t *doc, const char *field, int owner)
{
    bson_t list;
    bson_oid_t id = old_id(owner);
    bson_append_array_begin(doc, field, -1, &list);
    if (owner != 0)
        bson_append_oid(&list, "0", 1, &id);
    bson_append_array_end(doc, &list);
}

static void insert_chunks(fixture *f, const old_sha *id, const uint8_t *data, size_t len)
{
    enum { CHUNK = 262144 };
    for (size_t at = 0; at < len; at += CHUNK) {
        bson_oid_t oid;
        size_t part = len - at < CHUNK ? len - at : CHUNK;
        bson_oid_init(&oid, NULL);
        bson_t *doc = BCON_NEW("_id", BCON_OID(&oid), "files_id",
                               BCON_BIN(BSON_SUBTYPE_BINARY, id->bytes, sizeof id->bytes), "n",
                               BCON_INT32((int32_t)(at / CHUNK)), "data",
                               BCON_BIN(BSON_SUBTYPE_BINARY, data + at, (uint32_t)part));
        old_insert(f, "v7.fs.chunks", doc);
    }
}

/* In the order in which the Java driver of 2012 wrote them. */
static void append_gridfs(bson_t *doc, const char *ending, int64_t length)
{
    char name[32];
    snprintf(name, sizeof name, "first.txt%s", ending);
    bson_append_utf8(doc, "filename", 8, name, -1);
    bson_append_utf8(doc, "contentType", 11, "text/plain", -1);
    bson_append_int64(doc, "length", 6, length);
    bson_append_int64(doc, "chunkSize", 9, 262144);
    bson_append_date_time(doc, "uploadDate", 10, old_date(1));
    bson_append_null(doc, "aliases", 7);
}

old_sha old_content(fixture *f, old_form form, const void *data, size_t len, int owner)
{
    static const char *const stores[] = {NULL, "raw", "z", "gz", "in", "zin", "in", "zin"};
    static const char *const endings[] = {"", "", ".z", ".gz", "", ".z", "", ".z"};
    static const int bits[] = {0, 0, -15, 31, 0, -15, 0, -15};
    old_sha id = old_digest(data, len);
    size_t stored = len;
    uint8_t *packed = bits[form] != 0 ? old_pack(bits[form], data, len, &stored) : NULL;
    const uint8_t *bytes = packed != NULL ? packed : data;
    bool inside = form >= OLD_IN;
    bson_t *doc = bson_new();
    bson_append_binary(doc, "_id", 3, BSON_SUBTYPE_BINARY, id.bytes, sizeof id.bytes);
    if (form < OLD_BARE_IN)
        append_gridfs(doc, endings[form], inside ? 0 : (int64_t)stored);
    if (stores[form] != NULL)
        bson_append_utf8(doc, "store", 5, stores[form], -1);
    if (inside)
        bson_append_binary(doc, "in", 2, BSON_SUBTYPE_BINARY, bytes, (uint32_t)stored);
    else
        insert_chunks(f, &id, bytes, stored);
    append_owner(doc, "refs", owner);
    append_owner(doc, "refHistory", owner);
    old_insert(f, "v7.fs.files", doc);
    ash__free(packed);
    return id;
}

void old_made(fixture *f, const char *collection, const old_sha *id, bson_t *rest, int owner)
{
    bson_t *doc = bson_new();
    bson_append_binary(doc, "_id", 3, BSON_SUBTYPE_BINARY, id->bytes, sizeof id->bytes);
    bson_concat(doc, rest);
    if (owner >= 0) {
        append_owner(doc, "refs", owner);
        append_owner(doc, "refHistory", owner);
    }
    old_insert(f, collection, doc);
    bson_destroy(rest);
}

/* ---- opening and checking ---- */

void old_open(fixture *f)
{
    support_reopen(f);
}

static void add_kind(void *ctx, const char *text, const bson_t *facts)
{
    bson_iter_t it;
    ash_buffer *kinds = ctx;
    (void)text;
    assert_true(bson_iter_init_find(&it, facts, "kind"));
    ash__buffer_printf(kinds, "%s%s", kinds->len > 0 ? ", " : "", bson_iter_utf8(&it, NULL));
}

void old_expect_findings(fixture *f, ash_tree *tree, const char *kinds)
{
    ash_tree_check_options o = ASH_TREE_CHECK_OPTIONS_INIT;
    ash_buffer got = ASH_BUFFER_INIT;
    o.finding = add_kind;
    o.finding_ctx = &got;
    int rc = ash_tree_check(tree, &o, NULL, NULL, &f->err);
    assert_string_equal(ash__buffer_text(&got), kinds);
    assert_int_equal(rc, kinds[0] == '\0' ? 0 : ASH_ECORRUPT);
    ash__buffer_release(&got);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "remove_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fixture_open(fixture *f)
{
    assert_ok(ash_store_open(f->folder, &f->opts, &f->store, &f->err), &f->err);
    assert_ok(ash_collection_new(f->store, "test", "things", &f->c, &f->err), &f->err);
}

void fixture_close(fixture *f)
{
    ash_collection_free(f->c);
    ash_store_close(f->store);
    f->c = NULL;
    f->store = NULL;
}

int fixture_setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    const char *base = getenv("TMPDIR");
    snprintf(f->folder, sizeof f->folder, "%s/ashlar-embedded-XXXXXX",
             base != NULL ? base : "/tmp");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    f->opts.size = sizeof f->opts;
    f->opts.no_server = true;
    f->opts.ttl_interval_ms = 3600 * 1000; /* tests say themselves when to sweep */
    fixture_open(f);
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    fixture *f = *state;
    fixture_close(f);
    remove_folder(f->folder);
    free(f);
    return 0;
}

bson_t *fixture_json(const char *text)
{
    bson_error_t error;
    bson_t *b = bson_new_from_json((const uint8_t *)text, -1, &error);
    if (b == NULL)
        fail_msg("bad JSON in the test: %s: %s", text, error.message);
    return b;
}

int fixture_insert(fixture *f, ash_collection *c, const char *doc)
{
    bson_t *b = fixture_json(doc);
    int rc = ash_collection_insert_one(c, b, NULL, &f->err);
    bson_destroy(b);
    return rc;
}

int64_t fixture_count(fixture *f, ash_collection *c, const char *filter)
{
    bson_t *b = fixture_json(filter);
    int64_t n = -1;
    assert_ok(ash_collection_count(c, b, NULL, &n, &f->err), &f->err);
    bson_destroy(b);
    return n;
}

bson_t *fixture_chunk(int file, int n, int version, size_t bytes)
{
    bson_t *b = bson_new();
    uint8_t *data = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(file * 31 + n * 7 + version * 101 + (int)(i % 253));
    bson_append_int32(b, "_id", -1, file * 1000 + n);
    bson_append_int32(b, "files_id", -1, file);
    bson_append_int32(b, "n", -1, n);
    bson_append_binary(b, "data", -1, BSON_SUBTYPE_BINARY, data, (uint32_t)bytes);
    free(data);
    return b;
}

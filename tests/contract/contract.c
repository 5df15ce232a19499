/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"

#include "remove_folder.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Everything a test asked for, freed at its end. */
static void *kept[4096];
static size_t kept_docs;
static char *texts[4096];
static size_t kept_texts;

static int ask_capabilities(contract *t)
{
    t->can = (ash_capabilities)ASH_CAPABILITIES_INIT;
    return ash_store_capabilities(t->store, &t->can, &t->err);
}

int contract_setup(void **state)
{
    static int number;
    contract *t = calloc(1, sizeof *t);
    const char *uri = getenv("ASH_TEST_STORE");
    if (uri == NULL) {
        const char *base = getenv("TMPDIR");
        snprintf(t->folder, sizeof t->folder, "%s/ashlar-contract-XXXXXX",
                 base != NULL ? base : "/tmp");
        if (mkdtemp(t->folder) == NULL)
            return -1;
        uri = t->folder;
    }
    snprintf(t->db, sizeof t->db, "contract_%d_%d", (int)getpid(), number++);
    if (ash_store_open(uri, NULL, &t->store, &t->err) != 0 ||
        ash_collection_new(t->store, t->db, "things", &t->c, &t->err) != 0 ||
        ask_capabilities(t) != 0) {
        print_error("cannot open %s: %s\n", uri, t->err.text);
        return -1;
    }
    *state = t;
    return 0;
}

int contract_teardown(void **state)
{
    contract *t = *state;
    forget_json();
    while (kept_texts > 0)
        free(texts[--kept_texts]);
    ash_store_drop_database(t->store, t->db, NULL, NULL);
    ash_collection_free(t->c);
    ash_store_close(t->store);
    if (t->folder[0] != '\0')
        remove_folder(t->folder);
    free(t);
    return 0;
}

bson_t *json(const char *text)
{
    bson_error_t error;
    bson_t *b = bson_new_from_json((const uint8_t *)text, -1, &error);
    if (b == NULL)
        fail_msg("bad JSON in the test: %s: %s", text, error.message);
    assert_true(kept_docs < sizeof kept / sizeof kept[0]);
    kept[kept_docs++] = b;
    return b;
}

void forget_json(void)
{
    while (kept_docs > 0)
        bson_destroy(kept[--kept_docs]);
}

static const char *keep_text(char *text)
{
    assert_true(kept_texts < sizeof texts / sizeof texts[0]);
    texts[kept_texts++] = text;
    return text;
}

ash_collection *open_collection(contract *t, const char *name)
{
    ash_collection *c = NULL;
    assert_ok(ash_collection_new(t->store, t->db, name, &c, &t->err), &t->err);
    return c;
}

/* Appends b's JSON without the spaces that libbson puts outside strings. */
static void append_json(char **out, size_t *len, const bson_t *b)
{
    char *text = bson_as_relaxed_extended_json(b, NULL);
    bool quoted = false;
    *out = realloc(*out, *len + strlen(text) + 2);
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"' && (p == text || p[-1] != '\\'))
            quoted = !quoted;
        if (quoted || *p != ' ')
            (*out)[(*len)++] = *p;
    }
    (*out)[*len] = '\0';
    bson_free(text);
}

const char *compact_json(const bson_t *b)
{
    char *out = NULL;
    size_t len = 0;
    append_json(&out, &len, b);
    return keep_text(out);
}

const char *drain(contract *t, ash_cursor *cursor)
{
    char *out = malloc(2);
    size_t len = 1;
    strcpy(out, "[");
    for (;;) {
        ash_doc doc;
        bson_t b;
        assert_ok(ash_cursor_next(cursor, &doc, &t->err), &t->err);
        if (doc.data == NULL)
            break;
        assert_true(bson_init_static(&b, doc.data, doc.len));
        if (len > 1)
            out[len++] = ',';
        append_json(&out, &len, &b);
    }
    ash_cursor_free(cursor);
    out = realloc(out, len + 2);
    strcpy(out + len, "]");
    return keep_text(out);
}

const char *found(contract *t, ash_collection *c, const char *filter, const char *sort,
                  const char *projection, int64_t skip, int64_t limit)
{
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    opts.sort = sort != NULL ? json(sort) : NULL;
    opts.projection = projection != NULL ? json(projection) : NULL;
    opts.skip = skip;
    opts.limit = limit;
    assert_ok(ash_collection_find(c, json(filter), &opts, &cursor, &t->err), &t->err);
    return drain(t, cursor);
}

int insert_json(contract *t, ash_collection *c, const char *doc)
{
    return ash_collection_insert_one(c, json(doc), NULL, &t->err);
}

int update_json(contract *t, ash_collection *c, const char *filter, const char *update,
                ash_update_options *opts, ash_write_result *r)
{
    bson_value_t value = {0};
    bson_t *b = json(update);
    value.value_type = update[0] == '[' ? BSON_TYPE_ARRAY : BSON_TYPE_DOCUMENT;
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(b);
    value.value.v_doc.data_len = b->len;
    return ash_collection_update(c, json(filter), &value, opts, r, &t->err);
}

int index_json(contract *t, ash_collection *c, const char *specs, bson_t *reply)
{
    return ash_collection_create_indexes(c, json(specs), NULL, reply, &t->err);
}

int64_t count_json(contract *t, ash_collection *c, const char *filter)
{
    int64_t n = -1;
    assert_ok(ash_collection_count(c, json(filter), NULL, &n, &t->err), &t->err);
    return n;
}

bson_t *big_document(int32_t n, size_t bytes)
{
    uint8_t *data = malloc(bytes);
    bson_t *b = bson_new();
    assert_true(kept_docs < sizeof kept / sizeof kept[0]);
    kept[kept_docs++] = b;
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)((uint32_t)n * 131u + i * 7u + i / 251u);
    bson_append_int32(b, "_id", -1, n);
    bson_append_binary(b, "data", -1, BSON_SUBTYPE_BINARY, data, (uint32_t)bytes);
    free(data);
    return b;
}

static struct {
    pthread_t thread;
    contract *t;
    int32_t id;
} soon;

static void *insert_in_a_moment(void *arg)
{
    struct timespec pause = {0, 50000000};
    bson_t b = BSON_INITIALIZER;
    (void)arg;
    nanosleep(&pause, NULL);
    bson_append_int32(&b, "_id", -1, soon.id);
    bson_append_int32(&b, "a", -1, 0);
    ash_collection_insert_one(soon.t->c, &b, NULL, NULL);
    bson_destroy(&b);
    return NULL;
}

void insert_soon(contract *t, int32_t id)
{
    soon.t = t;
    soon.id = id;
    assert_int_equal(pthread_create(&soon.thread, NULL, insert_in_a_moment, NULL), 0);
}

void insert_soon_wait(void)
{
    pthread_join(soon.thread, NULL);
}

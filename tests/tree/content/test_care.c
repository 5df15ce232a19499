/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What nobody has goes, and nothing else; what is damaged is told with all that it costs. */

enum { LEN = 30000 };

static void test_content_care__what_nobody_names_goes(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_noise(LEN, 1);
    ash_content_id a = support_put(f, data, LEN, 1, NULL);
    data[5] ^= 1;
    ash_content_id b = support_put(f, data, LEN, 2, &a);
    support_drop(f, 1, &a);
    /* b stands on it */
    assert_int_equal(support_collect(f, false).contents, 0);
    support_drop(f, 2, &b);
    ash_tree_collect_report would = support_collect(f, true);
    assert_int_equal(would.contents, 2);
    assert_int_equal(support_count(f->files), 2);
    ash_tree_collect_report did = support_collect(f, false);
    assert_int_equal(did.contents, 2);
    assert_int_equal(did.bytes, would.bytes);
    assert_true(did.bytes > LEN);
    assert_int_equal(support_count(f->files) + support_count(f->chunks), 0);
    ash__free(data);
}

static void test_content_care__young_contents_stay(void **state)
{
    fixture *f = *state;
    ash_tree_collect_options o = {.size = sizeof o};
    ash_tree_collect_report report = {.size = sizeof report};
    uint8_t *data = support_noise(LEN, 1);
    ash_content_id a = support_put(f, data, LEN, 1, NULL);
    support_drop(f, 1, &a);
    assert_ok(ash__contents_collect(f->contents, &o, NULL, &report, &f->err), &f->err);
    assert_int_equal(report.contents, 0);
    assert_int_equal(report.young, 1);
    ash__free(data);
}

/* What a history names is not garbage, and nothing decides by refs. */
static void test_content_care__a_history_counts(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_noise(LEN, 1);
    ash_content_id a = support_put(f, data, LEN, 1, NULL);
    support_drop(f, 1, &a);
    bson_t *doc = BCON_NEW("_id", "{", "_id", BCON_INT32(1), "_version", BCON_INT32(1), "}");
    bson_append_binary(doc, "sha", 3, BSON_SUBTYPE_BINARY, a.bytes, a.len);
    assert_ok(ash_collection_insert_one(f->history, doc, NULL, &f->err), &f->err);
    bson_destroy(doc);
    assert_int_equal(support_collect(f, false).contents, 0);
    support_expect(f, &a, data, LEN);
    ash__free(data);
}

/* ---- many owners ---- */

typedef struct owners_call {
    fixture *f;
    ash_content_use *uses;
    size_t count;
    bool hold;
} owners_call;

static int change_owners(ash_transaction *t, void *ctx, ash_error *err)
{
    owners_call *call = ctx;
    ash_op op = ASH_OP_INIT;
    op.transaction = t;
    return call->hold ? ash__contents_hold(call->f->contents, call->uses, call->count, &op, err)
                      : ash__contents_let_go(call->f->contents, call->uses, call->count, &op, err);
}

static int64_t list_length(fixture *f, const ash_content_id *id, const char *field)
{
    bson_t *doc = support_document(f, id);
    bson_iter_t it, list;
    int64_t n = 0;
    assert_true(bson_iter_init_find(&it, doc, field) && bson_iter_recurse(&it, &list));
    while (bson_iter_next(&list))
        n++;
    bson_destroy(doc);
    return n;
}

static void test_content_care__any_number_of_owners(void **state)
{
    fixture *f = *state;
    enum { OWNERS = 5 * ASH_REFS_MAX };
    uint8_t *data = support_noise(LEN, 1);
    ash_content_id two[2];
    two[0] = support_put(f, data, LEN, 1000000, NULL);
    two[1] = support_put(f, data, LEN - 1, 1000001, NULL);
    bson_value_t owners[OWNERS];
    ash_content_use uses[2 * OWNERS];
    for (int i = 0; i < OWNERS; i++) {
        owners[i] = (bson_value_t){.value_type = BSON_TYPE_INT32};
        owners[i].value.v_int32 = i;
        uses[2 * i] = (ash_content_use){two[0], &owners[i]};
        uses[2 * i + 1] = (ash_content_use){two[1], &owners[i]};
    }
    owners_call call = {f, uses, 20, true};
    assert_ok(ash_store_transact(f->store, change_owners, &call, NULL, &f->err), &f->err);
    assert_int_equal(list_length(f, &two[0], "refs"), 11);
    for (size_t i = 20; i < 2 * OWNERS; i += 20) {
        call.uses = uses + i;
        assert_ok(ash_store_transact(f->store, change_owners, &call, NULL, &f->err), &f->err);
    }
    assert_in_range(list_length(f, &two[1], "refs"), 50, ASH_REFS_MAX);
    assert_in_range(list_length(f, &two[1], "refHistory"), 50, ASH_REFS_MAX);
    assert_int_equal(support_field(f, &two[1], "refsMore"), 1);
    call = (owners_call){f, uses, 2 * OWNERS, false};
    assert_ok(ash_store_transact(f->store, change_owners, &call, NULL, &f->err), &f->err);
    assert_int_equal(list_length(f, &two[0], "refs"), 1);
    /* One that is not there. */
    two[0].bytes[0] ^= 1;
    const ash_content_use gone = {two[0], &owners[0]};
    call = (owners_call){f, (ash_content_use *)(uintptr_t)&gone, 1, true};
    assert_int_equal(ash_store_transact(f->store, change_owners, &call, NULL, &f->err),
                     ASH_ECONFLICT);
    ash__free(data);
}

/* ---- damage ---- */

static void change(ash_collection *c, const ash_content_id *id, const char *json)
{
    ash_error err = ASH_ERROR_INIT;
    bson_t filter = BSON_INITIALIZER;
    bson_t *update = bson_new_from_json((const uint8_t *)json, -1, NULL);
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(update);
    value.value.v_doc.data_len = update->len;
    bson_append_binary(&filter, c == NULL ? "files_id" : "_id", -1, BSON_SUBTYPE_BINARY, id->bytes,
                       id->len);
    assert_ok(ash_collection_update(c, &filter, &value, NULL, NULL, &err), &err);
    bson_destroy(update);
    bson_destroy(&filter);
}

typedef struct verdicts {
    ash_content_id id[16], because[16];
    int count;
} verdicts;

static int note(void *ctx, const ash_content_verdict *v, ash_error *err)
{
    verdicts *all = ctx;
    (void)err;
    assert_in_range(all->count, 0, 15);
    all->id[all->count] = v->id;
    all->because[all->count++] = v->because != NULL ? *v->because : v->id;
    return 0;
}

static verdicts check(fixture *f, bool deep, int rc)
{
    verdicts all = {.count = 0};
    ash_contents_check k = {.deep = deep, .tell = note, .ctx = &all};
    assert_int_equal(ash__contents_check(f->contents, &k, NULL, &f->err), rc);
    return all;
}

static void test_content_care__damage_to_a_base_names_what_it_costs(void **state)
{
    fixture *f = *state;
    ash_content_id ids[5];
    uint8_t *data = support_noise(5000, 1), *other = support_noise(5000, 2);
    for (int i = 0; i < 5; i++) {
        data[1000 * i] ^= 1;
        ids[i] = support_put(f, data, 5000, 1, i > 0 ? &ids[i - 1] : NULL);
    }
    ash_content_id apart = support_put(f, other, 5000, 2, NULL);
    assert_int_equal(check(f, true, 0).count, 0);
    /* Other bytes in the first one: no error of the store's, and wrong bytes for all. */
    char json[7200], base64[6700];
    memset(base64, 'Q', sizeof base64);
    base64[6668] = '\0';
    snprintf(json, sizeof json,
             "{\"$set\": {\"in\": {\"$binary\": {\"base64\": \"%s\", \"subType\": \"00\"}}, "
             "\"size\": 5001}}",
             base64);
    change(f->files, &ids[0], json);
    verdicts all = check(f, true, 0);
    assert_int_equal(all.count, 5);
    for (int i = 0; i < 5; i++)
        assert_true(ash__content_id_equal(&all.because[i], &ids[0]));
    /* It is gone altogether. */
    bson_t filter = BSON_INITIALIZER;
    bson_append_binary(&filter, "_id", 3, BSON_SUBTYPE_BINARY, ids[0].bytes, ids[0].len);
    assert_ok(ash_collection_remove(f->files, &filter, NULL, NULL, &f->err), &f->err);
    bson_destroy(&filter);
    all = check(f, true, 0);
    assert_int_equal(all.count, 4);
    assert_true(ash__content_id_equal(&all.because[0], &ids[0]));
    all = check(f, false, 0);
    assert_int_equal(all.count, 4); /* without reading, too */
    for (int i = 0; i < 4; i++)
        assert_true(ash__content_id_equal(&all.because[i], &ids[0]));
    uint8_t *out = ash__alloc(5000 + 4099);
    char hex[ASH_DIGEST_TEXT_BYTES];
    assert_int_equal(support_read(f, &ids[4], 5000, out), ASH_ECORRUPT);
    ash__content_id_hex(&ids[0], hex);
    assert_non_null(strstr(f->err.text, hex));
    ash__content_id_hex(&ids[4], hex);
    assert_non_null(strstr(f->err.text, hex));
    support_expect(f, &apart, other, 5000);
    ash__free(out);
    ash__free(data);
    ash__free(other);
}

/* In both descriptions of commits, the number of rows of the tree of databases: nothing that LMDB
 * minds. */
static void miscount_rows(const fixture *f)
{
    static const long places[] = {120, 4216};
    static const uint8_t zeros[8];
    char *path = ash__path_join(f->folder, "meta.mdb");
    FILE *meta = fopen(path, "r+b");
    assert_non_null(meta);
    for (size_t i = 0; i < ASH_ARRAY_LEN(places); i++) {
        assert_int_equal(fseek(meta, places[i], SEEK_SET), 0);
        assert_int_equal(fwrite(zeros, 1, sizeof zeros, meta), sizeof zeros);
    }
    assert_int_equal(fclose(meta), 0);
    ash__free(path);
}

/* Who names a content may be among the rows that are lost. */
static void test_content_care__nothing_goes_on_damaged_metadata(void **state)
{
    fixture *f = *state;
    ash_tree_collect_options o = {.size = sizeof o, .min_age_s = -1};
    ash_tree_collect_report report = {.size = sizeof report};
    uint8_t *data = support_noise(LEN, 1);
    ash_content_id a = support_put(f, data, LEN, 1, NULL);
    data[5] ^= 1;
    ash_content_id b = support_put(f, data, LEN, 2, NULL);
    support_drop(f, 1, &a);
    support_close(f);
    miscount_rows(f);
    support_open(f);
    assert_int_equal(ash__contents_collect(f->contents, &o, NULL, &report, &f->err), ASH_ECORRUPT);
    assert_non_null(strstr(f->err.text, "the metadata is damaged"));
    assert_int_equal(report.contents, 0);
    assert_int_equal(support_count(f->files), 2);
    support_expect(f, &b, data, LEN);
    ash__free(data);
}

/* A base that goes between seal and store: a conflict, and the second seal does without it. */
static void test_content_care__a_base_that_goes(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_noise(LEN, 1);
    ash_content_id a = support_put(f, data, LEN, 1, NULL), b;
    support_drop(f, 1, &a);
    data[77] ^= 1;
    const ash_content_hint hint = {.before = a};
    ash_content_writer *w = NULL;
    ash_content_ref ref;
    assert_ok(ash__content_writer_new(f->contents, &hint, &w, &f->err), &f->err);
    assert_ok(ash__content_writer_add(w, data, LEN, NULL, &f->err), &f->err);
    assert_ok(ash__content_writer_seal(w, NULL, &f->err), &f->err);
    assert_int_equal(support_collect(f, false).contents, 1);
    assert_int_equal(support_store(f, w, 1), ASH_ECONFLICT);
    assert_int_equal(support_count(f->files), 0);
    assert_ok(ash__content_writer_seal(w, NULL, &f->err), &f->err);
    assert_ok(support_store(f, w, 1), &f->err);
    ash__content_writer_ref(w, &ref);
    b = ref.id;
    support_expect(f, &b, data, LEN);
    assert_string_equal(support_store_of(f, &b), "");
    ash__content_writer_free(w);
    ash__free(data);
}

/* The same content from two writers, and one that comes and goes while a writer waits. */
static void test_content_care__two_writers_of_one_content(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_noise(LEN, 1);
    ash_content_writer *w[2];
    for (int i = 0; i < 2; i++) {
        assert_ok(ash__content_writer_new(f->contents, NULL, &w[i], &f->err), &f->err);
        assert_ok(ash__content_writer_add(w[i], data, LEN, NULL, &f->err), &f->err);
        assert_ok(ash__content_writer_seal(w[i], NULL, &f->err), &f->err);
    }
    assert_ok(support_store(f, w[0], 1), &f->err);
    assert_int_equal(support_store(f, w[1], 2), ASH_ECONFLICT);
    assert_ok(ash__content_writer_seal(w[1], NULL, &f->err), &f->err);
    ash_content_ref ref;
    ash__content_writer_ref(w[1], &ref);
    support_drop(f, 1, &ref.id);
    assert_int_equal(support_collect(f, false).contents, 1);
    assert_int_equal(support_store(f, w[1], 2), ASH_ECONFLICT);
    assert_ok(ash__content_writer_seal(w[1], NULL, &f->err), &f->err);
    assert_ok(support_store(f, w[1], 2), &f->err);
    support_expect(f, &ref.id, data, LEN);
    assert_int_equal(support_count(f->files), 1);
    ash__content_writer_free(w[0]);
    ash__content_writer_free(w[1]);
    ash__free(data);
}

/* ---- SHA-1 ---- */

static void test_content_care__sha1_is_not_believed(void **state)
{
    fixture *f = *state;
    static const size_t lengths[] = {300, 9000, 3 * PIECE};
    ash_contents *old = support_contents(f, ASH_DIGEST_SHA1, PIECE);
    for (size_t i = 0; i < ASH_ARRAY_LEN(lengths); i++) {
        uint8_t *data = support_noise(lengths[i], (uint32_t)i + 1);
        ash_content_ref ref;
        assert_ok(support_try(f, old, NULL, data, lengths[i], 1, &ref), &f->err);
        assert_int_equal(ref.id.len, 20);
        assert_ok(support_try(f, old, NULL, data, lengths[i], 2, &ref), &f->err);
        support_expect(f, &ref.id, data, lengths[i]);
        /* Somebody else's bytes under the digest of these. */
        bson_t filter = BSON_INITIALIZER;
        bson_append_binary(&filter, "_id", 3, BSON_SUBTYPE_BINARY, ref.id.bytes, 20);
        assert_ok(ash_collection_remove(f->files, &filter, NULL, NULL, &f->err), &f->err);
        bson_append_utf8(&filter, "store", 5, "in", 2);
        bson_append_binary(&filter, "in", 2, BSON_SUBTYPE_BINARY, (const uint8_t *)"evil", 4);
        assert_ok(ash_collection_insert_one(f->files, &filter, NULL, &f->err), &f->err);
        bson_destroy(&filter);
        assert_int_equal(support_try(f, old, NULL, data, lengths[i], 3, NULL), ASH_ECORRUPT);
        ash__free(data);
    }
    ash__contents_free(old);
}

/* ---- what comes heals what is there ---- */

/* Something of the content is not as it was. */
static void spoil(fixture *f, const ash_content_id *id, int how)
{
    bson_t filter = BSON_INITIALIZER;
    switch (how) {
    case 0: /* other bytes, and no error of the store's */
        change(f->files, id,
               "{\"$set\": {\"store\": \"in\", \"in\": {\"$binary\": {\"base64\": "
               "\"ZXZpbA==\", \"subType\": \"00\"}}}, \"$unset\": {\"size\": 1}}");
        break;
    case 1: /* no form at all */
        change(f->files, id, "{\"$set\": {\"store\": \"lost\"}}");
        break;
    default: /* its chunks are gone */
        bson_append_binary(&filter, "files_id", 8, BSON_SUBTYPE_BINARY, id->bytes, id->len);
        assert_ok(ash_collection_remove(f->chunks, &filter, NULL, NULL, &f->err), &f->err);
    }
    bson_destroy(&filter);
}

/* The same bytes put again are not acknowledged as kept where what is there cannot be read: they
 * take its place, for whoever named it before, too. */
static void test_content_care__a_put_heals_damage(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_noise(LEN, 77);
    ash_content_id id = support_put(f, data, LEN, 1, NULL);
    for (int how = 0; how < 3; how++) {
        uint8_t *out = ash__alloc(LEN + 4099);
        spoil(f, &id, how);
        assert_int_equal(support_read(f, &id, LEN, out), ASH_ECORRUPT);
        ash__free(out);
        /* Wrong bytes are found by reading them, the others without. */
        assert_int_equal(ash__content_probe(f->contents, &id, NULL, NULL),
                         how == 0 ? 0 : ASH_ECORRUPT);
        assert_int_equal(check(f, true, 0).count, 1);
        assert_ok(support_try(f, f->contents, NULL, data, LEN, 2 + how, NULL), &f->err);
        support_expect(f, &id, data, LEN);
        assert_ok(ash__content_probe(f->contents, &id, NULL, &f->err), &f->err);
        assert_int_equal(check(f, true, 0).count, 0);
        assert_int_equal(list_length(f, &id, "refs"), 2 + how);
        assert_int_equal(list_length(f, &id, "refHistory"), 2 + how);
        assert_int_equal(support_count(f->files), 1);
    }
    ash__free(data);
}

/* A delta whose base is damaged is stored as a whole; the base, put again, heals all that stand on
 * it, and is made of none of them. */
static void test_content_care__a_base_heals_what_stands_on_it(void **state)
{
    fixture *f = *state;
    enum { VERSIONS = 4 };
    ash_content_id ids[VERSIONS];
    uint8_t *data = support_noise(LEN, 5);
    for (int i = 0; i < VERSIONS; i++) {
        data[100] = (uint8_t)i;
        ids[i] = support_put(f, data, LEN, 1, i > 0 ? &ids[i - 1] : NULL);
    }
    assert_string_equal(support_store_of(f, &ids[1]), "delta");
    assert_string_equal(support_store_of(f, &ids[3]), "delta");
    assert_ok(ash__content_probe(f->contents, &ids[3], NULL, &f->err), &f->err);
    spoil(f, &ids[0], 2);
    assert_int_equal(ash__content_probe(f->contents, &ids[3], NULL, NULL), ASH_ECORRUPT);
    spoil(f, &ids[0], 1);
    assert_int_equal(ash__content_probe(f->contents, &ids[3], NULL, NULL), ASH_ECORRUPT);
    assert_int_equal(check(f, true, 0).count, VERSIONS);
    data[100] = 3;
    support_put(f, data, LEN, 2, NULL);
    support_expect(f, &ids[3], data, LEN);
    assert_string_not_equal(support_store_of(f, &ids[3]), "delta");
    assert_int_equal(check(f, true, 0).count, VERSIONS - 1);
    data[100] = 0;
    support_put(f, data, LEN, 3, &ids[1]);
    assert_string_not_equal(support_store_of(f, &ids[0]), "delta");
    assert_int_equal(check(f, true, 0).count, 0);
    for (int i = 0; i < VERSIONS; i++) {
        data[100] = (uint8_t)i;
        support_expect(f, &ids[i], data, LEN);
    }
    ash__free(data);
}

/* Nothing is made of bytes that are not what their digest says, or it would be damaged when they are
 * healed. */
static void test_content_care__nothing_stands_on_wrong_bytes(void **state)
{
    fixture *f = *state;
    enum { SHORT = 5000, SOME = 1000 };
    bson_t update = BSON_INITIALIZER, filter = BSON_INITIALIZER, set;
    uint8_t *data = support_noise(SHORT, 21), *wrong = support_noise(SHORT, 21);
    memset(wrong + SOME, 0, SOME);
    memcpy(wrong + SOME, data, SOME / 2);
    ash_content_id base = support_put(f, data, SHORT, 1, NULL);
    bson_append_binary(&filter, "_id", 3, BSON_SUBTYPE_BINARY, base.bytes, base.len);
    bson_append_document_begin(&update, "$set", 4, &set);
    bson_append_binary(&set, "in", 2, BSON_SUBTYPE_BINARY, wrong, SHORT);
    bson_append_document_end(&update, &set);
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(&update);
    value.value.v_doc.data_len = update.len;
    assert_ok(ash_collection_update(f->files, &filter, &value, NULL, NULL, &f->err), &f->err);
    ash_content_id next = support_put(f, wrong, SHORT - 1, 2, &base);
    support_expect(f, &next, wrong, SHORT - 1);
    support_put(f, data, SHORT, 3, NULL);
    support_expect(f, &base, data, SHORT);
    support_expect(f, &next, wrong, SHORT - 1);
    assert_int_equal(check(f, true, 0).count, 0);
    bson_destroy(&update);
    bson_destroy(&filter);
    ash__free(wrong);
    ash__free(data);
}

/* What is too much for a transaction is stored before it, and takes the damaged one's place all the
 * same. */
static void test_content_care__a_large_put_heals_damage(void **state)
{
    fixture *f = *state;
    enum { LARGE = 3 * 1024 * 1024 };
    ash_contents *all[] = {support_contents(f, ASH_DIGEST_SHA256, 2 * LARGE),
                           support_contents(f, ASH_DIGEST_SHA1, PIECE)};
    uint8_t *data = support_noise(LARGE, 6);
    for (size_t i = 0; i < ASH_ARRAY_LEN(all); i++) {
        ash_content_ref ref;
        assert_ok(support_try(f, all[i], NULL, data, LARGE, 1, &ref), &f->err);
        spoil(f, &ref.id, 2);
        assert_ok(support_try(f, all[i], NULL, data, LARGE, 2, NULL), &f->err);
        support_expect(f, &ref.id, data, LARGE);
        assert_int_equal(list_length(f, &ref.id, "refs"), 2);
        ash__contents_free(all[i]);
    }
    ash__free(data);
}

/* v7files of its day has to read them: raw, deflated or within, and nothing of ours. */
static void test_content_care__sha1_trees_keep_the_seeds_forms(void **state)
{
    fixture *f = *state;
    static const size_t lengths[] = {19, 20, 5000, 100000, 3 * PIECE};
    ash_contents *old = support_contents(f, ASH_DIGEST_SHA1, PIECE);
    ash_content_id before = {.len = 0};
    for (size_t i = 0; i < 2 * ASH_ARRAY_LEN(lengths); i++) {
        size_t len = lengths[i / 2];
        uint8_t *data = i % 2 ? support_text(len, (uint32_t)i) : support_noise(len, (uint32_t)i);
        const ash_content_hint hint = {.before = before, .filename = "old.txt"};
        ash_content_ref ref;
        assert_ok(support_try(f, old, &hint, data, len, 1, &ref), &f->err);
        assert_int_equal(ref.id.len, len < 20 ? 0 : 20);
        before = ref.id;
        if (len >= 20) {
            const char *store = support_store_of(f, &ref.id);
            assert_true(strcmp(store, "") == 0 || strcmp(store, "z") == 0 ||
                        strcmp(store, "in") == 0 || strcmp(store, "zin") == 0);
            support_expect(f, &ref.id, data, len);
        }
        ash__free(data);
    }
    ash__contents_free(old);
}

/* ---- collecting beside writers ---- */

enum { WRITERS = 3, CONTENTS = 6 };
static const int64_t RUN_MS = 4000;

typedef struct busy {
    fixture *f;
    int number;
    atomic_bool *stop;
    int puts, failures;
    ash_error err;
} busy;

/* Few contents, so that writers find what the collector is about to take. */
static void *write_and_drop(void *arg)
{
    busy *b = arg;
    fixture mine = *b->f;
    ash_content_id before = {.len = 0};
    while (!atomic_load(b->stop)) {
        uint32_t which = (uint32_t)(b->puts % CONTENTS);
        size_t len = which == 0 ? 2 * PIECE : LEN;
        uint8_t *data = support_noise(len, 1 + which / 3), *out = ash__alloc(len + 5000);
        data[which * 100] ^= 1;
        const ash_content_hint hint = {.before = before};
        ash_content_ref ref;
        int rc = support_try(&mine, mine.contents, &hint, data, len, b->number, &ref);
        /* Pieces that a collection of any age took while they waited for their list. */
        if (rc == ASH_ECONFLICT && which == 0)
            rc = 0;
        else if (rc == 0)
            rc = support_read(&mine, &ref.id, (int64_t)len, out);
        if (rc == 0 && ref.id.len != 0)
            b->failures += which != 0 && memcmp(out, data, len) != 0;
        if (rc != 0) {
            b->failures++;
            b->err = mine.err;
        }
        before = ref.id;
        b->puts++;
        ash__free(out);
        ash__free(data);
    }
    return NULL;
}

static void test_content_care__collecting_beside_writers(void **state)
{
    fixture *f = *state;
    atomic_bool stop = false;
    busy all[WRITERS];
    pthread_t threads[WRITERS];
    int64_t end = ash__clock_ms() + RUN_MS, gone = 0;
    for (int i = 0; i < WRITERS; i++) {
        all[i] = (busy){.f = f, .number = i, .stop = &stop};
        assert_int_equal(ash__thread_start(&threads[i], 0, write_and_drop, &all[i]), 0);
    }
    while (ash__clock_ms() < end)
        gone += support_collect(f, false).contents;
    atomic_store(&stop, true);
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < WRITERS; i++) {
        if (all[i].failures > 0)
            fail_msg("writer %d: %d of %d failed: %s", i, all[i].failures, all[i].puts,
                     all[i].err.text);
        assert_true(all[i].puts > 0);
    }
    assert_true(gone > 0);
    assert_int_equal(check(f, true, 0).count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_content_care__what_nobody_names_goes, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_care__young_contents_stay, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_care__a_history_counts, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_care__any_number_of_owners, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_care__damage_to_a_base_names_what_it_costs,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_care__nothing_goes_on_damaged_metadata,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_care__a_base_that_goes, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_care__two_writers_of_one_content,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_care__sha1_is_not_believed, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_care__a_put_heals_damage, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_care__a_base_heals_what_stands_on_it,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_care__nothing_stands_on_wrong_bytes,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_care__a_large_put_heals_damage, support_setup,
                                        support_teardown),
        cmocka_unit_test_setup_teardown(test_content_care__sha1_trees_keep_the_seeds_forms,
                                        support_setup, support_teardown),
        cmocka_unit_test_setup_teardown(test_content_care__collecting_beside_writers, support_setup,
                                        support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/named.h"
#include "tree/content/source.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

/* Looking at every content.  What is found is told with the content whose fault it is: a base that
 * is damaged costs each version that stands on it, and each of them is named. */

enum { BUFFER_BYTES = 64 * 1024, LOOKS = 3, REMEMBERED_MAX = 1 << 18 };
/* What is longer is not read for nothing. */
static const int64_t LONG_BYTES = 64 * 1024 * 1024;

/* A content that was told, and whose fault it is. */
typedef struct told {
    ash_content_id id, because;
} told;

typedef struct checking {
    ash_contents *c;
    ash_contents_check *check;
    ash_op op;
    ash_fetch fetch;
    uint8_t *buffer;
    ash_id_set good,
        bad; /* of what was read, so that it is not read again for each that names it */
    /* Without reading: what stands on these is damaged, too. */
    told *told;
    size_t told_count, told_capacity;
    ash_error *err;
} checking;

static void remember(ash_id_set *set, const ash_content_id *id)
{
    if (set->count < REMEMBERED_MAX)
        ash__id_set_add(set, id);
}

static int tell(checking *k, const ash_content_id *id, const ash_content_id *because,
                const char *text)
{
    const ash_content_verdict verdict = {*id, because, text};
    return k->check->tell != NULL ? k->check->tell(k->check->ctx, &verdict, k->err) : 0;
}

/* Of a content that cannot be read, as far as rows tell. */
static int tell_unreadable(checking *k, const ash_content_id *id, const ash_content_id *because,
                           const char *text)
{
    if (!k->check->deep && k->told_count < REMEMBERED_MAX) {
        k->told = ash__grow_array(k->told, k->told_count, &k->told_capacity, sizeof *k->told);
        k->told[k->told_count++] = (told){*id, because != NULL ? *because : *id};
    }
    remember(&k->bad, id);
    return tell(k, id, because, text);
}

/* ---- bytes ---- */

/* Reads a content to its end.  ASH_ECORRUPT: not what its digest says; k->fetch.blamed: whose
 * fault. */
static int read_whole(checking *k, ash_source *s, const ash_content_id *id, int64_t *bytes,
                      ash_error *err)
{
    ash_digest *digest = ash__content_digest_new(id);
    size_t got = 1;
    int64_t length = s->length;
    int rc = 0;
    while (rc == 0 && got > 0) {
        rc = ash__source_read(s, k->buffer, BUFFER_BYTES, &got, err);
        if (rc == 0 && got > 0)
            ash__digest_add(digest, k->buffer, got);
        *bytes += (int64_t)got;
    }
    bool gives = ash__content_digest_gives(digest, id);
    if (rc == 0 && length >= 0 && s->position != length)
        rc = ash__fail(err, ASH_ECORRUPT, "has %lld bytes, not %lld", (long long)s->position,
                       (long long)length);
    if (rc == 0 && !gives)
        rc = ash__fail(err, ASH_ECORRUPT, "its bytes do not give its digest");
    return rc;
}

static int read_content(checking *k, const ash_content_id *id, int64_t *bytes, ash_error *err)
{
    ash_source *s = NULL;
    int rc = ASH_ECONFLICT;
    for (int i = 0; rc == ASH_ECONFLICT && i < 5; i++) {
        ash__fetch_forgive(&k->fetch);
        rc = ash__source_open(&k->fetch, id, &s, err);
    }
    if (rc == 0)
        rc = read_whole(k, s, id, bytes, err);
    ash__source_free(s);
    if (rc == 0 || rc == ASH_ECORRUPT)
        remember(rc == 0 ? &k->good : &k->bad, id);
    return rc;
}

typedef struct bases {
    ash_content_id *ids;
    size_t count, capacity;
} bases;

static void add_base(void *ctx, const ash_content_id *base)
{
    bases *b = ctx;
    b->ids = ash__grow_array(b->ids, b->count, &b->capacity, sizeof *b->ids);
    b->ids[b->count++] = *base;
}

/* *blamed: what of it is, where that is known. */
static bool is_damaged(checking *k, const ash_content_id *id, ash_content_id *blamed)
{
    int64_t bytes = 0;
    if (ash__id_set_has(&k->good, id))
        return false;
    if (ash__id_set_has(&k->bad, id))
        return true;
    int rc = read_content(k, id, &bytes, NULL);
    if (rc == ASH_ECORRUPT && k->fetch.blamed.len != 0)
        *blamed = k->fetch.blamed;
    return rc == ASH_ECORRUPT;
}

/* Bytes that come out wrong without an error may be wrong further down already: what is wrong
 * furthest down is to blame. */
static int find_fault(checking *k, const ash_content_id *id, int level, ash_content_id *fault)
{
    bson_t doc;
    bool found = false;
    bases b = {0};
    int rc = ash__find_content(k->c, id, &k->op, &doc, &found, k->err);
    if (rc != 0 || !found || level > ASH_DELTA_LEVELS_MAX)
        return rc;
    ash__content_bases(ash__doc_from_bson(&doc), add_base, &b);
    bson_destroy(&doc);
    for (size_t i = 0; rc == 0 && i < b.count; i++) {
        ash_content_id blamed = b.ids[i];
        if (!is_damaged(k, &b.ids[i], &blamed)) {
            rc = ash__op_check(&k->op, k->err);
            continue;
        }
        *fault = blamed;
        rc = find_fault(k, &blamed, level + 1, fault);
        break;
    }
    ash__free(b.ids);
    return rc;
}

static bool is_whole(checking *k, const ash_form_part *part)
{
    ash_form form;
    bson_t doc;
    bool found = false;
    if (ash__find_content(k->c, &part->id, &k->op, &doc, &found, NULL) != 0 || !found)
        return false;
    bool whole = ash__form_read(&doc, &form, NULL) == 0 && part->off == 0 && !part->zipped &&
                 form.size >= 0 && form.size <= part->len;
    ash__form_release(&form);
    bson_destroy(&doc);
    return whole;
}

/* All of something that is known to be damaged is in it. */
static bool has_damage(checking *k, const ash_form *form)
{
    if (form->kind != ASH_FORM_CAT || form->size < LONG_BYTES)
        return false;
    for (size_t i = 0; i < form->part_count; i++)
        if (ash__id_set_has(&k->bad, &form->parts[i].id) && is_whole(k, &form->parts[i]))
            return true;
    return false;
}

static int tell_damage(checking *k, const ash_content_id *id)
{
    ash_content_id fault = *id;
    int rc = find_fault(k, id, 0, &fault);
    remember(&k->bad, id);
    return rc == 0 ? tell(k, id, &fault, "what it is made of is damaged") : rc;
}

static int check_bytes(checking *k, const ash_content_id *id)
{
    ash_error own = ASH_ERROR_INIT;
    int64_t bytes = 0;
    int rc = read_content(k, id, &bytes, &own);
    k->check->bytes += bytes;
    if (rc == 0)
        return 0;
    if (rc != ASH_ECORRUPT && rc != ASH_EUNSUPPORTED)
        return ash__unless(0, rc, &own, k->err);
    ash_content_id fault = k->fetch.blamed.len != 0 ? k->fetch.blamed : *id;
    rc = ash__content_id_equal(&fault, id) ? find_fault(k, id, 0, &fault) : 0;
    if (rc != 0)
        return rc;
    return tell(k, id, ash__content_id_equal(&fault, id) ? NULL : &fault, own.text);
}

/* ---- documents ---- */

static int check_bases(checking *k, ash_doc doc, const ash_content_id *id)
{
    bases b = {0};
    ash_id_set there = {0};
    int rc = 0;
    ash__content_bases(doc, add_base, &b);
    for (size_t i = 0; rc == 0 && i < b.count; i += ASH_CONTENT_IDS_AT_ONCE) {
        size_t n = b.count - i < ASH_CONTENT_IDS_AT_ONCE ? b.count - i : ASH_CONTENT_IDS_AT_ONCE;
        rc = ash__contents_there(k->c, b.ids + i, n, &there, &k->op, k->err);
    }
    for (size_t i = 0; rc == 0 && i < b.count; i++)
        if (!ash__id_set_has(&there, &b.ids[i])) {
            rc = tell_unreadable(k, id, &b.ids[i], "what it is made of is missing");
            break;
        }
    ash__id_set_release(&there);
    ash__free(b.ids);
    return rc;
}

/* {_id: {$in: [the first refs]}, sha: the content}; how many there are of them. */
static int64_t filter_owners(ash_doc doc, const ash_content_id *id, bson_t *filter)
{
    bson_t in, list, view;
    bson_iter_t it, refs;
    char buf[ASH_KEY_CHARS];
    const char *key;
    uint32_t n = 0;
    ash__doc_to_bson(doc, &view);
    bson_append_document_begin(filter, "_id", 3, &in);
    bson_append_array_begin(&in, "$in", 3, &list);
    if (bson_iter_init_find(&it, &view, "refs") && BSON_ITER_HOLDS_ARRAY(&it) &&
        bson_iter_recurse(&it, &refs))
        while (n < ASH_REFS_MAX && bson_iter_next(&refs)) {
            bson_uint32_to_string(n++, &key, buf, sizeof buf);
            bson_append_iter(&list, key, -1, &refs);
        }
    bson_append_array_end(&in, &list);
    bson_append_document_end(filter, &in);
    ash__append_id(filter, "sha", id);
    return n;
}

static int count_owners(checking *k, ash_doc doc, const ash_content_id *id, bool *good)
{
    ash_count_options o = ASH_COUNT_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER;
    int64_t said = filter_owners(doc, id, &filter), are = 0;
    int rc = 0;
    o.op = k->op;
    if (said > 0)
        rc = ash_collection_count(k->c->holders[0], &filter, &o, &are, k->err);
    *good = are >= said;
    bson_destroy(&filter);
    return rc;
}

/* Each entry among `refs` has it: a content that nobody has would seem to be in use for v7files.
 * Somebody may change both between one look and the next: what is wrong has to be so again. */
static int check_refs(checking *k, ash_doc doc, const ash_content_id *id)
{
    bool good = true;
    if (!k->check->refs || k->c->holders[0] == NULL || k->c->last_generation)
        return 0;
    int rc = count_owners(k, doc, id, &good);
    for (int i = 0; rc == 0 && !good && i < LOOKS; i++) {
        bson_t again;
        bool found = false;
        rc = ash__find_content(k->c, id, &k->op, &again, &found, k->err);
        if (rc != 0 || !found)
            return rc;
        rc = count_owners(k, ash__doc_from_bson(&again), id, &good);
        bson_destroy(&again);
    }
    return rc == 0 && !good ? tell(k, id, NULL, "its refs have an entry that does not have it")
                            : rc;
}

static int check_form(checking *k, ash_doc doc, const ash_content_id *id)
{
    ash_error own = ASH_ERROR_INIT;
    ash_form form;
    bson_t view;
    ash__doc_to_bson(doc, &view);
    int rc = ash__form_read(&view, &form, &own);
    bool damaged = rc == 0 && k->check->deep && has_damage(k, &form);
    ash__form_release(&form);
    if (rc != 0)
        return tell_unreadable(k, id, NULL, own.text);
    if (damaged)
        rc = tell_damage(k, id);
    else
        rc = k->check->deep ? check_bytes(k, id) : check_bases(k, doc, id);
    return rc == 0 ? check_refs(k, doc, id) : rc;
}

static int check_document(checking *k, ash_doc doc)
{
    ash_content_id id;
    k->check->checked++;
    if (!ash__content_id_from(ash__doc_get(doc, "_id"), &id))
        return tell(k, &id, NULL, "a content's _id is no digest");
    int rc = check_form(k, doc, &id);
    /* What had to be asked for cannot be read. */
    return rc == ASH_ECORRUPT ? tell(k, &id, NULL, k->err->text) : rc;
}

/* What names the content under this field, and was not told yet. */
static int tell_standing(checking *k, told on, const char *field)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER;
    bson_t *projection = BCON_NEW("_id", BCON_INT32(1));
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    ash_content_id id;
    o.op = k->op;
    o.projection = projection;
    ash__append_id(&filter, field, &on.id);
    int rc = ash_collection_find(k->c->files, &filter, &o, &cursor, k->err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, k->err)) == 0 && doc.data != NULL)
        if (ash__content_id_from(ash__doc_get(doc, "_id"), &id) && !ash__id_set_has(&k->bad, &id))
            rc = tell_unreadable(k, &id, &on.because, "what it is made of is damaged");
    ash_cursor_free(cursor);
    bson_destroy(projection);
    bson_destroy(&filter);
    return rc;
}

/* Who reads finds all that damage costs; rows alone tell what is damaged itself.  So what stands on
 * it is looked for, and what stands on that. */
static int spread(checking *k)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < k->told_count; i++) {
        rc = tell_standing(k, k->told[i], "base._id");
        if (rc == 0)
            rc = tell_standing(k, k->told[i], "alt.base._id");
        if (rc == 0)
            rc = ash__op_check(&k->op, k->err);
    }
    return rc;
}

static int check_all(checking *k)
{
    static const ash_content_id unknown = {.len = 0};
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    bson_t all = BSON_INITIALIZER;
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    bool ends = false;
    o.op = k->op;
    o.past_damage = true;
    int rc = ash_store_capabilities(k->c->store, &can, k->err);
    if (rc == 0)
        rc = ash_collection_find(k->c->files, &all, &o, &cursor, k->err);
    while (rc == 0 && !ends) {
        rc = ash_cursor_next(cursor, &doc, k->err);
        ends = rc == 0 && doc.data == NULL;
        if (rc == ASH_ECORRUPT && can.past_damage)
            rc = tell(k, &unknown, NULL, k->err->text);
        else if (rc == 0 && !ends)
            rc = check_document(k, doc);
        if (rc == 0)
            rc = ash__op_check(&k->op, k->err);
    }
    ash_cursor_free(cursor);
    bson_destroy(&all);
    return rc;
}

int ash__contents_check(ash_contents *c, ash_contents_check *check, const ash_op *op,
                        ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    checking k = {.c = c, .check = check, .err = &own};
    check->checked = check->bytes = 0;
    int rc = ash__contents_op(op, &k.op, &own);
    if (rc == 0)
        rc = ash__fetch_init(&k.fetch, c, op, &own);
    k.buffer = ash__alloc(BUFFER_BYTES);
    if (rc == 0)
        rc = check_all(&k);
    if (rc == 0)
        rc = spread(&k);
    ash__free(k.told);
    ash__fetch_release(&k.fetch);
    ash__id_set_release(&k.good);
    ash__id_set_release(&k.bad);
    ash__free(k.buffer);
    return ash__unless(0, rc, &own, err);
}

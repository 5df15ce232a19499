/* SPDX-License-Identifier: Apache-2.0 */
/* Looking for damage: what documents say of one another, then contents.
 *
 * Documents come in the order of folder and name, so that two of one name stand side by side; all
 * that is looked up of them is so by _id.  Each content that does not give its digest is then traced
 * to the versions that it costs, by the indexes that collection uses too. */
#include "tree/history.h"
#include "tree/places.h"
#include "tree/quota.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/options.h"
#include "bucket/bucket.h"
#include "tree/acl.h"
#include "tree/subtree.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 500, PROGRESS_EVERY = 256, PATH_SHOWN = 256 };

typedef struct check_call {
    ash_tree *tree;
    ash_tree_check_options opts;
    ash_op op;
    ash_tree_check_report report;
    ash_tree_places *places;
    ash_tree_entries named; /* entries whose contents are still to be looked up */
    bool warned;            /* of indexes that are not there, if so */
    bool unsound;           /* rows of the metadata are damaged */
    bool past_damage;       /* finds go on behind what cannot be read */
} check_call;

static void find(check_call *call, const char *kind, const ash_tree_entry *e, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

static void find(check_call *call, const char *kind, const ash_tree_entry *e, const char *format,
                 ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    call->report.findings++;
    if (call->opts.finding == NULL)
        return;
    bson_t facts = BSON_INITIALIZER;
    BSON_APPEND_UTF8(&facts, "text", text);
    BSON_APPEND_UTF8(&facts, "kind", kind);
    if (e != NULL) {
        BSON_APPEND_VALUE(&facts, "id", &e->id);
        BSON_APPEND_INT32(&facts, "version", e->version);
        if (e->path != NULL)
            BSON_APPEND_UTF8(&facts, "path", e->path);
    }
    call->opts.finding(call->opts.finding_ctx, text, &facts);
    bson_destroy(&facts);
}

/* ---- contents that documents name ---- */

/* The version is there still, and has the content: else what was found is of a moment that nobody
 * sees any more. */
static int is_there_still(check_call *call, const ash_tree_entry *e, bool *still, ash_error *err)
{
    ash_tree_entry *now = NULL;
    int rc = ash__tree_version(call->tree, &e->id, e->version, &call->op, &now, err);
    *still = now != NULL && ash__content_id_equal(&now->content.id, &e->content.id);
    ash_tree_entry_free(now);
    return rc;
}

/* What cannot be asked for is a finding as well. */
static int tell_unreadable(check_call *call, const ash_tree_entry *e, int rc, const ash_error *what,
                           ash_error *err)
{
    if (rc != ASH_ECORRUPT)
        return ash__unless(0, rc, what, err);
    find(call, "content damaged", e, "%s, version %" PRId32 ": %s", e->path, e->version,
         what->text);
    return 0;
}

static int tell_standing(check_call *call, const ash_tree_entry *e, bool current, ash_error *err)
{
    const ash_content_use use = {e->content.id, &e->id};
    ash_error own = ASH_ERROR_INIT;
    ash_content_standing standing = ASH_CONTENT_THERE;
    bool still = false;
    int rc = is_there_still(call, e, &still, &own);
    if (rc == 0 && still)
        rc = ash__contents_look_up(call->tree->contents, &use, 1, &standing, &call->op, &own);
    if (rc != 0)
        return tell_unreadable(call, e, rc, &own, err);
    if (rc == 0 && standing == ASH_CONTENT_MISSING)
        find(call, "content missing", e, "%s, version %" PRId32 ": its content %s is missing",
             e->path, e->version, e->digest);
    else if (rc == 0 && standing == ASH_CONTENT_UNLISTED && current)
        find(call, "content damaged", e,
             "%s, version %" PRId32 ": content %s: its refs lack an entry that has it", e->path,
             e->version, e->digest);
    return rc;
}

static int look_up_named(check_call *call, bool current, ash_error *err)
{
    size_t used;
    ash_content_use *uses = ash__content_uses(call->named.items, call->named.count, &used);
    ash_content_standing *standings = ash__alloc_array(used + 1, sizeof *standings);
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__contents_look_up(call->tree->contents, uses, used, standings, &call->op, &own);
    bool alone = rc == ASH_ECORRUPT; /* one of them cannot be read: each by itself */
    rc = alone ? 0 : ash__unless(0, rc, &own, err);
    for (size_t i = 0, k = 0; rc == 0 && i < call->named.count; i++) {
        const ash_tree_entry *e = call->named.items[i];
        ash_content_standing standing = e->content.id.len != 0 ? standings[k++] : ASH_CONTENT_THERE;
        if ((alone && e->content.id.len != 0) || standing == ASH_CONTENT_MISSING ||
            (standing == ASH_CONTENT_UNLISTED && current))
            rc = tell_standing(call, e, current, err);
    }
    ash__free(standings);
    ash__free(uses);
    ash__entries_release(&call->named);
    return rc;
}

/* Takes the entry over. */
static int remember_named(check_call *call, ash_tree_entry *e, bool current, ash_error *err)
{
    if (e->content.id.len == 0) {
        ash_tree_entry_free(e);
        return 0;
    }
    ash__entries_add(&call->named, e);
    return call->named.count >= BATCH ? look_up_named(call, current, err) : 0;
}

/* ---- documents ---- */

static int find_place(check_call *call, ash_tree_entry *e, const ash_tree_place **place,
                      ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__places_find(call->places, e, place, &own);
    if (rc == 0)
        ash__place_set_path(*place, e);
    else
        ash__entry_set_path(e, ASH_TREE_NOWHERE);
    if (rc != ASH_ECORRUPT)
        return ash__unless(0, rc, &own, err);
    *place = NULL;
    find(call, "folder damaged", e, "%s: where it lies cannot be read: %s", e->path, own.text);
    return 0;
}

static int check_place(check_call *call, ash_tree_entry *e, bool current, ash_error *err)
{
    const ash_tree_place *place = NULL;
    if (e->parent.value_type == BSON_TYPE_EOD) {
        e->path = ash__strdup(e->is_deleted ? "a deletion" : "/");
        return 0;
    }
    int rc = find_place(call, e, &place, err);
    if (rc != 0 || place == NULL)
        return rc;
    if (current && !place->anchored)
        find(call, "folder missing", e, "%s: a folder above it is missing", e->path);
    else if (current && place->deleted)
        find(call, "folder deleted", e, "%s is there, but a folder above it is deleted", e->path);
    else if (current && place->in_file)
        find(call, "folder is a file", e, "%s lies in something that is a file", e->path);
    else if (current && ash__place_is_last(place, e))
        find(call, "path", e, "no path leads to %.*s, nor to what lies in it: it would be too long",
             PATH_SHOWN, e->name);
    return 0;
}

static void check_name(check_call *call, const ash_tree_entry *before, const ash_tree_entry *e)
{
    if (e->parent.value_type == BSON_TYPE_EOD)
        return;
    if (e->name[0] == '\0' || strchr(e->name, '/') != NULL)
        find(call, "name", e, "%s: no path leads to an entry of that name", e->path);
    if (before != NULL && before->parent.value_type != BSON_TYPE_EOD &&
        ash__same_id(&before->parent, &e->parent) && strcmp(before->name, e->name) == 0)
        find(call, "name taken twice", e, "%s: two entries have that name", e->path);
}

static int tick(check_call *call, ash_error *err)
{
    int64_t done = call->report.entries + call->report.versions;
    if (call->opts.progress != NULL && done % PROGRESS_EVERY == 0 &&
        !call->opts.progress(call->opts.progress_ctx, "documents", done, 0))
        return ash__fail(err, ASH_EINTERRUPTED, "the check was stopped");
    return 0;
}

/* One document; *before: the one in front of it, which this one takes the place of. */
static int check_document(check_call *call, const bson_t *doc, bool current,
                          ash_tree_entry **before, ash_error *err)
{
    ash_tree_entry *e = NULL;
    ash_error own = ASH_ERROR_INIT;
    *(current ? &call->report.entries : &call->report.versions) += 1;
    if (ash__entry_new(bson_copy(doc), &e, &own) != 0) {
        find(call, "document", NULL, "%s", own.text);
        return tick(call, err);
    }
    int rc = check_place(call, e, current, err);
    if (rc == 0 && current)
        check_name(call, *before, e);
    ash_tree_entry_free(*before);
    *before = rc == 0 ? ash_tree_entry_copy(e) : NULL;
    if (rc == 0)
        rc = remember_named(call, e, current, err);
    else
        ash_tree_entry_free(e);
    return rc == 0 ? tick(call, err) : rc;
}

/* A walk over all documents of a collection: in the order of folders and names, which an index has
 * of what lies in a folder (a sort holds but 100 MB), and then over what lies in none.  Where the metadata is damaged, by the index on _id, which leads to each document without
 * passing over others; where that ends, what lies behind is looked for among all documents. */
typedef struct walk {
    bool current;
    ash_cursor *cursor;
    ash_tree_entry *before; /* the last that could be read; by name only */
    bson_value_t last;      /* its _id; EOD: none */
    bool by_id, natural;
    bool roots;  /* what lies in no folder */
    bool broken; /* what came last was an error */
    bool ends;
} walk;

/* {_id: {$gt: ID}}; texts, which name roots, come before other ids. */
static void filter_behind(const bson_value_t *id, bson_t *filter)
{
    bson_t any, way, range;
    bson_append_array_begin(filter, "$or", 3, &any);
    bson_append_document_begin(&any, "0", 1, &way);
    bson_append_document_begin(&way, "_id", 3, &range);
    bson_append_value(&range, "$gt", 3, id);
    bson_append_document_end(&way, &range);
    bson_append_document_end(&any, &way);
    if (id->value_type == BSON_TYPE_UTF8) {
        bson_append_document_begin(&any, "1", 1, &way);
        BCON_APPEND(&way, "_id", "{", "$type", BCON_UTF8("objectId"), "}");
        bson_append_document_end(&any, &way);
    }
    bson_append_array_end(filter, &any);
}

static int open_walk(check_call *call, walk *w, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t *names = BCON_NEW("parent", BCON_INT32(1), "filename", BCON_INT32(1));
    bson_t *id = BCON_NEW("_id", BCON_INT32(1)), *natural = BCON_NEW("$natural", BCON_INT32(1));
    bson_t *by = w->by_id ? id : natural;
    bson_value_t hint = {.value_type = BSON_TYPE_DOCUMENT};
    ash_find_options o = ash__tree_find_options(&call->op);
    hint.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(by);
    hint.value.v_doc.data_len = by->len;
    bool by_name = w->current && !w->by_id && !w->natural && !w->roots;
    if (w->natural && w->last.value_type != BSON_TYPE_EOD)
        filter_behind(&w->last, &filter);
    if (by_name || w->roots)
        BCON_APPEND(&filter, "parent", "{", "$exists", BCON_BOOL(!w->roots), "}");
    o.sort = w->by_id ? id : by_name ? names : NULL;
    o.hint = w->by_id || w->natural ? &hint : NULL;
    o.allow_disk_use = o.past_damage = true;
    ash_cursor_free(w->cursor);
    w->cursor = NULL;
    int rc = ash_collection_find(w->current ? call->tree->current : call->tree->past, &filter, &o,
                                 &w->cursor, err);
    bson_destroy(natural);
    bson_destroy(id);
    bson_destroy(names);
    bson_destroy(&filter);
    return rc;
}

/* Where the last thing was an error, the index may have ended there, and not the documents. */
static int end_walk(check_call *call, walk *w, ash_error *err)
{
    w->ends = !w->broken || !w->by_id;
    w->natural = !w->ends;
    w->by_id = false;
    return w->ends ? 0 : open_walk(call, w, err);
}

static int take_document(check_call *call, walk *w, const bson_t *doc, ash_error *err)
{
    bson_iter_t it;
    w->broken = false;
    bson_value_destroy(&w->last);
    w->last.value_type = BSON_TYPE_EOD;
    if (bson_iter_init_find(&it, doc, "_id"))
        bson_value_copy(bson_iter_value(&it), &w->last);
    int rc = check_document(call, doc, w->current, &w->before, err);
    if (w->by_id || w->natural) {
        ash_tree_entry_free(w->before);
        w->before = NULL;
    }
    return rc;
}

static int check_next(check_call *call, walk *w, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    ash_doc doc = {NULL, 0};
    bson_t view;
    int rc = ash_cursor_next(w->cursor, &doc, &own);
    if (rc == ASH_ECORRUPT && call->past_damage) {
        find(call, "document", NULL, "%s", own.text);
        w->broken = true;
        return 0;
    }
    if (rc != 0)
        return ash__unless(0, rc, &own, err);
    if (doc.data == NULL)
        return end_walk(call, w, err);
    ash__doc_to_bson(doc, &view);
    return take_document(call, w, &view, err);
}

static int check_walk(check_call *call, walk w, ash_error *err)
{
    int rc = open_walk(call, &w, err);
    while (rc == 0 && !w.ends)
        rc = check_next(call, &w, err);
    if (rc == 0)
        rc = look_up_named(call, w.current, err);
    ash_tree_entry_free(w.before);
    bson_value_destroy(&w.last);
    ash_cursor_free(w.cursor);
    return rc;
}

static int check_documents(check_call *call, bool current, ash_error *err)
{
    int rc = check_walk(call, (walk){.current = current, .by_id = call->unsound}, err);
    if (rc == 0 && current && !call->unsound)
        rc = check_walk(call, (walk){.current = true, .roots = true}, err);
    return rc;
}

/* ---- contents ---- */

/* *has: the collection has an index that begins with `sha`. */
static int has_index(check_call *call, ash_collection *c, bool *has, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    int rc = ash_collection_list_indexes(c, &call->op, &cursor, &own);
    while (rc == 0 && !*has && (rc = ash_cursor_next(cursor, &doc, &own)) == 0 && doc.data != NULL)
        *has = strcmp(ash__doc_utf8(doc, "name", ""), "sha_1") == 0;
    ash_cursor_free(cursor);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err);
}

/* Nobody is left to wonder why it takes so long. */
static int warn_once(check_call *call, ash_error *err)
{
    bool current = false, past = false;
    if (call->warned)
        return 0;
    call->warned = true;
    int rc = has_index(call, call->tree->current, &current, err);
    if (rc == 0)
        rc = has_index(call, call->tree->past, &past, err);
    if (rc == 0 && !(current && past))
        ash__log(ASH_LOG_WARN,
                 "%s.%s has no index on sha: for each damaged content the check reads all its "
                 "documents; collecting contents makes the index",
                 call->tree->db,
                 ash_collection_name(current ? call->tree->past : call->tree->current));
    return rc;
}

static int tell_owner(check_call *call, const ash_content_verdict *v, ash_tree_entry *e,
                      ash_error *err)
{
    const ash_tree_place *place = NULL;
    char because[ASH_DIGEST_TEXT_BYTES] = "";
    if (v->because != NULL)
        ash__content_id_hex(v->because, because);
    int rc = ash__places_find(call->places, e, &place, err);
    if (rc == 0 && place != NULL)
        ash__place_set_path(place, e);
    if (rc == 0)
        find(call, "content damaged", e, "%s, version %" PRId32 ": %s%s%s", ash_tree_entry_path(e),
             e->version, v->text, because[0] != '\0' ? "; damaged is " : "", because);
    return rc;
}

/* Each version that names the content is told, one by one, as they may be a million: that is what
 * the damage costs. */
static int tell_owners(check_call *call, const ash_content_verdict *v, bool current, bool *any,
                       ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_find_options o = ash__tree_find_options(&call->op);
    ash_cursor *cursor = NULL;
    bson_append_binary(&filter, "sha", 3, BSON_SUBTYPE_BINARY, v->id.bytes, v->id.len);
    int rc = ash_collection_find(current ? call->tree->current : call->tree->past, &filter, &o,
                                 &cursor, err);
    while (rc == 0) {
        ash_tree_entry *e = NULL;
        rc = ash__entry_next(cursor, &e, err);
        if (rc != 0 || e == NULL)
            break;
        rc = tell_owner(call, v, e, err);
        ash_tree_entry_free(e);
        *any = true;
    }
    ash_cursor_free(cursor);
    bson_destroy(&filter);
    return rc;
}

static int tell_all_owners(check_call *call, const ash_content_verdict *v, bool *any,
                           ash_error *err)
{
    int rc = warn_once(call, err);
    if (rc == 0)
        rc = tell_owners(call, v, true, any, err);
    return rc == 0 ? tell_owners(call, v, false, any, err) : rc;
}

static int tell_content(void *ctx, const ash_content_verdict *v, ash_error *err)
{
    check_call *call = ctx;
    ash_error own = ASH_ERROR_INIT;
    char hex[ASH_DIGEST_TEXT_BYTES];
    bool any = false;
    if (v->id.len == 0) {
        find(call, "content damaged", NULL, "%s", v->text);
        return 0;
    }
    int rc = tell_all_owners(call, v, &any, &own);
    ash__content_id_hex(&v->id, hex);
    if (rc == ASH_ECORRUPT)
        find(call, "content damaged", NULL, "content %s: %s; who has it cannot be read: %s", hex,
             v->text, own.text);
    else if (rc == 0 && !any)
        find(call, "content damaged", NULL, "content %s, which no version names: %s", hex, v->text);
    return rc == ASH_ECORRUPT ? 0 : ash__unless(0, rc, &own, err);
}

static int check_contents(check_call *call, ash_error *err)
{
    ash_contents_check contents = {
        .deep = !call->opts.without_contents, .refs = true, .tell = tell_content, .ctx = call};
    int rc = ash__contents_check(call->tree->contents, &contents, &call->op, err);
    call->report.contents = contents.checked;
    call->report.bytes = contents.bytes;
    return rc;
}

/* What collections refuse to go on with. */
static int check_metadata(check_call *call, ash_error *err)
{
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash_store_capabilities(call->tree->store, &can, err);
    call->past_damage = can.past_damage;
    if (rc != 0)
        return rc;
    rc = ash__contents_require_sound(call->tree->contents, &own);
    call->unsound = rc == ASH_ECORRUPT;
    if (call->unsound)
        find(call, "metadata", NULL, "%s", own.text);
    return call->unsound ? 0 : ash__unless(0, rc, &own, err);
}

static void tell_quota(void *ctx, const ash_tree_entry *folder, const char *user, const char *text)
{
    if (user != NULL)
        find(ctx, "quota", NULL, "user %s: %s", user, text);
    else
        find(ctx, "quota", folder, "%s: %s", folder != NULL ? folder->path : "a folder that went",
             text);
}

static int check_all(check_call *call, ash_error *err)
{
    bson_value_t none = {.value_type = BSON_TYPE_NULL};
    call->places = ash__places_new(call->tree, &none, &call->op);
    int rc = check_metadata(call, err);
    if (rc == 0)
        rc = check_documents(call, true, err);
    if (rc == 0)
        rc = check_documents(call, false, err);
    if (rc == 0)
        rc = ash__quotas_check(call->tree, &call->op, tell_quota, call, err);
    if (rc == 0)
        rc = check_contents(call, err);
    ash__entries_release(&call->named);
    ash__places_free(call->places);
    return rc;
}

int ash_tree_check(ash_tree *tree, const ash_tree_check_options *opts, const ash_op *op,
                   ash_tree_check_report *report, ash_error *err)
{
    check_call call = {.tree = tree, .op = ash__op_of(op), .report = ASH_TREE_CHECK_REPORT_INIT};
    int rc = ash__options_copy(&call.opts, sizeof call.opts, opts, err);
    if (rc == 0 && call.op.transaction != NULL)
        rc = ash__fail(err, ASH_ESTATE, "a check cannot be part of a transaction");
    if (rc == 0)
        rc = ash__tree_require_care(tree, &call.op, err);
    if (rc != 0)
        return rc;
    rc = check_all(&call, err);
    if (rc == 0 && report != NULL)
        rc = ash__out_copy(report, &call.report, sizeof call.report, err);
    if (rc == 0 && call.report.findings > 0)
        rc = ash__fail(err, ASH_ECORRUPT, "the tree in %s.%s has damage: %" PRId64 " findings",
                       tree->db, ash_collection_name(tree->current), call.report.findings);
    return rc;
}

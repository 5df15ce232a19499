/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a salvage: collections are made anew, documents copied one by one, and only a whole
 * store gets its name. */

#include "store/embedded/salvage/internal.h"

#include "base/file.h"
#include "base/mem.h"
#include "store/embedded/kit/embedded.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A document takes microseconds, and a caller's function may draw. */
enum { STEP = 256 };

int ash__salvaging_step(ash_salvaging *w, ash_error *err)
{
    if (w->done++ % STEP == 0 && w->opts->progress != NULL &&
        !w->opts->progress(w->opts->ctx, "documents", w->done - 1, 0))
        return ash__fail(err, ASH_EINTERRUPTED, "the repair was interrupted");
    return 0;
}

/* ---- the new store's side ---- */

static void make_index(ash_salvaging *w, const ash_salvage_coll *c, ash_collection *to,
                       ash_doc spec)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash_builder facts;
    ash_error why = ASH_ERROR_INIT;
    ash_value name = ash__doc_get(spec, "name");
    const char *called = ash__value_utf8(name, "");
    bson_t specs;
    ash__builder_begin(&b);
    ash__builder_doc_value(&b, "0", spec);
    ash__builder_end(&b);
    ash__doc_to_bson(ash__builder_doc(&b), &specs);
    /* A collection has that one from its beginning. */
    if (strcmp(called, "_id_") != 0 &&
        ash_collection_create_indexes(to, &specs, NULL, NULL, &why) != 0) {
        ash__finding_begin(&facts, "index", c->db, c->name);
        ash__builder_text(&facts, "index", called);
        ash__finding_tell(w, &facts, false, "%s.%s: index %s was not made: %s", c->db, c->name,
                          called, why.text);
    }
    ash__builder_release(&b);
}

/* What every bucket has, where the specifications are lost. */
static void make_bucket_index(ash_salvaging *w, const ash_salvage_coll *c, ash_collection *to)
{
    ash_builder spec = ASH_BUILDER_INIT;
    bool chunks = ash__name_ends_with(c->name, ".chunks");
    if (!chunks && !ash__name_ends_with(c->name, ".files"))
        return;
    ash__builder_begin(&spec);
    ash__builder_begin_doc(&spec, "key");
    ash__builder_int32(&spec, chunks ? "files_id" : "filename", 1);
    ash__builder_int32(&spec, chunks ? "n" : "uploadDate", 1);
    ash__builder_end(&spec);
    ash__builder_text(&spec, "name", chunks ? "files_id_1_n_1" : "filename_1_uploadDate_1");
    if (chunks)
        ash__builder_bool(&spec, "unique", true);
    ash__builder_end(&spec);
    make_index(w, c, to, ash__builder_doc(&spec));
    ash__builder_release(&spec);
}

static void make_indexes(ash_salvaging *w, const ash_salvage_coll *c, ash_collection *to)
{
    for (ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(c->indexes)); ash__doc_iter_next(&it);)
        make_index(w, c, to, ash__value_doc(it.value));
    if (!c->described)
        make_bucket_index(w, c, to);
}

int ash__salvaging_make(ash_salvaging *w, const ash_salvage_coll *c, ash_collection **out,
                        ash_error *err)
{
    *out = NULL;
    w->report->collections++;
    if (w->to == NULL)
        return 0;
    int rc = ash_collection_new(w->to, c->db, c->name, out, err);
    if (rc == 0)
        rc = ash_collection_create(*out, c->options, NULL, err);
    if (rc == 0)
        make_indexes(w, c, *out);
    return rc;
}

static bool is_refusal(int rc)
{
    return rc == ASH_EEXISTS || rc == ASH_EINVAL || rc == ASH_ETOOBIG;
}

int ash__salvaging_insert(ash_salvaging *w, ash_collection *to, const ash_salvage_coll *c,
                          ash_doc doc, bool *refused, ash_error *err)
{
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    ash_error why = ASH_ERROR_INIT;
    *refused = false;
    if (to == NULL)
        return 0;
    /* They were accepted once, perhaps by another validator. */
    opts.op.bypass_validation = true;
    opts.op.durability = ASH_DURABILITY_INTERVAL; /* all is flushed at the end */
    int rc = ash_collection_insert(to, &doc, 1, &opts, NULL, &why);
    if (is_refusal(rc)) {
        ash_builder facts;
        ash__finding_begin(&facts, "document", c->db, c->name);
        ash__builder_value(&facts, "_id", ash__doc_get(doc, "_id"));
        w->report->lost_documents++;
        ash__finding_tell(w, &facts, true, "%s.%s: a document was refused: %s", c->db, c->name,
                          why.text);
        *refused = true;
        return 0;
    }
    if (rc != 0 && err != NULL)
        *err = why;
    return rc;
}

/* ---- collections of documents ---- */

static void tell_bad(ash_salvaging *w, const ash_salvage_coll *c, const ash_salvage_record *r,
                     ash_doc doc, const ash_error *why)
{
    ash_builder facts;
    w->report->lost_documents++;
    ash__finding_begin(&facts, "document", c->db, c->name);
    ash__builder_value(&facts, "_id", ash__doc_get(doc, "_id"));
    ash__builder_int64(&facts, "record", (int64_t)r->rid);
    ash__finding_place(&facts, r);
    ash__finding_tell(w, &facts, true, "%s.%s, record %llu: %s", c->db, c->name,
                      (unsigned long long)r->rid, why->text);
}

static const ash_salvage_coll *partner(const ash_salvaging *w, const ash_salvage_coll *c,
                                       const char *from, const char *to);

static int copy_document(ash_salvaging *w, const ash_salvage_coll *c, const ash_salvage_record *r,
                         ash_collection *to, bool *bad, ash_error *err)
{
    ash_error why = ASH_ERROR_INIT;
    ash_doc doc;
    bool refused = false;
    int rc = ash__salvaging_step(w, err);
    if (rc != 0)
        return rc;
    *bad = ash__salvage_read(w->from, r, &w->buf, &doc, &why) != 0;
    if (*bad) {
        tell_bad(w, c, r, doc, &why);
        return 0;
    }
    /* What was found where nothing is may have been deleted: it is told of, and not copied. */
    if (!r->vacant)
        rc = ash__salvaging_insert(w, to, c, doc, &refused, err);
    if (rc != 0 || refused)
        return rc;
    /* What Ashlar knows beside a file counts as part of it. */
    w->report->documents += !r->vacant && partner(w, c, ".attributes", ".files") == NULL;
    w->report->bytes += r->vacant ? 0 : doc.len;
    if (r->stray && !ash__salvage_certain(w->from)) {
        ash_builder facts;
        w->report->lost_documents += r->vacant;
        ash__finding_begin(&facts, "uncertain", c->db, c->name);
        ash__builder_value(&facts, "_id", ash__doc_get(doc, "_id"));
        ash__finding_tell(w, &facts, r->vacant, "%s.%s, record %llu: %s", c->db, c->name,
                          (unsigned long long)r->rid, ash__finding_doubt(r));
    }
    return 0;
}

/* Large documents whose rows are lost.  Deleted ones look the same, so that they are only named. */
static int list_unclaimed(ash_salvaging *w, const ash_salvage_coll *c, ash_error *err)
{
    const ash_salvage_record *r;
    size_t count;
    int rc = ash__salvage_unclaimed(w->from, c->id, &r, &count, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        ash_builder facts;
        ash_doc doc;
        if (ash__salvage_read(w->from, &r[i], &w->buf, &doc, NULL) != 0)
            continue;
        ash__finding_begin(&facts, "unclaimed", c->db, c->name);
        ash__builder_value(&facts, "_id", ash__doc_get(doc, "_id"));
        ash__finding_place(&facts, &r[i]);
        ash__finding_tell(w, &facts, false,
                          "%s.%s: a whole document in segment %08x at offset %llu, which may have "
                          "been deleted",
                          c->db, c->name, (unsigned)r[i].place.segment,
                          (unsigned long long)r[i].place.block * 4096);
    }
    return rc;
}

static int copy_documents(ash_salvaging *w, const ash_salvage_coll *c, ash_error *err)
{
    size_t count, damaged = 0;
    const ash_salvage_record *r = ash__salvage_records(w->from, c->id, &count);
    ash_collection *to;
    int rc = ash__salvaging_make(w, c, &to, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        bool bad = false;
        rc = copy_document(w, c, &r[i], to, &bad, err);
        damaged += bad;
    }
    if (rc == 0 && c->expected > count) {
        uint64_t gone = c->expected - count;
        ash_builder facts;
        ash__finding_begin(&facts, "documents", c->db, c->name);
        ash__builder_int64(&facts, "count", (int64_t)gone);
        w->report->lost += gone - 1;
        w->report->lost_documents += gone;
        ash__finding_tell(w, &facts, true, "%s.%s: nothing is left of %llu document%s", c->db,
                          c->name, (unsigned long long)gone, gone == 1 ? "" : "s");
    }
    /* Where nothing is missing, what nobody points at was deleted. */
    if (rc == 0 && (damaged > 0 || c->expected > count))
        rc = list_unclaimed(w, c, err);
    ash_collection_free(to);
    return rc;
}

/* ---- the whole store ---- */

static const ash_salvage_coll *find_named(const ash_salvaging *w, const char *db, const char *name)
{
    size_t count;
    const ash_salvage_coll *c = ash__salvage_colls(w->from, &count);
    for (size_t i = 0; i < count; i++) {
        if (c[i].db != NULL && strcmp(c[i].db, db) == 0 && strcmp(c[i].name, name) == 0)
            return &c[i];
    }
    return NULL;
}

/* The other half of a bucket: "….files" for "….chunks" and the reverse. */
static const ash_salvage_coll *partner(const ash_salvaging *w, const ash_salvage_coll *c,
                                       const char *from, const char *to)
{
    if (!ash__name_ends_with(c->name, from))
        return NULL;
    char *name = ash__sprintf("%.*s%s", (int)(strlen(c->name) - strlen(from)), c->name, to);
    const ash_salvage_coll *other = find_named(w, c->db, name);
    ash__free(name);
    return other;
}

static int copy_collection(ash_salvaging *w, const ash_salvage_coll *c, ash_error *err)
{
    const ash_salvage_coll *chunks;
    if (!c->described && strcmp(c->db, "lost_found") != 0) {
        ash_builder facts;
        ash__finding_begin(&facts, "collection", c->db, c->name);
        ash__finding_tell(w, &facts, true, "%s.%s: its options and indexes are lost", c->db,
                          c->name);
    }
    chunks = partner(w, c, ".files", ".chunks");
    if (chunks != NULL)
        return ash__salvaging_bucket(w, c, chunks, err);
    /* Copied with its files. */
    if (partner(w, c, ".chunks", ".files") != NULL)
        return 0;
    return copy_documents(w, c, err);
}

/* Collections of which nothing but payloads is left. */
static int list_rest(ash_salvaging *w, ash_error *err)
{
    const ash_salvage_record *r;
    size_t count, known, found;
    const ash_salvage_coll *c = ash__salvage_colls(w->from, &known);
    int rc = ash__salvage_unclaimed(w->from, 0, &r, &count, err);
    const uint32_t *ids = ash__salvage_unclaimed_colls(w->from, &count);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        bool is_known = false;
        for (size_t k = 0; k < known; k++)
            is_known = is_known || c[k].id == ids[i];
        if (is_known || ash__salvage_unclaimed(w->from, ids[i], &r, &found, NULL) != 0)
            continue;
        ash_builder facts;
        ash__finding_begin(&facts, "collection", NULL, NULL);
        ash__builder_int64(&facts, "id", ids[i]);
        ash__builder_int64(&facts, "documents", (int64_t)found);
        ash__finding_tell(w, &facts, true,
                          "collection %u: %llu document%s in the segments, and nothing says "
                          "what they belong to",
                          (unsigned)ids[i], (unsigned long long)found, found == 1 ? "" : "s");
    }
    return rc;
}

/* Whether it would be noticed if documents lay on pages that cannot be read. */
static bool all_counted(const ash_salvage_coll *c, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!c[i].counted)
            return false;
    }
    return count > 0;
}

static int copy_all(ash_salvaging *w, ash_error *err)
{
    size_t count;
    const ash_salvage_coll *c = ash__salvage_colls(w->from, &count);
    uint64_t broken = ash__salvage_broken_pages(w->from);
    /* Told first: it bounds what all that follows can say. */
    const char *fault = ash__salvage_journal_fault(w->from);
    int rc = 0;
    if (fault != NULL) {
        ash_builder facts;
        ash__finding_begin(&facts, "journal", NULL, NULL);
        ash__finding_tell(w, &facts, true,
                          "the store was not closed, and %s: changes that were acknowledged last "
                          "may be missing",
                          fault);
    }
    if (broken > 0) {
        ash_builder facts;
        ash__finding_begin(&facts, "pages", NULL, NULL);
        ash__builder_int64(&facts, "count", (int64_t)broken);
        bool told = all_counted(c, count);
        ash__finding_tell(w, &facts, !told, "the metadata's pages are damaged in %llu place%s%s",
                          (unsigned long long)broken, broken == 1 ? "" : "s",
                          told ? "" : "; nobody knows what they held");
    }
    ash__salvaging_name(w);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = copy_collection(w, &c[i], err);
    /* Else the metadata names all collections, and the rest was dropped. */
    if (rc == 0 && (count == 0 || broken > 0))
        rc = list_rest(w, err);
    return rc;
}

static int check_vacant(const char *path, const char *why, ash_error *err)
{
    struct stat st;
    if (lstat(path, &st) == 0)
        return ash__fail(err, ASH_EEXISTS, "%s exists already%s", path, why);
    return errno == ENOENT ? 0 : ash__fail_errno(err, errno, "cannot look at %s", path);
}

static int finish(const char *partial, const char *into, ash_error *err)
{
    if (ash__io()->rename(partial, into) != 0)
        return ash__fail_errno(err, errno, "cannot rename %s to %s", partial, into);
    return ash__parent_sync(into, err);
}

/* Half a store is of no use, and the disk may be full of it. */
static void discard(const char *partial, ash_error *err)
{
    ash_error why = ASH_ERROR_INIT;
    ash_error first = err != NULL ? *err : why;
    /* The first error stays in front: it says why there is something to discard. */
    if (ash__dir_remove(partial, &why) != 0 && err != NULL)
        ash__fail(err, first.code, "%s (and %s)", first.text, why.text);
}

static int copy_into(ash_salvaging *w, const char *into, ash_error *err)
{
    ash_store_options opts = ASH_STORE_OPTIONS_INIT;
    struct stat st;
    char *partial = ash__sprintf("%s.partial", into);
    char *uri = ash__sprintf("%s%s", into[0] == '/' ? "file:" : "", partial);
    /* Nobody else is to use it before it is whole. */
    opts.no_server = true;
    opts.ttl_interval_ms = INT64_C(1) << 40; /* what has expired is not the repair's to delete */
    int rc = check_vacant(into, "", err);
    if (rc == 0)
        rc = check_vacant(partial, ", left by a repair that was interrupted: remove it", err);
    bool begun = rc == 0;
    if (rc == 0)
        rc = ash_store_open(uri, &opts, &w->to, err);
    if (rc == 0)
        rc = copy_all(w, err);
    if (rc == 0)
        /* Nobody waited for the single documents; now they are on disk, or the losses say so. */
        rc = ash_store_flush(w->to, NULL, err);
    if (rc == 0)
        rc = ash__losses_check(ash__embedded(w->to), 0, err);
    ash_store_close(w->to);
    if (rc == 0)
        rc = finish(partial, into, err);
    if (rc != 0 && begun && lstat(partial, &st) == 0)
        discard(partial, err);
    ash__free(partial);
    ash__free(uri);
    return rc;
}

int ash__embedded_salvage(const char *folder, const ash_salvage_options *opts,
                          ash_salvage_report *out, ash_error *err)
{
    ash_salvaging w = {.opts = opts, .report = out};
    memset(out, 0, sizeof *out);
    int rc = ash__salvage_open(folder, &w.from, err);
    if (rc == 0)
        rc = opts->into != NULL ? copy_into(&w, opts->into, err) : copy_all(&w, err);
    ash__salvage_close(w.from);
    ash__buffer_release(&w.buf);
    if (rc != 0 || out->lost == 0)
        return rc;
    char *lost = ash__salvage_lost_text(out);
    rc = ash__fail(err, ASH_EPARTIAL, "not everything could be salvaged: %s lost", lost);
    ash__free(lost);
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of the change log as events of a change stream.  The log has what was small; larger
 * documents are looked up, as long as that version exists. */

#include "store/embedded/watch/event.h"

#include "base/hash.h"
#include "bson/validate.h"
#include "store/embedded/watch/token.h"

/* An entry of an update holds three documents (before, after and the difference), and what the log
 * adds to them. */
enum { ENTRY_MAX_BYTES = 4 * (ASH_DOC_MAX_BYTES + ASH_DOC_SLACK_BYTES) };

int ash__entry_read(ash_doc doc, uint64_t time, ash_entry *out, bool *known, ash_error *err)
{
    int64_t kind = 0;
    int64_t coll_id = 0;
    *known = false;
    /* The log is read from disk like any data, and everything below takes it as it is. */
    if (ash__bson_validate_within(doc.data, doc.len, ENTRY_MAX_BYTES, ASH_DOC_MAX_DEPTH + 4,
                                  NULL) != 0)
        return ash__fail(err, ASH_ECORRUPT, "an entry of the change log is damaged");
    *out = (ash_entry){.time = time,
                       .db = ash__doc_utf8(doc, "d", NULL),
                       .coll = ash__doc_utf8(doc, "c", NULL),
                       .to_db = ash__doc_utf8(doc, "td", NULL),
                       .to_coll = ash__doc_utf8(doc, "tc", NULL),
                       .doc = doc};
    ash__value_as_int64(ash__doc_get(doc, "o"), &kind);
    ash__value_as_int64(ash__doc_get(doc, "i"), &coll_id);
    /* Also of a later version of Ashlar, whose kinds this one does not know. */
    if (kind < ASH_CHANGE_INSERT || kind > ASH_CHANGE_MODIFY || out->db == NULL)
        return 0;
    out->kind = (enum ash_change_kind)kind;
    out->coll_id = (uint32_t)coll_id;
    *known = out->coll != NULL || out->kind == ASH_CHANGE_DROP_DATABASE;
    return 0;
}

int64_t ash__entry_wall_ms(const ash_entry *e)
{
    ash_value v = ash__doc_get(e->doc, "w");
    return v.type == BSON_TYPE_DATE_TIME ? ash__value_int64(v) : 0;
}

static const char *type_of(enum ash_change_kind kind)
{
    switch (kind) {
    case ASH_CHANGE_INSERT:
        return "insert";
    case ASH_CHANGE_UPDATE:
        return "update";
    case ASH_CHANGE_REPLACE:
        return "replace";
    case ASH_CHANGE_DELETE:
        return "delete";
    case ASH_CHANGE_DROP:
        return "drop";
    case ASH_CHANGE_RENAME:
        return "rename";
    case ASH_CHANGE_DROP_DATABASE:
        return "dropDatabase";
    case ASH_CHANGE_CREATE:
        return "create";
    case ASH_CHANGE_CREATE_INDEXES:
        return "createIndexes";
    case ASH_CHANGE_DROP_INDEXES:
        return "dropIndexes";
    case ASH_CHANGE_MODIFY:
        return "modify";
    case ASH_CHANGE_NOTHING:
        break;
    }
    return "";
}

bool ash__entry_is_expanded(const ash_entry *e)
{
    return e->kind >= ASH_CHANGE_CREATE;
}

/* What an insert or replace wrote, as long as that version exists. */
static int written_document(ash_snapshot *snap, const ash_entry *e, ash_doc *out, ash_error *err)
{
    int64_t rid = 0, sequence = 0, sum = 0;
    const ash_coll *c = NULL;
    ash_record r;
    bool found = false;
    /* Small enough to have been copied: no look-up, and it cannot be gone. */
    ash_value inline_doc = ash__doc_get(e->doc, "f");
    if (inline_doc.type == BSON_TYPE_DOCUMENT) {
        *out = ash__value_doc(inline_doc);
        return 0;
    }
    ash__value_as_int64(ash__doc_get(e->doc, "r"), &rid);
    ash__value_as_int64(ash__doc_get(e->doc, "s"), &sequence);
    int rc = ash__catalog_find_id(snap, e->coll_id, &c, err);
    if (rc != 0 || c == NULL)
        return rc;
    rc = ash__record_locate(snap, c, (uint64_t)rid, &r, &found, err);
    if (rc != 0 || !found)
        return rc;
    /* A small record has no sequence of its own, so its bytes have to tell. */
    if (r.place.segment == 0) {
        if (ash__value_as_int64(ash__doc_get(e->doc, "h"), &sum) &&
            ash__checksum(r.doc.data, r.doc.len) == (uint64_t)sum)
            *out = r.doc;
        return 0;
    }
    /* Written over since: that version is gone, and the event goes without its document. */
    if (r.place.sequence != (uint64_t)sequence)
        return 0;
    rc = ash__record_get(snap, c, (uint64_t)rid, &r, &found, err);
    if (rc == 0 && found)
        *out = r.doc;
    return rc;
}

/* The document as it is now. */
static int current_document(ash_snapshot *snap, const ash_entry *e, ash_doc *out, ash_error *err)
{
    const ash_coll *c = NULL;
    ash_record r;
    bool found = false;
    ash_value key = ash__doc_get(e->doc, "k");
    int rc = ash__catalog_find_id(snap, e->coll_id, &c, err);
    if (rc != 0 || c == NULL || key.type != BSON_TYPE_DOCUMENT)
        return rc;
    rc = ash__record_find_id(snap, c, ash__doc_get(ash__value_doc(key), "_id"), &r, &found, err);
    if (rc == 0 && found)
        *out = r.doc;
    return rc;
}

/* A document of the entry, or data NULL. */
static ash_doc document_of(const ash_entry *e, const char *name)
{
    ash_value v = ash__doc_get(e->doc, name);
    return v.type == BSON_TYPE_DOCUMENT ? ash__value_doc(v) : (ash_doc){NULL, 0};
}

static int append_before(const ash_entry *e, enum ash_full_before before, ash_builder *b,
                         ash_error *err)
{
    bool has_before = e->kind == ASH_CHANGE_UPDATE || e->kind == ASH_CHANGE_REPLACE ||
                      e->kind == ASH_CHANGE_DELETE;
    ash_doc doc = document_of(e, "b");
    if (!has_before || before == ASH_BEFORE_OFF)
        return 0;
    if (doc.data != NULL)
        ash__builder_doc_value(b, "fullDocumentBeforeChange", doc);
    else if (before == ASH_BEFORE_AVAILABLE)
        ash__builder_null(b, "fullDocumentBeforeChange");
    else
        return ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_NO_MATCHING_DOCUMENT,
                                "the change stream was configured to require a document as it was "
                                "before the change, and none was kept");
    return 0;
}

/* What only expanded streams tell of the collection. */
static void append_expanded(const ash_entry *e, ash_builder *b)
{
    ash_value uuid = ash__doc_get(e->doc, "u");
    ash_doc details = document_of(e, "e");
    if (uuid.type == BSON_TYPE_BINARY)
        ash__builder_value(b, "collectionUUID", uuid);
    if (details.data != NULL)
        ash__builder_doc_value(b, "operationDescription", details);
    if (e->kind == ASH_CHANGE_MODIFY && document_of(e, "b").data != NULL)
        ash__builder_doc_value(b, "stateBeforeChange", document_of(e, "b"));
}

static int append_full(ash_snapshot *snap, const ash_entry *e, enum ash_full_document full,
                       ash_builder *b, ash_error *err)
{
    ash_doc doc = {NULL, 0};
    int rc = 0;
    bool is_update = e->kind == ASH_CHANGE_UPDATE;
    if (e->kind == ASH_CHANGE_INSERT || e->kind == ASH_CHANGE_REPLACE)
        rc = written_document(snap, e, &doc, err);
    else if (is_update && full == ASH_FULL_LOOKUP)
        rc = current_document(snap, e, &doc, err);
    else if (is_update && full != ASH_FULL_DEFAULT)
        doc = document_of(e, "f");
    else if (!is_update)
        return 0;
    if (rc != 0)
        return rc;
    if (doc.data != NULL)
        ash__builder_doc_value(b, "fullDocument", doc);
    else if (full == ASH_FULL_REQUIRED)
        return ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_NO_MATCHING_DOCUMENT,
                                "the change stream was configured to require a full document for "
                                "all changes, and this one has none");
    else if (is_update && full != ASH_FULL_DEFAULT)
        ash__builder_null(b, "fullDocument");
    return 0;
}

static void append_namespace(ash_builder *b, const char *name, const char *db, const char *coll)
{
    ash__builder_begin_doc(b, name);
    ash__builder_text(b, "db", db);
    if (coll != NULL)
        ash__builder_text(b, "coll", coll);
    ash__builder_end(b);
}

static void append_update(ash_builder *b, ash_value changes, bool expanded)
{
    static const char *const lists[] = {"removedFields", "truncatedArrays"};
    ash_doc doc = changes.type == BSON_TYPE_DOCUMENT ? ash__value_doc(changes) : ash__doc_empty;
    ash_value updated = ash__doc_get(doc, "updatedFields");
    ash__builder_begin_doc(b, "updateDescription");
    ash__builder_doc_value(b, "updatedFields",
                           updated.type == BSON_TYPE_DOCUMENT ? ash__value_doc(updated)
                                                              : ash__doc_empty);
    for (size_t i = 0; i < ASH_ARRAY_LEN(lists); i++) {
        ash_value list = ash__doc_get(doc, lists[i]);
        ash__builder_array_value(
            b, lists[i], list.type == BSON_TYPE_ARRAY ? ash__value_doc(list) : ash__doc_empty);
    }
    ash_value paths = ash__doc_get(doc, "disambiguatedPaths");
    if (expanded)
        ash__builder_doc_value(b, "disambiguatedPaths",
                               paths.type == BSON_TYPE_DOCUMENT ? ash__value_doc(paths)
                                                                : ash__doc_empty);
    ash__builder_end(b);
}

static void begin_event(ash_builder *b, uint64_t time, int64_t wall_ms, enum ash_token_kind kind,
                        const char *type)
{
    ash__builder_begin(b);
    ash__token_append(b, "_id", time, kind);
    ash__builder_text(b, "operationType", type);
    ash__builder_timestamp(b, "clusterTime", time);
    ash__builder_date(b, "wallTime", wall_ms);
}

int ash__event_build(ash_snapshot *snap, const ash_entry *e, const ash_event_wishes *wishes,
                     ash_builder *out, ash_error *err)
{
    ash_value key = ash__doc_get(e->doc, "k");
    begin_event(out, e->time, ash__entry_wall_ms(e), ASH_TOKEN_EVENT, type_of(e->kind));
    if (wishes->expanded)
        append_expanded(e, out);
    int rc = append_full(snap, e, wishes->full, out, err);
    append_namespace(out, "ns", e->db, e->coll);
    if (e->kind == ASH_CHANGE_RENAME && e->to_db != NULL && e->to_coll != NULL)
        append_namespace(out, "to", e->to_db, e->to_coll);
    if (key.type == BSON_TYPE_DOCUMENT)
        ash__builder_value(out, "documentKey", key);
    if (e->kind == ASH_CHANGE_UPDATE)
        append_update(out, ash__doc_get(e->doc, "x"), wishes->expanded);
    if (rc == 0)
        rc = append_before(e, wishes->before, out, err);
    ash__builder_end(out);
    return rc;
}

void ash__event_build_invalidate(uint64_t time, int64_t wall_ms, ash_builder *out)
{
    begin_event(out, time, wall_ms, ASH_TOKEN_INVALIDATE, "invalidate");
    ash__builder_end(out);
}

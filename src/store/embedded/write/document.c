/* SPDX-License-Identifier: Apache-2.0 */
/* A document made ready for insertion on the caller's thread, so that the writer has nothing left
 * to check but what depends on the collection. */

#include "store/embedded/write/document.h"

#include "bson/builder.h"

#include <string.h>

/* {$ref: text, $id, $db?: text, …}: how many fields are the reference's own; 0: it is none. */
static uint32_t reference_fields(ash_doc doc)
{
    ash_doc_iter it = ash__doc_iter(doc);
    if (!ash__doc_iter_next(&it) || strcmp(it.name, "$ref") != 0 ||
        it.value.type != BSON_TYPE_UTF8 || !ash__doc_iter_next(&it) || strcmp(it.name, "$id") != 0)
        return 0;
    /* A third field that is no $db is a field like any other. */
    bool has_db =
        ash__doc_iter_next(&it) && strcmp(it.name, "$db") == 0 && it.value.type == BSON_TYPE_UTF8;
    return has_db ? 3 : 2;
}

/* No field of an _id, however deep, begins with '$', but for those of references. */
static int check_names(ash_value v, ash_error *err)
{
    bool is_array = v.type == BSON_TYPE_ARRAY;
    if (v.type != BSON_TYPE_DOCUMENT && !is_array)
        return 0;
    uint32_t at = 0, allowed = is_array ? 0 : reference_fields(ash__value_doc(v));
    ash_doc_iter it = ash__doc_iter(ash__value_doc(v));
    for (; ash__doc_iter_next(&it); at++) {
        if (!is_array && at >= allowed && it.name[0] == '$')
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_DOLLAR_PREFIXED_FIELD_NAME,
                                    "_id fields may not contain '$'-prefixed fields: %s is not "
                                    "valid for storage",
                                    it.name);
        int rc = check_names(it.value, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int check_id(ash_value id, ash_error *err)
{
    if (id.type == BSON_TYPE_ARRAY || id.type == BSON_TYPE_REGEX || id.type == BSON_TYPE_UNDEFINED)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_ID_FIELD,
                                "The '_id' value cannot be of type %s", ash__type_name(id.type));
    return check_names(id, err);
}

static bool is_empty_timestamp(const ash_doc_iter *it)
{
    return it->value.type == BSON_TYPE_TIMESTAMP && ash__value_int64(it->value) == 0 &&
           strcmp(it->name, "_id") != 0;
}

static int rebuild(ash_doc in, ash_value id, ash_engine *clock, ash_prepared *out, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    bson_oid_t oid;
    ash__builder_begin(&b);
    if (ash__value_is_missing(id)) {
        bson_oid_init(&oid, NULL);
        ash__builder_oid(&b, "_id", &oid);
    } else {
        ash__builder_value(&b, "_id", id);
    }
    ash_doc_iter it = ash__doc_iter(in);
    while (ash__doc_iter_next(&it)) {
        if (strcmp(it.name, "_id") == 0)
            continue;
        /* As the server does: Timestamp(0, 0) asks for the time, but not within another document.
         */
        if (is_empty_timestamp(&it))
            ash__builder_timestamp(&b, it.name, ash__oplog_stamp(clock));
        else
            ash__builder_element(&b, &it);
    }
    ash__builder_end(&b);
    /* An _id of our own may be what is too much. */
    size_t len = b.buf.len;
    if (len > ASH_DOC_MAX_BYTES) {
        ash__builder_release(&b);
        return ash__fail_server(err, ASH_ETOOBIG, ASH_MONGO_BSON_OBJECT_TOO_LARGE,
                                "object to insert too large: %zu bytes with its _id, the most is "
                                "%d",
                                len, ASH_DOC_MAX_BYTES);
    }
    out->owned = ash__buffer_detach(&b.buf);
    out->doc = (ash_doc){out->owned, len};
    ash__builder_release(&b);
    return 0;
}

int ash__document_prepare(ash_doc in, ash_engine *clock, ash_prepared *out, ash_error *err)
{
    ash_value id = ASH_VALUE_MISSING;
    bool id_first = false;
    bool has_timestamp = false;
    uint32_t ids = 0;
    uint32_t at = 0;
    *out = (ash_prepared){.doc = in};
    if (in.len > ASH_DOC_MAX_BYTES)
        return ash__fail_server(err, ASH_ETOOBIG, ASH_MONGO_BSON_OBJECT_TOO_LARGE,
                                "object to insert too large: %zu bytes, the most is %d", in.len,
                                ASH_DOC_MAX_BYTES);
    /* Here or nowhere: everything inside takes lengths and types in a document as they are. */
    int rc = ash__bson_validate(in.data, in.len, ASH_DOC_MAX_DEPTH, err);
    if (rc != 0)
        return rc;
    ash_doc_iter it = ash__doc_iter(in);
    for (; ash__doc_iter_next(&it); at++) {
        has_timestamp = has_timestamp || is_empty_timestamp(&it);
        if (strcmp(it.name, "_id") != 0)
            continue;
        ids++;
        id = it.value;
        id_first = at == 0;
    }
    if (ids > 1)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "can't have multiple _id fields in one document");
    rc = check_id(id, err);
    /* Most documents are stored from the caller's own bytes. */
    if (rc == 0 && (!id_first || has_timestamp))
        rc = rebuild(in, id, clock, out, err);
    return rc;
}

int ash__document_stage(ash_embedded *s, uint32_t coll_id, ash_prepared *p, ash_error *err)
{
    struct iovec part = {(void *)(uintptr_t)p->doc.data, p->doc.len};
    if (p->doc.len <= ash__engine_inline_max(s->engine))
        return 0;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__staged_write(s->engine, coll_id, &part, 1, &p->staged, &own);
    /* Old versions of files may hold the space; those that nobody can ask for are let go, and it is
     * tried once more. */
    if (rc == ASH_ENOSPC) {
        s->files->make_room(s);
        return ash__staged_write(s->engine, coll_id, &part, 1, &p->staged, err);
    }
    if (rc != 0 && err != NULL)
        *err = own;
    return rc;
}

void ash__document_release(ash_embedded *s, ash_prepared *p)
{
    if (p->staged != NULL)
        ash__staged_free(s->engine, p->staged);
    ash__free(p->owned);
    *p = (ash_prepared){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of files, which may be of nearly any type, and filters that mean exactly them. */
#include "bucket/bucket.h"

#include "base/mem.h"
#include "base/text.h"
#include "bson/compare.h"

#include <string.h>

void ash__filter_id(bson_t *filter, const char *name, const bson_value_t *id)
{
    if (id->value_type != BSON_TYPE_DOCUMENT) {
        BSON_APPEND_VALUE(filter, name, id);
        return;
    }
    bson_t child;
    BSON_APPEND_DOCUMENT_BEGIN(filter, name, &child);
    BSON_APPEND_VALUE(&child, "$eq", id);
    bson_append_document_end(filter, &child);
}

static int check_document_id(const bson_value_t *id, ash_error *err)
{
    bson_t doc;
    bson_iter_t it;
    if (!bson_init_static(&doc, id->value.v_doc.data, id->value.v_doc.data_len) ||
        !bson_validate(&doc, BSON_VALIDATE_NONE, NULL))
        return ash__fail(err, ASH_EINVAL, "file id is not a valid document");
    if (bson_iter_init(&it, &doc) && bson_iter_next(&it) && bson_iter_key(&it)[0] == '$')
        return ash__fail(err, ASH_EINVAL, "file id has a field whose name starts with '$'");
    return 0;
}

int ash__id_check(const bson_value_t *id, ash_error *err)
{
    switch (id->value_type) {
    case BSON_TYPE_ARRAY:
        return ash__fail(err, ASH_EINVAL, "file id is an array, which cannot be an _id");
    case BSON_TYPE_REGEX:
        return ash__fail(err, ASH_EINVAL, "file id is a regular expression");
    case BSON_TYPE_UNDEFINED:
    case BSON_TYPE_EOD:
        return ash__fail(err, ASH_EINVAL, "file id is undefined");
    case BSON_TYPE_DOCUMENT:
        return check_document_id(id, err);
    default:
        return 0;
    }
}

bool ash__id_equal(const bson_value_t *a, const bson_value_t *b)
{
    /* As the unique index compares: 1 and 1.0 are the same id. */
    bson_t da = BSON_INITIALIZER;
    bson_t db = BSON_INITIALIZER;
    BSON_APPEND_VALUE(&da, "", a);
    BSON_APPEND_VALUE(&db, "", b);
    bool equal = ash__doc_compare(ash__doc_from_bson(&da), ash__doc_from_bson(&db), NULL) == 0;
    bson_destroy(&da);
    bson_destroy(&db);
    return equal;
}

int ash__ids_collect(ash_cursor *cursor, const char *path, bson_t *ids, uint32_t *count,
                     ash_error *err)
{
    for (;;) {
        ash_doc doc;
        bson_t view;
        bson_iter_t it;
        bson_iter_t at;
        char key[12];
        const char *name;
        int rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            return rc;
        ash__doc_to_bson(doc, &view);
        size_t len = bson_uint32_to_string(*count, &name, key, sizeof key);
        if (bson_iter_init(&it, &view) && bson_iter_find_descendant(&it, path, &at) &&
            bson_append_iter(ids, name, (int)len, &at))
            (*count)++;
    }
}

int ash__ids_find(ash_collection *c, const bson_t *filter, const ash_find_options *opts,
                  bson_t *ids, uint32_t *count, ash_error *err)
{
    bson_t *projection = BCON_NEW("_id", BCON_INT32(1));
    ash_find_options o = *opts;
    ash_cursor *cursor = NULL;
    o.projection = projection;
    *count = 0;
    int rc = ash_collection_find(c, filter, &o, &cursor, err);
    if (rc == 0)
        rc = ash__ids_collect(cursor, "_id", ids, count, err);
    ash_cursor_free(cursor);
    bson_destroy(projection);
    return rc;
}

char *ash__id_text(const bson_value_t *id)
{
    bson_t doc = BSON_INITIALIZER;
    BSON_APPEND_VALUE(&doc, "_id", id);
    char *json = bson_as_relaxed_extended_json(&doc, NULL);
    bson_destroy(&doc);
    if (json == NULL)
        return ash__strdup("{ \"_id\" : … }");
    /* Long ids would push the reason out of an error's text. */
    size_t len = strlen(json);
    if (len > 120) {
        len = 117;
        /* Not in the middle of a character. */
        while (len > 0 && ((unsigned char)json[len] & 0xC0) == 0x80)
            len--;
        memcpy(json + len, "...", 4);
    }
    char *text = ash__strdup(json);
    bson_free(json);
    return text;
}

int ash__filename_check(const char *filename, ash_error *err)
{
    ash_assert(filename != NULL);
    size_t len = strlen(filename);
    if (len > ASH_DOC_MAX_BYTES / 2)
        return ash__fail(err, ASH_ETOOBIG, "file name of %zu bytes is too long", len);
    size_t good = ash__text_good(filename, len);
    if (good < len)
        return ash__fail(err, ASH_EINVAL, "file name is not UTF-8 (byte %zu is 0x%02x)", good,
                         (unsigned char)filename[good]);
    return 0;
}

int ash__say_id_taken(const bson_value_t *id, ash_error *err)
{
    char *text = ash__id_text(id);
    int rc = ash__fail(err, ASH_EEXISTS, "a file with the id %s exists already", text);
    ash__free(text);
    return rc;
}

int ash__say_id_missing(const bson_value_t *id, ash_error *err)
{
    char *text = ash__id_text(id);
    int rc = ash__fail(err, ASH_ENOTFOUND, "no file with the id %s", text);
    ash__free(text);
    return rc;
}

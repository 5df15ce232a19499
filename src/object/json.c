/* SPDX-License-Identifier: Apache-2.0 */
/* The ADR's ObjectInfo as JSON, both ways, by libbson. */
#include "object/info.h"

#include "base/mem.h"
#include "object/document.h"

#include <string.h>
#include <strings.h>

/* What the backends know besides, and JSON has no place for. */
static bool is_ours(const char *name)
{
    static const char *const ours[] = {"mtime",    "revision", "expires",
                                       "encoding", "archive",  "until"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(ours); i++)
        if (strcmp(ours[i], name) == 0)
            return true;
    return false;
}

static void append_headers(const ash_object *o, bson_t *out)
{
    bson_t headers, own;
    bson_iter_t tags;
    bool has_tags = bson_iter_init_find(&tags, o->document, "tags");
    bool has_headers = ash_object_headers(o, &headers);
    if (!has_tags && !has_headers)
        return;
    BSON_APPEND_DOCUMENT_BEGIN(out, "headers", &own);
    if (has_headers)
        bson_concat(&own, &headers);
    if (has_tags)
        bson_append_iter(&own, ASH_HEADER_TAGS, -1, &tags);
    bson_append_document_end(out, &own);
}

int ash_object_to_json(const ash_object *o, char **out, ash_error *err)
{
    bson_t doc = BSON_INITIALIZER;
    bson_iter_t it;
    bool headers = false;
    if (bson_iter_init(&it, o->document))
        while (bson_iter_next(&it)) {
            const char *name = bson_iter_key(&it);
            bool later = strcmp(name, "metadata") == 0 || strcmp(name, "options") == 0 ||
                         strcmp(name, "bucket") == 0;
            if (later && !headers) {
                append_headers(o, &doc);
                headers = true;
            }
            if (strcmp(name, "headers") != 0 && strcmp(name, "tags") != 0 && !is_ours(name))
                bson_append_iter(&doc, NULL, 0, &it);
        }
    *out = bson_as_relaxed_extended_json(&doc, NULL);
    bson_destroy(&doc);
    return *out != NULL
               ? 0
               : ash__fail(err, ASH_EINVAL, "info of %.200s cannot be written as JSON", o->name);
}

int ash_object_from_json(const char *json, size_t len, ash_object **out, ash_error *err)
{
    bson_error_t why;
    *out = NULL;
    bson_t *doc = bson_new_from_json((const uint8_t *)json, (ssize_t)len, &why);
    if (doc == NULL)
        return ash__fail(err, ASH_EINVAL, "an object's info is not JSON: %s", why.message);
    bson_t *own = ash__object_document_with_tags(doc);
    bson_destroy(doc);
    int rc = ash__object_new(own, out, err);
    return rc == ASH_ECORRUPT ? ASH_EINVAL : rc;
}

void ash_object_string_free(char *text)
{
    bson_free(text);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What several stages share. */
#include "query/pipeline/stage.h"

#include "base/mem.h"
#include "bson/path.h"

#include <string.h>

static void set_fields(ash_builder *out, ash_doc doc, const char *path, ash_value v)
{
    size_t len = strcspn(path, ".");
    char *name = ash__strndup(path, len);
    ash_value old = ash__doc_get(doc, name);
    bool placed = false;
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);) {
        /* Of several fields of that name the first is the one that is read everywhere. */
        if (placed || it.name_len != len || memcmp(it.name, name, len) != 0) {
            ash__builder_element(out, &it);
            continue;
        }
        placed = true;
        if (path[len] == '\0') {
            ash__builder_value(out, name, v);
        } else {
            ash__builder_begin_doc(out, name);
            set_fields(out, old.type == BSON_TYPE_DOCUMENT ? ash__value_doc(old) : ash__doc_empty,
                       path + len + 1, v);
            ash__builder_end(out);
        }
    }
    if (!placed && path[len] == '\0') {
        ash__builder_value(out, name, v);
    } else if (!placed && !ash__value_is_missing(v)) {
        /* Only now: removing what is not there makes no documents around it. */
        ash__builder_begin_doc(out, name);
        set_fields(out, ash__doc_empty, path + len + 1, v);
        ash__builder_end(out);
    }
    ash__free(name);
}

void ash__doc_set_path(ash_builder *out, ash_doc doc, const char *path, ash_value v)
{
    ash__builder_begin(out);
    set_fields(out, doc, path, v);
    ash__builder_end(out);
}

void ash__filter_both(ash_builder *out, ash_doc a, ash_doc b)
{
    ash__builder_begin(out);
    if (ash__doc_is_empty(a) || ash__doc_is_empty(b)) {
        ash__builder_elements(out, ash__doc_is_empty(a) ? b : a);
    } else {
        ash__builder_begin_array(out, "$and");
        ash__builder_item(out, 0, ash__value_of_doc(a));
        ash__builder_item(out, 1, ash__value_of_doc(b));
        ash__builder_end(out);
    }
    ash__builder_end(out);
}

/* Each part may become a document around the next. */
static bool is_too_deep(const char *path)
{
    int parts = 1;
    for (const char *c = path; *c != '\0'; c++)
        parts += *c == '.';
    return parts > ASH_DOC_MAX_DEPTH;
}

int ash__stage_field_check(const char *path, ash_error *err)
{
    if (path[0] == '$')
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_FIELD_PATH_DOLLAR_NAME,
                                "FieldPath field names may not start with '$': %.100s", path);
    if (is_too_deep(path))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_OVERFLOW,
                                "field path has more than %d parts: %.100s", ASH_DOC_MAX_DEPTH,
                                path);
    return ash__path_check(path, err);
}

const char *ash__stage_path(ash_value v, const char *stage, int32_t code, ash_error *err)
{
    const char *path = ash__value_utf8(v, "");
    if (path[0] != '$' || path[1] == '$' || path[1] == '\0' || is_too_deep(path)) {
        ash__fail_server(err, ASH_EINVAL, code,
                         "%s: path option should be a field path prefixed with a '$': %.100s",
                         stage, path);
        return NULL;
    }
    return path + 1;
}

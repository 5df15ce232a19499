/* SPDX-License-Identifier: Apache-2.0 */
/* $unwind: one document for each item of an array. */
#include "query/pipeline/stage.h"

#include "base/mem.h"

#include <string.h>

struct unwind_state {
    const char *path;
    const char *index_path; /* or NULL */
    bool keep_empty;
    bool running; /* inside the array of doc */
    ash_buffer doc;
    ash_doc_iter items;
    int64_t index;
    ash_builder out;
    ash_builder indexed;
};

static int read_options(ash_stage_parser *p, ash_doc spec, struct unwind_state *s, ash_value *path)
{
    for (ash_doc_iter it = ash__doc_iter(spec); ash__doc_iter_next(&it);) {
        if (strcmp(it.name, "path") == 0) {
            *path = it.value;
        } else if (strcmp(it.name, "preserveNullAndEmptyArrays") == 0) {
            if (it.value.type != BSON_TYPE_BOOL)
                return ash__fail_server(p->err, ASH_EINVAL,
                                        ASH_MONGO_LOCATION_UNWIND_PRESERVE_NOT_BOOL,
                                        "expected a boolean for the preserveNullAndEmptyArrays "
                                        "option to $unwind stage, got %s",
                                        ash__type_text(it.value));
            s->keep_empty = ash__value_bool(it.value);
        } else if (strcmp(it.name, "includeArrayIndex") == 0) {
            s->index_path = ash__value_utf8(it.value, "");
            if (s->index_path[0] == '\0' || s->index_path[0] == '$')
                return ash__fail_server(p->err, ASH_EINVAL,
                                        s->index_path[0] == '$'
                                            ? ASH_MONGO_LOCATION_UNWIND_INDEX_DOLLAR
                                            : ASH_MONGO_LOCATION_UNWIND_INDEX_EMPTY,
                                        "includeArrayIndex option to $unwind must be a non-empty "
                                        "string that does not start with '$'");
            int rc = ash__stage_field_check(s->index_path, p->err);
            if (rc != 0)
                return rc;
        } else {
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_UNWIND_UNKNOWN_OPTION,
                                    "unrecognized option to $unwind stage: %s", it.name);
        }
    }
    return 0;
}

static int parse_unwind(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    struct unwind_state parsed = {.path = NULL};
    ash_value path = spec;
    int rc = 0;
    if (spec.type == BSON_TYPE_DOCUMENT) {
        path = ASH_VALUE_MISSING;
        rc = read_options(p, ash__value_doc(spec), &parsed, &path);
        if (rc == 0 && ash__value_is_missing(path))
            rc = ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_UNWIND_WITHOUT_PATH,
                                  "no path specified to $unwind stage");
    } else if (spec.type != BSON_TYPE_UTF8) {
        rc = ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_UNWIND_NOT_STRING_OR_OBJECT,
                              "expected either a string or an object as specification for $unwind "
                              "stage, got %s",
                              ash__type_text(spec));
    }
    if (rc != 0)
        return rc;
    if (path.type != BSON_TYPE_UTF8)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_UNWIND_PATH_NOT_STRING,
                                "expected a string as the path for $unwind stage, got %s",
                                ash__type_text(path));
    parsed.path =
        ash__stage_path(path, "$unwind", ASH_MONGO_LOCATION_UNWIND_PATH_WITHOUT_DOLLAR, p->err);
    if (parsed.path == NULL)
        return ASH_EINVAL;
    p->head_open = false;
    struct unwind_state *s = ash__stage_add(p, op, sizeof *s)->state;
    /* Only now, when nothing can fail any more. */
    *s = parsed;
    return 0;
}

/* Through documents by name only. */
static ash_value field_at(ash_doc doc, const char *path)
{
    ash_value v = ash__value_of_doc(doc);
    while (v.type == BSON_TYPE_DOCUMENT) {
        size_t len = strcspn(path, ".");
        char *name = ash__strndup(path, len);
        v = ash__doc_get(ash__value_doc(v), name);
        ash__free(name);
        if (path[len] == '\0')
            return v;
        path += len + 1;
    }
    return ASH_VALUE_MISSING;
}

/* The field of the index is there in any case; of what was no array it is null. */
static ash_doc add_index(struct unwind_state *state, ash_doc doc, bool has_index)
{
    ash_value_box box;
    if (state->index_path == NULL)
        return doc;
    ash__doc_set_path(&state->indexed, doc, state->index_path,
                      has_index ? ash__box_int64(&box, state->index) : ash__make_null());
    return ash__builder_doc(&state->indexed);
}

/* *out stays empty when the document has no array to go through and gives nothing itself. */
static void begin_doc(struct unwind_state *state, ash_doc doc, ash_doc *out)
{
    ash_value v = field_at(doc, state->path);
    bool empty =
        ash__nullish(v) || (v.type == BSON_TYPE_ARRAY && ash__doc_is_empty(ash__value_doc(v)));
    if (empty && state->keep_empty) {
        /* An empty array vanishes; null stays null. */
        if (v.type == BSON_TYPE_ARRAY) {
            ash__doc_set_path(&state->out, doc, state->path, ASH_VALUE_MISSING);
            doc = ash__builder_doc(&state->out);
        }
        *out = add_index(state, doc, false);
    } else if (!empty && v.type != BSON_TYPE_ARRAY) {
        *out = add_index(state, doc, false);
    } else if (!empty) {
        ash__buffer_clear(&state->doc);
        ash__buffer_append(&state->doc, doc.data, doc.len);
        doc = (ash_doc){state->doc.data, state->doc.len};
        state->items = ash__doc_iter(ash__value_doc(field_at(doc, state->path)));
        state->index = -1;
        state->running = true;
    }
}

static int next_unwind(ash_stage *s, ash_doc *out, ash_error *err)
{
    struct unwind_state *state = s->state;
    for (;;) {
        ash_doc doc;
        if (state->running && ash__doc_iter_next(&state->items)) {
            state->index++;
            ash__doc_set_path(&state->out, (ash_doc){state->doc.data, state->doc.len}, state->path,
                              state->items.value);
            *out = add_index(state, ash__builder_doc(&state->out), true);
            return 0;
        }
        state->running = false;
        int rc = ash__stage_pull(s, &doc, err);
        if (rc != 0 || doc.data == NULL)
            return rc;
        *out = (ash_doc){NULL, 0};
        begin_doc(state, doc, out);
        if (out->data != NULL)
            return 0;
    }
}

static void free_unwind(void *state)
{
    struct unwind_state *s = state;
    ash__buffer_release(&s->doc);
    ash__builder_release(&s->out);
    ash__builder_release(&s->indexed);
}

const ash_stage_op ash__stage_unwind_ops[] = {
    {"$unwind", 0, parse_unwind, next_unwind, free_unwind, NULL},
    {NULL},
};

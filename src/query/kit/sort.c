/* SPDX-License-Identifier: Apache-2.0 */
/* Sort specifications, and the key of a document under one.  It is the key of an index with the
 * same pattern, so that sorting in memory and reading an index agree. */
#include "query/kit/sort.h"

#include "base/mem.h"
#include "bson/builder.h"
#include "bson/path.h"

#include <string.h>

#define MAX_SORT_KEYS 32

struct ash_sort_spec {
    ash_key_pattern pattern;
    bool has_pattern;
    int natural;
    ash_collation collation;
};

static int check_meta(ash_doc spec, const char *name, ash_error *err)
{
    if (!ash__value_is_missing(ash__doc_get(spec, "$meta")))
        return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_BAD_VALUE,
                                "$meta sort on '%s' is not supported", name);
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_SORT_EXPRESSION_NOT_META,
                            "$meta is the only expression supported by $sort right now: %s", name);
}

static int check_part(const ash_doc_iter *it, int64_t *direction, ash_error *err)
{
    if (it->value.type == BSON_TYPE_DOCUMENT)
        return check_meta(ash__value_doc(it->value), it->name, err);
    if (!ash__value_is_number(it->value))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_SORT_KEY_ILLEGAL,
                                "Illegal key in $sort specification: %s", it->name);
    if (!ash__value_as_int64(it->value, direction) || (*direction != 1 && *direction != -1))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_SORT_ORDER_ILLEGAL,
                                "$sort key ordering must be 1 (for ascending) or -1 (for "
                                "descending): %s",
                                it->name);
    if (it->name[0] == '$')
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_FIELD_PATH_DOLLAR_NAME,
                                "FieldPath field names may not start with '$': %s", it->name);
    return ash__path_check(it->name, err);
}

/* The pattern with plain int32 directions, whatever number types the caller wrote. */
static int parse_parts(ash_sort_spec *s, ash_doc doc, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    int rc = 0;
    uint32_t count = 0;
    for (ash_doc_iter it = ash__doc_iter(doc); rc == 0 && ash__doc_iter_next(&it);) {
        int64_t direction = 0;
        rc = check_part(&it, &direction, err);
        if (rc == 0 && ++count > MAX_SORT_KEYS)
            rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_SORT_TOO_MANY_KEYS,
                                  "too many compound keys: at most %d", MAX_SORT_KEYS);
        if (rc == 0)
            ash__builder_int32(&b, it.name, (int32_t)direction);
    }
    ash__builder_end(&b);
    if (rc == 0) {
        bson_t key;
        ash__doc_to_bson(ash__builder_doc(&b), &key);
        rc = ash__key_pattern_parse(&key, false, &s->collation, &s->pattern, err);
        s->has_pattern = rc == 0;
    }
    ash__builder_release(&b);
    return rc;
}

static int parse_natural(ash_sort_spec *s, ash_doc doc, ash_value v, ash_error *err)
{
    int64_t direction;
    if (!ash__value_is_number(v) || !ash__value_as_int64(v, &direction) ||
        (direction != 1 && direction != -1))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "$natural sort must be 1 or -1");
    if (ash__doc_count(doc) != 1)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "$natural cannot stand beside other sort keys");
    s->natural = (int)direction;
    return 0;
}

int ash__sort_spec_new(const bson_t *sort, const ash_query_env *env, ash_sort_spec **out,
                       ash_error *err)
{
    ash_sort_spec *s = ash__new(ash_sort_spec);
    ash_doc doc = ash__doc_from_bson(sort);
    if (env != NULL)
        s->collation = env->collation;
    ash_value natural = ash__doc_get(doc, "$natural");
    int rc = 0;
    if (!ash__value_is_missing(natural))
        rc = parse_natural(s, doc, natural, err);
    else if (!ash__doc_is_empty(doc))
        rc = parse_parts(s, doc, err);
    if (rc != 0) {
        ash__sort_spec_free(s);
        s = NULL;
    }
    *out = s;
    return rc;
}

void ash__sort_spec_free(ash_sort_spec *s)
{
    if (s == NULL)
        return;
    if (s->has_pattern)
        ash__key_pattern_release(&s->pattern);
    ash__free(s);
}

bool ash__sort_spec_is_empty(const ash_sort_spec *s)
{
    return s == NULL || (!s->has_pattern && s->natural == 0);
}

int ash__sort_spec_natural(const ash_sort_spec *s)
{
    return s == NULL ? 0 : s->natural;
}

const ash_key_pattern *ash__sort_spec_pattern(const ash_sort_spec *s)
{
    return s != NULL && s->has_pattern ? &s->pattern : NULL;
}

/* A part by itself, where all together have no key. */
static void append_part_alone(const ash_key_pattern *p, uint32_t part, ash_doc doc, ash_buffer *out)
{
    ash_key_set keys = ASH_KEY_SET_INIT;
    ash_key_pattern one = *p;
    /* A pattern of one part, which borrows it from the whole. */
    one.parts = &p->parts[part];
    one.count = 1;
    if (ash__keys_extract(&one, doc, &keys, NULL) == 0) {
        ash_doc key = ash__key_set_at(&keys, 0);
        ash__buffer_append(out, key.data, key.len);
    } else {
        ash__keycode_append(out, ash__path_get(doc, one.parts->path), one.parts->descending,
                            p->has_collation ? &p->collation : NULL);
    }
    ash__key_set_release(&keys);
}

/* An index with this pattern would hold the document first under its smallest key, which is the
 * smallest element for ascending and the largest for descending parts. */
int ash__sort_key_checked(const ash_sort_spec *s, ash_doc doc, ash_buffer *out, ash_error *err)
{
    if (!s->has_pattern)
        return 0;
    ash_key_set keys = ASH_KEY_SET_INIT;
    /* What an index would complain of is told as a sort's complaint. */
    ash_error inner = ASH_ERROR_INIT;
    int rc = ash__keys_extract(&s->pattern, doc, &keys, &inner);
    if (rc == 0) {
        ash_doc key = ash__key_set_at(&keys, 0);
        ash__buffer_append(out, key.data, key.len);
    } else if (rc == ASH_ETIMEOUT || rc == ASH_EINTERRUPTED) {
        if (err != NULL)
            *err = inner;
    } else {
        rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "%s",
                              inner.server_code == ASH_MONGO_CANNOT_INDEX_PARALLEL_ARRAYS
                                  ? "cannot sort with keys that are parallel arrays"
                                  : inner.text);
    }
    ash__key_set_release(&keys);
    return rc;
}

void ash__sort_key(const ash_sort_spec *s, ash_doc doc, ash_buffer *out)
{
    if (ash__sort_key_checked(s, doc, out, NULL) == 0)
        return;
    for (uint32_t i = 0; i < s->pattern.count; i++)
        append_part_alone(&s->pattern, i, doc, out);
}

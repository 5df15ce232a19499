/* SPDX-License-Identifier: Apache-2.0 */
/* Reading {a: 1, "b.c": -1}: the key of an index, and what a sort is made of. */
#include "bson/keycode.h"

#include "base/mem.h"
#include "bson/path.h"

#include <string.h>

static int refuse(ash_error *err, const char *name, const char *why)
{
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_CANNOT_CREATE_INDEX,
                            "bad index key '%.100s': %s", name, why);
}

static bool is_reference_part(const char *part, size_t len)
{
    return (len == 3 && memcmp(part, "$id", 3) == 0) || (len == 3 && memcmp(part, "$db", 3) == 0) ||
           (len == 4 && memcmp(part, "$ref", 4) == 0);
}

static int check_name(const char *name, ash_error *err)
{
    /* Before the other checks, which would only complain of the '$'. */
    if (strstr(name, "$**") != NULL)
        return refuse(err, name, "wildcard indexes are not supported");
    for (const char *part = name; part != NULL;) {
        const char *rest;
        size_t len = ash__path_part(part, &rest);
        if (len == 0)
            return refuse(err, name, "a field name is empty");
        /* Below a field, those of a reference may be indexed: "owner.$id". */
        if (part[0] == '$' && (part == name || !is_reference_part(part, len)))
            return refuse(err, name, "a field name starts with '$'");
        part = rest;
    }
    return 0;
}

static int parse_direction(const char *name, ash_value v, ash_key_part *part, ash_error *err)
{
    double direction;
    if (v.type == BSON_TYPE_UTF8) {
        const char *kind = ash__value_string(v, NULL);
        if (strcmp(kind, "hashed") != 0)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_CANNOT_CREATE_INDEX,
                                    "bad index key '%.100s': indexes of type '%.50s' are not "
                                    "supported",
                                    name, kind);
        part->hashed = true;
        return 0;
    }
    if (!ash__value_is_number(v) || !ash__value_as_double(v, &direction))
        return refuse(err, name, "a direction is a number or a string");
    if (direction == 0 || direction != direction)
        return refuse(err, name, "a direction is not 0 and not NaN");
    /* Any number is a direction, as to the server: 5 is 1, and -0.5 is -1. */
    part->descending = direction < 0;
    return 0;
}

static int parse_parts(ash_doc key, ash_key_pattern *out, ash_error *err)
{
    bool hashed = false;
    for (ash_doc_iter it = ash__doc_iter(key); ash__doc_iter_next(&it);) {
        ash_key_part *part = &out->parts[out->count];
        int rc = check_name(it.name, err);
        if (rc == 0)
            rc = parse_direction(it.name, it.value, part, err);
        if (rc != 0)
            return rc;
        if (part->hashed && hashed)
            return refuse(err, it.name, "only one part of an index can be hashed");
        hashed = hashed || part->hashed;
        /* Counted only behind this line: what is released is what was counted. */
        part->path = ash__strdup(it.name);
        out->count++;
    }
    return 0;
}

int ash__key_pattern_parse(const bson_t *key, bool sparse, const ash_collation *collation,
                           ash_key_pattern *out, ash_error *err)
{
    ash_doc doc = ash__doc_from_bson(key);
    uint32_t count = ash__doc_count(doc);
    memset(out, 0, sizeof *out);
    if (count == 0)
        return refuse(err, "", "it has no fields");
    if (count > ASH_KEY_MAX_PARTS)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_CANNOT_CREATE_INDEX,
                                "bad index key: %u fields, at most %d are allowed", count,
                                ASH_KEY_MAX_PARTS);
    out->parts = ash__alloc_array(count, sizeof *out->parts);
    out->sparse = sparse;
    if (!ash__collation_is_simple(collation)) {
        out->has_collation = true;
        out->collation = *collation;
    }
    int rc = parse_parts(doc, out, err);
    if (rc != 0) {
        ash__key_pattern_release(out);
        return rc;
    }
    out->is_id = count == 1 && strcmp(out->parts[0].path, "_id") == 0 && !out->parts[0].hashed;
    return 0;
}

void ash__key_pattern_release(ash_key_pattern *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        ash__free(p->parts[i].path);
    ash__free(p->parts);
    memset(p, 0, sizeof *p);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One index specification: what a user says is checked field by field and written down in one form,
 * so that two can be compared. */

#include "store/embedded/catalog/index_spec.h"

#include "base/text.h"
#include "bson/builder.h"
#include "query/match/match.h"
#include "store/embedded/kit/give.h"

#include <string.h>

typedef struct spec_fields {
    ash_value key;
    ash_value name;
    ash_value expire;
    ash_value partial;
    ash_value collation;
    ash_value background;
    bool unique;
    bool prepare_unique;
    bool sparse;
    bool hidden;
} spec_fields;

static int read_flag(const char *name, ash_value v, bool *out, ash_error *err)
{
    if (v.type != BSON_TYPE_BOOL && !ash__value_is_number(v))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "The field '%s' has value of type %s, which is not convertible to "
                                "bool",
                                name, ash__type_name(v.type));
    *out = ash__value_truthy(v);
    return 0;
}

static int want_type(const char *name, ash_value v, uint8_t type, ash_error *err)
{
    if (v.type == type)
        return 0;
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                            "The field '%s' must be of type %s, not %s", name, ash__type_name(type),
                            ash__type_name(v.type));
}

static int read_field(const char *name, ash_value v, spec_fields *out, ash_error *err)
{
    /* Older servers wrote these into specifications, and dumps still have them. */
    static const char *const ignored[] = {"v", "ns", "dropDups", "storageEngine", "clustered"};
    if (strcmp(name, "key") == 0) {
        out->key = v;
        return want_type(name, v, BSON_TYPE_DOCUMENT, err);
    }
    if (strcmp(name, "name") == 0) {
        out->name = v;
        return want_type(name, v, BSON_TYPE_UTF8, err);
    }
    if (strcmp(name, "unique") == 0)
        return read_flag(name, v, &out->unique, err);
    if (strcmp(name, "prepareUnique") == 0)
        return read_flag(name, v, &out->prepare_unique, err);
    if (strcmp(name, "sparse") == 0)
        return read_flag(name, v, &out->sparse, err);
    if (strcmp(name, "hidden") == 0)
        return read_flag(name, v, &out->hidden, err);
    if (strcmp(name, "background") == 0) {
        bool unused;
        out->background = v;
        return read_flag(name, v, &unused, err);
    }
    if (strcmp(name, "expireAfterSeconds") == 0) {
        out->expire = v;
        return 0;
    }
    if (strcmp(name, "partialFilterExpression") == 0) {
        out->partial = v;
        return want_type(name, v, BSON_TYPE_DOCUMENT, err);
    }
    if (strcmp(name, "collation") == 0) {
        out->collation = v;
        return want_type(name, v, BSON_TYPE_DOCUMENT, err);
    }
    for (size_t i = 0; i < ASH_ARRAY_LEN(ignored); i++)
        if (strcmp(name, ignored[i]) == 0)
            return 0;
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_INDEX_SPECIFICATION_OPTION,
                            "The field '%s' is not valid for an index specification", name);
}

static bool is_id_key(ash_doc key)
{
    ash_doc_iter it = ash__doc_iter(key);
    double direction = 0;
    return ash__doc_count(key) == 1 && ash__doc_iter_next(&it) && strcmp(it.name, "_id") == 0 &&
           ash__value_as_double(it.value, &direction) && direction == 1;
}

static int check_name(const spec_fields *f, bool is_id, ash_error *err)
{
    uint32_t len;
    /* The index on _id is there already, whatever it is called. */
    if (ash__value_is_missing(f->name))
        return is_id ? 0
                     : ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                        "The 'name' field is a required property of an index "
                                        "specification");
    const char *name = ash__value_string(f->name, &len);
    if (len == 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_CANNOT_CREATE_INDEX,
                                "index name cannot be empty");
    /* Names are C strings further down. */
    if (strlen(name) != len)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_CANNOT_CREATE_INDEX,
                                "index names cannot contain NUL characters");
    size_t good = ash__text_good(name, len);
    if (good < len)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_CANNOT_CREATE_INDEX,
                                "index name is not UTF-8 (byte %zu is 0x%02x)", good,
                                (unsigned char)name[good]);
    /* dropIndexes takes it for all. */
    if (strcmp(name, "*") == 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "The index name '*' is not valid.");
    if (!is_id && strcmp(name, "_id_") == 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "The index name '_id_' is reserved for the _id index, which must "
                                "have key pattern {_id: 1}");
    return 0;
}

static int check_expire(const spec_fields *f, ash_error *err)
{
    double seconds;
    if (ash__value_is_missing(f->expire))
        return 0;
    if (!ash__value_as_double(f->expire, &seconds))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "The field 'expireAfterSeconds' must be a number, not %s",
                                ash__type_name(f->expire.type));
    /* Written this way round so that NaN fails. */
    if (!(seconds >= 0 && seconds <= INT32_MAX))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_CANNOT_CREATE_INDEX,
                                "TTL index 'expireAfterSeconds' option must be within an "
                                "acceptable range, between 0 and %d",
                                INT32_MAX);
    if (ash__doc_count(ash__value_doc(f->key)) != 1)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_CANNOT_CREATE_INDEX,
                                "TTL indexes are single-field indexes, compound indexes do not "
                                "support TTL");
    if (!ash__value_is_missing(ash__doc_get(ash__value_doc(f->key), "_id")))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_INDEX_SPECIFICATION_OPTION,
                                "The field 'expireAfterSeconds' is not valid for an _id index "
                                "specification");
    return 0;
}

static int check_partial(const spec_fields *f, ash_error *err)
{
    /* Which documents an index holds must not depend on when one asks: no clock. */
    ash_query_env env = {0};
    ash_matcher *m = NULL;
    bson_t filter;
    if (ash__value_is_missing(f->partial))
        return 0;
    if (f->sparse)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_CANNOT_CREATE_INDEX,
                                "cannot mix \"partialFilterExpression\" and \"sparse\" options");
    ash__doc_to_bson(ash__value_doc(f->partial), &filter);
    int rc = ash__matcher_new(&filter, &env, &m, err);
    if (rc == 0)
        rc = ash__matcher_check_partial(m, err);
    ash__matcher_free(m);
    return rc;
}

static bool has_hashed(ash_doc key)
{
    ash_doc_iter it = ash__doc_iter(key);
    while (ash__doc_iter_next(&it))
        if (it.value.type == BSON_TYPE_UTF8)
            return true;
    return false;
}

static int check_key(const spec_fields *f, ash_error *err)
{
    ash_key_pattern pattern = {0};
    bson_t key;
    if (ash__value_is_missing(f->key))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "The 'key' field is a required property of an index specification");
    if (ash__doc_is_empty(ash__value_doc(f->key)))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_CANNOT_CREATE_INDEX,
                                "index keys cannot be empty");
    ash__doc_to_bson(ash__value_doc(f->key), &key);
    /* Only for its refusals; the engine parses it again. */
    int rc = ash__key_pattern_parse(&key, f->sparse, NULL, &pattern, err);
    if (rc != 0)
        return rc;
    ash__key_pattern_release(&pattern);
    if ((f->unique || f->prepare_unique) && has_hashed(ash__value_doc(f->key)))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_HASHED_INDEX_UNIQUE,
                                "Currently hashed indexes cannot guarantee uniqueness. Use a "
                                "regular index.");
    return 0;
}

/* The collation to write down: the index's own, else the collection's; nothing for byte order. */
static int effective_collation(const spec_fields *f, const bson_t *coll_options, bson_t *out,
                               bool *has, ash_error *err)
{
    bson_iter_t it;
    ash_collation parsed;
    bool is_simple = true;
    *has = false;
    if (!ash__value_is_missing(f->collation)) {
        ash__doc_to_bson(ash__value_doc(f->collation), out);
    } else if (coll_options != NULL && bson_iter_init_find(&it, coll_options, "collation") &&
               BSON_ITER_HOLDS_DOCUMENT(&it)) {
        const uint8_t *data;
        uint32_t len;
        bson_iter_document(&it, &len, &data);
        ash__doc_to_bson((ash_doc){data, len}, out);
    } else {
        return 0;
    }
    int rc = ash__collation_parse(out, &parsed, &is_simple, err);
    *has = rc == 0 && !is_simple;
    return rc;
}

static void write_down(const spec_fields *f, const bson_t *collation, bson_t *out)
{
    ash_builder b = ASH_BUILDER_INIT;
    double seconds;
    ash__builder_begin(&b);
    ash__builder_int32(&b, "v", 2);
    ash__builder_value(&b, "key", f->key);
    ash__builder_value(&b, "name", f->name);
    if (f->unique)
        ash__builder_bool(&b, "unique", true);
    if (f->prepare_unique && !f->unique)
        ash__builder_bool(&b, "prepareUnique", true);
    if (f->sparse)
        ash__builder_bool(&b, "sparse", true);
    /* It changes nothing, but whoever compares indexes with what was asked for looks at it. */
    if (!ash__value_is_missing(f->background))
        ash__builder_bool(&b, "background", ash__value_truthy(f->background));
    if (ash__value_as_double(f->expire, &seconds))
        ash__builder_int32(&b, "expireAfterSeconds", (int32_t)seconds);
    ash__builder_value(&b, "partialFilterExpression", f->partial);
    if (collation != NULL)
        ash__builder_doc_value(&b, "collation", ash__doc_from_bson(collation));
    if (f->hidden)
        ash__builder_bool(&b, "hidden", true);
    ash__builder_end(&b);
    ash__doc_give(ash__builder_doc(&b), out);
    ash__builder_release(&b);
}

int ash__index_spec_parse(ash_value given, const bson_t *coll_options, bson_t *out, bool *is_id,
                          ash_error *err)
{
    spec_fields f = {0};
    bson_t collation;
    bool has_collation = false;
    *is_id = false;
    if (given.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "an index specification must be an object");
    ash_doc_iter it = ash__doc_iter(ash__value_doc(given));
    while (ash__doc_iter_next(&it)) {
        int rc = read_field(it.name, it.value, &f, err);
        if (rc != 0)
            return rc;
    }
    int rc = check_key(&f, err);
    if (rc != 0)
        return rc;
    *is_id = is_id_key(ash__value_doc(f.key));
    if (*is_id && (f.sparse || !ash__value_is_missing(f.partial) || f.hidden))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_INDEX_SPECIFICATION_OPTION,
                                "an _id index cannot be sparse, partial or hidden");
    rc = check_name(&f, *is_id, err);
    if (rc == 0)
        rc = check_expire(&f, err);
    if (rc == 0)
        rc = check_partial(&f, err);
    if (rc == 0)
        rc = effective_collation(&f, coll_options, &collation, &has_collation, err);
    if (rc == 0)
        write_down(&f, has_collation ? &collation : NULL, out);
    return rc;
}

const char *ash__index_spec_name(const bson_t *spec)
{
    bson_iter_t it;
    return bson_iter_init_find(&it, spec, "name") && BSON_ITER_HOLDS_UTF8(&it)
               ? bson_iter_utf8(&it, NULL)
               : "";
}

static bool same_field(ash_doc a, ash_doc b, const char *name)
{
    ash_value x = ash__doc_get(a, name);
    ash_value y = ash__doc_get(b, name);
    if (ash__value_is_missing(x) || ash__value_is_missing(y))
        return ash__value_is_missing(x) && ash__value_is_missing(y);
    return ash__value_equal(x, y, NULL);
}

int ash__index_spec_compare(const bson_t *wanted, const bson_t *existing, bool *same,
                            ash_error *err)
{
    ash_doc a = ash__doc_from_bson(wanted);
    ash_doc b = ash__doc_from_bson(existing);
    const char *name = ash__index_spec_name(existing);
    bool same_key = same_field(a, b, "key") && same_field(a, b, "collation");
    bool same_kind = same_key && same_field(a, b, "partialFilterExpression") &&
                     same_field(a, b, "unique") && same_field(a, b, "sparse");
    bool same_expiry = same_field(a, b, "expireAfterSeconds");
    *same = false;
    if (strcmp(ash__index_spec_name(wanted), name) == 0) {
        if (!same_kind)
            return ash__fail_server(err, ASH_EEXISTS, ASH_MONGO_INDEX_KEY_SPECS_CONFLICT,
                                    "An existing index has the same name as the requested index, "
                                    "but another key or other options: %s",
                                    name);
        if (!same_expiry)
            return ash__fail_server(err, ASH_EEXISTS, ASH_MONGO_INDEX_OPTIONS_CONFLICT,
                                    "An equivalent index already exists with the same name but "
                                    "different options: %s",
                                    name);
        *same = true;
        return 0;
    }
    if (!same_kind)
        return 0;
    return ash__fail_server(err, ASH_EEXISTS, ASH_MONGO_INDEX_OPTIONS_CONFLICT,
                            same_expiry ? "Index already exists with a different name: %s"
                                        : "An equivalent index already exists with a different "
                                          "name and options: %s",
                            name);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a command's arguments say, and whether there may be such.  The tables of commands.c list
 * names and types; values are the handlers'. */
#include "wire/dispatch.h"

#include "base/mem.h"

#include <string.h>

enum { MAX_BATCH = 100000 }; /* MongoDB's; hello tells it as maxWriteBatchSize */

ash_value ash__arg(const ash_command *c, const char *name)
{
    ash_value v = ash__doc_get(c->body, name);
    return ash__value_is_null(v) ? ASH_VALUE_MISSING : v;
}

bool ash__arg_bool(const ash_command *c, const char *name, bool otherwise)
{
    ash_value v = ash__arg(c, name);
    return v.type == 0 ? otherwise : ash__value_truthy(v);
}

/* Numbers with a fraction are cut, as the server does for counts. */
static int64_t to_int64(ash_value v, int64_t otherwise)
{
    int64_t n;
    double d;
    if (ash__value_as_int64(v, &n))
        return n;
    if (!ash__value_as_double(v, &d) || d != d)
        return otherwise;
    /* Beyond these the conversion is undefined; 2^63 itself is no int64. */
    if (d >= 9.2e18)
        return INT64_MAX;
    return d <= -9.2e18 ? INT64_MIN : (int64_t)d;
}

int64_t ash__arg_int64(const ash_command *c, const char *name, int64_t otherwise)
{
    return to_int64(ash__arg(c, name), otherwise);
}

int ash__arg_count(const ash_command *c, const char *name, int64_t *out, ash_error *err)
{
    *out = ash__arg_int64(c, name, 0);
    if (*out < 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_NEGATIVE_NUMBER,
                                "BSON field '%s' value must be >= 0, actual value '%lld'", name,
                                (long long)*out);
    return 0;
}

const char *ash__arg_string(const ash_command *c, const char *name, const char *otherwise)
{
    ash_value v = ash__arg(c, name);
    return ash__value_utf8(v, otherwise);
}

const bson_t *ash__value_bson(ash_value v, bson_t *holder)
{
    if (v.type != BSON_TYPE_DOCUMENT && v.type != BSON_TYPE_ARRAY)
        return NULL;
    ash__doc_to_bson(ash__value_doc(v), holder);
    return holder;
}

const bson_t *ash__arg_bson(const ash_command *c, const char *name, bson_t *holder)
{
    return ash__value_bson(ash__doc_get(c->body, name), holder);
}

const bson_value_t *ash__field_value(ash_doc doc, const char *name, ash_arg_value *holder)
{
    ash__doc_to_bson(doc, &holder->doc);
    if (!bson_iter_init_find(&holder->iter, &holder->doc, name) ||
        BSON_ITER_HOLDS_NULL(&holder->iter))
        return NULL;
    return bson_iter_value(&holder->iter);
}

int ash__missing_argument(const ash_command *c, const char *name, ash_error *err)
{
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_MISSING_FIELD,
                            "BSON field '%s.%s' is missing but a required field", c->info->name,
                            name);
}

static void sequence_docs(const ash_sequence *s, ash_doc *docs)
{
    size_t at = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        /* ash__message_parse has been through all of them. */
        ash_assert(ash__doc_at(s->data + at, s->len - at, &docs[i]));
        at += docs[i].len;
    }
}

static int array_docs(const ash_command *c, const char *name, ash_value array, ash_doc *docs,
                      ash_error *err)
{
    size_t i = 0;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(array)); ash__doc_iter_next(&it);) {
        if (it.value.type != BSON_TYPE_DOCUMENT)
            return ash__fail_server(
                err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                "BSON field '%s.%s.%zu' is the wrong type '%s', expected type 'object'",
                c->info->name, name, i, ash__type_name(it.value.type));
        docs[i++] = ash__value_doc(it.value);
    }
    return 0;
}

int ash__arg_docs(const ash_command *c, const char *name, ash_doc **out, size_t *count,
                  ash_error *err)
{
    const ash_sequence *s = NULL;
    ash_value array = ash__arg(c, name);
    *out = NULL;
    for (uint32_t i = 0; i < c->request->sequence_count; i++)
        if (strcmp(c->request->sequences[i].name, name) == 0)
            s = &c->request->sequences[i];
    if (s == NULL && array.type != BSON_TYPE_ARRAY)
        return ash__missing_argument(c, name, err);
    *count = s != NULL ? s->count : ash__doc_count(ash__value_doc(array));
    if (*count == 0 || *count > MAX_BATCH)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_LENGTH,
                                "Write batch sizes must be between 1 and %d. Got %zu operations.",
                                MAX_BATCH, *count);
    *out = ash__alloc_array(*count, sizeof **out);
    int rc = 0;
    if (s != NULL)
        sequence_docs(s, *out);
    else
        rc = array_docs(c, name, array, *out, err);
    if (rc != 0) {
        ash__free(*out);
        *out = NULL;
    }
    return rc;
}

static bool type_fits(uint8_t type, unsigned types)
{
    switch (type) {
    /* Counts as absent: drivers send options that nobody has set. */
    case BSON_TYPE_NULL:
    case BSON_TYPE_UNDEFINED:
        return true;
    case BSON_TYPE_BOOL:
        return (types & (ASH_ARG_BOOL | ASH_ARG_ANY)) != 0;
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64:
    case BSON_TYPE_DOUBLE:
    case BSON_TYPE_DECIMAL128:
        return (types & (ASH_ARG_BOOL | ASH_ARG_NUMBER | ASH_ARG_ANY)) != 0;
    case BSON_TYPE_UTF8:
        return (types & (ASH_ARG_STRING | ASH_ARG_ANY)) != 0;
    case BSON_TYPE_DOCUMENT:
        return (types & (ASH_ARG_DOC | ASH_ARG_ANY)) != 0;
    case BSON_TYPE_ARRAY:
        return (types & (ASH_ARG_ARRAY | ASH_ARG_ANY)) != 0;
    default:
        return (types & ASH_ARG_ANY) != 0;
    }
}

static const char *expected(unsigned types)
{
    if (types & ASH_ARG_BOOL)
        return "s '[bool, long, int, decimal, double]'";
    if (types & ASH_ARG_NUMBER)
        return "s '[long, int, decimal, double]'";
    if ((types & ASH_ARG_DOC) && (types & ASH_ARG_STRING))
        return "s '[string, object]'";
    if ((types & ASH_ARG_DOC) && (types & ASH_ARG_ARRAY))
        return "s '[object, array]'";
    if (types & ASH_ARG_DOC)
        return " 'object'";
    return (types & ASH_ARG_ARRAY) ? " 'array'" : " 'string'";
}

/* Lists are short: a search through one costs less than a table of them all. */
static const ash_argument *find_argument(const ash_argument *list, const char *name)
{
    for (; list != NULL && list->name != NULL; list++)
        if (strcmp(list->name, name) == 0)
            return list;
    return NULL;
}

/* One field against its rule. */
static int check_field(const ash_doc_iter *it, const ash_argument *rule, const char *where,
                       ash_error *err)
{
    if (rule == NULL)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_UNKNOWN_FIELD,
                                "BSON field '%s.%s' is an unknown field.", where, it->name);
    if (!type_fits(it->value.type, rule->types))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "BSON field '%s.%s' is the wrong type '%s', expected type%s", where,
                                it->name, ash__type_name(it->value.type), expected(rule->types));
    return 0;
}

int ash__check_fields(ash_doc doc, const ash_argument *allowed, const char *where, ash_error *err)
{
    /* A bit for each rule, of which no list has 64. */
    uint64_t seen = 0;
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);) {
        const ash_argument *rule = find_argument(allowed, it.name);
        int rc = check_field(&it, rule, where, err);
        if (rc != 0)
            return rc;
        uint64_t bit = UINT64_C(1) << (rule - allowed);
        if (seen & bit)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_DUPLICATE_FIELD,
                                    "BSON field '%s.%s' is a duplicate field", where, it.name);
        seen |= bit;
    }
    return 0;
}

/* Documents may come as a section of the message in place of an array; not as both. */
static int check_sequences(const ash_command *c, ash_error *err)
{
    for (uint32_t i = 0; i < c->request->sequence_count; i++) {
        const char *name = c->request->sequences[i].name;
        const ash_argument *rule = find_argument(c->info->arguments, name);
        if (rule == NULL || (rule->types & ASH_ARG_ARRAY) == 0)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_UNKNOWN_FIELD,
                                    "BSON field '%s.%s' is an unknown field.", c->info->name, name);
        if (ash__doc_get(c->body, name).type != 0)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_DUPLICATE_FIELD,
                                    "BSON field '%s.%s' is a duplicate field", c->info->name, name);
    }
    return 0;
}

int ash__command_check_arguments(const ash_command *c, ash_error *err)
{
    const ash_argument *generic = ash__wire_generic_arguments();
    uint64_t seen[2] = {0, 0};
    ash_doc_iter it = ash__doc_iter(c->body);
    /* The first field names the command; its value is the handler's. */
    ash__doc_iter_next(&it);
    while (ash__doc_iter_next(&it)) {
        /* The command's own meaning of a name goes before what it means everywhere. */
        const ash_argument *own = find_argument(c->info->arguments, it.name);
        const ash_argument *rule = own != NULL ? own : find_argument(generic, it.name);
        if (rule == NULL && (c->info->flags & ASH_COMMAND_LENIENT))
            continue;
        int rc = check_field(&it, rule, c->info->name, err);
        if (rc != 0)
            return rc;
        uint64_t *set = &seen[own != NULL ? 0 : 1];
        uint64_t bit = UINT64_C(1) << (own != NULL ? own - c->info->arguments : rule - generic);
        if (*set & bit)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_DUPLICATE_FIELD,
                                    "BSON field '%s.%s' is a duplicate field", c->info->name,
                                    it.name);
        *set |= bit;
    }
    return check_sequences(c, err);
}

int ash__check_system_name(const char *db, const char *coll, ash_error *err)
{
    static const char *const open_to_all[] = {"system.js", "system.users", "system.roles",
                                              "system.tokens", "system.version"};
    if (strncmp(coll, "system.", strlen("system.")) != 0)
        return 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(open_to_all); i++)
        if (strcmp(coll, open_to_all[i]) == 0)
            return 0;
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_NAMESPACE,
                            "Invalid system namespace: %.63s.%.200s", db, coll);
}

int ash__check_namespace(const char *name, uint32_t len_bytes, ash_error *err)
{
    if (len_bytes != 0 && strlen(name) == len_bytes)
        return 0;
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_NAMESPACE,
                            "Invalid namespace specified '%.100s'", name);
}

int ash__command_collection(const ash_command *c, ash_collection **out, ash_error *err)
{
    return ash_collection_new(c->server->store, c->db, c->coll, out, err);
}

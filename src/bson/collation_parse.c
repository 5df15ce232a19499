/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the server's collations are offered.  What would sort otherwise than was asked for is
 * refused by name, never passed over. */
#include "bson/compare.h"

#include "base/mem.h"

#include <string.h>

typedef struct collation_spec {
    const char *locale;
    int64_t strength;
} collation_spec;

/* Options that change nothing in the one form given here, whatever the strength. */
static const struct harmless_option {
    const char *name;
    uint8_t type;
    const char *text; /* the string that is harmless; of booleans it is false; NULL: any value */
} harmless_options[] = {
    {"caseLevel", BSON_TYPE_BOOL, ""},       {"caseFirst", BSON_TYPE_UTF8, "off"},
    {"numericOrdering", BSON_TYPE_BOOL, ""}, {"alternate", BSON_TYPE_UTF8, "non-ignorable"},
    {"maxVariable", BSON_TYPE_UTF8, NULL},   {"normalization", BSON_TYPE_BOOL, NULL},
    {"backwards", BSON_TYPE_BOOL, ""},       {"version", BSON_TYPE_UTF8, NULL},
};

static int wrong_type(const char *name, ash_error *err)
{
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                            "collation option '%s' has the wrong type", name);
}

static bool is_harmless(const struct harmless_option *option, ash_value v)
{
    if (option->text == NULL)
        return true;
    if (option->type == BSON_TYPE_BOOL)
        return !ash__value_bool(v);
    return strcmp(ash__value_string(v, NULL), option->text) == 0;
}

static int read_other(const ash_doc_iter *it, ash_error *err)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(harmless_options); i++) {
        const struct harmless_option *option = &harmless_options[i];
        if (strcmp(it->name, option->name) != 0)
            continue;
        if (it->value.type != option->type)
            return wrong_type(it->name, err);
        if (is_harmless(option, it->value))
            return 0;
        return ash__fail(err, ASH_EUNSUPPORTED,
                         "collation option '%s' is not supported with this "
                         "value",
                         it->name);
    }
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_UNKNOWN_FIELD,
                            "collation option '%.100s' is unknown", it->name);
}

static int read_option(const ash_doc_iter *it, collation_spec *spec, ash_error *err)
{
    if (strcmp(it->name, "locale") == 0) {
        if (it->value.type != BSON_TYPE_UTF8)
            return wrong_type(it->name, err);
        spec->locale = ash__value_string(it->value, NULL);
        return 0;
    }
    if (strcmp(it->name, "strength") == 0) {
        if (!ash__value_is_number(it->value))
            return wrong_type(it->name, err);
        if (!ash__value_as_int64(it->value, &spec->strength) || spec->strength < 1 ||
            spec->strength > 5)
            return ash__fail(err, ASH_EINVAL, "collation strength is not between 1 and 5");
        return 0;
    }
    return read_other(it, err);
}

/* Two or three letters, then perhaps a script or a country.  Turkish and its relatives fold I
 * another way, and variants of a language ("@collation=…") sort another way. */
static int check_locale(const char *locale, ash_error *err)
{
    static const char *const other_folding[] = {"tr", "az", "lt"};
    size_t language = strspn(locale, "abcdefghijklmnopqrstuvwxyz");
    bool ends = locale[language] == 0 || locale[language] == '_' || locale[language] == '-';
    if (strchr(locale, '@') != NULL && language >= 2)
        return ash__fail(err, ASH_EUNSUPPORTED, "collation locale '%.50s' is not supported",
                         locale);
    if (language < 2 || language > 3 || !ends)
        return ash__fail(err, ASH_EINVAL, "collation locale '%.50s' is not a locale", locale);
    for (size_t i = 0; i < ASH_ARRAY_LEN(other_folding); i++) {
        if (language == 2 && strncmp(locale, other_folding[i], 2) == 0)
            return ash__fail(err, ASH_EUNSUPPORTED, "collation locale '%.50s' is not supported",
                             locale);
    }
    return 0;
}

int ash__collation_parse(const bson_t *spec, ash_collation *out, bool *is_simple, ash_error *err)
{
    /* 3 is the server's default. */
    collation_spec read = {NULL, 3};
    ash_doc doc = ash__doc_from_bson(spec);
    memset(out, 0, sizeof *out);
    *is_simple = true;
    if (ash__doc_is_empty(doc))
        return 0;
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);) {
        int rc = read_option(&it, &read, err);
        if (rc != 0)
            return rc;
    }
    if (read.locale == NULL)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_MISSING_FIELD,
                                "collation has no locale");
    if (strcmp(read.locale, "simple") == 0)
        return 0;
    int rc = check_locale(read.locale, err);
    if (rc != 0)
        return rc;
    if (read.strength > 2)
        return ash__fail(err, ASH_EUNSUPPORTED,
                         "collation strength %d is not supported, only 1 and 2 or locale 'simple'",
                         (int)read.strength);
    *is_simple = false;
    out->ignore_case = true;
    out->ignore_diacritics = read.strength == 1;
    return 0;
}

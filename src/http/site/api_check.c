/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a type or size that they cannot have are refused before anything is done: a condition
 * that is passed over is a change that nobody wanted. */
#include "http/site/api.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

typedef enum kind { TEXT, COUNT, VERSION, FLAG } kind;

static const struct parameter {
    const char *name;
    kind in_query, in_body;
} parameters[] = {
    {"path", TEXT, TEXT},
    {"at", TEXT, TEXT},
    {"id", TEXT, TEXT},
    {"tag", TEXT, TEXT},
    {"expires", TEXT, TEXT},
    {"right", TEXT, TEXT},
    {"q", TEXT, TEXT},
    {"after", TEXT, TEXT},
    {"limit", COUNT, COUNT},
    {"max_bytes", COUNT, COUNT},
    {"max_files", COUNT, COUNT},
    {"version", VERSION, VERSION},
    {"if_version", VERSION, VERSION},
    {"from", VERSION, VERSION},
    {"to", VERSION, TEXT},
    {"recursive", FLAG, FLAG},
    {"make_folders", FLAG, FLAG},
    {"replace", FLAG, FLAG},
    {"dry_run", FLAG, FLAG},
    {"remove", FLAG, FLAG},
};

static bool refuse(ash_api_call *c, const char *name, const char *what)
{
    ash__api_refuse(c, 400, "EINVAL", "`%s` is %s", name, what);
    return false;
}

static bool check_number(ash_api_call *c, const char *name, kind k, bool whole, int64_t n)
{
    if (!whole)
        return refuse(c, name, "a whole number");
    return (k != VERSION || (n >= 0 && n <= INT32_MAX)) ||
           refuse(c, name, "no version that there could be");
}

static bool check_in_body(ash_api_call *c, const struct parameter *p, const bson_iter_t *at)
{
    bool is_double = BSON_ITER_HOLDS_DOUBLE(at);
    double d = is_double ? bson_iter_double(at) : 0;
    bool whole = BSON_ITER_HOLDS_INT32(at) || BSON_ITER_HOLDS_INT64(at) ||
                 (is_double && d >= -9e15 && d <= 9e15 && d == (double)(int64_t)d);
    switch (p->in_body) {
    case TEXT:
        return BSON_ITER_HOLDS_UTF8(at) || refuse(c, p->name, "a string");
    case FLAG:
        return BSON_ITER_HOLDS_BOOL(at) || refuse(c, p->name, "true or false");
    default:
        return check_number(c, p->name, p->in_body, whole, whole ? bson_iter_as_int64(at) : 0);
    }
}

static bool check_in_query(ash_api_call *c, const struct parameter *p)
{
    char *text = ash__api_text(c, p->name);
    bool good = true;
    if (text != NULL && (p->in_query == COUNT || p->in_query == VERSION)) {
        size_t len = strlen(text), digits = strspn(text, "0123456789");
        /* More digits than a number has are as little one as a word is. */
        bool whole = len > 0 && len <= 15 && digits == len;
        good = check_number(c, p->name, p->in_query, whole, whole ? atoll(text) : 0);
    }
    ash__free(text);
    return good;
}

bool ash__api_check(ash_api_call *c)
{
    bson_iter_t at;
    for (size_t i = 0; i < ASH_ARRAY_LEN(parameters); i++) {
        const struct parameter *p = &parameters[i];
        if (c->body == NULL ? !check_in_query(c, p)
                            : bson_iter_init_find(&at, c->body, p->name) &&
                                  !BSON_ITER_HOLDS_NULL(&at) && !check_in_body(c, p, &at))
            return false;
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* $regexMatch $regexFind $regexFindAll. */
#include "query/expr/node.h"

#include "base/budget.h"
#include "base/mem.h"
#include "query/kit/regex.h"
#include "query/kit/utf8.h"

#include <string.h>

enum { MATCH, FIND, FIND_ALL };

static const ash_op_param params[] = {{"input", ASH_MONGO_LOCATION_REGEX_WITHOUT_INPUT},
                                      {"regex", ASH_MONGO_LOCATION_REGEX_WITHOUT_REGEX},
                                      {"options", 0},
                                      {NULL}};

/* Pattern and options from the arguments; *null: the regex is null, nothing matches. */
static int read_pattern(const ash_node *n, ash_eval *e, ash_regex **out, bool *null)
{
    ash_value regex, options;
    const char *pattern, *flags = "";
    uint32_t len;
    int rc = ash__eval_arg(n, 1, e, &regex);
    if (rc == 0)
        rc = ash__eval_arg(n, 2, e, &options);
    *null = rc == 0 && ash__nullish(regex);
    if (rc != 0 || *null)
        return rc;
    if (!ash__nullish(options) && !ash__is_string(options))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_REGEX_OPTIONS_NOT_STRING,
                                "%s needs 'options' to be of type string", n->op->name);
    if (regex.type == BSON_TYPE_REGEX) {
        pattern = ash__value_regex(regex, &flags);
        if (flags[0] != '\0' && !ash__nullish(options))
            return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_REGEX_OPTIONS_TWICE,
                                    "%s found regex option(s) specified in both 'regex' and "
                                    "'option' fields",
                                    n->op->name);
    } else if (ash__is_string(regex)) {
        pattern = ash__value_string(regex, &len);
        if (strlen(pattern) != len)
            return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_REGEX_NUL,
                                    "%s: regular expression cannot contain an embedded null byte",
                                    n->op->name);
    } else {
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_REGEX_NOT_STRING_OR_REGEX,
                                "%s needs 'regex' to be of type string or regex", n->op->name);
    }
    if (!ash__nullish(options))
        flags = ash__value_string(options, &len);
    /* Compiled for each document: the pattern is an expression and may come from it. */
    rc = ash__regex_new(pattern, flags, out, e->err);
    if (rc == ASH_EINVAL && e->err != NULL &&
        e->err->server_code == ASH_MONGO_LOCATION_REGEX_INVALID)
        /* The server has one code for filters and another for expressions. */
        e->err->server_code = ASH_MONGO_LOCATION_REGEX_EXPRESSION_INVALID;
    return rc;
}

/* {match, idx, captures}; idx: how many characters stand before the match. */
static void append_match(ash_builder *b, const char *text, const ash_regex_match *m, uint32_t idx)
{
    char buf[12];
    ash__builder_string(b, "match", text + m->offsets[0],
                        (uint32_t)(m->offsets[1] - m->offsets[0]));
    ash__builder_int32(b, "idx", (int32_t)idx);
    ash__builder_begin_array(b, "captures");
    for (uint32_t i = 1; i < m->pairs; i++) {
        const size_t *group = m->offsets + 2 * i;
        const char *name = ash__index_name(i - 1, buf);
        if (group[0] == SIZE_MAX)
            ash__builder_null(b, name);
        else
            ash__builder_string(b, name, text + group[0], (uint32_t)(group[1] - group[0]));
    }
    ash__builder_end(b);
}

static int find_all(ash_eval *e, const ash_regex *r, const char *text, uint32_t len, ash_value *out)
{
    ash_builder b = ASH_BUILDER_INIT;
    size_t from = 0, counted = 0;
    uint32_t count = 0, idx = 0;
    int found = 1;
    ash__builder_begin(&b);
    while (from <= len) {
        char name[12];
        ash_regex_match m;
        if ((found = ash__budget_step(e->err)) != 0)
            break;
        found = ash__regex_find(r, text, len, from, &m, e->err);
        if (found == 1) {
            /* Counted from the last match on, so that the text is gone through once. */
            idx += ash__utf8_length(text + counted, (uint32_t)(m.offsets[0] - counted));
            counted = m.offsets[0];
            ash__builder_begin_doc(&b, ash__index_name(count++, name));
            append_match(&b, text, &m, idx);
            ash__builder_end(&b);
            from = m.offsets[1];
            /* An empty match: on behind the next character, or behind the end. */
            if (m.offsets[1] == m.offsets[0])
                from += from < len ? ash__utf8_offset(text + from, len - (uint32_t)from, 1) : 1;
        }
        ash__free(m.offsets);
        if (found == 1)
            found = ash__check_size(e, b.buf.len) == 0 ? 1 : ASH_ETOOBIG;
        if (found != 1)
            break;
    }
    if (found >= 0)
        return ash__make_array(e, &b, out);
    ash__builder_release(&b);
    return found;
}

static int find_first(ash_eval *e, const ash_regex *r, const char *text, uint32_t len,
                      ash_value *out)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash_regex_match m;
    int found = ash__regex_find(r, text, len, 0, &m, e->err);
    *out = ash__make_null();
    if (found == 1) {
        ash__builder_begin(&b);
        append_match(&b, text, &m, ash__utf8_length(text, (uint32_t)m.offsets[0]));
        found = ash__make_doc(e, &b, out);
    }
    ash__free(m.offsets);
    return found < 0 ? found : 0;
}

static int eval_regex(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_regex *regex = NULL;
    ash_value input;
    uint32_t len;
    bool null;
    int variant = n->op->variant;
    int rc = ash__eval_arg(n, 0, e, &input);
    if (rc != 0)
        return rc;
    if (!ash__nullish(input) && !ash__is_string(input))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_REGEX_INPUT_NOT_STRING,
                                "%s needs 'input' to be of type string", n->op->name);
    rc = read_pattern(n, e, &regex, &null);
    if (rc != 0)
        return rc;
    if (null || ash__nullish(input)) {
        *out = variant == MATCH ? ash__make_bool(false) : ash__make_null();
        if (variant == FIND_ALL)
            rc = ash__array_of(e, NULL, 0, out);
        ash__regex_free(regex);
        return rc;
    }
    const char *text = ash__value_string(input, &len);
    if (variant == FIND_ALL) {
        rc = find_all(e, regex, text, len, out);
    } else if (variant == FIND) {
        rc = find_first(e, regex, text, len, out);
    } else {
        rc = ash__regex_test(regex, text, len, e->err);
        *out = ash__make_bool(rc == 1);
        rc = rc < 0 ? rc : 0;
    }
    ash__regex_free(regex);
    return rc;
}

const ash_expr_op ash__expr_regex_ops[] = {
    {"$regexMatch", 0, 0, eval_regex, MATCH, params, ASH_MONGO_LOCATION_REGEX_NOT_OBJECT,
     ASH_MONGO_LOCATION_REGEX_UNKNOWN_ARGUMENT},
    {"$regexFind", 0, 0, eval_regex, FIND, params, ASH_MONGO_LOCATION_REGEX_NOT_OBJECT,
     ASH_MONGO_LOCATION_REGEX_UNKNOWN_ARGUMENT},
    {"$regexFindAll", 0, 0, eval_regex, FIND_ALL, params, ASH_MONGO_LOCATION_REGEX_NOT_OBJECT,
     ASH_MONGO_LOCATION_REGEX_UNKNOWN_ARGUMENT},
    {NULL},
};

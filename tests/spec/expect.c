/* SPDX-License-Identifier: Apache-2.0 */
#include "runner.h"

#include <ctype.h>
#include <string.h>

static bool contains(const char *text, const char *part)
{
    size_t len = strlen(part);
    for (; *text != '\0'; text++) {
        size_t i = 0;
        while (i < len && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
            i++;
        if (i == len)
            return true;
    }
    return len == 0;
}

static bool is_true(ash_doc doc, const char *name)
{
    return ash__value_truthy(ash__doc_get(doc, name));
}

static bool expect_names(runner *r, ash_doc expected, const ash_error *err)
{
    char name[64];
    int64_t code;
    const char *part = spec_text(expected, "errorContains");
    const char *code_name = spec_text(expected, "errorCodeName");
    ash_error_server_name(ash_error_server_code(err), name, sizeof name);
    if (part != NULL && !contains(err->text, part))
        return spec_fail(r, "error says \"%s\", not \"%s\"", err->text, part);
    if (ash__value_as_int64(ash__doc_get(expected, "errorCode"), &code) &&
        code != ash_error_server_code(err))
        return spec_fail(r, "error has the code %d", (int)ash_error_server_code(err));
    if (code_name != NULL && strcmp(code_name, name) != 0)
        return spec_fail(r, "error is named %s", name);
    return true;
}

static bool expect_error(runner *r, ash_doc expected, const outcome *out)
{
    const ash_error *err = &out->err;
    ash_value client = ash__doc_get(expected, "isClientError");
    ash_value timeout = ash__doc_get(expected, "isTimeoutError");
    ash_value result = ash__doc_get(expected, "expectResult");
    if (err->code == 0)
        return spec_fail(r, "it succeeded, an error was expected");
    /* What the server (or the engine in its place) refused has a code of the server. */
    bool is_client = err->server_code == 0;
    if (!ash__value_is_missing(client) && ash__value_truthy(client) != is_client)
        return spec_fail(r, "error is from the %s: %s", is_client ? "client" : "server", err->text);
    if (!ash__value_is_missing(timeout) &&
        ash__value_truthy(timeout) != (err->code == ASH_ETIMEOUT))
        return spec_fail(r, "error is%s a timeout", err->code == ASH_ETIMEOUT ? "" : " not");
    if (!ash__value_is_missing(ash__doc_get(expected, "errorLabelsContain")))
        return spec_fail(r, "error has no labels in this interface");
    if (!ash__value_is_missing(result) &&
        !spec_match(r, "result", result, ash__doc_get(ash__doc_from_bson(&out->value), "v"), true))
        return false;
    return expect_names(r, expected, err);
}

static bool expect_result(runner *r, ash_doc operation, const outcome *out)
{
    ash_value expected = ash__doc_get(operation, "expectResult");
    const char *save = spec_text(operation, "saveResultAsEntity");
    ash_value v = ash__doc_get(ash__doc_from_bson(&out->value), "v");
    if (out->err.code != 0)
        return spec_fail(r, "it failed: %s", out->err.text);
    if (!ash__value_is_missing(expected) && !spec_match(r, "result", expected, v, true))
        return false;
    return save == NULL || spec_entity_save(r, save, v);
}

bool spec_expect(runner *r, ash_doc operation, const outcome *out)
{
    ash_value error = ash__doc_get(operation, "expectError");
    if (is_true(operation, "ignoreResultAndError"))
        return true;
    if (error.type == BSON_TYPE_DOCUMENT)
        return expect_error(r, ash__value_doc(error), out);
    return expect_result(r, operation, out);
}

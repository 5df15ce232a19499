/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, as they are filled where they are found.  What a code is called, says and maps to stands
 * in error.def alone, which the table and the assertions below are made of. */
#include "base/error.h"

#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct row {
    const char *name;
    int code;
    const char *text;
    int32_t server_code;
    int http_status;
    int exit_code;
};

#define X(name, code, text, server, http, exit) {#name, code, text, server, http, exit},
static const struct row table[] = {
#include "base/error.def"
};
#undef X

#define X(name, code, text, server, http, exit)                                                    \
    _Static_assert(ASH_##name == (code), "error.def and ashlar/error.h disagree on " #name);
#include "base/error.def"
#undef X

struct server_row {
    int32_t code;
    const char *name;
    int library_code;
};

#define X(server, name, code) {server, #name, code},
static const struct server_row server_table[] = {
#include "base/server_codes.def"
};
#undef X

/* A search is no work beside whatever has failed. */
static const struct row *find_row(int code)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].code == code)
            return &table[i];
    }
    return NULL;
}

const char *ash_error_text(int code)
{
    const struct row *row = find_row(code);
    if (code == ASH_OK)
        return "success";
    return row != NULL ? row->text : "unknown error";
}

const char *ash_error_name(int code)
{
    const struct row *row = find_row(code);
    if (code == ASH_OK)
        return "OK";
    return row != NULL ? row->name : "EUNKNOWN";
}

int32_t ash_error_server_code(const ash_error *err)
{
    const struct row *row = find_row(err->code);
    if (err->server_code != 0)
        return err->server_code;
    return row != NULL ? row->server_code : ASH_MONGO_UNKNOWN_ERROR;
}

void ash_error_server_name(int32_t server_code, char *buf, size_t size_bytes)
{
    for (size_t i = 0; i < sizeof server_table / sizeof server_table[0]; i++) {
        if (server_table[i].code == server_code) {
            snprintf(buf, size_bytes, "%s", server_table[i].name);
            return;
        }
    }
    /* MongoDB's own name for codes that have none. */
    snprintf(buf, size_bytes, "Location%d", (int)server_code);
}

int ash_error_http_status(int code)
{
    const struct row *row = find_row(code);
    return row != NULL ? row->http_status : (code == ASH_OK ? 200 : 500);
}

int ash_error_exit_code(int code)
{
    const struct row *row = find_row(code);
    return row != NULL ? row->exit_code : (code == ASH_OK ? 0 : 1);
}

__attribute__((format(printf, 4, 0))) static void
set_text(ash_error *err, int code, int32_t server_code, const char *format, va_list args)
{
    err->code = code;
    err->server_code = server_code;
    /* What does not fit may be cut amid a character, which then goes as a whole. */
    vsnprintf(err->text, sizeof err->text, format, args);
    ash__text_trim(err->text);
}

int ash__fail(ash_error *err, int code, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        set_text(err, code, 0, format, args);
        va_end(args);
    }
    return code;
}

int ash__fail_server(ash_error *err, int code, int32_t server_code, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        set_text(err, code, server_code, format, args);
        va_end(args);
    }
    return code;
}

static int code_from_errno(int errno_value)
{
    switch (errno_value) {
    case ENOENT:
    /* A part of the path is a file: there is nothing of that name. */
    case ENOTDIR:
        return ASH_ENOTFOUND;
    case EEXIST:
        return ASH_EEXISTS;
    case EACCES:
    case EPERM:
        return ASH_EACCES;
    case EROFS:
        return ASH_EREADONLY;
    case ENOSPC:
    case EDQUOT:
    /* A limit of the process or the file system, which is helped as a full disk is. */
    case EFBIG:
        return ASH_ENOSPC;
    case ENOMEM:
        return ASH_ENOMEM;
    case ETIMEDOUT:
        return ASH_ETIMEOUT;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case EADDRINUSE:
    case EADDRNOTAVAIL:
        return ASH_ENETWORK;
    case EINVAL:
    case ENAMETOOLONG:
    case EISDIR:
        return ASH_EINVAL;
    default:
        return ASH_EIO;
    }
}

int ash__fail_errno(ash_error *err, int errno_value, const char *format, ...)
{
    int code = code_from_errno(errno_value);
    if (err != NULL) {
        char reason[128] = "";
        va_list args;
        va_start(args, format);
        set_text(err, code, 0, format, args);
        va_end(args);
        /* The one of POSIX, which returns a number and may be called by several threads. */
        if (strerror_r(errno_value, reason, sizeof reason) == 0) {
            size_t used = strlen(err->text);
            snprintf(err->text + used, sizeof err->text - used, ": %s", reason);
        }
    }
    return code;
}

int ash__code_from_server(int32_t server_code)
{
    for (size_t i = 0; i < sizeof server_table / sizeof server_table[0]; i++) {
        if (server_table[i].code == server_code)
            return server_table[i].library_code;
    }
    return ASH_EINTERNAL;
}

void ash__error_prefix(ash_error *err, const char *format, ...)
{
    char old[sizeof err->text];
    va_list args;
    if (err == NULL)
        return;
    /* vsnprintf must not read from where it writes to. */
    memcpy(old, err->text, sizeof old);
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %s", old);
    ash__text_trim(err->text);
}

int ash__unless(int expected, int rc, const ash_error *what, ash_error *err)
{
    if (rc == expected)
        return 0;
    if (rc != 0 && err != NULL)
        *err = *what;
    return rc;
}

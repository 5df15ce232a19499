/* SPDX-License-Identifier: Apache-2.0 */
/* What the command says, and where: results on standard output, all else on standard error, and
 * never a byte that a terminal would obey. */
#include "cmd/kit/cmd.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cmd/kit/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN_MAX = 300 }; /* bytes of a name in a message */

/* Why the first write to standard output failed: stdio remembers no more than that one did. */
static atomic_int output_errno;
/* Bytes, after which nothing else is printed. */
static atomic_bool output_is_bytes;

void ash__cmd_keep_output_error(void)
{
    int none = 0, reason = errno;
    if (ferror(stdout))
        atomic_compare_exchange_strong(&output_errno, &none, reason);
}

bool ash__cmd_flush_output(void)
{
    bool good = fflush(stdout) == 0;
    if (!good)
        ash__cmd_keep_output_error();
    return good;
}

static void print_json(FILE *to, const bson_t *object)
{
    char *text = ash__cmd_json_text(object);
    fprintf(to, "%s\n", text);
    if (to == stdout)
        ash__cmd_keep_output_error();
    ash__free(text);
}

/* A name may have a mebibyte; as much of one as tells it from others is enough for people. */
static void cut(char *text)
{
    size_t at = SHOWN_MAX;
    if (strlen(text) <= SHOWN_MAX)
        return;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    memcpy(text + at, "...", sizeof "...");
}

/* "no file named x", "cannot open x: …" and "x is …" say it all. */
static bool names(const char *text, const char *word)
{
    size_t len = strlen(word);
    if (len > 0 && strncmp(text, word, len) == 0 && text[len] == ' ')
        return true;
    for (const char *at = strstr(text, word); len > 0 && at != NULL; at = strstr(at + 1, word)) {
        if (at > text && at[-1] == ' ' && (at[len] == 0 || at[len] == ':'))
            return true;
    }
    return false;
}

/* Whoever wrote the text may have had an address in hand; a log is read by others. */
static char *printable_without_secrets(const char *text)
{
    char *shown = ash__cmd_uri_shown(text);
    char *printable = ash__cmd_printable(shown);
    ash__free(shown);
    return printable;
}

static void report(const ash_cmd *cmd, const char *kind, const char *what, int code,
                   const char *text)
{
    const char *verb = cmd->verb != NULL ? cmd->verb->name : NULL;
    char *shown = printable_without_secrets(text);
    char *shown_what = what != NULL ? printable_without_secrets(what) : NULL;
    if (cmd->json) {
        bson_t object = BSON_INITIALIZER, inner;
        BSON_APPEND_DOCUMENT_BEGIN(&object, kind, &inner);
        if (code != 0) {
            BSON_APPEND_UTF8(&inner, "code", ash_error_name(code));
            BSON_APPEND_INT32(&inner, "exit", ash_error_exit_code(code));
        }
        if (verb != NULL)
            BSON_APPEND_UTF8(&inner, "verb", verb);
        if (shown_what != NULL)
            BSON_APPEND_UTF8(&inner, "item", shown_what);
        BSON_APPEND_UTF8(&inner, "message", shown);
        bson_append_document_end(&object, &inner);
        print_json(stderr, &object);
        bson_destroy(&object);
    } else {
        /* Not "a.txt: no file named a.txt". */
        bool twice = shown_what != NULL && names(shown, shown_what);
        if (shown_what != NULL)
            cut(shown_what);
        const char *item = shown_what != NULL && !twice ? shown_what : "";
        const char *program = cmd->mongofiles ? "mongofiles" : "ashlar";
        verb = cmd->mongofiles ? NULL : verb;
        fprintf(stderr, "%s%s%s: %s%s%s%s\n", program, verb != NULL ? " " : "",
                verb != NULL ? verb : "", strcmp(kind, "warning") == 0 ? "warning: " : "", item,
                item[0] != 0 ? ": " : "", shown);
    }
    ash__free(shown);
    ash__free(shown_what);
}

static atomic_flag hinted = ATOMIC_FLAG_INIT;

/* Does nobody read standard output any more?  What is left to say is for nobody, then. */
static bool reader_gone(void)
{
    struct pollfd out = {STDOUT_FILENO, POLLOUT, 0};
    return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

int ash__cmd_fail(const ash_cmd *cmd, const char *what, const ash_error *err)
{
    /* Our own writing ended it: as SIGPIPE would, without a word. */
    if (err->code == ASH_EINTERRUPTED && !ash__cmd_is_interrupted() && reader_gone())
        return ASH_EXIT_PIPE;
    report(cmd, "error", what, err->code,
           err->text[0] != 0 ? err->text : ash_error_text(err->code));
    bool checked = cmd->verb != NULL && strcmp(cmd->verb->name, "check") == 0;
    /* Once is enough, however many files are damaged. */
    if (err->code == ASH_ECORRUPT && !cmd->json && !atomic_flag_test_and_set(&hinted))
        fprintf(stderr, "%s`ashlar check --repair` copies what is whole into a new store\n",
                checked ? "" : "`ashlar check` tells how far it goes; ");
    /* Object stores refuse changes by the same code, for what they are. */
    if (err->code == ASH_EREADONLY && !cmd->json && ash__cmd_files_are_read_only())
        fprintf(stderr,
                "the files of the store, or their folder, may not be written to from here\n");
    return ash_error_exit_code(err->code);
}

int ash__cmd_usage(const ash_cmd *cmd, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    ash__cmd_format(text, sizeof text, format, args);
    va_end(args);
    report(cmd, "error", NULL, ASH_EINVAL, text);
    return ASH_EXIT_USAGE;
}

void ash__cmd_warn(const ash_cmd *cmd, const char *format, ...)
{
    /* A message that does not fit is cut between two characters (ash__cmd_format). */
    char text[2048];
    va_list args;
    va_start(args, format);
    ash__cmd_format(text, sizeof text, format, args);
    va_end(args);
    report(cmd, "warning", NULL, 0, text);
}

void ash__cmd_note(const ash_cmd *cmd, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (cmd->quiet)
        return;
    va_start(args, format);
    ash__cmd_format(text, sizeof text, format, args);
    va_end(args);
    report(cmd, "note", NULL, 0, text);
}

void ash__cmd_trace(const ash_cmd *cmd, int level, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (cmd->verbose < level)
        return;
    int64_t ms = ash__clock_ms() - cmd->started_ms;
    int used = snprintf(text, sizeof text, "%" PRId64 ".%03d s: ", ms / 1000, (int)(ms % 1000));
    va_start(args, format);
    ash__cmd_format(text + used, sizeof text - (size_t)used, format, args);
    va_end(args);
    report(cmd, "trace", NULL, 0, text);
}

void ash__cmd_log(const ash_cmd *cmd, ash_log_level level, const char *line)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    int64_t now = ash__clock_wall_ms();
    char date[64];
    char *shown = printable_without_secrets(line); /* it may hold names that clients have chosen */
    if (cmd->json) {
        bson_t *object = BCON_NEW("log", "{", "time", BCON_DATE_TIME(now), "level",
                                  BCON_UTF8(names[level]), "message", BCON_UTF8(shown), "}");
        print_json(stderr, object);
        bson_destroy(object);
    } else {
        ash__clock_print(date, sizeof date, now);
        fprintf(stderr, "%s %s %s\n", date, names[level], shown);
    }
    ash__free(shown);
}

void ash__cmd_say(const ash_cmd *cmd, const char *format, ...)
{
    va_list args;
    if (cmd->quiet || cmd->json)
        return;
    va_start(args, format);
    char *shown = ash__cmd_format_printable(format, args);
    va_end(args);
    puts(shown);
    ash__cmd_keep_output_error();
    ash__free(shown);
}

void ash__cmd_emit(const bson_t *object)
{
    print_json(stdout, object);
}

const char *ash__cmd_s(int64_t count)
{
    return count == 1 ? "" : "s";
}

void ash__cmd_print_size(char *buf, size_t size, int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < ASH_ARRAY_LEN(units)) {
        value /= 1024;
        unit++;
    }
    snprintf(buf, size, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

int ash__cmd_write_out(void *ctx, const void *data, size_t len, ash_error *err)
{
    const char *at = data;
    (void)ctx;
    atomic_store(&output_is_bytes, true);
    /* Lines that were printed come before the bytes. */
    if (!ash__cmd_flush_output())
        return ash__fail_errno(err, atomic_load(&output_errno), "cannot write to standard output");
    /* What stdio would try again after a signal comes back from write() to us. */
    while (len > 0) {
        ssize_t put = write(STDOUT_FILENO, at, len);
        int reason = errno;
        int rc = ash__cmd_check_interrupted(err);
        if (rc != 0)
            return rc;
        if (put < 0 && reason == EPIPE)
            return ash__fail(err, ASH_EINTERRUPTED, "nobody reads standard output");
        if (put < 0 && reason != EINTR)
            return ash__fail_errno(err, reason, "cannot write to standard output");
        at += put > 0 ? put : 0;
        len -= put > 0 ? (size_t)put : 0;
    }
    return 0;
}

void ash__cmd_end_bytes(void)
{
    if (!ash__cmd_flush_output() || !atomic_load(&output_is_bytes))
        return;
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0)
        return;
    (void)dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
}

int ash__cmd_finish_output(const ash_cmd *cmd, int exit_code)
{
    ash_error err = ASH_ERROR_INIT;
    bool failed = !ash__cmd_flush_output() || ferror(stdout);
    int reason = atomic_load(&output_errno);
    if (failed && reader_gone())
        return ASH_EXIT_PIPE;
    /* Whoever failed has said so already, most likely about this very stream. */
    if (!failed || exit_code != 0)
        return exit_code;
    err.code = reason == ENOSPC ? ASH_ENOSPC : ASH_EIO;
    snprintf(err.text, sizeof err.text, "cannot write to standard output%s%s",
             reason != 0 ? ": " : "", reason != 0 ? strerror(reason) : "");
    return ash__cmd_fail(cmd, NULL, &err);
}

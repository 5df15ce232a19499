/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar locks`: what ash_lock_list tells of each lock, for people; and breaking one. */
#include "cmd/locks/locks.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cmd/kit/verbs.h"

#include <inttypes.h>
#include <string.h>

enum { REASON, ALL };
static const ash_cmd_option options[] = {
    {0, "reason", "TEXT", "with break: why; kept in the lock document"},
    {'a', "all", NULL, "with ls: also locks that nobody holds or waits for"},
    {0, NULL, NULL, NULL},
};

int ash__locks_id(const char *text, bson_value_t *out, ash_error *err)
{
    ash_cmd_address address;
    bson_value_t name = {.value_type = BSON_TYPE_UTF8};
    /* As a file's id is typed, so that it is the lock that gridfs-locks takes. */
    if (strncmp(text, "id:", 3) == 0) {
        int rc = ash__cmd_address_parse(text, &address, err);
        if (rc != 0)
            return rc;
        bson_value_copy(&address.id, out);
        ash__cmd_address_release(&address);
        return 0;
    }
    int rc = ash__cmd_check_name(text, err);
    if (rc != 0)
        return rc;
    name.value.v_utf8.str = ash__strdup(text);
    name.value.v_utf8.len = (uint32_t)strlen(text);
    bson_value_copy(&name, out);
    ash__free(name.value.v_utf8.str);
    return 0;
}

int ash__locks_open(const ash_cmd *cmd, enum ash_cmd_open how, ash_lock_options *opts,
                    ash_store **store, ash_lock_collection **out, ash_error *err)
{
    *out = NULL;
    ash_store_options store_opts = ASH_STORE_OPTIONS_INIT;
    opts->root = cmd->bucket;
    /* Who waits no longer than that for a lock does not wait longer for the folder. */
    if (opts->time_out_s >= 1 && opts->time_out_s < 5)
        store_opts.busy_timeout_ms = (int64_t)(opts->time_out_s * 1000);
    int rc = ash__cmd_open_store(cmd, how, &store_opts, store, err);
    if (rc == 0)
        rc = ash_lock_collection_open(*store, opts, out, err);
    if (rc != 0) {
        ash__cmd_close_store(*store);
        *store = NULL;
    }
    return rc;
}

static bool find(const bson_t *doc, const char *name, bson_iter_t *at)
{
    return bson_iter_init_find(at, doc, name);
}

static int64_t number(const bson_t *doc, const char *name)
{
    bson_iter_t at;
    return find(doc, name, &at) && BSON_ITER_HOLDS_NUMBER(&at) ? bson_iter_as_int64(&at) : 0;
}

static const char *text(const bson_t *doc, const char *name)
{
    bson_iter_t at;
    return find(doc, name, &at) && BSON_ITER_HOLDS_UTF8(&at) ? bson_iter_utf8(&at, NULL) : "";
}

static void print_date(const char *what, const bson_t *doc, const char *name)
{
    bson_iter_t at;
    char date[64];
    if (!find(doc, name, &at) || !BSON_ITER_HOLDS_DATE_TIME(&at))
        return;
    /* The package's "never" lies further off than a calendar goes. */
    if (bson_iter_date_time(&at) > INT64_C(253402300799000)) {
        printf("  %s never", what);
        return;
    }
    ash__clock_print(date, sizeof date, bson_iter_date_time(&at));
    printf("  %s %s", what, date);
}

static void print_value(const char *what, const bson_t *doc, const char *name)
{
    bson_iter_t at;
    if (!find(doc, name, &at) || BSON_ITER_HOLDS_NULL(&at))
        return;
    char *shown = ash__cmd_id_text(bson_iter_value(&at));
    char *printable = ash__cmd_printable(shown);
    printf("    %s %s\n", what, printable);
    ash__free(printable);
    ash__free(shown);
}

static void print_broken(const bson_t *doc)
{
    bson_iter_t at;
    bson_t broken;
    uint32_t len;
    const uint8_t *data;
    if (!find(doc, "broken", &at) || !BSON_ITER_HOLDS_DOCUMENT(&at))
        return;
    bson_iter_document(&at, &len, &data);
    if (!bson_init_static(&broken, data, len))
        return;
    char *host = ash__cmd_printable(text(&broken, "host"));
    char *reason = ash__cmd_printable(text(&broken, "reason"));
    printf("    broken by process %" PRId64 " on %s", number(&broken, "pid"), host);
    print_date("at", &broken, "at");
    printf(": %s\n", reason);
    ash__free(host);
    ash__free(reason);
}

static void print_people(const char *what, const bson_t *doc, const char *name)
{
    bson_iter_t list, each;
    if (!find(doc, name, &list) || !BSON_ITER_HOLDS_ARRAY(&list) ||
        !bson_iter_recurse(&list, &each))
        return;
    while (bson_iter_next(&each)) {
        bson_t entry;
        uint32_t len;
        const uint8_t *data;
        if (!BSON_ITER_HOLDS_DOCUMENT(&each))
            continue;
        bson_iter_document(&each, &len, &data);
        if (!bson_init_static(&entry, data, len))
            continue;
        char *host = ash__cmd_printable(text(&entry, "host"));
        printf("    %s process %" PRId64 " on %s", what, number(&entry, "pid"), host);
        if (number(&entry, "n") > 1)
            printf(" (%" PRId64 " readers)", number(&entry, "n"));
        print_date("since", &entry, "since");
        print_date("until", &entry, "exp");
        putchar('\n');
        ash__free(host);
    }
}

static void print_lock(const bson_t *doc)
{
    bson_iter_t at;
    bool expired = find(doc, "expired", &at) && bson_iter_as_bool(&at);
    char *id = find(doc, "id", &at) ? ash__cmd_id_text(bson_iter_value(&at)) : ash__strdup("?");
    char *printable = ash__cmd_printable(id);
    const char *state = text(doc, "state");
    printf("%s  %s%s", printable, state, expired ? " (expired)" : "");
    if (strcmp(state, "read") == 0)
        printf("  readers %" PRId64, number(doc, "readers"));
    if (strcmp(state, "free") != 0)
        print_date("until", doc, "expires");
    if (number(doc, "token") > 0) /* else nobody has asked for one */
        printf("  token %" PRId64, number(doc, "token"));
    putchar('\n');
    print_people("held by", doc, "holders");
    if (number(doc, "foreign_readers") > 0)
        printf("    held by %" PRId64 " readers of other programs\n",
               number(doc, "foreign_readers"));
    print_people("waiting:", doc, "waiters");
    print_value("meta", doc, "meta");
    print_broken(doc);
    ash__free(printable);
    ash__free(id);
}

/* Lock documents stay when nobody has a use for them: thousands may be free. */
static bool is_quiet(const bson_t *doc)
{
    bson_iter_t at, first;
    bool waited_for = find(doc, "waiters", &at) && BSON_ITER_HOLDS_ARRAY(&at) &&
                      bson_iter_recurse(&at, &first) && bson_iter_next(&first);
    return strcmp(text(doc, "state"), "free") == 0 && !waited_for;
}

struct shown {
    bool all; /* quiet ones too */
    int64_t count, left_out;
};

static int show_lock(const ash_cmd *cmd, ash_doc doc, struct shown *s, ash_error *err)
{
    bson_t view;
    if (!bson_init_static(&view, doc.data, doc.len))
        return ash__fail(err, ASH_ECORRUPT, "lock document cannot be read");
    if (!s->all && is_quiet(&view)) {
        s->left_out++;
        return 0;
    }
    s->count++;
    if (cmd->json)
        ash__cmd_emit(&view);
    else
        print_lock(&view);
    return 0;
}

static int say_none(const ash_cmd *cmd, const char *word, const struct shown *s, ash_error *err)
{
    if (s->count == 0 && word != NULL)
        return ash__fail(err, ASH_ENOTFOUND, "nobody ever took a lock of that name");
    if (s->count == 0 && s->left_out > 0)
        ash__cmd_note(cmd, "no lock is held or waited for; --all shows %" PRId64 " that %s free",
                      s->left_out, s->left_out == 1 ? "is" : "are");
    return 0;
}

/* word: a NAME, or NULL for all. */
static int list(const ash_cmd *cmd, ash_lock_collection *c, const char *word, bool all,
                ash_error *err)
{
    ash_cursor *cursor = NULL;
    struct shown shown = {.all = all || word != NULL};
    ash_doc doc = {0};
    bson_t filter = BSON_INITIALIZER;
    bson_t equal;
    bson_value_t id;
    int rc = word != NULL ? ash__locks_id(word, &id, err) : 0;
    if (rc == 0 && word != NULL) {
        /* By $eq, as an id that is a document could be taken for operators. */
        BSON_APPEND_DOCUMENT_BEGIN(&filter, "files_id", &equal);
        BSON_APPEND_VALUE(&equal, "$eq", &id);
        bson_append_document_end(&filter, &equal);
        bson_value_destroy(&id);
    }
    if (rc == 0)
        rc = ash_lock_list(c, &filter, &cursor, err);
    bson_destroy(&filter);
    while (rc == 0) {
        rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            break;
        rc = show_lock(cmd, doc, &shown, err);
    }
    ash_cursor_free(cursor);
    return rc == 0 ? say_none(cmd, word, &shown, err) : rc;
}

/* Opening the collection of locks would make it, and a database for it. */
static int list_if_any(const ash_cmd *cmd, const ash_cmd_args *args, ash_error *err)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    ash_store *store = NULL;
    ash_lock_collection *c = NULL;
    struct shown none = {0};
    bool there = false;
    const char *name = args->count > 1 ? args->words[1] : NULL;
    const char *bucket = cmd->bucket != NULL ? cmd->bucket : "fs";
    int rc = ash__cmd_open_store(cmd, ASH_CMD_READ, NULL, &store, err);
    if (rc == 0)
        rc = ash__cmd_has_collection(store, ash_store_default_db(store), bucket, ".locks", &there,
                                     err);
    if (rc == 0 && there) {
        o.root = cmd->bucket;
        rc = ash_lock_collection_open(store, &o, &c, err);
    }
    if (rc == 0 && there)
        rc = list(cmd, c, name, args->values[ALL] != NULL, err);
    else if (rc == 0)
        rc = say_none(cmd, name, &none, err);
    if (rc == 0 && !there && (cmd->bucket != NULL || ash__cmd_names_database(cmd)))
        ash__cmd_note(cmd, "there are no locks of bucket %s in database %s", bucket,
                      ash_store_default_db(store));
    ash_lock_collection_close(c);
    ash__cmd_close_store(store);
    return rc;
}

static int break_one(const ash_cmd *cmd, const ash_cmd_args *args, ash_error *err)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    ash_store *store = NULL;
    ash_lock_collection *c = NULL;
    bson_value_t id;
    int rc = ash__locks_id(args->words[1], &id, err);
    if (rc != 0)
        return rc;
    /* To read, though it writes: no store is made to break a lock in. */
    rc = ash__locks_open(cmd, ASH_CMD_READ, &o, &store, &c, err);
    if (rc == 0 && cmd->dry_run)
        ash__cmd_say(cmd, "would break the lock of %s", args->words[1]);
    else if (rc == 0)
        rc = ash_lock_break(c, &id, args->values[REASON], err);
    bson_value_destroy(&id);
    ash_lock_collection_close(c);
    ash__cmd_close_store(store);
    return rc;
}

static int run_locks(ash_cmd *cmd, const ash_cmd_args *args)
{
    ash_error err = ASH_ERROR_INIT;
    bool breaks = args->count > 0 && strcmp(args->words[0], "break") == 0;
    bool lists = args->count == 0 || strcmp(args->words[0], "ls") == 0;
    if (!breaks && !lists)
        return ash__cmd_usage(cmd, "locks has ls and break, not \"%s\"", args->words[0]);
    if (breaks && (args->count != 2 || args->values[REASON] == NULL))
        return ash__cmd_usage(cmd, "locks break takes one NAME and --reason TEXT");
    if (lists && args->count > 2)
        return ash__cmd_usage(cmd, "locks ls takes one NAME at most");
    const char *name = args->count > 1 ? args->words[1] : NULL;
    int rc = breaks ? break_one(cmd, args, &err) : list_if_any(cmd, args, &err);
    return rc < 0 ? ash__cmd_fail(cmd, name, &err) : rc;
}

const ash_cmd_verb ash__cmd_locks = {
    .name = "locks",
    .group = "store",
    .synopsis = "[ls [--all] [NAME] | break NAME --reason TEXT]",
    .summary = "show who holds locks, or break one",
    .details =
        "ls (the default) shows which of the bucket's locks are held or waited for, or that of "
        "NAME: by whom, since when\n"
        "and until when.  Exit status 4 when nobody ever took a lock of NAME.\n"
        "break frees a lock whose holder will not; the holder is told, and its next commit under "
        "the lock is refused.\n"
        "NAME is as for `ashlar lock`.",
    .options = options,
    .max_words = 2,
    .choices = "ls break",
    .has_dry_run = true,
    .run = run_locks,
};

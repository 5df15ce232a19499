/* SPDX-License-Identifier: Apache-2.0 */
/* search, watch, versions, restore. */
#include "cmd/object/room.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 200 };

/* ---- search ---- */

enum { SEARCH_TAG = ASH_CMD_OBJECT_FIRST_OPTION, SEARCH_METADATA, SEARCH_NAMES, SEARCH_LIMIT };
static const ash_cmd_option search_options[] = {
    ASH_CMD_OBJECT_OPTIONS,
    [SEARCH_TAG] = {0, "tag", "TAG", "that have it; may be given repeatedly"},
    [SEARCH_METADATA] = {0, "metadata", "KEY=VALUE", "likewise"},
    [SEARCH_NAMES] = {0, "names", NULL, "just the names"},
    [SEARCH_LIMIT] = {0, "limit", "N", "at most so many"},
    ASH_CMD_OBJECT_NO_OPTION,
};

/* text: KEY=VALUE */
static void require_pair(const char *text, bson_t *filter)
{
    const char *at = strchr(text, '=');
    char *path = ash__sprintf("metadata.%.*s", (int)(at - text), text);
    BSON_APPEND_UTF8(filter, path, at + 1);
    ash__free(path);
}

/* What would find nothing, and looks as if there were nothing. */
static int check_given(const ash_cmd_object_run *r)
{
    for (int i = 0; i < r->args->given_count; i++) {
        int option = r->args->given[i].option;
        const char *value = r->args->given[i].value, *at = strchr(value, '=');
        if (option == SEARCH_TAG && value[0] == '\0')
            return ash__cmd_usage(r->cmd, "--tag takes a tag, which is not empty");
        if (option == SEARCH_METADATA && (at == NULL || at == value))
            return ash__cmd_usage(r->cmd, "--metadata takes KEY=VALUE, not \"%s\"", value);
    }
    return 0;
}

/* {$and: [{tags: …}, {metadata.KEY: …}, FILTER]} */
static int build_filter(const ash_cmd_object_run *r, bson_t *filter)
{
    bson_t all, own = BSON_INITIALIZER, one;
    bson_error_t why;
    uint32_t n = 0;
    char buf[12];
    const char *key, *word = ash__cmd_object_word(r, 1);
    if (word != NULL && !ash__cmd_json(word, &own, &why)) {
        bson_destroy(&own);
        return ash__cmd_usage(r->cmd, "FILTER is not JSON: %s", why.message);
    }
    BSON_APPEND_ARRAY_BEGIN(filter, "$and", &all);
    BSON_APPEND_DOCUMENT(&all, "0", &own);
    for (int i = 0; i < r->args->given_count; i++) {
        int option = r->args->given[i].option;
        if (option != SEARCH_TAG && option != SEARCH_METADATA)
            continue;
        bson_uint32_to_string(++n, &key, buf, sizeof buf);
        bson_append_document_begin(&all, key, -1, &one);
        if (option == SEARCH_TAG)
            BSON_APPEND_UTF8(&one, "tags", r->args->given[i].value);
        else
            require_pair(r->args->given[i].value, &one);
        bson_append_document_end(&all, &one);
    }
    bson_append_array_end(filter, &all);
    bson_destroy(&own);
    return 0;
}

static int search(ash_cmd_object_run *r, ash_error *err)
{
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER;
    ash_object_listing *l = NULL;
    int rc = check_given(r);
    if (rc == 0)
        rc = build_filter(r, &filter);
    o.filter = &filter;
    if (rc == 0)
        rc = ash__cmd_object_number(r, SEARCH_LIMIT, 1, INT64_MAX, &o.limit);
    if (rc == 0)
        rc = ash_object_store_list(r->objects, &o, &r->op, &l, err);
    if (rc == 0)
        rc = ash__cmd_object_print(r, l, ash__cmd_object_value(r, SEARCH_NAMES) != NULL, NULL, err);
    bson_destroy(&filter);
    return rc;
}

static int run_search(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_READ, args, search);
}

const ash_cmd_verb ash__cmd_object_search = {
    .name = "object search",
    .group = "objects",
    .synopsis = "[--tag TAG]... [--metadata KEY=VALUE]... [--names] [--limit N] STORE [FILTER]",
    .summary = "find objects by what is said of them",
    .details = "FILTER is MongoDB's, in JSON, over the fields that `object info --json` shows: "
               "'{\"size\": {\"$gt\": 1000}}'.  The size of chunks\n"
               "is options.max_chunk_size there.",
    .options = search_options,
    .min_words = 1,
    .max_words = 2,
    .run = run_search,
};

/* ---- watch ---- */

enum {
    WATCH_UPDATES_ONLY = ASH_CMD_OBJECT_FIRST_OPTION,
    WATCH_HISTORY,
    WATCH_IGNORE_DELETES,
    WATCH_LOCKS,
    WATCH_PREFIX
};
static const ash_cmd_option watch_options[] = {
    ASH_CMD_OBJECT_OPTIONS,
    [WATCH_UPDATES_ONLY] = {0, "updates-only", NULL, "not what is there already"},
    [WATCH_HISTORY] = {0, "history", NULL, "earlier versions first"},
    [WATCH_IGNORE_DELETES] = {0, "ignore-deletes", NULL, "no deletions"},
    [WATCH_LOCKS] = {0, "locks", NULL, "who gets and gives back locks, too"},
    [WATCH_PREFIX] = {0, "prefix", "TEXT", "only names that begin so"},
    ASH_CMD_OBJECT_NO_OPTION,
};

static const char *const kinds[] = {
    [ASH_OBJECT_PUT] = "put",         [ASH_OBJECT_DELETED] = "deleted",
    [ASH_OBJECT_REMOVED] = "removed", [ASH_OBJECT_CURRENT] = "current",
    [ASH_OBJECT_LOCKED] = "locked",   [ASH_OBJECT_UNLOCKED] = "unlocked",
};

static void emit_event(const ash_object_event *e)
{
    bson_t out = BSON_INITIALIZER, inner;
    BSON_APPEND_UTF8(&out, "event", kinds[e->kind]);
    if (e->name != NULL)
        BSON_APPEND_UTF8(&out, "name", e->name);
    BSON_APPEND_BOOL(&out, "initial", e->initial);
    if (e->object != NULL) {
        BSON_APPEND_DOCUMENT_BEGIN(&out, "object", &inner);
        ash__cmd_object_json(e->object, &inner);
        bson_append_document_end(&out, &inner);
    }
    ash__cmd_emit(&out);
    bson_destroy(&out);
}

static void say_event(const ash_object_event *e)
{
    char when[64], bytes[32] = "";
    if (e->kind == ASH_OBJECT_CURRENT)
        return;
    int64_t ms = e->object != NULL ? ash_object_modified_ms(e->object) : ash__clock_wall_ms();
    char *name = ash__cmd_printable(e->name);
    ash__clock_print(when, sizeof when, ms);
    if (e->kind == ASH_OBJECT_PUT && ash_object_is_link(e->object))
        snprintf(bytes, sizeof bytes, "-");
    else if (e->kind == ASH_OBJECT_PUT)
        ash__cmd_print_size(bytes, sizeof bytes, ash_object_size(e->object));
    printf("%s  %-8s  %10s  %s\n", when, kinds[e->kind], bytes, name);
    ash__cmd_keep_output_error();
    ash__free(name);
}

/* Until it is interrupted, or nobody reads any more. */
static int watch(ash_cmd_object_run *r, ash_error *err)
{
    ash_object_watch_options o = ASH_OBJECT_WATCH_OPTIONS_INIT;
    ash_object_watch *w = NULL;
    o.updates_only = ash__cmd_object_value(r, WATCH_UPDATES_ONLY) != NULL;
    o.history = ash__cmd_object_value(r, WATCH_HISTORY) != NULL;
    o.ignore_deletes = ash__cmd_object_value(r, WATCH_IGNORE_DELETES) != NULL;
    o.locks = ash__cmd_object_value(r, WATCH_LOCKS) != NULL;
    o.prefix = ash__cmd_object_value(r, WATCH_PREFIX);
    int rc = ash_object_store_watch(r->objects, &o, &r->op, &w, err);
    if (rc == 0)
        ash__cmd_note(r->cmd, "watching %s; Ctrl-C ends it", r->args->words[0]);
    while (rc == 0 && !ash__cmd_is_interrupted() && ash__cmd_flush_output()) {
        ash_object_event e = ASH_OBJECT_EVENT_INIT;
        rc = ash_object_watch_next(w, WAIT_MS, &e, err);
        if (rc != 0 || (int)e.kind == 0)
            continue;
        if (r->cmd->json)
            emit_event(&e);
        else
            say_event(&e);
    }
    ash_object_watch_close(w);
    return ash__cmd_is_interrupted() ? ASH_EXIT_INTERRUPTED : rc;
}

static int run_watch(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_READ, args, watch);
}

const ash_cmd_verb ash__cmd_object_watch = {
    .name = "object watch",
    .group = "objects",
    .synopsis = "[--updates-only | --history] [--ignore-deletes] [--locks] [--prefix TEXT] STORE",
    .summary = "print changes as they happen",
    .details = "First what there is, then changes, until it is interrupted (exit status 130).",
    .options = watch_options,
    .min_words = 1,
    .max_words = 1,
    .run = run_watch,
};

/* ---- versions ---- */

enum { VERSIONS_LIMIT = ASH_CMD_OBJECT_FIRST_OPTION };
static const ash_cmd_option versions_options[] = {
    ASH_CMD_OBJECT_OPTIONS,
    [VERSIONS_LIMIT] = {0, "limit", "N", "the newest N only"},
    ASH_CMD_OBJECT_NO_OPTION,
};

static int versions(ash_cmd_object_run *r, ash_error *err)
{
    ash_object_listing *l = NULL;
    int64_t limit = 0;
    int64_t shown = 0;
    int rc = ash__cmd_object_number(r, VERSIONS_LIMIT, 1, INT64_MAX, &limit);
    if (rc == 0)
        rc = ash_object_store_versions(r->objects, r->args->words[1], limit, &r->op, &l, err);
    if (rc == 0)
        rc = ash__cmd_object_print(r, l, false, &shown, err);
    if (rc == 0 && shown == 0)
        rc = ash__fail(err, ASH_ENOTFOUND, "there is no object %s", r->args->words[1]);
    return rc;
}

static int run_versions(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_READ, args, versions);
}

const ash_cmd_verb ash__cmd_object_versions = {
    .name = "object versions",
    .group = "objects",
    .synopsis = "[--limit N] STORE NAME",
    .summary = "list what a name had, newest first",
    .details = "By revision; `object get --revision` reads one, `object restore` brings it back.",
    .options = versions_options,
    .min_words = 2,
    .max_words = 2,
    .run = run_versions,
};

/* ---- restore ---- */

static const ash_cmd_option plain_options[] = {ASH_CMD_OBJECT_OPTIONS, ASH_CMD_OBJECT_NO_OPTION};

static int read_revision(const ash_cmd_object_run *r, const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (errno == 0 && *end == '\0' && end != text && *out > 0)
        return 0;
    return ash__cmd_usage(
        r->cmd, "REVISION is a whole number, as `object versions` shows it, not \"%s\"", text);
}

static int restore(ash_cmd_object_run *r, ash_error *err)
{
    ash_object *o = NULL;
    int64_t revision = 0;
    int rc = read_revision(r, r->args->words[2], &revision);
    if (rc == 0)
        rc = ash_object_store_restore(r->objects, r->args->words[1], (uint64_t)revision, NULL,
                                      &r->op, &o, err);
    if (rc == 0 && !ash__cmd_object_emit(r, o))
        ash__cmd_say(r->cmd, "restored %s as it was at revision %" PRId64 ", as revision %" PRIu64,
                     ash_object_name(o), revision, ash_object_revision(o));
    ash_object_free(o);
    return rc;
}

static int run_restore(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_WRITE, args, restore);
}

const ash_cmd_verb ash__cmd_object_restore = {
    .name = "object restore",
    .group = "objects",
    .synopsis = "STORE NAME REVISION",
    .summary = "bring an earlier version back",
    .options = plain_options,
    .min_words = 3,
    .max_words = 3,
    .run = run_restore,
};

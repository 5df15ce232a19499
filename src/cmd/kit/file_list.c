/* SPDX-License-Identifier: Apache-2.0 */
/* Files documents: as objects for --json, and lists of them. */
#include "cmd/kit/cmd.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

void ash__cmd_file_object(const ash_file *f, bson_t *out)
{
    bson_t document, metadata;
    bson_iter_t iter;
    BSON_APPEND_VALUE(out, "id", ash_file_id(f));
    if (ash_file_filename(f) != NULL)
        BSON_APPEND_UTF8(out, "name", ash_file_filename(f));
    BSON_APPEND_INT64(out, "length", ash_file_length(f));
    BSON_APPEND_INT32(out, "chunkSize", ash_file_chunk_size_bytes(f));
    BSON_APPEND_DATE_TIME(out, "uploadDate", ash_file_upload_date_ms(f));
    if (ash_file_metadata(f, &metadata))
        BSON_APPEND_DOCUMENT(out, "metadata", &metadata);
    if (ash_file_sha256(f) != NULL)
        BSON_APPEND_UTF8(out, "sha256", ash_file_sha256(f));
    if (ash_file_expires_ms(f) != 0)
        BSON_APPEND_DATE_TIME(out, "expires", ash_file_expires_ms(f));
    /* What older implementations or other programs put beside the specified fields. */
    ash_doc doc = ash_file_document(f);
    if (!bson_init_static(&document, doc.data, doc.len) || !bson_iter_init(&iter, &document))
        return;
    while (bson_iter_next(&iter)) {
        /* With the names that verbs give to what they know themselves. */
        static const char *const known[] = {"_id",      "length",   "chunkSize", "uploadDate",
                                            "filename", "metadata", "id",        "name",
                                            "sha256",   "expires",  "expiresAt", "db",
                                            "bucket",   "action",   "local",     "dryRun"};
        bool is_known = false;
        for (size_t i = 0; i < ASH_ARRAY_LEN(known); i++)
            is_known = is_known || strcmp(bson_iter_key(&iter), known[i]) == 0;
        if (!is_known)
            BSON_APPEND_VALUE(out, bson_iter_key(&iter), bson_iter_value(&iter));
    }
}

/* {filename: {$gte: name, $lte: behind all that go on}}: a range that the (filename, uploadDate)
 * index serves. */
static void range_filter(const char *name, const char *more, bson_t *filter)
{
    /* U+10FFFF sorts behind every other character, so this is behind every name that goes on. */
    char *last = ash__sprintf("%s%s\xf4\x8f\xbf\xbf", name, more);
    BCON_APPEND(filter, "filename", "{", "$gte", BCON_UTF8(name), "$lte", BCON_UTF8(last), "}");
    ash__free(last);
}

struct listing {
    const ash_file_visitor *to;
    const char *folder; /* only what is this or lies in it; NULL: all that is found */
    ash_file *newest;   /* of the name we are at */
    int status;
};

static bool same_name(const ash_file *a, const ash_file *b)
{
    const char *x = ash_file_filename(a), *y = ash_file_filename(b);
    return x != NULL && y != NULL && strcmp(x, y) == 0;
}

static void flush_newest(struct listing *l)
{
    if (l->newest != NULL && l->status == 0)
        l->status = l->to->visit(l->to->ctx, l->newest);
    ash_file_free(l->newest);
    l->newest = NULL;
}

/* Files come by (filename, uploadDate) ascending: the last of a name is its newest revision. */
static void take_file(struct listing *l, ash_file *file)
{
    if (l->newest != NULL && !l->to->all_revisions && same_name(l->newest, file)) {
        ash_file_free(l->newest);
        l->newest = NULL;
    }
    flush_newest(l);
    l->newest = file;
}

int ash__cmd_read_file(const ash_cmd *cmd, ash_doc doc, ash_file **out, int *damaged,
                       ash_error *err)
{
    int rc = ash_file_from_document(doc, out, err);
    if (rc != ASH_ECORRUPT)
        return rc;
    if (cmd != NULL)
        ash__cmd_fail(cmd, NULL, err);
    (*damaged)++;
    return 0;
}

/* The range of a folder's names holds NAME.bak, too, which sorts between NAME and NAME/. */
static bool is_wanted(const struct listing *l, ash_doc doc)
{
    bson_t document;
    bson_iter_t at;
    if (l->folder == NULL)
        return true;
    if (!bson_init_static(&document, doc.data, doc.len) ||
        !bson_iter_init_find(&at, &document, "filename") || !BSON_ITER_HOLDS_UTF8(&at))
        return false;
    const char *name = bson_iter_utf8(&at, NULL);
    size_t len = strlen(l->folder);
    return strncmp(name, l->folder, len) == 0 && (name[len] == 0 || name[len] == '/');
}

static bool goes_on(ash_bucket *b)
{
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    return ash_store_capabilities(ash_bucket_store(b), &can, NULL) == 0 && can.past_damage;
}

int ash__cmd_next_document(const ash_cmd *cmd, ash_bucket *b, ash_cursor *cursor, ash_doc *doc,
                           int *damaged, ash_error *err)
{
    for (;;) {
        ash_error own = ASH_ERROR_INIT;
        int rc = ash_cursor_next(cursor, doc, &own);
        /* A server that stops at damage would give the same error for ever. */
        if (rc != ASH_ECORRUPT || !goes_on(b)) {
            if (rc != 0)
                *err = own;
            return rc;
        }
        if (cmd != NULL)
            ash__cmd_fail(cmd, NULL, &own);
        (*damaged)++;
    }
}

static int list_found(const ash_cmd *cmd, ash_bucket *b, const bson_t *filter,
                      struct listing *listing, ash_error *err)
{
    ash_bucket_find_options opts = ASH_BUCKET_FIND_OPTIONS_INIT;
    bson_t *sort = BCON_NEW("filename", BCON_INT32(1), "uploadDate", BCON_INT32(1));
    ash_cursor *cursor = NULL;
    ash_doc doc = {0};
    int damaged = 0;
    opts.sort = sort;
    int rc = ash_bucket_find(b, filter, &opts, &cursor, err);
    while (rc == 0 && listing->status == 0) {
        ash_file *file = NULL;
        rc = ash__cmd_next_document(cmd, b, cursor, &doc, &damaged, err);
        if (rc != 0 || doc.data == NULL)
            break;
        if (is_wanted(listing, doc))
            rc = ash__cmd_read_file(cmd, doc, &file, &damaged, err);
        if (file != NULL)
            take_file(listing, file);
        if (rc == 0)
            rc = ash__cmd_check_interrupted(err);
    }
    if (rc == 0)
        flush_newest(listing);
    ash_file_free(listing->newest);
    ash_cursor_free(cursor);
    bson_destroy(sort);
    if (rc == 0 && listing->status == 0 && damaged > 0)
        return ash__fail(err, ASH_EPARTIAL, "damaged files passed over: %d", damaged);
    return rc != 0 ? rc : listing->status;
}

int ash__cmd_each_match(const ash_cmd *cmd, ash_bucket *b, const bson_t *filter,
                        const ash_file_visitor *visitor, ash_error *err)
{
    struct listing listing = {.to = visitor};
    return list_found(cmd, b, filter, &listing, err);
}

int ash__cmd_each_file(const ash_cmd *cmd, ash_bucket *b, const char *name,
                       enum ash_cmd_scope scope, const ash_file_visitor *visitor, ash_error *err)
{
    struct listing listing = {.to = visitor};
    bson_t filter = BSON_INITIALIZER;
    size_t len = strlen(name);
    bool all = len == 0 || (scope == ASH_CMD_FOLDER && strcmp(name, ".") == 0);
    bool prefix = scope == ASH_CMD_PREFIX || (len > 0 && name[len - 1] == '/');
    /* A name that may be a file or a folder: the range holds more than both. */
    if (!all && !prefix)
        listing.folder = name;
    if (!all)
        range_filter(name, prefix ? "" : "/", &filter);
    int rc = list_found(cmd, b, &filter, &listing, err);
    bson_destroy(&filter);
    return rc;
}

int ash__cmd_no_such(const char *name, enum ash_cmd_scope scope, ash_error *err)
{
    if (scope == ASH_CMD_PREFIX)
        return ash__fail(err, ASH_ENOTFOUND, "no file's name begins with %s", name);
    return ash__fail(err, ASH_ENOTFOUND,
                     "no file and no folder is named %s (--prefix finds names that begin with it)",
                     name);
}

static int stop_at_first(void *ctx, const ash_file *f)
{
    (void)f;
    *(bool *)ctx = true;
    return ASH_EXIT_OTHER;
}

int ash__cmd_explain_folder(const ash_cmd *cmd, ash_bucket *b, const char *name, int rc,
                            ash_error *err)
{
    bool any = false;
    ash_file_visitor first = {stop_at_first, &any, true};
    ash_error ignored = ASH_ERROR_INIT;
    size_t len = strlen(name);
    if (rc != ASH_ENOTFOUND || len == 0 || ash__text_good(name, len) != len)
        return rc;
    char *below = ash__sprintf("%s%s", name, name[len - 1] == '/' ? "" : "/");
    /* What goes wrong here is not what the user asked for: the first error stands. */
    (void)ash__cmd_each_file(NULL, b, below, ASH_CMD_PREFIX, &first, &ignored);
    ash__free(below);
    if (!any)
        return rc;
    const char *verb = cmd->verb != NULL ? cmd->verb->name : "";
    bool whole = strcmp(verb, "get") == 0 || strcmp(verb, "rm") == 0;
    return ash__fail(err, ASH_ENOTFOUND, "%s is a folder; %s%s %s", name, whole ? verb : "ls",
                     whole ? " -r" : "", whole ? "takes all of it" : "shows what is in it");
}

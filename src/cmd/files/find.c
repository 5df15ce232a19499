/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar find`: a filter of MongoDB's over the files documents. */
#include "cmd/kit/verbs.h"

#include "base/error.h"
#include "base/mem.h"

enum { SORT, LIMIT };
static const ash_cmd_option options[] = {
    {0, "sort", "JSON", "order, such as {\"length\": -1}"},
    {0, "limit", "N", "at most N files"},
    {0, NULL, NULL, NULL},
};

static void print_found(const ash_cmd *cmd, const ash_file *file)
{
    if (cmd->json) {
        bson_t object = BSON_INITIALIZER;
        ash__cmd_file_object(file, &object);
        ash__cmd_emit(&object);
        bson_destroy(&object);
    } else {
        char *name = ash__cmd_printable(ash_file_filename(file) != NULL ? ash_file_filename(file)
                                                                        : "(no name)");
        char *id = ash__cmd_id_text(ash_file_id(file));
        printf("%s  %s\n", id, name);
        ash__cmd_keep_output_error();
        ash__free(id);
        ash__free(name);
    }
}

static int print_all(const ash_cmd *cmd, ash_bucket *bucket, ash_cursor *cursor, int64_t *count,
                     ash_error *err)
{
    int damaged = 0;
    for (;;) {
        ash_doc doc;
        ash_file *file = NULL;
        int rc = ash__cmd_next_document(cmd, bucket, cursor, &doc, &damaged, err);
        if (rc == 0)
            rc = ash__cmd_check_interrupted(err);
        if (rc == 0 && doc.data == NULL && damaged > 0)
            return ash__fail(err, ASH_EPARTIAL, "damaged files passed over: %d", damaged);
        if (rc != 0 || doc.data == NULL)
            return rc;
        rc = ash__cmd_read_file(cmd, doc, &file, &damaged, err);
        if (rc != 0)
            return rc;
        if (file != NULL) {
            print_found(cmd, file);
            (*count)++;
        }
        ash_file_free(file);
    }
}

static int parse_json(const ash_cmd *cmd, const char *what, const char *text, bson_t *out)
{
    bson_error_t reason;
    if (text == NULL) {
        bson_init(out);
        return 0;
    }
    if (ash__cmd_json(text, out, &reason))
        return 0;
    return ash__cmd_usage(cmd, "%s is not a JSON document: %s", what, reason.message);
}

static int find(ash_cmd *cmd, ash_bucket *bucket, const ash_cmd_args *args, ash_error *err)
{
    ash_bucket_find_options opts = ASH_BUCKET_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    bson_t filter, sort;
    int64_t count = 0;
    int status = parse_json(cmd, "the filter", args->words[0], &filter);
    /* Both are parsed in any case, so that both can be destroyed. */
    int sort_status = parse_json(cmd, "--sort", args->values[SORT], &sort);
    status = status != 0 ? status : sort_status;
    opts.sort = args->values[SORT] != NULL ? &sort : NULL;
    if (status == 0 && args->values[LIMIT] != NULL)
        status = ash__cmd_number(cmd, "limit", args->values[LIMIT], 1, INT32_MAX, &opts.limit);
    if (status == 0)
        status = ash_bucket_find(bucket, &filter, &opts, &cursor, err);
    if (status == 0)
        status = print_all(cmd, bucket, cursor, &count, err);
    if (status == 0 && count == 0) {
        status = ash__cmd_check_named(cmd, bucket, err);
        /* As grep does: nothing found is no error that needs words, but scripts ask. */
        status = status != 0 ? status : ash_error_exit_code(ASH_ENOTFOUND);
    }
    ash_cursor_free(cursor);
    bson_destroy(&filter);
    bson_destroy(&sort);
    return status;
}

static int run_find(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_with_bucket(cmd, ASH_CMD_READ, args, find);
}

const ash_cmd_verb ash__cmd_find = {
    .name = "find",
    .group = "files",
    .synopsis = "[--sort JSON] [--limit N] FILTER",
    .summary = "search for files with a MongoDB filter",
    .details = "FILTER is Extended JSON over the fields filename, length, chunkSize, uploadDate "
               "and metadata, such as\n"
               "'{\"metadata.author\": \"me\", \"length\": {\"$gt\": 1000000}}'. Prints id and "
               "name. Exit status 4 when nothing is found.",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .run = run_find,
};

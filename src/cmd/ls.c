/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/text.h"
#include "cmd/verbs.h"

#include "base/clock.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

enum { LONG, ALL };
static const ash_cmd_option options[] = {
    {'l', "long", NULL, "size, date and id as well"},
    {'a', "all", NULL, "every revision of a name, not just the newest"},
    {0, NULL, NULL, NULL},
};

struct listing {
    const ash_cmd *cmd;
    const ash_cmd_args *args;
    bool any;
};

/* The id as it would be typed behind "id:".  The caller frees. */
char *ash__cmd_id_text(const bson_value_t *id)
{
    char hex[25];
    if (id->value_type == BSON_TYPE_OID) {
        bson_oid_to_string(&id->value.v_oid, hex);
        return ash__strdup(hex);
    }
    bson_t wrapped = BSON_INITIALIZER;
    static const char before[] = "{ \"v\" : ", after[] = " }";
    BSON_APPEND_VALUE(&wrapped, "v", id);
    char *json = ash__cmd_json_text(&wrapped);
    size_t len = strlen(json), around = strlen(before) + strlen(after);
    char *text =
        len > around ? ash__strndup(json + strlen(before), len - around) : ash__strdup("?");
    ash__free(json);
    bson_destroy(&wrapped);
    return text;
}

static void print_long(const ash_file *f, const char *name)
{
    char date[64];
    char *id = ash__cmd_id_text(ash_file_id(f));
    ash__clock_print(date, sizeof date, ash_file_upload_date_ms(f));
    printf("%14" PRId64 "  %s  %-24s  %s\n", ash_file_length(f), date, id, name);
    ash__free(id);
}

static int print_file(void *ctx, const ash_file *f)
{
    struct listing *l = ctx;
    l->any = true;
    if (l->cmd->json) {
        bson_t object = BSON_INITIALIZER;
        ash__cmd_file_object(f, &object);
        ash__cmd_emit(&object);
        bson_destroy(&object);
        return 0;
    }
    char *name =
        ash__cmd_printable(ash_file_filename(f) != NULL ? ash_file_filename(f) : "(no name)");
    if (l->args->values[LONG] != NULL)
        print_long(f, name);
    else
        printf("%s\n", name);
    ash__free(name);
    return 0;
}

static int list(ash_cmd *cmd, ash_bucket *bucket, const ash_cmd_args *args, ash_error *err)
{
    struct listing listing = {cmd, args, false};
    const char *prefix = args->count > 0 ? args->words[0] : "";
    int result = ash__cmd_check_name(prefix, err);
    if (result != 0)
        return result;
    result = ash__cmd_each_file(cmd, bucket, prefix, args->values[ALL] != NULL, print_file,
                                &listing, err);
    if (result == 0 && !listing.any)
        ash__cmd_note_missing(cmd, bucket);
    return result;
}

static int run_ls(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_with_bucket(cmd, ASH_CMD_READ, args, list);
}

const ash_cmd_verb ash__cmd_ls = {
    .name = "ls",
    .group = "files",
    .synopsis = "[-l] [-a] [PREFIX]",
    .summary = "list files",
    .details = "Lists the files whose names begin with PREFIX, in the order of their names.",
    .options = options,
    .max_words = 1,
    .takes_names = true,
    .run = run_ls,
};

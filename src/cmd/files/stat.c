/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/kit/verbs.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/kit/text.h"

#include <inttypes.h>

static void print_text(const ash_file *f)
{
    char date[64], size[32];
    bson_t metadata;
    char *id = ash__cmd_id_text(ash_file_id(f));
    char *name =
        ash__cmd_printable(ash_file_filename(f) != NULL ? ash_file_filename(f) : "(no name)");
    int64_t length = ash_file_length(f), chunk = ash_file_chunk_size_bytes(f);
    ash__clock_print(date, sizeof date, ash_file_upload_date_ms(f));
    ash__cmd_print_size(size, sizeof size, length);
    printf("Name:      %s\nId:        %s\nLength:    %" PRId64 " (%s)\n", name, id, length, size);
    printf("Chunks:    %" PRId64 " of %" PRId64 " bytes\nUploaded:  %s\n",
           length / chunk + (length % chunk != 0), chunk, date);
    if (ash_file_sha256(f) != NULL)
        printf("SHA-256:   %s\n", ash_file_sha256(f));
    if (ash_file_expires_ms(f) != 0) {
        ash__clock_print(date, sizeof date, ash_file_expires_ms(f));
        printf("Expires:   %s\n", date);
    }
    if (ash_file_metadata(f, &metadata)) {
        char *json = ash__cmd_json_text(&metadata);
        printf("Metadata:  %s\n", json);
        ash__free(json);
    }
    ash__free(id);
    ash__free(name);
}

static int stat_one(ash_cmd *cmd, ash_bucket *bucket, const char *word, void *ctx, ash_error *err)
{
    ash_cmd_address address;
    ash_file *file = NULL;
    bool *first = ctx;
    int rc = ash__cmd_address_find(bucket, word, &address, err);
    if (rc != 0)
        return rc;
    rc = ash__cmd_address_file(bucket, &address, &file, err);
    if (rc == 0 && cmd->json) {
        bson_t object = BSON_INITIALIZER;
        ash__cmd_file_object(file, &object);
        ash__cmd_emit(&object);
        bson_destroy(&object);
    } else if (rc == 0) {
        if (!*first)
            putchar('\n');
        print_text(file);
        *first = false;
    }
    ash_file_free(file);
    ash__cmd_address_release(&address);
    return rc;
}

static int stat_all(ash_cmd *cmd, ash_bucket *bucket, const ash_cmd_args *args, ash_error *err)
{
    bool first = true;
    (void)err;
    return ash__cmd_each_word(cmd, bucket, args, stat_one, &first);
}

static int run_stat(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_with_bucket(cmd, ASH_CMD_READ, args, stat_all);
}

const ash_cmd_verb ash__cmd_stat = {
    .name = "stat",
    .group = "files",
    .synopsis = "NAME...",
    .summary = "show all that is known about files",
    .min_words = 1,
    .max_words = -1,
    .takes_names = true,
    .run = run_stat,
};

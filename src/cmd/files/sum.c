/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar sum`, in the form of sha256sum. */
#include "cmd/kit/verbs.h"

#include "base/buffer.h"
#include "base/hash.h"
#include "base/mem.h"
#include "bucket/digest.h"

#include <string.h>
#include <unistd.h>

enum { RECOMPUTE };
static const ash_cmd_option options[] = {
    {0, "recompute", NULL, "read the bytes again, even when the sum is known"},
    {0, NULL, NULL, NULL},
};

struct sum {
    const ash_cmd_args *args;
    ash_progress *progress;
};

static void on_bytes(void *ctx, int64_t bytes)
{
    const struct sum *s = ctx;
    ash__progress_add(s->progress, bytes, 0, NULL);
}

/* ash_bucket_sum() would remember what it computes. */
static int compute(struct sum *s, ash_bucket *bucket, const bson_value_t *id, char *hex,
                   ash_error *err)
{
    ash_download *download = NULL;
    const uint8_t *data;
    size_t len = 1;
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    int rc = ash_bucket_open_download_stream(bucket, id, NULL, &download, err);
    ash_digest *digest = ash__digest_new(ASH_DIGEST_SHA256);
    while (rc == 0 && len > 0) {
        rc = ash_download_next(download, &data, &len, err);
        if (rc == 0)
            rc = ash__cmd_check_interrupted(err);
        if (rc == 0)
            ash__digest_add(digest, data, len);
        if (rc == 0)
            on_bytes(s, (int64_t)len);
    }
    ash__hex(bytes, ash__digest_finish(digest, bytes), hex);
    ash__digest_free(digest);
    ash_download_free(download);
    return rc;
}

/* As sha256sum writes it, and reads it with -c; but what a terminal might obey is not shown to one.
 */
static void print_sum(const char *hex, const char *name)
{
    ash_buffer out = ASH_BUFFER_INIT;
    bool escaped = strpbrk(name, "\\\n\r") != NULL;
    if (isatty(STDOUT_FILENO)) {
        char *shown = ash__cmd_printable(name);
        printf("%s  %s\n", hex, shown);
        ash__free(shown);
    } else {
        for (const char *at = name; *at != 0; at++) {
            const char *code = *at == '\\' ? "\\\\" : *at == '\n' ? "\\n" : "\\r";
            if (strchr("\\\n\r", *at) != NULL)
                ash__buffer_append_text(&out, code);
            else
                ash__buffer_append_byte(&out, (uint8_t)*at);
        }
        printf("%s%s  %s\n", escaped ? "\\" : "", hex, ash__buffer_text(&out));
    }
    ash__cmd_keep_output_error();
    ash__buffer_release(&out);
}

static int sum_one(ash_cmd *cmd, ash_bucket *bucket, const char *word, void *ctx, ash_error *err)
{
    struct sum *s = ctx;
    ash_sum_watch watch = {.cancel = &ash__cmd_interrupted, .progress = on_bytes, .ctx = s};
    ash_cmd_address address;
    ash_file *file = NULL;
    char hex[65];
    int rc = ash__cmd_address_find(bucket, word, &address, err);
    if (rc != 0)
        return rc;
    rc = ash__cmd_address_file(bucket, &address, &file, err);
    if (rc == 0) {
        s->progress = ash__progress_new(cmd, ash_file_length(file), 1);
        ash__progress_add(s->progress, 0, 0, word);
    }
    /* A dry run computes and keeps nothing. */
    if (rc == 0 && cmd->dry_run && ash_file_sha256(file) == NULL)
        rc = compute(s, bucket, ash_file_id(file), hex, err);
    else if (rc == 0)
        rc = ash__bucket_sum(bucket, ash_file_id(file), s->args->values[RECOMPUTE] != NULL, &watch,
                             hex, err);
    ash__progress_free(s->progress);
    s->progress = NULL;
    if (rc == 0 && cmd->json) {
        bson_t *object = BCON_NEW("name", BCON_UTF8(word), "sha256", BCON_UTF8(hex));
        ash__cmd_emit(object);
        bson_destroy(object);
    } else if (rc == 0) {
        print_sum(hex, word);
    }
    ash_file_free(file);
    ash__cmd_address_release(&address);
    return rc;
}

static int sum_all(ash_cmd *cmd, ash_bucket *bucket, const ash_cmd_args *args, ash_error *err)
{
    struct sum s = {.args = args};
    (void)err;
    return ash__cmd_each_word(cmd, bucket, args, sum_one, &s);
}

static int run_sum(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_with_bucket(cmd, ASH_CMD_READ, args, sum_all);
}

const ash_cmd_verb ash__cmd_sum = {
    .name = "sum",
    .group = "files",
    .synopsis = "[--recompute] NAME...",
    .summary = "print the SHA-256 of files, as sha256sum does",
    .details = "A sum that had to be computed is remembered for the next time, except with -n.",
    .options = options,
    .min_words = 1,
    .max_words = -1,
    .takes_names = true,
    .has_dry_run = true,
    .run = run_sum,
};

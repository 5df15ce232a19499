/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar cat`: bytes as the store hands them out, with no buffer in between. */
#include "cmd/kit/verbs.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RANGE };
static const ash_cmd_option options[] = {
    {0, "range", "A-B",
     "bytes A to B, both included, from 0; \"A-\" to the end, \"-N\" the last N"},
    {0, NULL, NULL, NULL},
};

struct range {
    bool given;
    int64_t first; /* < 0: none, last counts from the end */
    int64_t last;  /* < 0: to the end */
};

static bool parse_offset(const char *text, size_t len, int64_t *out)
{
    char copy[24], *end;
    if (len == 0 || len >= sizeof copy || strspn(text, "0123456789") < len)
        return false;
    memcpy(copy, text, len);
    copy[len] = 0;
    errno = 0;
    *out = strtoll(copy, &end, 10);
    return errno == 0 && *end == 0;
}

static int parse_range(const ash_cmd *cmd, const char *text, struct range *out)
{
    const char *dash = text != NULL ? strchr(text, '-') : NULL;
    *out = (struct range){.given = text != NULL, .first = -1, .last = -1};
    if (text == NULL)
        return 0;
    bool good = dash != NULL &&
                (dash == text || parse_offset(text, (size_t)(dash - text), &out->first)) &&
                (dash[1] == 0 || parse_offset(dash + 1, strlen(dash + 1), &out->last));
    if (!good || (out->first < 0 && out->last < 0) || (out->last >= 0 && out->first > out->last))
        return ash__cmd_usage(cmd, "--range takes A-B, A- or -N, not \"%s\"", text);
    return 0;
}

/* As HTTP has it: a range that begins behind the end is an error, one that ends behind it is cut.
 */
static int apply_range(const struct range *range, int64_t length, ash_download_options *opts,
                       ash_error *err)
{
    if (!range->given)
        return 0;
    if (range->first < 0) {
        opts->start = range->last < length ? length - range->last : 0;
        return 0;
    }
    if (range->first >= length)
        return ash__fail(err, ASH_EINVAL, "the range begins at byte %lld, the file has %lld",
                         (long long)range->first, (long long)length);
    opts->start = range->first;
    if (range->last >= 0 && range->last < length - 1)
        opts->end = range->last + 1;
    return 0;
}

static int write_out(ash_download *download, ash_error *err)
{
    for (;;) {
        const uint8_t *data;
        size_t len;
        int rc = ash_download_next(download, &data, &len, err);
        if (rc == 0)
            rc = ash__cmd_check_interrupted(err);
        if (rc != 0 || len == 0)
            return rc;
        rc = ash__cmd_write_out(NULL, data, len, err);
        if (rc != 0)
            return rc;
    }
}

static int cat_one(ash_cmd *cmd, ash_bucket *bucket, const char *word, void *ctx, ash_error *err)
{
    const struct range *range = ctx;
    ash_cmd_address address;
    ash_file *file = NULL;
    ash_download *download = NULL;
    ash_download_options opts = ASH_DOWNLOAD_OPTIONS_INIT;
    (void)cmd;
    int rc = ash__cmd_address_find(bucket, word, &address, err);
    if (rc != 0)
        return rc;
    rc = ash__cmd_address_file(bucket, &address, &file, err);
    if (rc == 0)
        rc = apply_range(range, ash_file_length(file), &opts, err);
    /* A whole file is held against its digest; of a range only the chunks' checksums tell. */
    opts.verify = !range->given;
    opts.with_attributes = true;
    /* By its id: the name may have a newer revision by now. */
    if (rc == 0)
        rc = ash_bucket_open_download_stream(bucket, ash_file_id(file), &opts, &download, err);
    if (rc == 0)
        rc = write_out(download, err);
    ash_download_free(download);
    ash_file_free(file);
    ash__cmd_address_release(&address);
    return rc;
}

static int cat_all(ash_cmd *cmd, ash_bucket *bucket, const ash_cmd_args *args, ash_error *err)
{
    struct range range;
    (void)err;
    int status = parse_range(cmd, args->values[RANGE], &range);
    return status != 0 ? status : ash__cmd_each_word(cmd, bucket, args, cat_one, &range);
}

static int run_cat(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_with_bucket(cmd, ASH_CMD_READ, args, cat_all);
}

const ash_cmd_verb ash__cmd_cat = {
    .name = "cat",
    .group = "files",
    .synopsis = "[--range A-B] NAME...",
    .summary = "write files to standard output",
    .options = options,
    .min_words = 1,
    .max_words = -1,
    .takes_names = true,
    .run = run_cat,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Times and modes of local files, and which files need not be put again. */
#include "cmd/kit/preserve.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 1024 * 1024 };

static int64_t mtime_ms(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

void ash__preserve(const bson_t *given, const struct stat *st, bson_t *out)
{
    bson_init(out);
    if (given != NULL)
        /* Ours replace what the user gave by these names. */
        bson_copy_to_excluding_noinit(given, out, "mtime", "mode", NULL);
    BSON_APPEND_DATE_TIME(out, "mtime", mtime_ms(st));
    BSON_APPEND_INT32(out, "mode", (int32_t)(st->st_mode & 0777));
}

ash_preserved ash__preserved(const ash_file *f)
{
    ash_preserved p = {false, false, 0, 0};
    bson_t metadata;
    bson_iter_t at;
    if (!ash_file_metadata(f, &metadata))
        return p;
    if (bson_iter_init_find(&at, &metadata, "mtime") && BSON_ITER_HOLDS_DATE_TIME(&at)) {
        p.has_mtime = true;
        p.mtime_ms = bson_iter_date_time(&at);
    }
    if (bson_iter_init_find(&at, &metadata, "mode") && BSON_ITER_HOLDS_NUMBER(&at)) {
        p.has_mode = true;
        /* Never set-user-ID: the file may come from anybody. */
        p.mode = (mode_t)bson_iter_as_int64(&at) & 0777;
    }
    return p;
}

static int local_sum(const char *path, char *hex, ash_error *err)
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    int fd;
    int rc = ash__file_open(path, O_RDONLY, &fd, err);
    if (rc != 0)
        return rc;
    uint8_t *buf = ash__alloc(READ_BYTES);
    ash_digest *digest = ash__digest_new(ASH_DIGEST_SHA256);
    for (ssize_t got = 1; rc == 0 && got > 0;) {
        got = read(fd, buf, READ_BYTES);
        if (got > 0)
            ash__digest_add(digest, buf, (size_t)got);
        else if (got < 0 && errno != EINTR)
            rc = ash__fail_errno(err, errno, "cannot read %s", path);
        else if (got < 0)
            got = 1;
        if (rc == 0)
            rc = ash__cmd_check_interrupted(err);
    }
    ash__hex(bytes, ash__digest_finish(digest, bytes), hex);
    ash__digest_free(digest);
    ash__free(buf);
    ash__file_close(fd);
    return rc;
}

static int same_sum(ash_bucket *b, const ash_file *file, const char *path, bool *same,
                    ash_error *err)
{
    char local[2 * ASH_DIGEST_MAX_BYTES + 1], kept[65];
    int rc = ash_bucket_sum(b, ash_file_id(file), false, kept, err);
    if (rc == 0)
        rc = local_sum(path, local, err);
    *same = rc == 0 && strcmp(local, kept) == 0;
    return rc;
}

int ash__is_unchanged(ash_bucket *b, const ash_local_file *local, bool checksum, bool *same,
                      ash_error *err)
{
    const struct stat *st = &local->st;
    ash_file *file = NULL;
    ash_error own = ASH_ERROR_INIT;
    *same = false;
    int rc = ash_bucket_get_file_by_name(b, local->name, -1, false, &file, &own);
    if (rc == ASH_ENOTFOUND || rc == ASH_ECORRUPT)
        return 0; /* what is damaged is better put again */
    if (rc != 0) {
        *err = own;
        return rc;
    }
    ash_preserved kept = ash__preserved(file);
    if (S_ISDIR(st->st_mode))
        *same = ash_file_length(file) == 0;
    else if (ash_file_length(file) != st->st_size)
        *same = false;
    else if (checksum)
        rc = same_sum(b, file, local->path, same, err);
    else if (kept.has_mtime)
        *same = kept.mtime_ms == mtime_ms(st);
    else
        /* Not at the same millisecond: the file may have changed after it was read. */
        *same = mtime_ms(st) < ash_file_upload_date_ms(file);
    ash_file_free(file);
    return rc;
}

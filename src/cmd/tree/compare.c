/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/sync.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int ash__sync_open(const char *path, ash_sync_file *f, ash_error *err)
{
    f->path = path;
    f->got = 0;
    f->whole = false;
    return ash__file_open(path, O_RDONLY, &f->fd, err);
}

void ash__sync_close(ash_sync_file *f)
{
    ash__file_close(f->fd);
    f->fd = -1;
}

int ash__sync_fill(ash_sync_file *f, ash_error *err)
{
    f->got = 0;
    while (f->got < ASH_SYNC_BUFFER_BYTES) {
        ssize_t len = read(f->fd, f->buf + f->got, ASH_SYNC_BUFFER_BYTES - f->got);
        int reason = errno;
        int stopped = ash__cmd_check_interrupted(err);
        if (stopped != 0)
            return stopped;
        if (len < 0 && reason == EINTR)
            continue;
        if (len < 0)
            return ash__fail_errno(err, reason, "cannot read %s", f->path);
        if (len == 0)
            break;
        f->got += (size_t)len;
    }
    return 0;
}

int ash__sync_same(ash_sync_file *f, const char *digest, bool *same, ash_error *err)
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    char hex[2 * ASH_DIGEST_MAX_BYTES + 1];
    ash_digest *d = ash__digest_new(strlen(digest) == 40 ? ASH_DIGEST_SHA1 : ASH_DIGEST_SHA256);
    if (d == NULL)
        return ash__fail(err, ASH_EUNSUPPORTED, "SHA-1 is not available");
    int64_t total = 0;
    int rc;
    do {
        rc = ash__sync_fill(f, err);
        if (rc == 0)
            ash__digest_add(d, f->buf, f->got);
        total += (int64_t)f->got;
    } while (rc == 0 && f->got == ASH_SYNC_BUFFER_BYTES);
    if (rc == 0) {
        ash__hex(bytes, ash__digest_finish(d, bytes), hex);
        *same = strcmp(hex, digest) == 0;
        f->whole = total == (int64_t)f->got;
    }
    ash__digest_free(d);
    return rc;
}

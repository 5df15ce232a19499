/* SPDX-License-Identifier: Apache-2.0 */
/* The files themselves: made complete before anything can point into them, and opened with a look
 * at their header each time, since whoever has the folder can put another file under the name. */
#include "segment/internal.h"

#include "base/bytes.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { HEADER_USED = 48, OPEN_FDS = 64 };

char *ash__segment_path(const ash_segments *s, uint32_t id)
{
    return ash__sprintf("%s/%08x.seg", s->folder, (unsigned)id);
}

static void make_header(const ash_segments *s, uint32_t id, uint32_t blocks,
                        uint8_t out[ASH_BLOCK_BYTES])
{
    memset(out, 0, ASH_BLOCK_BYTES);
    memcpy(out, ASH_SEGMENT_MAGIC, 8);
    ash__put_le32(out + 8, ASH_SEGMENT_VERSION);
    ash__put_le32(out + 12, id);
    memcpy(out + 16, s->opts.store_id, 16);
    ash__put_le64(out + 32, blocks);
    ash__put_le64(out + 40, ash__checksum(out, 40));
}

static int check_header(const ash_segments *s, uint32_t id, const uint8_t *h, off_t size,
                        ash_error *err)
{
    /* In the order of what can be known: the version before the checksum, which a later format may
     * place elsewhere, and whose file it is only when the header is whole. */
    if (memcmp(h, ASH_SEGMENT_MAGIC, 8) != 0)
        return ash__fail(err, ASH_ECORRUPT, "segment %08x is not a segment file", (unsigned)id);
    if (ash__get_le32(h + 8) > ASH_SEGMENT_VERSION)
        return ash__fail(err, ASH_EVERSION, "segment %08x has format version %u", (unsigned)id,
                         (unsigned)ash__get_le32(h + 8));
    if (ash__get_le64(h + 40) != ash__checksum(h, 40))
        return ash__fail(err, ASH_ECORRUPT, "segment %08x has a damaged header", (unsigned)id);
    if (ash__get_le32(h + 12) != id || memcmp(h + 16, s->opts.store_id, 16) != 0)
        return ash__fail(err, ASH_ECORRUPT, "segment %08x belongs elsewhere", (unsigned)id);
    if (ash__get_le64(h + 32) > (uint64_t)size / ASH_BLOCK_BYTES)
        return ash__fail(err, ASH_ECORRUPT, "segment %08x was cut off: %lld bytes", (unsigned)id,
                         (long long)size);
    return 0;
}

/* The metadata has to grow a little even where nothing else fits. */
static int check_room(const ash_segments *s, int fd, off_t size, uint32_t id, ash_error *err)
{
    struct statvfs fs;
    /* Of the whole size, although only its beginning is reserved below: records are to find room in
     * all of it. */
    if (s->opts.spare_bytes == 0 || fstatvfs(fd, &fs) != 0 ||
        (uint64_t)fs.f_bavail * fs.f_frsize >= (uint64_t)size + (uint64_t)s->opts.spare_bytes)
        return 0;
    return ash__fail_errno(err, ENOSPC, "cannot make segment %08x", (unsigned)id);
}

static int require_folder(const ash_segments *s, ash_error *err)
{
    return s->opts.require != NULL ? s->opts.require(s->opts.ctx, err) : 0;
}

/* The file must be complete and named durably before any pointer into it can be. */
int ash__segment_create(ash_segments *s, uint32_t id, uint32_t blocks, int *fd, ash_error *err)
{
    uint8_t header[ASH_BLOCK_BYTES];
    char *path = ash__segment_path(s, id);
    off_t size = (off_t)blocks * ASH_BLOCK_BYTES;
    off_t first = (off_t)ASH_RESERVE_BLOCKS * ASH_BLOCK_BYTES;
    int rc = require_folder(s, err);
    if (rc == 0)
        rc = ash__file_open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, fd, err);
    if (rc != 0)
        goto out;
    make_header(s, id, blocks, header);
    rc = check_room(s, *fd, size, id, err);
    /* A file system that cannot reserve leaves it to the writes to find out whether there is room.
     */
    if (rc == 0 && ((ash__io()->fallocate(*fd, 0, size < first ? size : first) != 0 &&
                     errno != EOPNOTSUPP && errno != EINVAL) ||
                    ash__io()->ftruncate(*fd, size) != 0))
        rc = ash__fail_errno(err, errno, "cannot make segment %08x", (unsigned)id);
    if (rc == 0)
        rc = ash__file_write(*fd, header, sizeof header, 0, err);
    /* fsync and not fdatasync, and then the folder: size and name have to last as well. */
    if (rc == 0 && ash__io()->fsync(*fd) != 0)
        rc = ash__fail_errno(err, errno, "cannot sync segment %08x", (unsigned)id);
    if (rc == 0)
        rc = ash__dir_sync(s->folder, err);
    if (rc != 0) {
        ash__file_close(*fd);
        /* Its id was not given to the table, so the next try makes a file of the same name. */
        ash__io()->unlink(path);
        *fd = -1;
    }
out:
    ash__free(path);
    return rc;
}

/* Open a segment's file and verify its header; the caller closes *fd, after failures too. */
static int open_verified(ash_segments *s, uint32_t id, int flags, int *fd, uint32_t *blocks,
                         ash_error *err)
{
    uint8_t header[HEADER_USED];
    struct stat st;
    char *path = ash__segment_path(s, id);
    *fd = -1;
    int rc = ash__file_open(path, flags | O_NOFOLLOW, fd, err);
    /* Asked afterwards, when the open file cannot be exchanged any more; a file that is missing may
     * be missing because the folder is another one. */
    if (rc == 0 || rc == ASH_ENOTFOUND)
        rc = require_folder(s, err) != 0 ? ASH_EIO : rc;
    if (rc == ASH_ENOTFOUND)
        rc = ash__fail(err, ASH_ECORRUPT, "segment %08x is missing", (unsigned)id);
    if (rc == 0 && fstat(*fd, &st) != 0)
        rc = ash__fail_errno(err, errno, "cannot stat segment %08x", (unsigned)id);
    if (rc == 0 && st.st_size < ASH_BLOCK_BYTES)
        rc = ash__fail(err, ASH_ECORRUPT, "segment %08x was cut off", (unsigned)id);
    if (rc == 0)
        rc = ash__file_read(*fd, header, sizeof header, 0, err);
    if (rc == 0)
        rc = check_header(s, id, header, st.st_size, err);
    if (rc == 0)
        *blocks = (uint32_t)ash__get_le64(header + 32);
    ash__free(path);
    return rc;
}

static int check_blocks(uint32_t id, uint32_t blocks, uint32_t known, ash_error *err)
{
    if (known == blocks)
        return 0;
    return ash__fail(err, ASH_ECORRUPT, "segment %08x has %u blocks, the metadata says %u",
                     (unsigned)id, (unsigned)blocks, (unsigned)known);
}

/* Nothing is written into a file that is not the one which the metadata speaks of. */
int ash__segment_open_fd(ash_segments *s, ash_segment *seg, int *fd, ash_error *err)
{
    uint32_t blocks = 0;
    int rc = open_verified(s, seg->id, O_RDWR, fd, &blocks, err);
    if (rc == 0)
        rc = check_blocks(seg->id, blocks, seg->blocks, err);
    if (rc != 0) {
        ash__file_close(*fd);
        *fd = -1;
    }
    return rc;
}

/* Of the descriptors beyond the limit those go first that nothing waits to be synced through. */
static int take_idle_fd(ash_segments *s)
{
    ash__mutex_assert_held(&s->lock);
    if (s->open_fds < OPEN_FDS)
        return -1;
    for (uint32_t i = 0; i < s->table_count; i++) {
        ash_segment *seg = s->table[i];
        if (seg != NULL && seg->fd >= 0 && seg->users == 0 && seg->synced == seg->written) {
            int fd = seg->fd;
            seg->fd = -1;
            s->open_fds--;
            return fd;
        }
    }
    return -1;
}

int ash__segment_borrow_fd(ash_segments *s, uint32_t id, int *fd, ash_error *err)
{
    int fresh = -1, idle = -1, rc = 0;
    ash__mutex_lock(&s->lock);
    ash_segment *seg = ash__segment_find(s, id);
    /* From here on nobody takes the descriptor away as an idle one. */
    seg->users++;
    bool open_it = seg->fd < 0;
    *fd = seg->fd;
    if (open_it)
        idle = take_idle_fd(s);
    ash__mutex_unlock(&s->lock);
    if (!open_it)
        return 0;
    /* Outside the lock: closing can wait for the disk. */
    ash__file_close(idle);
    rc = ash__segment_open_fd(s, seg, &fresh, err);
    ash__mutex_lock(&s->lock);
    /* Somebody else may have opened it meanwhile; then that one is used and ours is closed. */
    if (seg->fd < 0 && rc == 0) {
        seg->fd = fresh;
        fresh = -1;
        s->open_fds++;
    }
    *fd = seg->fd;
    if (rc != 0)
        seg->users--;
    ash__mutex_unlock(&s->lock);
    ash__file_close(fresh);
    return rc;
}

void ash__segment_return_fd(ash_segments *s, uint32_t id)
{
    ash__mutex_lock(&s->lock);
    ash__segment_find(s, id)->users--;
    ash__mutex_unlock(&s->lock);
}

/* Open, verify and (with base) map a segment's file as long as its header says. */
static int open_and_map(ash_segments *s, uint32_t id, const uint8_t **base, uint32_t *blocks,
                        ash_error *err)
{
    int fd = -1;
    int rc = open_verified(s, id, O_RDONLY, &fd, blocks, err);
    if (rc == 0 && base != NULL) {
        /* Shared, so that what is written through a descriptor is seen; the descriptor is not
         * needed afterwards. */
        void *at = mmap(NULL, (size_t)*blocks * ASH_BLOCK_BYTES, PROT_READ, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED)
            rc = ash__fail_errno(err, errno, "cannot map segment %08x", (unsigned)id);
        else
            *base = at;
    }
    ash__file_close(fd);
    return rc;
}

int ash__segment_map(ash_segments *s, uint32_t id, const uint8_t **base, uint32_t *blocks,
                     ash_error *err)
{
    return open_and_map(s, id, base, blocks, err);
}

int ash__segments_check_file(ash_segments *s, uint32_t segment, ash_error *err)
{
    uint32_t blocks = 0;
    int rc = open_and_map(s, segment, NULL, &blocks, err);
    if (rc != 0)
        return rc;
    ash__mutex_lock(&s->lock);
    ash_segment *seg = ash__segment_find(s, segment);
    uint32_t known = seg != NULL ? seg->blocks : blocks;
    ash__mutex_unlock(&s->lock);
    return check_blocks(segment, blocks, known, err);
}

ash_segment *ash__segment_find(ash_segments *s, uint32_t id)
{
    ash__mutex_assert_held(&s->lock);
    return id >= 1 && id <= s->table_count ? s->table[id - 1] : NULL;
}

ash_segments *ash__segments_new(const ash_segments_options *opts)
{
    ash_segments *s = ash__new(ash_segments);
    s->opts = *opts;
    s->folder = ash__strdup(opts->folder);
    s->opts.folder = s->folder;
    ash__mutex_init(&s->lock, ASH_RANK_SEGMENT);
    ash__cond_init(&s->grown);
    ash__cond_init(&s->sync_ended);
    return s;
}

/* Nothing is synced: what is not durable by now nobody was told of. */
static void segment_free(ash_segment *seg)
{
    if (seg == NULL)
        return;
    ash__file_close(seg->fd);
    if (seg->map_base != NULL)
        munmap((void *)(uintptr_t)seg->map_base, (size_t)seg->blocks * ASH_BLOCK_BYTES);
    ash__free(seg->map);
    ash__free(seg->dirty);
    ash__free(seg->spans);
    ash__free(seg);
}

void ash__segments_free(ash_segments *s)
{
    if (s == NULL)
        return;
    for (uint32_t i = 0; i < s->table_count; i++)
        segment_free(s->table[i]);
    for (uint64_t i = 0; i < s->pin_chains; i++) {
        while (s->pins[i] != NULL) {
            ash_pin *next = s->pins[i]->next;
            ash__free(s->pins[i]);
            s->pins[i] = next;
        }
    }
    ash__free(s->pins);
    ash__free(s->table);
    ash__free(s->holds);
    ash__free(s->folder);
    ash__cond_release(&s->grown);
    ash__cond_release(&s->sync_ended);
    ash__mutex_release(&s->lock);
    ash__free(s);
}

void ash__segments_lock(ash_segments *s)
{
    ash__mutex_lock(&s->lock);
}

void ash__segments_unlock(ash_segments *s)
{
    ash__mutex_unlock(&s->lock);
}

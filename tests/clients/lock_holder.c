/* SPDX-License-Identifier: Apache-2.0 */
/* One lock of the C interface, driven by lines on standard input.
 *
 * usage: lock-holder URI ID-JSON [LIFE_S [GRACE_S [POLL_S]]]      ID-JSON: {"id": …}
 *
 *   write | read SECONDS   obtain, waiting so long
 *   renew | release | remove
 *   put TEXT               the file "guarded" gets this content, under the fence of the lock
 *   cat                    its content
 *
 * Each is answered by a line: TIME_MS (monotonic clock) OUTCOME TOKEN [TEXT].  OUTCOME: ok, locked
 * (not to be had in time), lost, unheld, failed. */
#include <ashlar/ashlar.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct holder {
    ash_store *store;
    ash_bucket *bucket;
    ash_lock_collection *locks;
    bson_value_t id;
    ash_lock *lock;
    ash_error err;
    char text[200];
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int obtain(struct holder *h, bool write, double seconds)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    ash_lock_free(h->lock);
    h->lock = NULL;
    o.time_out_s = seconds;
    int rc = ash_lock_new(h->locks, &h->id, &o, &h->lock, &h->err);
    if (rc != 0)
        return rc;
    return write ? ash_lock_obtain_write(h->lock, &h->err) : ash_lock_obtain_read(h->lock, &h->err);
}

static int put(struct holder *h, const char *text)
{
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_upload *u = NULL;
    ash_fence fence = ASH_FENCE_INIT;
    int rc = ash_lock_fence(h->lock, &fence, &h->err);
    if (rc != 0)
        return rc;
    o.fence = &fence;
    o.replace = true;
    rc = ash_bucket_open_upload_stream(h->bucket, "guarded", &o, &u, &h->err);
    if (rc == 0)
        rc = ash_upload_write(u, text, strlen(text), &h->err);
    if (rc == 0)
        rc = ash_upload_finish(u, NULL, &h->err);
    ash_upload_free(u);
    return rc;
}

static int cat(struct holder *h)
{
    ash_download *d = NULL;
    size_t got = 0;
    int rc = ash_bucket_open_download_stream_by_name(h->bucket, "guarded", NULL, &d, &h->err);
    if (rc == 0)
        rc = ash_download_read(d, h->text, sizeof h->text - 1, &got, &h->err);
    ash_download_free(d);
    h->text[rc == 0 ? got : 0] = 0;
    return rc;
}

static int obey(struct holder *h, const char *line)
{
    const char *rest = strchr(line, ' ');
    rest = rest == NULL ? "" : rest + 1;
    h->text[0] = 0;
    if (strncmp(line, "write", 5) == 0)
        return obtain(h, true, strtod(rest, NULL));
    if (strcmp(line, "renew") == 0)
        return ash_lock_renew(h->lock, &h->err);
    if (strcmp(line, "release") == 0)
        return ash_lock_release(h->lock, &h->err);
    if (strcmp(line, "remove") == 0)
        return ash_lock_remove(h->lock, &h->err);
    if (strncmp(line, "put ", 4) == 0)
        return put(h, rest);
    if (strcmp(line, "cat") == 0)
        return cat(h);
    return obtain(h, false, strtod(rest, NULL));
}

static const char *outcome(int rc)
{
    switch (rc) {
    case 0:
        return "ok";
    case ASH_ELOCKED:
        return "locked";
    case ASH_ELOST:
        return "lost";
    case ASH_ESTATE:
        return "unheld";
    default:
        return "failed";
    }
}

static int open_all(struct holder *h, int argc, char **argv)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    bson_t doc;
    bson_iter_t at;
    if (!bson_init_from_json(&doc, argv[2], -1, NULL) || !bson_iter_init_find(&at, &doc, "id"))
        return ASH_EINVAL;
    bson_value_copy(bson_iter_value(&at), &h->id);
    bson_destroy(&doc);
    o.lock_expiration_s = argc > 3 ? strtod(argv[3], NULL) : 0;
    o.grace_s = argc > 4 ? strtod(argv[4], NULL) : 0;
    o.polling_interval_s = argc > 5 ? strtod(argv[5], NULL) : 0;
    int rc = ash_store_open(argv[1], NULL, &h->store, &h->err);
    if (rc == 0)
        rc = ash_bucket_new(h->store, NULL, &h->bucket, &h->err);
    if (rc == 0)
        rc = ash_lock_collection_open(h->store, &o, &h->locks, &h->err);
    return rc;
}

int main(int argc, char **argv)
{
    struct holder h = {.err = ASH_ERROR_INIT};
    char line[200];
    if (argc < 3)
        return 2;
    int rc = open_all(&h, argc, argv);
    if (rc != 0)
        fprintf(stderr, "# lock-holder: %s\n", h.err.text);
    while (rc == 0 && fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = 0;
        int result = obey(&h, line);
        int64_t token = h.lock != NULL ? ash_lock_token(h.lock) : 0;
        printf("%" PRId64 " %s %" PRId64 " %s\n", now_ms(), outcome(result), token,
               result != 0 ? h.err.text : h.text);
        fflush(stdout);
    }
    ash_lock_free(h.lock);
    ash_lock_collection_close(h.locks);
    ash_bucket_free(h.bucket);
    ash_store_close(h.store);
    if (h.id.value_type != BSON_TYPE_EOD)
        bson_value_destroy(&h.id);
    return rc == 0 ? 0 : 1;
}

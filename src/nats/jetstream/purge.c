/* SPDX-License-Identifier: Apache-2.0 */
/* Purging a subject: what clients do with bytes that they think nobody has any more. */
#include "nats/jetstream/answer.h"
#include "nats/jetstream/puts.h"
#include "nats/jetstream/subject.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

/* Bytes of a put that failed.  Those of an object stay as long as it does: its meta message would
 * promise what is not there. */
static int purge_chunks(ash_jsd_request *r, const char *nuid, int64_t *purged, ash_error *err)
{
    ash_jetstream *j = r->client->jetstream;
    bool busy = false;
    ash_jsd_put *put = ash__jsd_put_take(j, r->store, nuid, &busy);
    if (busy)
        return ash__fail(err, ASH_EBUSY, "chunks are still coming");
    if (put == NULL)
        return 0;
    *purged = (int64_t)put->chunks;
    ash__jsd_put_drop(j, put);
    return 0;
}

/* A rename left the name in its own commit, and clients purge it right after that: who has it by then
 * is somebody else.  Some never do; what they purge of that name later is what they mean. */
enum { PURGES_SOON_MS = 5000 };

void ash__jsd_renamed(ash_jsd_client *c, char *subject)
{
    ash__free(c->renamed);
    c->renamed = subject;
    c->renamed_ms = ash__clock_ms();
}

void ash__jsd_renamed_is_over(ash_jsd_client *c, const char *subject)
{
    if (c->renamed == NULL || strcmp(c->renamed, subject) != 0)
        return;
    ash__free(c->renamed);
    c->renamed = NULL;
}

static bool was_renamed(ash_jsd_client *c, const char *subject)
{
    bool was = c->renamed != NULL && strcmp(c->renamed, subject) == 0 &&
               ash__clock_ms() - c->renamed_ms < PURGES_SOON_MS;
    ash__jsd_renamed_is_over(c, subject);
    return was;
}

static int purge_meta(ash_jsd_request *r, const char *name, int64_t *purged, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    ash_object *gone = NULL;
    ash_op op = ash__jsd_op();
    int rc = ash_object_store_delete(r->bound, name, NULL, &op, &gone, &own);
    *purged = rc == 0 ? 1 : 0;
    ash_object_free(gone);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err);
}

static int check_sealed(ash_jsd_request *r, ash_error *err)
{
    ash_object_status *st = NULL;
    ash_op op = ash__jsd_op();
    int rc = ash_object_store_status(r->bound, &op, &st, err);
    if (rc == 0 && ash_object_status_is_sealed(st))
        rc = ash__fail(err, ASH_EREADONLY, "object store %s is sealed", r->store);
    ash_object_status_free(st);
    return rc;
}

static int purge(ash_jsd_request *r, const char *filter, int64_t *purged, ash_error *err)
{
    char *name = NULL;
    int rc = check_sealed(r, err);
    if (rc != 0)
        return rc;
    switch (ash__jsd_filter_read(r->store, filter, &name)) {
    case ASH_JSD_CHUNKS:
        rc = purge_chunks(r, name, purged, err);
        break;
    case ASH_JSD_META:
        rc = was_renamed(r->client, filter) ? 0 : purge_meta(r, name, purged, err);
        break;
    default:
        rc = ash__fail(err, ASH_EINVAL, "only single objects are purged here");
    }
    ash__free(name);
    return rc;
}

void ash__jsd_stream_purge(ash_jsd_request *r)
{
    ash_error err = ASH_ERROR_INIT;
    int64_t purged = 0;
    if (ash__json_int(r->body, "seq", 0) != 0 || ash__json_int(r->body, "keep", 0) != 0) {
        ash__jsd_fail(r, ASH_JSD_BAD_REQUEST, "purging by number is not served here");
        return;
    }
    int rc = purge(r, ash__json_text(r->body, "filter", ""), &purged, &err);
    if (rc != 0) {
        ash__jsd_fail_rc(r, rc, &err, ASH_JSD_BAD_REQUEST);
        return;
    }
    ash__json_put_truth_member(&r->answer, "success", true);
    ash__json_put_int_member(&r->answer, "purged", purged);
}

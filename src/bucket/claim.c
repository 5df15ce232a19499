/* SPDX-License-Identifier: Apache-2.0 */
/* Turns among conditional puts of one name, where no transaction keeps two from seeing that the
 * name is free (claim.h). */
#include "bucket/claim.h"

#include "base/clock.h"

static const int64_t CLAIM_MAX_MS = 30000;
static const int64_t PAUSE_MS = 10;

void ash__claim_filter(bson_t *filter, const char *filename)
{
    BCON_APPEND(filter, "_id", "{", "name", BCON_UTF8(filename), "}");
}

static int remove_claim(const ash_work *work, const char *filename, const bson_oid_t *claim,
                        ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_op op = ash__work_write_op(work);
    ash__claim_filter(&filter, filename);
    /* That very claim: another one may have come in its place since it was seen. */
    BSON_APPEND_OID(&filter, "version", claim);
    int rc = ash__collection_remove_all(work->bucket->attributes, &filter, &op, NULL, err);
    bson_destroy(&filter);
    return rc;
}

static int insert_claim(const ash_work *work, const char *filename, const bson_oid_t *claim,
                        bool *taken, ash_error *err)
{
    bson_t doc = BSON_INITIALIZER;
    ash_error own = ASH_ERROR_INIT;
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    o.op = ash__work_write_op(work);
    ash__claim_filter(&doc, filename);
    BSON_APPEND_OID(&doc, "version", claim);
    int rc = ash_collection_insert_one(work->bucket->attributes, &doc, &o, &own);
    *taken = rc == 0;
    bson_destroy(&doc);
    return ash__unless(ASH_EEXISTS, rc, &own, err);
}

/* Whose it is now; {0} when it has just been given up. */
int ash__claim_holder(const ash_work *work, const bson_t *filter, bson_oid_t *holder,
                      ash_error *err)
{
    bson_t found;
    bson_iter_t it;
    bool any = false;
    ash_find_options o = ash__work_find_options(work);
    *holder = (bson_oid_t){{0}};
    int rc = ash__collection_find_if_any(work->bucket->attributes, filter, &o, &found, &any, err);
    if (any) {
        if (bson_iter_init_find(&it, &found, "version") && BSON_ITER_HOLDS_OID(&it))
            bson_oid_copy(bson_iter_oid(&it), holder);
        bson_destroy(&found);
    }
    return rc;
}

static int find_claim(const ash_work *work, const char *filename, bson_oid_t *holder,
                      ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash__claim_filter(&filter, filename);
    int rc = ash__claim_holder(work, &filter, holder, err);
    bson_destroy(&filter);
    return rc;
}

/* The age is measured here, by how long the same claim stays, so that clocks of other machines do
 * not matter. */
int ash__claim_take(const ash_work *work, const char *filename, bson_oid_t *claim, ash_error *err)
{
    bson_oid_t seen = {{0}};
    int64_t since = ash__clock_ms();
    bson_oid_init(claim, NULL);
    for (;;) {
        bool taken = false;
        bson_oid_t holder;
        /* The unique _id decides who has it. */
        int rc = insert_claim(work, filename, claim, &taken, err);
        if (rc != 0 || taken)
            return rc;
        rc = find_claim(work, filename, &holder, err);
        if (rc == 0 && !bson_oid_equal(&holder, &seen)) {
            seen = holder;
            since = ash__clock_ms();
        } else if (rc == 0 && ash__clock_ms() - since > CLAIM_MAX_MS) {
            rc = remove_claim(work, filename, &seen, err); /* and try again: others do, too */
        }
        if (rc == 0)
            rc = ash__deadline_check(work->deadline_ms, "wait for another put of the name", err);
        if (rc != 0)
            return rc;
        ash__clock_sleep_ms(PAUSE_MS);
    }
}

void ash__claim_release(const ash_work *work, const char *filename, const bson_oid_t *claim)
{
    /* Should it fail, the others wait CLAIM_MAX_MS and take this process for dead. */
    (void)remove_claim(work, filename, claim, NULL);
}

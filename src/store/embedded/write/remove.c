/* SPDX-License-Identifier: Apache-2.0 */
/* Removing documents; what reads a file meanwhile keeps the version it was given
 * (kit/file_rules.h). */

#include "store/embedded/write/slots.h"

#include "base/clock.h"
#include "store/embedded/write/many_documents.h"
#include "store/embedded/write/target.h"

static int remove_each(ash_target *t, ash_changer *c, const ash_match *m, ash_write_result *result,
                       ash_error *err)
{
    (void)t;
    int rc = ash__change_delete(c, &m->record, err);
    result->deleted += rc == 0;
    return rc;
}

static int remove_one(ash_single *one, ash_changer *c, ash_error *err)
{
    ash_match m;
    if (c->coll == NULL)
        return 0;
    int rc = ash__single_first(one, c, &m, err);
    if (rc == 0 && m.found)
        rc = remove_each(one->target, c, &m, one->result, err);
    return rc;
}

int ash__embedded_remove(ash_store *store, ash_ns ns, const bson_t *filter,
                         const ash_remove_options *opts, ash_write_result *result, ash_error *err)
{
    ash_target t = {0};
    ash_target_spec spec = {.ns = ns,
                            .filter = filter,
                            .hint = opts->hint,
                            .collation = opts->collation,
                            .let = opts->let,
                            .op = &opts->op};
    int64_t from_ms = ash__clock_ms();
    ash_embedded *s = ash__embedded(store);
    /* Ashlar changes files in transactions; a driver that removes chunks by itself has no version
     * to keep. */
    if (opts->op.transaction != NULL)
        s->files->removing(s, opts->op.reader, ns, filter);
    int rc = ash__target_init(&t, s, &spec, err);
    if (rc == 0 && opts->just_one) {
        ash_single one = {.target = &t, .result = result, .change = remove_one};
        rc = ash__single_run(&one, err);
    } else if (rc == 0) {
        ash_many many = {.target = &t, .result = result, .change = remove_each, .only_keys = true};
        rc = ash__many_run(&many, err);
    }
    ash__target_release(&t);
    ash__slow_note(s, "remove", ns, from_ms);
    return rc;
}

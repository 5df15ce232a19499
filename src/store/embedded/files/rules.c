/* SPDX-License-Identifier: Apache-2.0 */
/* The rules about files, by the files that know how. */

#include "store/embedded/files/rules.h"

#include "store/embedded/files/chunks.h"
#include "store/embedded/files/complete.h"
#include "store/embedded/files/versions.h"

/* Drivers have no transactions; Ashlar has, and each of its changes of a file is one. */
static void removing(ash_embedded *s, uint64_t reader, ash_ns ns, const bson_t *filter)
{
    if (ash__name_ends_with(ns.coll, ".chunks"))
        ash__versions_changing(s, reader, ns, filter);
}

static void name_damage(const char *coll, const ash_matcher *filter, ash_error *err)
{
    ash__chunk_error(coll, ash__chunks_file_of(filter), -1, err);
}

const ash_file_rules ash__file_rules = {
    .inserting = ash__guard_check,
    .removing = removing,
    .make_room = ash__versions_make_room,
    .lapse = ash__versions_lapse,
    .name_damage = name_damage,
};

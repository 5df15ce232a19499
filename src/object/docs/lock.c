/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of names, in a lock collection of the store's own. */
#include "object/docs/docs.h"

#include "base/mem.h"

#include <string.h>

/* Two threads may both open it; one of them closes his again. */
static int open_locks(ash_docs *s, ash_lock_collection **out, ash_error *err)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    ash_lock_collection *locks = NULL, *others = NULL;
    *out = atomic_load(&s->locks);
    if (*out != NULL)
        return 0;
    o.db = s->manager->db;
    o.root = s->prefix;
    int rc = ash_lock_collection_open(s->manager->store, &o, &locks, err);
    if (rc != 0)
        return rc;
    if (atomic_compare_exchange_strong(&s->locks, &others, locks)) {
        *out = locks;
    } else {
        ash_lock_collection_close(locks);
        *out = others;
    }
    return 0;
}

int ash__docs_lock(ash_object_store *base, const char *name, const ash_lock_options *opts,
                   ash_lock **out, ash_error *err)
{
    ash_docs *s = ash__docs(base);
    ash_docs_config c;
    ash_op op = ASH_OP_INIT;
    ash_lock_collection *locks = NULL;
    bson_value_t id = {.value_type = BSON_TYPE_UTF8};
    id.value.v_utf8.str = (char *)(uintptr_t)name;
    id.value.v_utf8.len = (uint32_t)strlen(name);
    int rc = ash__docs_config_own(s, &op, &c, err);
    if (rc != 0)
        return rc;
    ash__docs_config_release(&c);
    rc = open_locks(s, &locks, err);
    return rc == 0 ? ash_lock_new(locks, &id, opts, out, err) : rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_KIT_RID_SET_H
#define ASH_STORE_EMBEDDED_KIT_RID_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A set of record ids (never 0), for scans that may meet a record twice.  Zeroed is empty. */
typedef struct ash_rid_set {
    uint64_t *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
} ash_rid_set;

bool ash__rid_set_add(ash_rid_set *set, uint64_t rid); /* false: it was there already */
void ash__rid_set_release(ash_rid_set *set);

/* A growing list of record ids.  Zeroed is empty. */
typedef struct ash_rid_list {
    uint64_t *rids;
    size_t count;
    size_t capacity;
} ash_rid_list;

void ash__rid_list_add(ash_rid_list *list, uint64_t rid);
void ash__rid_list_release(ash_rid_list *list);

#endif

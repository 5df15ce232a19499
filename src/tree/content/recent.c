/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/recent.h"

void ash__recent_init(ash_recent *r)
{
    ash__mutex_init(&r->lock, ASH_RANK_CONTENTS);
}

void ash__recent_release(ash_recent *r)
{
    ash__mutex_release(&r->lock);
}

void ash__recent_add(ash_recent *r, const ash_content_id *id, const ash_sketch *sketch)
{
    ash__mutex_lock(&r->lock);
    r->slots[r->next].id = *id;
    r->slots[r->next].sketch = *sketch;
    r->next = (r->next + 1) % ASH_RECENT_SLOTS;
    ash__mutex_unlock(&r->lock);
}

int ash__recent_most_alike(ash_recent *r, const ash_sketch *sketch, ash_content_id *out)
{
    int most = 0;
    *out = (ash_content_id){.len = 0};
    ash__mutex_lock(&r->lock);
    for (uint32_t i = 0; i < ASH_RECENT_SLOTS; i++) {
        uint32_t at = (r->next + i) % ASH_RECENT_SLOTS; /* from the oldest */
        if (r->slots[at].id.len == 0)
            continue;
        int alike = ash__sketch_alike(sketch, &r->slots[at].sketch);
        if (alike > 0 && alike >= most) {
            most = alike;
            *out = r->slots[at].id;
        }
    }
    ash__mutex_unlock(&r->lock);
    return most;
}

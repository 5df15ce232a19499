/* SPDX-License-Identifier: Apache-2.0 */
#include "http/site/events.h"

int ash__site_parts_new(ash_site *site, ash_error *err)
{
    (void)err;
    ash__site_events_new(site);
    return 0;
}

void ash__site_parts_free(ash_site *site)
{
    ash__site_events_free(site);
}

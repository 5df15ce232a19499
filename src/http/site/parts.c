/* SPDX-License-Identifier: Apache-2.0 */
#include "http/site/events.h"
#include "http/site/shared.h"
#include "http/site/uploads.h"

int ash__site_parts_new(ash_site *site, ash_error *err)
{
    ash__site_events_new(site);
    site->names = ash__site_names_new();
    int rc = ash__site_uploads_new(site, err);
    return rc == 0 ? ash__shares_new(site->store, &site->shares, err) : rc;
}

void ash__site_parts_free(ash_site *site)
{
    ash__site_events_free(site);
    ash__site_uploads_free(site);
    ash__shares_free(site->shares);
    ash__site_names_free(site->names);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "http/site/events.h"
#include "http/site/shared.h"
#include "http/site/uploads.h"

#include <string.h>

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

/* ---- which part it is ---- */

static const ash_site_part parts[] = {
#define X(name, need, tells, begin) {name, need, tells, begin},
    ASH_SITE_PARTS(X)
#undef X
};

ash_site_place ash__site_place_of(const ash_site *site, const char *path)
{
    ash_site_place place = {0};
    path += *path == '/';
    size_t len = strcspn(path, "/");
    place.rest = path + len;
    for (size_t i = 0; i < ASH_ARRAY_LEN(parts); i++)
        if (strlen(parts[i].name) == len && strncmp(parts[i].name, path, len) == 0)
            place.part = &parts[i];
    if (place.part != NULL)
        return place;
    for (const ash_site_annex *a = site->annexes; a != NULL && a->name != NULL; a++)
        if (strlen(a->name) == len && strncmp(a->name, path, len) == 0)
            place.annex = a;
    return place;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "http/site/state.h"

int ash__site_parts_new(ash_site *site, ash_error *err)
{
    (void)site;
    (void)err;
    return 0;
}

void ash__site_parts_free(ash_site *site)
{
    (void)site;
}

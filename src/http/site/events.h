/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_SITE_EVENTS_H
#define ASH_HTTP_SITE_EVENTS_H

/* What events.c has for as long as the site.  free: nobody listens any more. */

#include "http/site/state.h"

void ash__site_events_new(ash_site *site);
void ash__site_events_free(ash_site *site);

#endif

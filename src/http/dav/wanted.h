/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_WANTED_H
#define ASH_HTTP_DAV_WANTED_H

/* The properties that a request names. */

#include "http/dav/live.h"
#include "http/dav/xml.h"

enum { ASH_DAV_MAX_WANTED = 256 }; /* more are passed over */

typedef struct ash_dav_wanted {
    char *space, *name;
    const ash_dav_live *live; /* NULL: none of those */
} ash_dav_wanted;

/* All zero: none. */
typedef struct ash_dav_wanted_list {
    ash_dav_wanted *items;
    size_t count;
} ash_dav_wanted_list;

/* prop: an element whose children they are. */
void ash__dav_wanted_add(ash_dav_wanted_list *list, const ash_xml_node *prop);
void ash__dav_wanted_release(ash_dav_wanted_list *list);

#endif

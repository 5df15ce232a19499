/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_SITE_ASSETS_H
#define ASH_HTTP_SITE_ASSETS_H

/* What the page is made of, as it is in assets/; built into the program by tools/embed.py. */

#include <stddef.h>

typedef struct ash_asset {
    const char *name, *type, *digest;
    const unsigned char *data;
    size_t len;
} ash_asset;

extern const ash_asset ash__assets[]; /* ends with a row without a name */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_STORE_SETTINGS_KEY_H
#define ASH_CMD_STORE_SETTINGS_KEY_H

/* What the table of keys tells who reads the file. */

#include "cmd/store/settings.h"

typedef struct ash_setting_key {
    const char *section; /* "": before the first */
    const char *name;
    enum {
        ASH_KEY_TEXT,
        ASH_KEY_FLAG,
        ASH_KEY_CHOICE,
        ASH_KEY_NUMBER,
        ASH_KEY_SECONDS,
        ASH_KEY_SET_NAME,
        ASH_KEY_ADDRESSES, /* a list, as is what follows */
        ASH_KEY_NAMES,
        ASH_KEY_KINDS,
        ASH_KEY_ENDPOINTS
    } kind;
    int min, max;        /* of a number or a time; of a list, how many there may be */
    const char *choices; /* "this, that or another" */
    bool live;
} ash_setting_key;

const ash_setting_key *ash__setting_key(ash_setting key);
bool ash__setting_is_list(ash_setting key);

#endif

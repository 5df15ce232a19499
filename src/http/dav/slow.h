/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_SLOW_H
#define ASH_HTTP_DAV_SLOW_H

/* Work that takes as long as a folder is large has one of the server's threads (16) all the time.
 * So only so many do that at once, of all trees together, and the others wait without a thread:
 * who copies large folders slows down who does that, too, and nobody else. */

#include "http/exchange.h"

enum { ASH_DAV_SLOW = 8 };

/* false: x is put off, and whoever was called does nothing; it is called again. */
bool ash__dav_slow_begin(ash_exchange *x);
void ash__dav_slow_end(void);

#endif

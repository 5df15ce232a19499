/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_BUCKET_SERVED_H
#define ASH_TESTS_BUCKET_SERVED_H

/* The `ashlar serve` that ASH_BUCKET_STORE names, by its folder or its address, seen from beside
 * the store interface. */

/* Until it has done all that clients sent which are gone by now: it has no client but who asks
 * here.  So no store that it serves may be open in the calling process, and the server must be the
 * test's own.  Without a server there is nothing to wait for. */
void served_await_rest(void);

#endif

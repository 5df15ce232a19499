/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_SQUEEZE_H
#define ASH_HTTP_SQUEEZE_H

/* gzip of an answer that comes in pieces (RFC 9110, 8.4.1.3), for clients that are far away: on this
 * machine it costs more time than it saves. */

#include "http/exchange.h"

/* Behind ash__answer_stream() with length -1, in the same call.  Does nothing where the client has not
 * asked for it, or is on this machine and no proxy. */
void ash__answer_squeezed(ash_exchange *x);

#endif

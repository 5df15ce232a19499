/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_STORES_H
#define ASH_HTTP_STORES_H

/* Buckets of GridFS and object stores by HTTP: two annexes of a site.
 *
 *   /.ashlar/buckets/DB/BUCKET              GET: files, a JSON line each; POST ?name=: a new file
 *   /.ashlar/buckets/DB/BUCKET/id/ID        GET, HEAD, DELETE one; ID as hexadecimal or JSON
 *   /.ashlar/buckets/DB/BUCKET/name/NAME    the newest of that name (?revision=): GET, HEAD; PUT one
 *                                           more; DELETE all of that name
 *   /.ashlar/objects                        GET: stores
 *   /.ashlar/objects/STORE                  GET: status; PUT: make it; DELETE
 *   /.ashlar/objects/STORE/info[/NAME]      GET: what is said of objects, or of one
 *   /.ashlar/objects/STORE/data/NAME        GET, HEAD, PUT, DELETE an object's bytes */

#include "http/site/site.h"

typedef struct ash_http_stores ash_http_stores;

/* Makes nothing.  *out is yours; after the server's stop. */
int ash__http_stores_new(ash_store *store, ash_http_stores **out, ash_error *err);
void ash__http_stores_free(ash_http_stores *s);
/* As ash_site_options.annexes; they live as long as s. */
const ash_site_annex *ash__http_stores_annexes(ash_http_stores *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_HTTP_DAV_SHARE_H
#define ASH_TESTS_HTTP_DAV_SHARE_H

/* A tree on a fresh store (tree/support.h), shared by WebDAV at "/", for each test. */

#include "http/visit.h"
#include "tree/support.h"

#include "http/dav/dav.h"

typedef struct share {
    fixture *f;
    ash_dav *dav;
} share;

int share_setup(void **state);
int share_teardown(void **state);

/* A request and its answer; visit_free().  body NULL: none. */
visit *share_ask(share *s, const char *line, const char *fields, const char *body);
/* Its head alone; the body is to come. */
visit *share_start(share *s, const char *line, const char *fields, int64_t body_length);
/* One whose status is all that is wanted. */
void share_expect(share *s, const char *line, const char *fields, const char *body, int status);
/* Its ETag as of HEAD, with the quotes; ash__free(). */
char *share_etag(share *s, const char *path);

/* ---- locks ---- */

#define SHARE_EXCLUSIVE                                                                            \
    "<D:lockinfo xmlns:D=\"DAV:\"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/>" \
    "</D:locktype><D:owner>desk</D:owner></D:lockinfo>"
#define SHARE_SHARED                                                                               \
    "<D:lockinfo xmlns:D=\"DAV:\"><D:lockscope><D:shared/></D:lockscope><D:locktype><D:write/>"    \
    "</D:locktype></D:lockinfo>"

typedef struct share_key {
    char token[64]; /* without its brackets; "": there was none */
    char field[96]; /* "If: (<TOKEN>)\n" */
    char unlock[96];
} share_key;

/* LOCK, whose answer has the status. */
share_key share_lock(share *s, const char *path, const char *fields, const char *body, int status);

#endif

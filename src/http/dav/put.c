/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "http/dav/sums.h"
#include "http/dav/upload.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct put {
    ash_dav_upload upload;
    ash_dav_sums *sums;
    int64_t expected, taken; /* bytes; expected -1: nobody said */
} put;

static void release(ash_exchange *x)
{
    put *p = x->state;
    ash__dav_upload_release(&p->upload);
    ash__dav_sums_free(p->sums);
    ash__free(p);
}

static void take(ash_exchange *x, const void *data, size_t len)
{
    put *p = x->state;
    ash_error err = ASH_ERROR_INIT;
    p->taken += (int64_t)len;
    ash__dav_sums_add(p->sums, data, len);
    if (ash_tree_writer_write(p->upload.writer, data, len, &err) != 0)
        ash__dav_answer_change(x, &err);
}

static void finish(ash_exchange *x)
{
    put *p = x->state;
    const char *broken = ash__dav_sums_broken(p->sums);
    if (p->expected >= 0 && p->taken != p->expected)
        ash__answer_text(x, 400, "%lld bytes came of %lld: nothing was changed",
                         (long long)p->taken, (long long)p->expected);
    else if (broken != NULL)
        ash__answer_text(x, 400,
                         "what came does not give the %s that was sent along: nothing was changed",
                         broken);
    else
        ash__dav_upload_finish(&p->upload, x);
}

/* Finder sends chunks, or a proxy that knows none makes an empty body of them; another field says
 * how much there should be.  -1: none does. */
static int64_t expected_of(const ash_exchange *x)
{
    const char *text = ash__head_field(x->head, "X-Expected-Entity-Length");
    char *end;
    if (text == NULL)
        text = ash__head_field(x->head, "OC-Total-Length");
    if (text == NULL || text[0] < '0' || text[0] > '9')
        return x->body_length;
    long long n = strtoll(text, &end, 10);
    return *end == '\0' ? n : x->body_length;
}

/* false: x is answered. */
static bool check_fields(ash_exchange *x)
{
    const char *encoding = ash__head_field(x->head, "Content-Encoding");
    if (ash__head_field(x->head, "Content-Range") != NULL) {
        /* RFC 9110 §14.5; whoever took it for a whole file would cut it. */
        ash__answer_text(x, 400, "PUT is for whole files; PATCH with X-Update-Range changes parts");
    } else if (encoding != NULL && strcasecmp(encoding, "identity") != 0) {
        /* It would be given out later as what it is not. */
        ash__answer_field(x, "Accept-Encoding", "identity");
        ash__answer_text(x, 415, "a file is sent as it is, without Content-Encoding");
    }
    return !ash__answered(x);
}

void ash__dav_put(ash_dav *dav, ash_exchange *x, const char *path)
{
    bool bad;
    if (!check_fields(x))
        return;
    put *p = ash__new(put);
    x->state = p;
    x->release = release;
    p->expected = expected_of(x);
    p->sums = ash__dav_sums_new(x->head, &bad);
    if (bad) {
        ash__answer_text(x, 400, "a digest that was sent along is none");
        return;
    }
    if (!ash__dav_upload_look(&p->upload, dav, x, path))
        return;
    int64_t bytes = x->body_length < p->expected ? p->expected : x->body_length;
    if (!ash__dav_upload_begin(&p->upload, x, bytes))
        return;
    x->take = take;
    x->finish = finish;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "parcels.h"

#include "crash/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 200000, MOST_FOUND = 4 * PARCELS_KEPT };

static const int64_t OVER = INT64_C(1000000000000), NEVER = INT64_C(4102444800000);

static bool fail(parcels *p, const char *what, int64_t number)
{
    p->err.code = ASH_ECONDITION;
    snprintf(p->err.text, sizeof p->err.text, "parcel %lld: %s", (long long)number, what);
    return false;
}

bool parcels_open(parcels *p, ash_store *store)
{
    memset(p, 0, sizeof *p);
    return ash_collection_new(store, NULL, "parcels", &p->c, &p->err) == 0;
}

bool parcels_prepare(parcels *p)
{
    bson_t *specs = BCON_NEW("0", "{", "key", "{", "at", BCON_INT32(1), "}", "name", "at_1",
                             "expireAfterSeconds", BCON_INT32(0), "}");
    int code = ash_collection_create_indexes(p->c, specs, NULL, NULL, &p->err);
    bson_destroy(specs);
    return code == 0;
}

void parcels_close(parcels *p)
{
    ash_collection_free(p->c);
    p->c = NULL;
}

/* Most are small, some go to the segments. */
static bson_t *make(int64_t number)
{
    rng r = rng_for((uint64_t)number, 77);
    uint32_t len = rng_below(&r, rng_below(&r, 3) == 0 ? LARGEST : 2000);
    uint8_t *pad = malloc(len + 1);
    bson_t *doc = bson_new();
    if (pad == NULL)
        abort();
    for (uint32_t i = 0; i < len; i++)
        pad[i] = (uint8_t)(rng_next(&r) >> 56);
    BSON_APPEND_INT64(doc, "_id", number);
    BSON_APPEND_DATE_TIME(doc, "at", number % 2 != 0 ? OVER : NEVER);
    BSON_APPEND_BINARY(doc, "pad", BSON_SUBTYPE_BINARY, pad, len);
    free(pad);
    return doc;
}

static bool take_away(parcels *p, const char *how, int64_t number)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t range = BSON_INITIALIZER;
    BSON_APPEND_INT64(&range, how, number);
    BSON_APPEND_DOCUMENT(&filter, "_id", &range);
    int code = ash_collection_remove(p->c, &filter, NULL, NULL, &p->err);
    bson_destroy(&range);
    bson_destroy(&filter);
    return code == 0;
}

bool parcels_send(parcels *p, int64_t number)
{
    bson_t *doc = make(number);
    int code = ash_collection_insert_one(p->c, doc, NULL, &p->err);
    bson_destroy(doc);
    return code == 0 && take_away(p, "$eq", number - PARCELS_KEPT);
}

/* ---- afterwards ---- */

static bool is_whole(parcels *p, const ash_doc *found, int64_t *number)
{
    bson_t doc;
    bson_iter_t it;
    if (!bson_init_static(&doc, found->data, found->len) ||
        !bson_iter_init_find(&it, &doc, "_id") || !BSON_ITER_HOLDS_INT64(&it))
        return fail(p, "no parcel", -1);
    *number = bson_iter_int64(&it);
    bson_t *want = make(*number);
    bool same = bson_equal(want, &doc);
    bson_destroy(want);
    return same || fail(p, "other bytes", *number);
}

/* Their numbers in order. */
static bool find_all(parcels *p, int64_t *numbers, uint32_t *count)
{
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    bson_t all = BSON_INITIALIZER;
    bson_t *by_number = BCON_NEW("_id", BCON_INT32(1));
    opts.sort = by_number;
    bool good = ash_collection_find(p->c, &all, &opts, &cursor, &p->err) == 0;
    *count = 0;
    while (good) {
        ash_doc doc;
        good = ash_cursor_next(cursor, &doc, &p->err) == 0;
        if (!good || doc.data == NULL)
            break;
        good = *count < MOST_FOUND ? is_whole(p, &doc, &numbers[*count])
                                   : fail(p, "too many are there", *count);
        ++*count;
    }
    ash_cursor_free(cursor);
    bson_destroy(by_number);
    bson_destroy(&all);
    return good;
}

/* Are they what must be there after `sent`?  late: the last one's predecessor may still be there.
 */
static bool fits(const int64_t *numbers, uint32_t count, int64_t sent, bool late)
{
    int64_t first = sent - PARCELS_KEPT, want = first;
    for (uint32_t i = 0; i < count; i++) {
        if (late && i == 0 && numbers[i] == first - 1)
            continue;
        if (numbers[i] < want || numbers[i] >= sent)
            return false;
        for (; want < numbers[i]; want++) {
            if (want >= 0 && want % 2 == 0)
                return false;
        }
        want = numbers[i] + 1;
    }
    for (; want < sent; want++) {
        if (want >= 0 && want % 2 == 0)
            return false;
    }
    return true;
}

/* From the largest count down: of an odd one that is not there nobody knows whether it was, and its
 * number is not used again. */
bool parcels_settle(parcels *p, int64_t least, int64_t most, int64_t seen, int64_t *next)
{
    int64_t numbers[MOST_FOUND];
    uint32_t count = 0;
    if (!find_all(p, numbers, &count))
        return false;
    int64_t sent = most + 1;
    while (sent >= least && !fits(numbers, count, sent, sent > least))
        sent--;
    if (sent < least) {
        for (uint32_t i = 0; i < count; i++)
            printf("#     parcel %lld\n", (long long)numbers[i]);
        return fail(p, "those above are there, though all before this one were acknowledged", most);
    }
    if (seen >= sent)
        return fail(p, "a change stream told of it, and it is gone", seen);
    *next = sent;
    return take_away(p, "$lt", sent - PARCELS_KEPT);
}

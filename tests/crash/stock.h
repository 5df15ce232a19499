/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_STOCK_H
#define ASH_TESTS_CRASH_STOCK_H

/* A store with something of everything in its metadata, and what must be in it.
 *
 * Everything follows from the seed, a slot and a version, so that a stock is plain numbers: it can
 * lie in memory that several processes share, where each notes what was acknowledged to it. */

#include <ashlar/bucket.h>

#include <stdbool.h>
#include <stdint.h>

#include "rng.h"

enum stock_kind { STOCK_DOC, STOCK_NOTE, STOCK_FILE, STOCK_KINDS };
enum { STOCK_DOCS = 400, STOCK_NOTES = 60, STOCK_FILES = 14, STOCK_SLOTS = 400, STOCK_INDEXES = 3 };

typedef struct stock_item {
    uint32_t version;
    uint32_t len; /* of its filling */
    bool there;
    bool unsure; /* a change of it was not answered, or refused: it may be there or not, in any
                    version */
} stock_item;

typedef struct stock {
    uint64_t seed;
    uint32_t version; /* last given */
    stock_item items[STOCK_KINDS][STOCK_SLOTS];
    bool index_there[STOCK_INDEXES]; /* of the documents */
    bool index_unsure[STOCK_INDEXES];
    uint64_t first_time; /* of the change log */
    /* Events of the change log when the stock was laid in, and a sum over them; the sum means
     * nothing once the store was changed. */
    int64_t events;
    uint64_t events_sum;
    bool changed;
    uint32_t acknowledged; /* writes */
} stock;

/* What readers saw: bits.  The text is of the worst of them.  Missing is also what is there
 * although it was deleted, and what is there twice; wrong are bytes that nobody wrote. */
enum { SAW_REFUSED = 1, SAW_MISSING = 2, SAW_WRONG = 4 };

typedef struct stock_view {
    unsigned saw;
    char text[240];
    char refusal[160]; /* the first */
} stock_view;

typedef struct shop {
    ash_store *store;
    ash_collection *goods[2]; /* documents and notes */
    ash_bucket *bucket;
    stock *stock;
    stock_view *view;
} shop;

int stock_slots(enum stock_kind kind);

/* served: through the server that holds the folder. */
int shop_open(shop *s, const char *folder, bool served, stock *of, stock_view *view,
              ash_error *err);
void shop_close(shop *s);

/* Make the store, in this process. */
int stock_lay_in(const char *folder, stock *of, uint64_t seed, ash_error *err);

/* Read everything in every way and compare. */
void stock_read(shop *s);
/* So many changes of all kinds.  What was acknowledged is noted in the stock. */
void stock_write(shop *s, rng *r, int count);

/* The document of a slot as it is now. */
void stock_doc(const stock *of, enum stock_kind kind, int slot, bson_t *out);
void stock_id(enum stock_kind kind, int slot, bson_t *out); /* {_id: …} */
uint32_t stock_number(const stock *of, int slot);           /* the field "n" of a document */
/* A file's bytes; the caller frees. */
uint8_t *stock_bytes(const stock *of, int slot);
void stock_file_name(int slot, char out[16]);
bson_value_t stock_file_id(int slot);
extern const char *const stock_index_specs[STOCK_INDEXES];
extern const char *const stock_index_names[STOCK_INDEXES];

void stock_saw(stock_view *view, unsigned bit, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_FORMAT_JUDGE_H
#define ASH_ENGINE_FORMAT_JUDGE_H

/* What can be said of one page of a tree by itself: that it is the page it says, of the kind that
 * its place asks for, that its nodes fill it without gaps, and that its keys ascend within the
 * bounds that the branch above sets.  page_format.h says what is in it. */

#include <ashlar/doc.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct ash_page_kind {
    uint32_t page_bytes;
    bool is_free_list; /* its keys are numbers of the machine */
    bool holds_trees;  /* its rows describe the databases */
} ash_page_kind;

/* NULL: nothing is wrong with it; else what.  low, high: keys are at least, and below; data NULL:
 * no end on that side. */
const char *ash__page_judge(const ash_page_kind *k, uint64_t number, const uint8_t *page,
                            bool is_leaf, ash_doc low, ash_doc high);

bool ash__page_is_unordered(const char *what); /* that is all that was said of it */

/* Of a page that was judged: a node and its key. */
const uint8_t *ash__page_node(const uint8_t *page, uint32_t i, ash_doc *key);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_WRAPPED_ENGINE_H
#define ASH_TESTS_WRAPPED_ENGINE_H

/* What stands between a test and the engine, put there by the linker (--wrap): the product has no
 * switch to do these things.  For programs that depend on wrapped_engine (tests/meson.build) and so
 * take the static libraries.  Set from one thread, before a store is opened. */

#include <stdbool.h>

enum {
    RULE_NONE,
    RULE_PAYLOADS_FIRST, /* a segment is not synced before the commit that points into it */
    RULE_NO_EARLY_REUSE, /* a freed extent is used again at once */
    RULE_JOURNAL_FIRST   /* the journal is not synced before an answer */
};

/* Break this rule of the engine (engine/engine.h). */
void wrapped_engine_break(int rule);
/* Use a journal from the first commit on, and always. */
void wrapped_engine_journal_eagerly(bool eagerly);
/* Let no more free space stay on the disk than half of what is in use, in spans of any length, and
 * look at it all the time. */
void wrapped_engine_trim_eagerly(bool eagerly);

#endif

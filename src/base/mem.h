/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_MEM_H
#define ASH_BASE_MEM_H

/* Memory and assertions.
 *
 * Small allocations of a size the program chose abort when memory runs out (libbson beneath us does
 * so anyway).  A size that came from input goes through ash__try_alloc() after a limit check. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed; never NULL. */
void *ash__alloc(size_t size_bytes);
void *ash__alloc_array(size_t count, size_t item_bytes);
void *ash__realloc_array(void *old, size_t count, size_t item_bytes);
/* An array of count items with room for at least one more: twice as much when *capacity is used up.
 */
void *ash__grow_array(void *items, size_t count, size_t *capacity, size_t item_bytes);
/* Among items in the order of a number: the first whose number is not below key; count: none. */
size_t ash__first_not_below(const void *items, size_t count, size_t item_bytes, uint64_t key,
                            uint64_t (*number)(const void *item));
char *ash__strdup(const char *text);
char *ash__strndup(const char *text, size_t len_bytes);
void *ash__memdup(const void *data, size_t len_bytes);
char *ash__sprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define ash__new(type) ((type *)ash__alloc(sizeof(type)))

/* Not zeroed; NULL when memory runs out, and then `old` stays as it is. */
void *ash__try_alloc(size_t size_bytes);
void *ash__try_resize(void *old, size_t size_bytes);
/* The same for what may have mebibytes: laid out so that the advice below holds for all of it. */
void *ash__try_alloc_large(size_t size_bytes);
/* Advice for a block of mebibytes that will be used all over and soon: the system gives it few large
 * pages instead of many small ones, if it has them.  Short ones are left as they are. */
void ash__mem_large(void *pointer, size_t size_bytes);

void ash__free(void *pointer);

/* Stays on in release builds: a broken assertion is a bug of Ashlar or of the calling program. */
#define ash_assert(condition)                                                                      \
    ((condition) ? (void)0 : ash__assert_failed(#condition, __FILE__, __LINE__))
_Noreturn void ash__assert_failed(const char *condition, const char *file, int line);

#define ASH_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif

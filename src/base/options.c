/* SPDX-License-Identifier: Apache-2.0 */
/* Structs that a program compiled against another version's header hands over.  Only their first
 * bytes, the size, are known to mean the same; all else goes by memcpy. */
#include "base/options.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* More than a struct of this library will ever have: what was not initialised mostly says so. */
enum { STRUCT_BYTES_MAX = 4096 };

static bool is_a_size(size_t size)
{
    return size >= sizeof size && size <= STRUCT_BYTES_MAX;
}

int ash__options_copy(void *ours, size_t known_bytes, const void *theirs, ash_error *err)
{
    size_t size;
    memset(ours, 0, known_bytes);
    if (theirs == NULL) {
        memcpy(ours, &known_bytes, sizeof known_bytes);
        return 0;
    }
    memcpy(&size, theirs, sizeof size);
    if (!is_a_size(size))
        return ash__fail(err, ASH_EINVAL, "options struct was not initialised (size %zu)", size);
    /* Passing over a setting would be doing something else than was asked for. */
    for (size_t i = known_bytes; i < size; i++) {
        if (((const uint8_t *)theirs)[i] != 0)
            return ash__fail(
                err, ASH_EINVAL,
                "options struct of a newer version sets a field this library does not know");
    }
    memcpy(ours, theirs, size < known_bytes ? size : known_bytes);
    /* From here on it is a struct of ours, with our size. */
    memcpy(ours, &known_bytes, sizeof known_bytes);
    return 0;
}

int ash__out_copy(void *theirs, const void *ours, size_t known_bytes, ash_error *err)
{
    size_t size;
    memcpy(&size, theirs, sizeof size);
    if (!is_a_size(size))
        return ash__fail(err, ASH_EINVAL, "result struct was not initialised (size %zu)", size);
    /* The rest of a longer struct has to mean something: nothing. */
    memset(theirs, 0, size);
    memcpy(theirs, ours, size < known_bytes ? size : known_bytes);
    memcpy(theirs, &size, sizeof size);
    return 0;
}

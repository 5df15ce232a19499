/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/format/names.h"

#include "base/base64.h"
#include "base/mem.h"

#include <string.h>

const char *ash__store_of_stream(const char *stream)
{
    const size_t len = strlen(ASH_STREAM_PREFIX);
    return strncmp(stream, ASH_STREAM_PREFIX, len) == 0 ? stream + len : NULL;
}

char *ash__stream_of(const char *store)
{
    return ash__sprintf(ASH_STREAM_PREFIX "%s", store);
}

char *ash__chunk_subject(const char *store, const char *nuid)
{
    return ash__sprintf("$O.%s.C.%s", store, nuid);
}

char *ash__meta_subject(const char *store, const char *name)
{
    char *encoded = ash__base64_write(name, strlen(name));
    char *subject = ash__sprintf("$O.%s.M.%s", store, encoded);
    ash__free(encoded);
    return subject;
}

char *ash__name_of_subject(const char *store, const char *subject)
{
    size_t len = strlen(store), name_len = 0;
    uint8_t *name = NULL;
    if (strncmp(subject, "$O.", 3) != 0 || strncmp(subject + 3, store, len) != 0 ||
        strncmp(subject + 3 + len, ".M.", 3) != 0)
        return NULL;
    subject += len + 6;
    if (!ash__base64_read(subject, strlen(subject), &name, &name_len))
        return NULL;
    /* What has a NUL in it would pass for another name, a shorter one. */
    if (memchr(name, '\0', name_len) != NULL) {
        ash__free(name);
        return NULL;
    }
    return (char *)name;
}

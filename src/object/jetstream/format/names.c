/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/format/names.h"

#include "base/base64.h"
#include "base/mem.h"

#include <string.h>

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
    return ash__base64_read(subject, strlen(subject), &name, &name_len) ? (char *)name : NULL;
}

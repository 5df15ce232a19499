/* SPDX-License-Identifier: Apache-2.0 */
/* ICU has the profile, and is linked for collations. */
#include "user/prepare.h"

#include "base/mem.h"
#include "base/text.h"

#include <openssl/crypto.h>
#include <string.h>
#include <unicode/usprep.h>
#include <unicode/ustring.h>

enum { MAX_PASSWORD_BYTES = 4096 };

static bool is_ascii(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

static void wipe(void *data, size_t len)
{
    OPENSSL_cleanse(data, len);
    ash__free(data);
}

/* As UTF-16 there are at most as many units as bytes; prepared, a character becomes 18 at most. */
static int prepare(const char *text, size_t len, char **out, ash_error *err)
{
    UErrorCode status = U_ZERO_ERROR;
    int32_t room = (int32_t)(18 * len + 1), units = 0, bytes = 0;
    UChar *from = ash__alloc_array((size_t)room, sizeof *from);
    UChar *to = ash__alloc_array((size_t)room, sizeof *to);
    char *made = ash__alloc((size_t)room * 3);
    UStringPrepProfile *profile = usprep_openByType(USPREP_RFC4013_SASLPREP, &status);
    u_strFromUTF8(from, room, &units, text, (int32_t)len, &status);
    if (U_SUCCESS(status))
        units = usprep_prepare(profile, from, units, to, room, USPREP_DEFAULT, NULL, &status);
    if (U_SUCCESS(status))
        u_strToUTF8(made, room * 3, &bytes, to, units, &status);
    if (profile != NULL)
        usprep_close(profile);
    *out = U_SUCCESS(status) && bytes > 0 ? ash__strndup(made, (size_t)bytes) : NULL;
    wipe(from, (size_t)room * sizeof *from);
    wipe(to, (size_t)room * sizeof *to);
    wipe(made, (size_t)room * 3);
    return *out != NULL ? 0
                        : ash__fail(err, ASH_EINVAL,
                                    "the password has characters that SASLprep does not allow");
}

int ash__saslprep(const char *text, char **out, ash_error *err)
{
    size_t len = strlen(text);
    *out = NULL;
    if (len == 0)
        return ash__fail(err, ASH_EINVAL, "Password cannot be empty");
    if (len > MAX_PASSWORD_BYTES)
        return ash__fail(err, ASH_EINVAL, "the password is longer than %d bytes",
                         MAX_PASSWORD_BYTES);
    if (ash__text_good(text, len) != len)
        return ash__fail(err, ASH_EINVAL, "the password is not UTF-8");
    if (is_ascii(text)) {
        *out = ash__strdup(text);
        return 0;
    }
    return prepare(text, len, out, err);
}

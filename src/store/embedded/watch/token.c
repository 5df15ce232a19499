/* SPDX-License-Identifier: Apache-2.0 */
/* Resume tokens: a time and what it stands behind, so that nothing has to be kept for a stream that
 * may come back. */

#include "store/embedded/watch/token.h"

#include "base/bytes.h"
#include "base/hash.h"

#define TOKEN_BYTES 10
#define MARK        0x81

void ash__token_append(ash_builder *b, const char *name, uint64_t time, enum ash_token_kind kind)
{
    uint8_t bytes[TOKEN_BYTES] = {MARK};
    char hex[2 * TOKEN_BYTES + 1];
    ash__put_be64(bytes + 1, time);
    bytes[9] = (uint8_t)kind;
    ash__hex(bytes, sizeof bytes, hex);
    ash__builder_begin_doc(b, name);
    ash__builder_text(b, "_data", hex);
    ash__builder_end(b);
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int ash__token_parse(ash_doc token, uint64_t *time, enum ash_token_kind *kind, ash_error *err)
{
    uint8_t bytes[TOKEN_BYTES];
    uint32_t len = 0;
    ash_value data = ash__doc_get(token, "_data");
    const char *hex = data.type == BSON_TYPE_UTF8 ? ash__value_string(data, &len) : "";
    bool good = len == 2 * TOKEN_BYTES;
    for (uint32_t i = 0; good && i < TOKEN_BYTES; i++) {
        int high = digit(hex[2 * i]);
        int low = digit(hex[2 * i + 1]);
        good = high >= 0 && low >= 0;
        bytes[i] = (uint8_t)(16 * high + low);
    }
    if (!good || bytes[0] != MARK ||
        (bytes[9] != ASH_TOKEN_EVENT && bytes[9] != ASH_TOKEN_INVALIDATE &&
         bytes[9] != ASH_TOKEN_PAST))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_RESUME_TOKEN,
                                "the resume token is not valid");
    *time = ash__get_be64(bytes + 1);
    *kind = (enum ash_token_kind)bytes[9];
    return 0;
}

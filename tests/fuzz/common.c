/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/mem.h"

#include <string.h>

uint8_t *fuzz_document(const uint8_t *data, size_t size, ash_doc *out)
{
    if (size < 5 || ash__bson_validate(data, size, ASH_DOC_MAX_DEPTH, NULL) != 0)
        return NULL;
    uint8_t *copy = ash__memdup(data, size);
    *out = (ash_doc){copy, size};
    return copy;
}

void fuzz_check_refusal(int result, const ash_error *err)
{
    if (result == 0)
        return;
    ash_assert(result < 0 && result != ASH_EINTERNAL);
    ash_assert(err->text[0] != '\0' && ash_error_server_code(err) != 1);
}

void fuzz_check_bson(ash_doc doc)
{
    ash_assert(ash__bson_validate(doc.data, doc.len, ASH_DOC_MAX_DEPTH + 20, NULL) == 0);
}

const ash_doc *fuzz_samples(uint32_t *count)
{
    static const char *texts[] = {"{\"_id\": 1, \"a\": [1, {\"b\": [2, \"a\"], \"c\": null}, [3, "
                                  "4]], \"b\": \"abc\", \"c\": -1}",
                                  "{\"_id\": 2, \"a\": {\"b\": {\"c\": -1}, \"c\": [{\"b\": 1}, "
                                  "{\"b\": 2}]}, \"b\": null, \"c\": 2.5}",
                                  "{\"_id\": 3, \"a\": [], \"b\": {\"$numberDecimal\": \"1.50\"}, "
                                  "\"c\": {\"$date\": {\"$numberLong\": "
                                  "\"1700000000000\"}}}",
                                  "{\"_id\": 4, \"b\": [\"x\", \"y\", {\"$binary\": {\"base64\": "
                                  "\"AQID\", \"subType\": \"00\"}}], \"c\": "
                                  "{\"$oid\": \"0102030405060708090a0b0c\"}}",
                                  "{}"};
    enum { COUNT = sizeof texts / sizeof texts[0] };
    static ash_doc docs[COUNT];
    for (uint32_t i = 0; docs[COUNT - 1].data == NULL && i < COUNT; i++) {
        static bson_t *kept[COUNT]; /* for the life of the process */
        bson_error_t error;
        kept[i] = bson_new_from_json((const uint8_t *)texts[i], -1, &error);
        ash_assert(kept[i] != NULL);
        docs[i] = (ash_doc){bson_get_data(kept[i]), kept[i]->len};
    }
    *count = COUNT;
    return docs;
}

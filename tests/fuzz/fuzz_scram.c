/* SPDX-License-Identifier: Apache-2.0 */
/* SCRAM's two client messages and SASLprep.  The input is the first message, a line's end, and the
 * final one, in which % stands for the nonce of both and $ for the proof that is right; its first byte
 * chooses the mechanism.  Without $ nobody may come in. */
#include "fuzz.h"

#include "base/base64.h"
#include "base/mem.h"
#include "base/text.h"
#include "user/keys.h"
#include "user/prepare.h"
#include "user/scram.h"

#include <string.h>

static void make_credential(ash_scram_mechanism mechanism, uint8_t client_key[ASH_SCRAM_KEY_BYTES],
                            ash_scram_credential *out)
{
    memset(out, 0, sizeof *out);
    memset(client_key, 'k', ASH_SCRAM_KEY_BYTES);
    memset(out->server_key, 's', sizeof out->server_key);
    out->iterations = 4096;
    out->salt_len = ash__scram_salt_bytes(mechanism);
    ash__scram_hash(mechanism, client_key, out->stored_key);
}

/* Of what stands before it in the message. */
static char *right_proof(const ash_scram *s, const char *message,
                         const uint8_t client_key[ASH_SCRAM_KEY_BYTES])
{
    uint8_t key[ASH_SCRAM_KEY_BYTES];
    size_t len = strlen(message);
    /* ",p=" is not part of it. */
    char *without = ash__strndup(message, len >= 3 ? len - 3 : 0);
    char *auth = ash__sprintf("%s,%s,%s", s->client_first, s->server_first, without);
    ash__scram_hmac(s->mechanism, s->credential.stored_key, auth, key);
    for (size_t i = 0; i < ash__scram_key_bytes(s->mechanism); i++)
        key[i] ^= client_key[i];
    char *proof = ash__base64_write(key, ash__scram_key_bytes(s->mechanism));
    ash__free(auth);
    ash__free(without);
    return proof;
}

static void fill_in(const ash_scram *s, const uint8_t *data, size_t size,
                    const uint8_t client_key[ASH_SCRAM_KEY_BYTES], ash_buffer *out)
{
    for (size_t i = 0; i < size && out->len < 2 * ASH_SCRAM_MESSAGE_BYTES; i++) {
        if (data[i] == '%') {
            ash__buffer_append_text(out, s->nonce);
        } else if (data[i] == '$') {
            char *proof = right_proof(s, ash__buffer_text(out), client_key);
            ash__buffer_append_text(out, proof);
            ash__free(proof);
        } else {
            ash__buffer_append_byte(out, data[i]);
        }
    }
}

static void finish(ash_scram *s, const uint8_t *data, size_t size,
                   const uint8_t client_key[ASH_SCRAM_KEY_BYTES])
{
    ash_error err = ASH_ERROR_INIT;
    ash_buffer final = ASH_BUFFER_INIT;
    char *answer = NULL;
    fill_in(s, data, size, client_key, &final);
    uint8_t *exact = ash__memdup(final.data, final.len);
    int rc = ash__scram_finish(s, exact, final.len, &answer, &err);
    if (rc == 0) {
        ash_assert(size > 0 && memchr(data, '$', size) != NULL);
        ash_assert(answer != NULL && strncmp(answer, "v=", 2) == 0);
        ash__free(answer);
    } else {
        ash_assert((rc == ASH_EINVAL || rc == ASH_EACCES) && answer == NULL);
        ash_assert(err.text[0] != '\0');
    }
    /* It is good for one attempt, whatever came of it. */
    ash_assert(ash__scram_finish(s, exact, final.len, &answer, &err) != 0 && answer == NULL);
    ash__free(exact);
    ash__buffer_release(&final);
}

static void try_exchange(const uint8_t *data, size_t size)
{
    const uint8_t random[ASH_SCRAM_NONCE_BYTES] = {1, 2, 3};
    uint8_t client_key[ASH_SCRAM_KEY_BYTES];
    ash_scram_credential credential;
    ash_error err = ASH_ERROR_INIT;
    ash_scram s;
    if (size == 0)
        return;
    ash__scram_init(&s, data[0] & 1 ? ASH_SCRAM_SHA_256 : ASH_SCRAM_SHA_1);
    const uint8_t *end = memchr(data + 1, '\n', size - 1);
    size_t first = end != NULL ? (size_t)(end - data) - 1 : size - 1;
    uint8_t *exact = ash__memdup(data + 1, first);
    int rc = ash__scram_begin(&s, exact, first, &err);
    ash__free(exact);
    if (rc == 0) {
        ash_assert(s.user[0] != '\0' && s.client_nonce[0] != '\0');
        make_credential(s.mechanism, client_key, &credential);
        ash__scram_challenge(&s, &credential, random);
        finish(&s, data + 1 + first + (end != NULL), size - 1 - first - (end != NULL), client_key);
    } else {
        ash_assert(rc == ASH_EINVAL);
    }
    ash__scram_release(&s);
}

/* What was prepared is text, and prepared as it is. */
static void try_prepare(const uint8_t *data, size_t size)
{
    ash_error err = ASH_ERROR_INIT;
    char *text = ash__strndup((const char *)data, size), *once = NULL, *twice = NULL;
    if (ash__saslprep(text, &once, &err) == 0) {
        ash_assert(once[0] != '\0' && ash__text_good(once, strlen(once)) == strlen(once));
        ash_assert(ash__saslprep(once, &twice, &err) == 0);
        ash_assert(strcmp(once, twice) == 0);
    } else {
        ash_assert(err.code == ASH_EINVAL && once == NULL);
    }
    ash__free(text);
    ash__free(once);
    ash__free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_exchange(data, size);
    try_prepare(data, size);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return mutate_bytes(data, size, max_size, seed);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "scram_client.h"

#include "base/base64.h"
#include "base/mem.h"
#include "user/keys.h"

#include <openssl/evp.h>
#include <string.h>

static void salted(ash_scram_mechanism mechanism, const char *password,
                   const ash_scram_credential *c, uint8_t *out)
{
    const EVP_MD *md = mechanism == ASH_SCRAM_SHA_1 ? EVP_sha1() : EVP_sha256();
    ash_assert(PKCS5_PBKDF2_HMAC(password, (int)strlen(password), c->salt, (int)c->salt_len,
                                 c->iterations, md, (int)ash__scram_key_bytes(mechanism),
                                 out) == 1);
}

void scram_credential_of(ash_scram_mechanism mechanism, const char *password, const char *salt,
                         ash_scram_credential *out)
{
    uint8_t key[ASH_SCRAM_KEY_BYTES], client_key[ASH_SCRAM_KEY_BYTES];
    uint8_t *bytes = NULL;
    memset(out, 0, sizeof *out);
    ash_assert(ash__base64_read(salt, strlen(salt), &bytes, &out->salt_len));
    memcpy(out->salt, bytes, out->salt_len);
    ash__free(bytes);
    out->iterations = 4096;
    salted(mechanism, password, out, key);
    ash__scram_hmac(mechanism, key, "Client Key", client_key);
    ash__scram_hash(mechanism, client_key, out->stored_key);
    ash__scram_hmac(mechanism, key, "Server Key", out->server_key);
}

char *scram_final_message(const ash_scram *s, const char *binding, const char *nonce,
                          const char *password)
{
    uint8_t key[ASH_SCRAM_KEY_BYTES], client_key[ASH_SCRAM_KEY_BYTES];
    uint8_t signature[ASH_SCRAM_KEY_BYTES];
    char *without = ash__sprintf("c=%s,r=%s", binding, nonce);
    char *auth = ash__sprintf("%s,%s,%s", s->client_first, s->server_first, without);
    salted(s->mechanism, password, &s->credential, key);
    ash__scram_hmac(s->mechanism, key, "Client Key", client_key);
    ash__scram_hash(s->mechanism, client_key, key);
    ash__scram_hmac(s->mechanism, key, auth, signature);
    for (size_t i = 0; i < ash__scram_key_bytes(s->mechanism); i++)
        client_key[i] ^= signature[i];
    char *proof = ash__base64_write(client_key, ash__scram_key_bytes(s->mechanism));
    char *message = ash__sprintf("%s,p=%s", without, proof);
    ash__free(proof);
    ash__free(auth);
    ash__free(without);
    return message;
}

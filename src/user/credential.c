/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept instead of a password, and what a user would have who is not there. */
#include "user/keys.h"

#include "base/hash.h"
#include "base/mem.h"
#include "user/prepare.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

const char *ash__scram_name(ash_scram_mechanism mechanism)
{
    return mechanism == ASH_SCRAM_SHA_1 ? "SCRAM-SHA-1" : "SCRAM-SHA-256";
}

bool ash__scram_from_name(const char *name, ash_scram_mechanism *out)
{
    for (int i = 0; i < ASH_SCRAM_MECHANISMS; i++)
        if (strcmp(name, ash__scram_name((ash_scram_mechanism)i)) == 0) {
            *out = (ash_scram_mechanism)i;
            return true;
        }
    return false;
}

size_t ash__scram_key_bytes(ash_scram_mechanism mechanism)
{
    return mechanism == ASH_SCRAM_SHA_1 ? 20 : 32;
}

size_t ash__scram_salt_bytes(ash_scram_mechanism mechanism)
{
    return mechanism == ASH_SCRAM_SHA_1 ? 16 : ASH_SCRAM_SALT_BYTES;
}

int32_t ash__scram_iterations(ash_scram_mechanism mechanism)
{
    return mechanism == ASH_SCRAM_SHA_1 ? 10000 : 15000;
}

static const EVP_MD *digest_of(ash_scram_mechanism mechanism)
{
    return mechanism == ASH_SCRAM_SHA_1 ? EVP_sha1() : EVP_sha256();
}

void ash__scram_hmac(ash_scram_mechanism mechanism, const uint8_t *key, const char *text,
                     uint8_t out[ASH_SCRAM_KEY_BYTES])
{
    unsigned len = 0;
    ash_assert(HMAC(digest_of(mechanism), key, (int)ash__scram_key_bytes(mechanism),
                    (const uint8_t *)text, strlen(text), out, &len) != NULL);
}

void ash__scram_hash(ash_scram_mechanism mechanism, const uint8_t *data,
                     uint8_t out[ASH_SCRAM_KEY_BYTES])
{
    unsigned len = 0;
    ash_assert(EVP_Digest(data, ash__scram_key_bytes(mechanism), out, &len, digest_of(mechanism),
                          NULL) == 1);
}

/* SCRAM-SHA-1 in MongoDB takes the hexadecimal MD5 of "user:mongo:password" for the password. */
static int mongo_digest(const char *user, const char *password, char **out, ash_error *err)
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    ash_digest *d = ash__digest_new(ASH_DIGEST_MD5);
    if (d == NULL)
        return ash__fail(err, ASH_EUNSUPPORTED,
                         "SCRAM-SHA-1 needs MD5, which this system does not allow");
    ash__digest_add(d, user, strlen(user));
    ash__digest_add(d, ":mongo:", strlen(":mongo:"));
    ash__digest_add(d, password, strlen(password));
    size_t len = ash__digest_finish(d, bytes);
    ash__digest_free(d);
    *out = ash__alloc(2 * len + 1);
    ash__hex(bytes, len, *out);
    return 0;
}

int ash__scram_credential_make(ash_scram_mechanism mechanism, const char *user,
                               const char *password, ash_scram_credential *out, ash_error *err)
{
    uint8_t salted[ASH_SCRAM_KEY_BYTES], client_key[ASH_SCRAM_KEY_BYTES];
    char *prepared = NULL;
    size_t bytes = ash__scram_key_bytes(mechanism);
    int rc = mechanism == ASH_SCRAM_SHA_1 ? mongo_digest(user, password, &prepared, err)
                                          : ash__saslprep(password, &prepared, err);
    if (rc != 0)
        return rc;
    ash_assert(PKCS5_PBKDF2_HMAC(prepared, (int)strlen(prepared), out->salt, (int)out->salt_len,
                                 out->iterations, digest_of(mechanism), (int)bytes, salted) == 1);
    ash__scram_hmac(mechanism, salted, "Client Key", client_key);
    ash__scram_hash(mechanism, client_key, out->stored_key);
    ash__scram_hmac(mechanism, salted, "Server Key", out->server_key);
    OPENSSL_cleanse(salted, sizeof salted);
    OPENSSL_cleanse(client_key, sizeof client_key);
    OPENSSL_cleanse(prepared, strlen(prepared));
    ash__free(prepared);
    return 0;
}

void ash__scram_credential_fake(ash_scram_mechanism mechanism, const uint8_t secret[32],
                                const char *user, const char *db, ash_scram_credential *out)
{
    uint8_t salt[ASH_SCRAM_KEY_BYTES];
    /* No name has a NUL, nor a database a dot: no two users have the same text. */
    char *text = ash__sprintf("%s %s.%s", ash__scram_name(mechanism), db, user);
    memset(out, 0, sizeof *out);
    ash__scram_hmac(ASH_SCRAM_SHA_256, secret, text, salt);
    ash__free(text);
    out->iterations = ash__scram_iterations(mechanism);
    out->salt_len = ash__scram_salt_bytes(mechanism);
    memcpy(out->salt, salt, out->salt_len);
    /* A digest of something that nobody has. */
    ash__random(out->stored_key, sizeof out->stored_key);
    ash__random(out->server_key, sizeof out->server_key);
}

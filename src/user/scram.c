/* SPDX-License-Identifier: Apache-2.0 */
/* The exchange.  Its messages are few and flat, so that each is read from left to right, and
 * everything that the grammar does not name is refused. */
#include "user/keys.h"

#include "base/base64.h"
#include "base/mem.h"
#include "base/text.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

enum { STEP_NEW, STEP_BEGUN, STEP_CHALLENGED, STEP_OVER };

static int bad_message(ash_error *err, const char *what)
{
    return ash__fail(err, ASH_EINVAL, "SCRAM: %s", what);
}

char *ash__scram_base64(const uint8_t *data, size_t len)
{
    char *text = ash__alloc(4 * ((len + 2) / 3) + 1);
    EVP_EncodeBlock((uint8_t *)text, data, (int)len);
    return text;
}

void ash__scram_init(ash_scram *s, ash_scram_mechanism mechanism)
{
    memset(s, 0, sizeof *s);
    s->mechanism = mechanism;
}

void ash__scram_release(ash_scram *s)
{
    ash_scram_mechanism mechanism = s->mechanism;
    ash__free(s->user);
    ash__free(s->client_nonce);
    ash__free(s->client_first);
    ash__free(s->server_first);
    ash__free(s->nonce);
    OPENSSL_cleanse(s, sizeof *s);
    s->mechanism = mechanism;
    s->step = STEP_OVER;
}

/* ---- reading ---- */

/* A message as text; NULL when it is none. */
static char *read_text(const void *message, size_t len)
{
    if (len == 0 || len > ASH_SCRAM_MESSAGE_BYTES || memchr(message, '\0', len) != NULL ||
        ash__text_good(message, len) != len)
        return NULL;
    return ash__strndup(message, len);
}

/* The value of attribute "x=" at *at, up to the next comma or the end, and *at behind that comma
 * (NULL: it was the last).  Yours; NULL when another attribute stands there. */
static char *take(const char **at, char name)
{
    const char *text = *at;
    if (text == NULL || text[0] != name || text[1] != '=')
        return NULL;
    const char *end = strchr(text, ',');
    *at = end != NULL ? end + 1 : NULL;
    return ash__strndup(text + 2, end != NULL ? (size_t)(end - text - 2) : strlen(text + 2));
}

/* "=2C" is a comma and "=3D" an equals sign; no other '=' may be in a name. */
static bool unescape(char *name)
{
    char *to = name;
    for (const char *from = name; *from != '\0'; from++) {
        if (*from != '=')
            *to++ = *from;
        else if (strncmp(from, "=2C", 3) == 0 || strncmp(from, "=3D", 3) == 0) {
            *to++ = from[1] == '2' ? ',' : '=';
            from += 2;
        } else
            return false;
    }
    *to = '\0';
    return to != name;
}

static bool is_nonce(const char *text)
{
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++)
        if (*text < 0x21 || *text > 0x7e || *text == ',')
            return false;
    return true;
}

static int read_first(ash_scram *s, const char *text, ash_error *err)
{
    const char *at = text + 3;
    if (text[0] == 'p')
        return bad_message(err, "channel binding is not offered");
    if ((text[0] != 'n' && text[0] != 'y') || text[1] != ',')
        return bad_message(err, "no such channel binding flag");
    if (text[2] != ',')
        return bad_message(err, "nobody may sign in as somebody else");
    s->gs2 = text[0];
    s->client_first = ash__strdup(at);
    /* "m=" would be an extension that both must know. */
    s->user = take(&at, 'n');
    s->client_nonce = take(&at, 'r');
    if (s->user == NULL || !unescape(s->user))
        return bad_message(err, "no name");
    if (s->client_nonce == NULL || !is_nonce(s->client_nonce))
        return bad_message(err, "no nonce");
    return 0;
}

int ash__scram_begin(ash_scram *s, const void *message, size_t len, ash_error *err)
{
    char *text = s->step == STEP_NEW ? read_text(message, len) : NULL;
    if (text == NULL)
        return bad_message(err, "not a first message");
    int rc = read_first(s, text, err);
    ash__free(text);
    s->step = rc == 0 ? STEP_BEGUN : STEP_OVER;
    return rc;
}

void ash__scram_challenge(ash_scram *s, const ash_scram_credential *credential,
                          const uint8_t random[ASH_SCRAM_NONCE_BYTES])
{
    ash_assert(s->step == STEP_BEGUN);
    char *ours = ash__scram_base64(random, ASH_SCRAM_NONCE_BYTES);
    char *salt = ash__scram_base64(credential->salt, credential->salt_len);
    s->credential = *credential;
    s->nonce = ash__sprintf("%s%s", s->client_nonce, ours);
    s->server_first = ash__sprintf("r=%s,s=%s,i=%d", s->nonce, salt, (int)credential->iterations);
    s->step = STEP_CHALLENGED;
    ash__free(ours);
    ash__free(salt);
}

/* ---- the proof ---- */

/* "c=" is base64 of the flags that the first message began with: so nobody between can have changed
 * them. */
static bool is_binding(const ash_scram *s, const char *value)
{
    return strcmp(value, s->gs2 == 'n' ? "biws" : "eSws") == 0;
}

static bool proof_fits(const ash_scram *s, const char *auth, const uint8_t *proof)
{
    size_t bytes = ash__scram_key_bytes(s->mechanism);
    uint8_t key[ASH_SCRAM_KEY_BYTES], hashed[ASH_SCRAM_KEY_BYTES];
    ash__scram_hmac(s->mechanism, s->credential.stored_key, auth, key);
    for (size_t i = 0; i < bytes; i++)
        key[i] ^= proof[i];
    ash__scram_hash(s->mechanism, key, hashed);
    bool fits = CRYPTO_memcmp(hashed, s->credential.stored_key, bytes) == 0;
    OPENSSL_cleanse(key, sizeof key);
    return fits;
}

static int check_proof(const ash_scram *s, const char *without_proof, const char *proof,
                       char **answer, ash_error *err)
{
    uint8_t signature[ASH_SCRAM_KEY_BYTES];
    uint8_t *bytes = NULL;
    size_t len = 0;
    if (!ash__base64_read(proof, strlen(proof), &bytes, &len) ||
        len != ash__scram_key_bytes(s->mechanism)) {
        ash__free(bytes);
        return bad_message(err, "no proof");
    }
    char *auth = ash__sprintf("%s,%s,%s", s->client_first, s->server_first, without_proof);
    bool fits = proof_fits(s, auth, bytes);
    ash__free(bytes);
    if (fits) {
        ash__scram_hmac(s->mechanism, s->credential.server_key, auth, signature);
        char *text = ash__scram_base64(signature, ash__scram_key_bytes(s->mechanism));
        *answer = ash__sprintf("v=%s", text);
        ash__free(text);
    }
    ash__free(auth);
    return fits ? 0 : ash__fail(err, ASH_EACCES, "SCRAM: the password is another one");
}

static int read_final(const ash_scram *s, const char *text, char **answer, ash_error *err)
{
    const char *at = text;
    const char *last = strrchr(text, ',');
    char *binding = take(&at, 'c');
    char *nonce = take(&at, 'r');
    int rc;
    if (binding == NULL || !is_binding(s, binding))
        rc = bad_message(err, "other channel binding flags than before");
    else if (nonce == NULL || strcmp(nonce, s->nonce) != 0)
        rc = bad_message(err, "the nonce of another exchange");
    else if (last == NULL || last[1] != 'p' || last[2] != '=')
        rc = bad_message(err, "no proof");
    else {
        char *without_proof = ash__strndup(text, (size_t)(last - text));
        rc = check_proof(s, without_proof, last + 3, answer, err);
        ash__free(without_proof);
    }
    ash__free(binding);
    ash__free(nonce);
    return rc;
}

int ash__scram_finish(ash_scram *s, const void *message, size_t len, char **answer, ash_error *err)
{
    char *text = s->step == STEP_CHALLENGED ? read_text(message, len) : NULL;
    *answer = NULL;
    s->step = STEP_OVER;
    if (text == NULL)
        return bad_message(err, "not a final message");
    int rc = read_final(s, text, answer, err);
    ash__free(text);
    return rc;
}

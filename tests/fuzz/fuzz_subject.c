/* SPDX-License-Identifier: Apache-2.0 */
/* Names of certificates: any bytes of one become a spelling that a user can be named by, and any
 * text is such a spelling or refused. */
#include "fuzz.h"

#include "base/mem.h"
#include "user/subject.h"

#include <openssl/x509.h>
#include <string.h>

/* As src/tls has it. */
static void print_name(const uint8_t *data, size_t size)
{
    const unsigned char *at = data;
    ash_error err = ASH_ERROR_INIT;
    X509_NAME *name = d2i_X509_NAME(NULL, &at, (long)size);
    BIO *text = BIO_new(BIO_s_mem());
    char *start = NULL;
    if (name != NULL && X509_NAME_entry_count(name) > 0 &&
        X509_NAME_print_ex(text, name, 0, XN_FLAG_RFC2253) >= 0) {
        long len = BIO_get_mem_data(text, &start);
        char *copy = ash__alloc((size_t)len + 1);
        memcpy(copy, start, (size_t)len);
        copy[len] = '\0';
        /* No byte of a certificate ends the text early, or leaves the line of a log. */
        ash_assert(strlen(copy) == (size_t)len);
        for (long i = 0; i < len; i++)
            ash_assert((unsigned char)copy[i] >= ' ' && (unsigned char)copy[i] < 0x7f);
        int rc = ash__subject_check(copy, &err);
        fuzz_check_refusal(rc, &err);
        ash__free(copy);
    }
    BIO_free(text);
    X509_NAME_free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ash_error err = ASH_ERROR_INIT;
    char *exact = ash__alloc(size + 1);
    memcpy(exact, data, size);
    exact[size] = '\0';
    int rc = ash__subject_check(exact, &err);
    fuzz_check_refusal(rc, &err);
    ash__free(exact);
    print_name(data, size);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return mutate_bytes(data, size, max_size, seed);
}

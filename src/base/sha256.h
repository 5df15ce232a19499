/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_SHA256_H
#define ASH_BASE_SHA256_H

/* SHA-256 of several texts at once.  A processor's instructions for it are waited for by the next
 * ones of the same text: two texts side by side take as long as one.  Where there are no such
 * instructions each is OpenSSL's, one after the other.  Any thread. */

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum { ASH_SHA256_BYTES = 32 };

void ash__sha256_each(const struct iovec *texts, size_t count, uint8_t (*out)[ASH_SHA256_BYTES]);

#endif

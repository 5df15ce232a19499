/* SPDX-License-Identifier: Apache-2.0 */
/* FIPS 180-4, with the SHA extensions of x86: two states go through their blocks in step. */
#include "base/sha256.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

static void one_by_one(const struct iovec *texts, size_t count, uint8_t (*out)[ASH_SHA256_BYTES])
{
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[ASH_DIGEST_MAX_BYTES];
        ash_digest *d = ash__digest_new(ASH_DIGEST_SHA256);
        ash_assert(d != NULL);
        ash__digest_add(d, texts[i].iov_base, texts[i].iov_len);
        (void)ash__digest_finish(d, bytes);
        ash__digest_free(d);
        memcpy(out[i], bytes, ASH_SHA256_BYTES);
    }
}

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>

enum { BLOCK = 64, LENGTH_AT = 56 /* in the last block: the text's length in bits */ };

#define WITH_SHA __attribute__((target("sha,sse4.1,ssse3")))

static const uint32_t constants[64] __attribute__((aligned(16))) = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/* ---- blocks ---- */

/* A state as the instructions want it, and 16 words of the schedule. */
typedef struct lane {
    __m128i abef, cdgh;
    __m128i words[4];
} lane;

WITH_SHA static inline __m128i load(const void *at)
{
    return _mm_loadu_si128((const __m128i *)at);
}

WITH_SHA static inline void load_state(lane *l, const uint32_t state[8])
{
    __m128i cdab = _mm_shuffle_epi32(load(state), 0xb1);
    __m128i efgh = _mm_shuffle_epi32(load(state + 4), 0x1b);
    l->abef = _mm_alignr_epi8(cdab, efgh, 8);
    l->cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
}

WITH_SHA static inline void store_state(const lane *l, uint32_t state[8])
{
    __m128i feba = _mm_shuffle_epi32(l->abef, 0x1b);
    __m128i dchg = _mm_shuffle_epi32(l->cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

WITH_SHA static inline void load_words(lane *l, const uint8_t *block)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    for (int i = 0; i < 4; i++)
        l->words[i] = _mm_shuffle_epi8(load(block + 16 * i), big_endian);
}

/* Rounds 4 i to 4 i + 3, and the words that are needed 16 rounds later. */
WITH_SHA static inline void four_rounds(lane *l, int i)
{
    __m128i *first = &l->words[i % 4], *last = &l->words[(i + 3) % 4];
    __m128i sum = _mm_add_epi32(*first, load(constants + 4 * i));
    l->cdgh = _mm_sha256rnds2_epu32(l->cdgh, l->abef, sum);
    l->abef = _mm_sha256rnds2_epu32(l->abef, l->cdgh, _mm_shuffle_epi32(sum, 0x0e));
    if (i >= 12)
        return;
    __m128i next = _mm_sha256msg1_epu32(*first, l->words[(i + 1) % 4]);
    next = _mm_add_epi32(next, _mm_alignr_epi8(*last, l->words[(i + 2) % 4], 4));
    *first = _mm_sha256msg2_epu32(next, *last);
}

#define BOTH(i) (four_rounds(&one, (i)), four_rounds(&other, (i)))

WITH_SHA static void take_blocks(uint32_t *states[2], const uint8_t *at[2], size_t count)
{
    lane one, other;
    load_state(&one, states[0]);
    load_state(&other, states[1]);
    for (size_t done = 0; done < count; done++) {
        const lane one_before = one, other_before = other;
        load_words(&one, at[0] + done * BLOCK);
        load_words(&other, at[1] + done * BLOCK);
        /* Written out, since only then everything stays in registers. */
        BOTH(0), BOTH(1), BOTH(2), BOTH(3), BOTH(4), BOTH(5), BOTH(6), BOTH(7);
        BOTH(8), BOTH(9), BOTH(10), BOTH(11), BOTH(12), BOTH(13), BOTH(14), BOTH(15);
        one.abef = _mm_add_epi32(one.abef, one_before.abef);
        one.cdgh = _mm_add_epi32(one.cdgh, one_before.cdgh);
        other.abef = _mm_add_epi32(other.abef, other_before.abef);
        other.cdgh = _mm_add_epi32(other.cdgh, other_before.cdgh);
    }
    store_state(&one, states[0]);
    store_state(&other, states[1]);
}

/* ---- texts ---- */

typedef struct text {
    uint32_t state[8];
    const uint8_t *at;
    size_t blocks; /* whole ones, then those of the tail */
    uint8_t tail[2 * BLOCK];
    size_t tail_blocks; /* 0: they were begun */
    uint8_t *out;       /* NULL: there is no text */
} text;

typedef struct texts {
    const struct iovec *next;
    size_t left;
    uint8_t (*out)[ASH_SHA256_BYTES];
} texts;

static void begin_tail(text *t)
{
    t->at = t->tail;
    t->blocks = t->tail_blocks;
    t->tail_blocks = 0;
}

static void begin_next(text *t, texts *from)
{
    t->out = NULL;
    if (from->left == 0)
        return;
    size_t len = from->next->iov_len, rest = len % BLOCK;
    memcpy(t->state, initial, sizeof initial);
    memset(t->tail, 0, sizeof t->tail);
    t->at = from->next->iov_base;
    t->blocks = len / BLOCK;
    if (rest > 0)
        memcpy(t->tail, t->at + len - rest, rest);
    t->tail[rest] = 0x80;
    t->tail_blocks = rest < LENGTH_AT ? 1 : 2;
    ash__put_be64(t->tail + t->tail_blocks * BLOCK - 8, (uint64_t)len * 8);
    t->out = *from->out;
    if (t->blocks == 0)
        begin_tail(t);
    from->next++;
    from->left--;
    from->out++;
}

/* So many blocks of it are taken in.  What comes then: the rest, its tail, or the next text. */
static void advance(text *t, size_t blocks, texts *from)
{
    t->blocks -= blocks;
    t->at += blocks * BLOCK;
    if (t->blocks > 0)
        return;
    if (t->tail_blocks > 0) {
        begin_tail(t);
        return;
    }
    for (size_t i = 0; i < 8; i++)
        ash__put_be32(t->out + 4 * i, t->state[i]);
    begin_next(t, from);
}

/* The last one is alone: beside it its own blocks are taken into a state that nobody looks at. */
static void two_by_two(texts from)
{
    text a, b;
    uint32_t nobodys[8] = {0};
    begin_next(&a, &from);
    begin_next(&b, &from);
    while (a.out != NULL || b.out != NULL) {
        text *one = a.out != NULL ? &a : &b;
        text *other = one == &a && b.out != NULL ? &b : NULL;
        size_t blocks = other != NULL && other->blocks < one->blocks ? other->blocks : one->blocks;
        uint32_t *states[2] = {one->state, other != NULL ? other->state : nobodys};
        const uint8_t *at[2] = {one->at, other != NULL ? other->at : one->at};
        take_blocks(states, at, blocks);
        advance(one, blocks, &from);
        if (other != NULL)
            advance(other, blocks, &from);
    }
}

static bool has_instructions;
static pthread_once_t asked = PTHREAD_ONCE_INIT;

static void ask(void)
{
    unsigned a, b, c, d;
    const unsigned sse = bit_SSE4_1 | bit_SSSE3;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & sse) != sse)
        return;
    has_instructions = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
}

void ash__sha256_each(const struct iovec *texts_in, size_t count, uint8_t (*out)[ASH_SHA256_BYTES])
{
    pthread_once(&asked, ask);
    if (has_instructions && count > 1)
        two_by_two((texts){texts_in, count, out});
    else
        one_by_one(texts_in, count, out);
}

#else

void ash__sha256_each(const struct iovec *texts, size_t count, uint8_t (*out)[ASH_SHA256_BYTES])
{
    one_by_one(texts, count, out);
}

#endif

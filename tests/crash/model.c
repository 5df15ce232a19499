/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

void model_init(model *m, uint64_t seed, uint32_t thread)
{
    *m = (model){.seed = seed, .thread = thread};
}

void model_release(model *m)
{
    for (int i = 0; i < MODEL_FILES; i++)
        ash__free(m->files[i].data);
}

void model_copy(model *to, const model *from)
{
    *to = *from;
    for (int i = 0; i < MODEL_FILES; i++) {
        model_file *f = &to->files[i];
        if (f->data != NULL)
            f->data = ash__memdup(f->data, f->len + 1);
    }
}

void model_fill(uint64_t seed, uint8_t *out, size_t len)
{
    rng r = {seed};
    for (; len >= 8; len -= 8, out += 8) {
        uint64_t word = rng_next(&r);
        memcpy(out, &word, 8);
    }
    for (uint64_t word = rng_next(&r); len > 0; len--, word >>= 8)
        *out++ = (uint8_t)word;
}

void model_file_name(const model *m, int slot, char out[32])
{
    snprintf(out, 32, "t%u-%d-%u", (unsigned)m->thread, slot, (unsigned)m->files[slot].renamed);
}

int64_t model_doc_id(const model *m, int slot)
{
    return (int64_t)m->thread * MODEL_IDS + slot;
}

const char *step_name(enum step_kind kind)
{
    static const char *const names[] = {"upload",    "delete",          "rename", "append",
                                        "overwrite", "truncate",        "drop",   "put document",
                                        "add",       "delete document", "pair"};
    return names[kind];
}

/* From empty to several chunks, sizes around the thresholds of the store included. */
static size_t some_length(rng *r)
{
    static const uint32_t most[] = {100, 4200, 4200, 30000, 100000, 300000, 300000, 900000};
    return rng_below(r, most[rng_below(r, 8)]);
}

static void next_file_step(const model *m, rng *r, step *s)
{
    static const enum step_kind kinds[] = {STEP_UPLOAD, STEP_UPLOAD,    STEP_DELETE,  STEP_RENAME,
                                           STEP_APPEND, STEP_OVERWRITE, STEP_TRUNCATE};
    s->slot = (int)rng_below(r, MODEL_FILES);
    const model_file *f = &m->files[s->slot];
    s->kind = f->there ? kinds[rng_below(r, 7)] : STEP_UPLOAD;
    if (s->slot >= MODEL_SHARED_FILES && rng_below(r, 6) == 0)
        s->kind = STEP_DROP;
    if (s->kind == STEP_OVERWRITE || s->kind == STEP_TRUNCATE)
        s->offset = rng_below(r, (uint32_t)f->len + 1);
    s->id = (int64_t)m->thread * MODEL_IDS + (int64_t)m->generation * 10000 + m->steps + 1;
}

static void next_doc_step(const model *m, rng *r, step *s)
{
    static const enum step_kind kinds[] = {STEP_DOC_PUT, STEP_DOC_PUT, STEP_DOC_ADD,
                                           STEP_DOC_DELETE};
    s->len = rng_below(r, rng_below(r, 3) == 0 ? 40000 : 600);
    s->id = (int64_t)m->steps + 1;
    if (rng_below(r, 5) == 0) {
        s->kind = STEP_PAIR;
        return;
    }
    s->slot = 2 + (int)rng_below(r, MODEL_DOCS - 2);
    s->kind = m->docs[s->slot].there ? kinds[rng_below(r, 4)] : STEP_DOC_PUT;
}

void model_next(const model *m, step *out)
{
    rng r = rng_for(m->seed, (uint64_t)m->thread * MODEL_IDS + m->steps);
    *out = (step){.seed = rng_next(&r), .len = some_length(&r)};
    if (rng_below(&r, 5) < 3)
        next_file_step(m, &r, out);
    else
        next_doc_step(m, &r, out);
}

static void set_content(model_file *f, size_t len)
{
    uint8_t *data = ash__alloc(len + 1);
    memcpy(data, f->data, len < f->len ? len : f->len);
    ash__free(f->data);
    f->data = data;
    f->len = len;
}

static void remove_file(model_file *f)
{
    ash__free(f->data);
    *f = (model_file){.gone = f->there ? f->id : f->gone, .renamed = f->renamed};
}

static void take_upload(model_file *f, const step *s)
{
    remove_file(f);
    f->there = true;
    f->id = s->id;
    f->len = s->len;
    f->data = ash__alloc(s->len + 1);
    model_fill(s->seed, f->data, s->len);
}

static void take_write(model_file *f, const step *s, size_t offset)
{
    if (offset + s->len > f->len)
        set_content(f, offset + s->len);
    model_fill(s->seed, f->data + offset, s->len);
}

static void take_file(model *m, const step *s)
{
    model_file *f = &m->files[s->slot];
    if (s->kind == STEP_UPLOAD)
        take_upload(f, s);
    else if (s->kind == STEP_DELETE)
        remove_file(f);
    else if (s->kind == STEP_RENAME)
        f->renamed++;
    else if (s->kind == STEP_APPEND)
        take_write(f, s, f->len);
    else if (s->kind == STEP_OVERWRITE)
        take_write(f, s, s->offset);
    else if (s->kind == STEP_TRUNCATE)
        set_content(f, s->offset);
    else
        for (int i = MODEL_SHARED_FILES; i < MODEL_FILES; i++)
            remove_file(&m->files[i]);
}

static void take_doc(model *m, const step *s)
{
    model_doc *d = &m->docs[s->slot];
    if (s->kind == STEP_DOC_DELETE)
        d->there = false;
    else if (s->kind == STEP_DOC_ADD)
        d->n++;
    else
        *d = (model_doc){.there = true, .n = s->id, .seed = s->seed, .len = s->len};
    if (s->kind == STEP_PAIR)
        m->docs[1] = m->docs[0];
}

void model_take(model *m, const step *s)
{
    if (s->kind <= STEP_DROP)
        take_file(m, s);
    else
        take_doc(m, s);
    m->steps++;
}

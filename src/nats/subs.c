/* SPDX-License-Identifier: Apache-2.0 */
/* Each subscription is in two lists: one by its sid, and one by what it matches. */
#include "nats/subs.h"

#include "base/mem.h"
#include "nats/subject.h"

#include <string.h>

typedef const char *key_of(const ash_nats_sub *sub);

static const char *sid_of(const ash_nats_sub *sub)
{
    return sub->sid;
}

static const char *subject_of(const ash_nats_sub *sub)
{
    return sub->subject;
}

/* ---- lists ---- */

static size_t first_not_below(const ash_nats_sub_list *l, const char *key, key_of *of)
{
    size_t from = 0, to = l->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (strcmp(of(l->items[middle]), key) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static void insert(ash_nats_sub_list *l, size_t at, ash_nats_sub *sub)
{
    l->items = ash__grow_array(l->items, l->count, &l->capacity, sizeof(ash_nats_sub *));
    memmove(l->items + at + 1, l->items + at, (l->count - at) * sizeof(ash_nats_sub *));
    l->items[at] = sub;
    l->count++;
}

static void take_out(ash_nats_sub_list *l, size_t from, const ash_nats_sub *sub)
{
    while (l->items[from] != sub)
        from++;
    l->count--;
    memmove(l->items + from, l->items + from + 1, (l->count - from) * sizeof(ash_nats_sub *));
}

static ash_nats_sub *find(const ash_nats_subs *subs, const char *sid, size_t *at)
{
    *at = first_not_below(&subs->by_sid, sid, sid_of);
    if (*at == subs->by_sid.count || strcmp(subs->by_sid.items[*at]->sid, sid) != 0)
        return NULL;
    return subs->by_sid.items[*at];
}

/* ---- one of them ---- */

static ash_nats_sub *sub_new(const char *subject, const char *sid)
{
    ash_nats_sub *sub = ash__new(ash_nats_sub);
    size_t subject_size = strlen(subject) + 1, sid_size = strlen(sid) + 1;
    sub->subject = ash__alloc(subject_size + sid_size);
    memcpy(sub->subject, subject, subject_size);
    sub->sid = sub->subject + subject_size;
    memcpy(sub->sid, sid, sid_size);
    sub->wild = ash__nats_has_wildcards(subject);
    return sub;
}

static void sub_free(ash_nats_sub *sub)
{
    if (sub->group != NULL && --sub->group->users == 0) {
        ash__free(sub->group->name);
        ash__free(sub->group);
    }
    ash__free(sub->subject);
    ash__free(sub);
}

/* Shared with those that have it already. */
static ash_nats_group *join_group(const ash_nats_subs *subs, const char *name)
{
    ash_nats_group *group = NULL;
    for (size_t i = 0; i < subs->by_sid.count && group == NULL; i++) {
        ash_nats_group *other = subs->by_sid.items[i]->group;
        if (other != NULL && strcmp(other->name, name) == 0)
            group = other;
    }
    if (group == NULL) {
        group = ash__new(ash_nats_group);
        group->name = ash__strdup(name);
    }
    group->users++;
    return group;
}

static void drop(ash_nats_subs *subs, size_t at)
{
    ash_nats_sub *sub = subs->by_sid.items[at];
    take_out(&subs->by_sid, at, sub);
    if (sub->wild)
        take_out(&subs->wild, 0, sub);
    else
        take_out(&subs->literal, first_not_below(&subs->literal, sub->subject, subject_of), sub);
    subs->bytes -= sub->bytes;
    sub_free(sub);
}

/* ---- all of them ---- */

bool ash__nats_subs_add(ash_nats_subs *subs, const char *subject, const char *queue,
                        const char *sid)
{
    size_t bytes = strlen(subject) + strlen(sid) + (queue != NULL ? strlen(queue) : (size_t)0);
    size_t at;
    if (find(subs, sid, &at) != NULL)
        return true;
    if (subs->by_sid.count >= ASH_NATS_MOST_SUBS || subs->bytes + bytes > ASH_NATS_SUBS_BYTES)
        return false;
    ash_nats_sub *sub = sub_new(subject, sid);
    if (queue != NULL)
        sub->group = join_group(subs, queue);
    sub->bytes = bytes;
    subs->bytes += bytes;
    insert(&subs->by_sid, at, sub);
    if (sub->wild)
        insert(&subs->wild, subs->wild.count, sub);
    else
        insert(&subs->literal, first_not_below(&subs->literal, subject, subject_of), sub);
    return true;
}

static bool is_done(const ash_nats_sub *sub)
{
    return sub->max > 0 && sub->delivered >= sub->max;
}

void ash__nats_subs_end(ash_nats_subs *subs, const char *sid, uint64_t max)
{
    size_t at;
    ash_nats_sub *sub = find(subs, sid, &at);
    if (sub == NULL)
        return;
    sub->max = max;
    if (max == 0 || is_done(sub))
        drop(subs, at);
}

void ash__nats_subs_drop_done(ash_nats_subs *subs)
{
    for (size_t i = subs->by_sid.count; i-- > 0;)
        if (is_done(subs->by_sid.items[i]))
            drop(subs, i);
}

void ash__nats_subs_release(ash_nats_subs *subs)
{
    for (size_t i = 0; i < subs->by_sid.count; i++)
        sub_free(subs->by_sid.items[i]);
    ash__free(subs->by_sid.items);
    ash__free(subs->literal.items);
    ash__free(subs->wild.items);
    *subs = (ash_nats_subs){0};
}

/* ---- who gets it ---- */

static ash_nats_matches look_up(const ash_nats_subs *subs, const char *subject)
{
    return (ash_nats_matches){.subs = subs,
                              .subject = subject,
                              .literal = first_not_below(&subs->literal, subject, subject_of)};
}

static ash_nats_sub *next_match(ash_nats_matches *m)
{
    const ash_nats_subs *s = m->subs;
    if (m->literal < s->literal.count &&
        strcmp(s->literal.items[m->literal]->subject, m->subject) == 0)
        return s->literal.items[m->literal++];
    while (m->wild < s->wild.count) {
        ash_nats_sub *sub = s->wild.items[m->wild++];
        if (ash__nats_matches(sub->subject, m->subject))
            return sub;
    }
    return NULL;
}

bool ash__nats_subs_match(const ash_nats_subs *subs, const char *subject)
{
    ash_nats_matches m = look_up(subs, subject);
    return next_match(&m) != NULL;
}

ash_nats_matches ash__nats_matches_of(ash_nats_subs *subs, const char *subject)
{
    subs->messages++;
    return look_up(subs, subject);
}

ash_nats_sub *ash__nats_matches_next(ash_nats_matches *m)
{
    uint64_t message = m->subs->messages;
    ash_nats_sub *sub = next_match(m);
    while (sub != NULL && sub->group != NULL && sub->group->served == message)
        sub = next_match(m);
    if (sub != NULL && sub->group != NULL)
        sub->group->served = message;
    return sub;
}

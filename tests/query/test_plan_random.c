/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_cases.h"

#include "base/mem.h"
#include "query/plan/key_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Random documents, indexes, filters and sorts: what a plan's ranges give must be what testing
 * every document gives, and in the order that sorting gives.  The scan is simulated here, on a
 * plain sorted list of keys. */

#define DOCS    14
#define ROUNDS  3000
#define QUERIES 12
#define MERGED  4

static uint64_t seed;

static uint32_t roll(uint32_t sides)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % sides;
}

static const char *pick(const char *const *list, uint32_t count)
{
    return list[roll(count)];
}
#define PICK(list) pick(list, ASH_ARRAY_LEN(list))

static const char *const scalars[] = {"0",
                                      "1",
                                      "2",
                                      "3",
                                      "4",
                                      "1",
                                      "2",
                                      "1",
                                      "2",
                                      "3",
                                      "1.5",
                                      "'x'",
                                      "'xy'",
                                      "'y'",
                                      "null",
                                      "''",
                                      "{'$minKey': 1}",
                                      "{'$numberDouble': 'NaN'}",
                                      "true",
                                      "'X'",
                                      "{'b': 1}",
                                      "{}",
                                      "{'$date': {'$numberLong': '2'}}",
                                      "{'$numberDecimal': '1.50'}",
                                      "{'$numberLong': '2'}",
                                      "{'$symbol': 'x'}",
                                      "{'$oid': '0102030405060708090a0b0c'}",
                                      "{'$binary': {'base64': 'AQI=', 'subType': '00'}}",
                                      "{'$timestamp': {'t': 1, 'i': 2}}",
                                      "{'$maxKey': 1}"};
/* What a filter may not compare with, or not in these operators. */
static const char *const stored_only[] = {
    "{'$regularExpression': {'pattern': '^x', 'options': ''}}", "{'$undefined': true}"};
static bool storing;
static const char *const paths[] = {"a", "a", "b", "a.b", "a.c", "c"};

static void append_value(ash_buffer *out, int depth)
{
    uint32_t kind = roll(depth > 2 ? 7 : 12);
    if (kind < 3) {
        ash__buffer_printf(out, "%u", roll(6));
    } else if (kind < 7) {
        bool other = storing && roll(15) == 0;
        ash__buffer_append_text(out, other ? PICK(stored_only) : PICK(scalars));
    } else if (kind < 10) {
        uint32_t count = roll(4);
        ash__buffer_append_text(out, "[");
        for (uint32_t i = 0; i < count; i++) {
            ash__buffer_append_text(out, i > 0 ? ", " : "");
            append_value(out, depth + 1);
        }
        ash__buffer_append_text(out, "]");
    } else {
        ash__buffer_append_text(out, "{'b': ");
        append_value(out, depth + 1);
        ash__buffer_append_text(out, ", 'c': ");
        append_value(out, depth + 1);
        ash__buffer_append_text(out, "}");
    }
}

static bson_t *random_doc(bool plain)
{
    static const char *const names[] = {"a", "b", "c"};
    ash_buffer text = ASH_BUFFER_INIT;
    storing = true;
    ash__buffer_append_text(&text, "{'_id': 0");
    for (size_t i = 0; i < 3; i++) {
        if (roll(6) == 0)
            continue;
        ash__buffer_printf(&text, ", '%s': ", names[i]);
        append_value(&text, plain ? 3 : 0);
    }
    ash__buffer_append_text(&text, "}");
    storing = false;
    bson_t *doc = cases_bson(ash__buffer_text(&text));
    ash__buffer_release(&text);
    return doc;
}

static void append_condition(ash_buffer *out)
{
    static const char *const plain[] = {"$eq", "$gt", "$gte", "$lt", "$lte", "$ne"};
    static const char *const fixed[] = {
        "{'$exists': true}",
        "{'$exists': false}",
        "{'@regex': '^x'}",
        "{'@regex': 'y'}",
        "{'@type': 'string'}",
        "{'$size': 1}",
        "{'$mod': [2, 0]}",
        "{'@type': ['object', 'bool']}",
        "{'$bitsAllSet': 1}",
        "{'$not': {'$gt': 1}}",
        "{'$eq': {'$regularExpression': {'pattern': '^x', 'options': ''}}}",
        "{'$in': [{'$regularExpression': {'pattern': '^x', 'options': ''}}, 2]}",
        "{'$gt': {'$minKey': 1}}",
        "{'@regex': '^X', '@options': 'i'}"};
    ash_buffer one = ASH_BUFFER_INIT, two = ASH_BUFFER_INIT;
    append_value(&one, 2);
    append_value(&two, 2);
    const char *a = ash__buffer_text(&one), *b = ash__buffer_text(&two);
    switch (roll(12)) {
    case 9:
        ash__buffer_printf(out, "{'$gt': %u, '$lt': %u}", roll(4), 2 + roll(4));
        break;
    case 10:
        ash__buffer_printf(out, "{'$elemMatch': {'$gt': %u, '$lt': %u}}", roll(4), 2 + roll(4));
        break;
    case 11:
        ash__buffer_printf(out, "{'$gte': %u}", roll(6));
        break;
    case 0:
        ash__buffer_append_text(out, PICK(fixed));
        break;
    case 1:
        ash__buffer_printf(out, "{'$in': [%s, %s]}", a, b);
        break;
    case 2:
        ash__buffer_printf(out, "{'$gte': %s, '$lt': %s}", a, b);
        break;
    case 3:
        ash__buffer_printf(out, "{'$elemMatch': {'$gt': %s, '$lte': %s}}", a, b);
        break;
    case 4:
        ash__buffer_printf(out, "{'$elemMatch': {'b': %s, 'c': %s}}", a, b);
        break;
    case 5:
        ash__buffer_printf(out, "{'$all': [%s, %s]}", a, b);
        break;
    default:
        ash__buffer_printf(out, "{'%s': %s}", PICK(plain), a);
    }
    ash__buffer_release(&one);
    ash__buffer_release(&two);
}

static void append_filter(ash_buffer *out, int depth)
{
    uint32_t count = 1 + roll(roll(2) == 0 ? 1 : 3);
    ash__buffer_append_text(out, "{'$and': [");
    for (uint32_t i = 0; i < count; i++) {
        ash__buffer_append_text(out, i > 0 ? ", " : "");
        if (depth < 2 && roll(6) == 0) {
            ash__buffer_append_text(out, roll(4) == 0 ? "{'$nor': [" : "{'$or': [");
            append_filter(out, depth + 1);
            ash__buffer_append_text(out, ", ");
            append_filter(out, depth + 1);
            ash__buffer_append_text(out, "]}");
        } else if (roll(6) == 0) {
            ash__buffer_printf(out, "{'a.b': %u, 'a.c': {'$gte': %u}}", roll(6), roll(6));
        } else {
            ash__buffer_printf(out, "{'%s': ", PICK(paths));
            append_condition(out);
            ash__buffer_append_text(out, "}");
        }
    }
    ash__buffer_append_text(out, "]}");
}

static void append_pattern(ash_buffer *out, uint32_t most, bool may_hash)
{
    uint32_t count = 1 + roll(most);
    bool used[ASH_ARRAY_LEN(paths)] = {false};
    const char *between = "{";
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = 1 + roll(ASH_ARRAY_LEN(paths) - 1);
        if (used[at])
            continue;
        used[at] = true;
        bool hash = may_hash && roll(12) == 0;
        may_hash = may_hash && !hash;
        ash__buffer_printf(out, "%s'%s': %s", between, paths[at],
                           hash           ? "'hashed'"
                           : roll(2) == 0 ? "1"
                                          : "-1");
        between = ", ";
    }
    ash__buffer_append_text(out, "}");
}

static const char *const partials[] = {"{'c': {'$gte': 1}}",
                                       "{'a': {'$exists': true}}",
                                       "{'b': {'$in': [1, 2, 3]}}",
                                       "{'a.b': {'$gt': 1}}",
                                       "{'a': {'$gt': 2}, 'c': {'$lte': 3}}",
                                       "{'$or': [{'a.b': 1}, {'a': {'$gte': 3}}]}"};

static char *random_indexes(void)
{
    ash_buffer out = ASH_BUFFER_INIT;
    uint32_t count = 1 + roll(3);
    for (uint32_t i = 0; i < count; i++) {
        ash__buffer_printf(&out, "%s'i%u': {'key': ", i == 0 ? "{" : ", ", i);
        append_pattern(&out, 3, true);
        if (roll(4) == 0)
            ash__buffer_append_text(&out, ", 'sparse': true");
        if (roll(4) == 0)
            ash__buffer_printf(&out, ", 'partial': %s", PICK(partials));
        if (roll(8) == 0)
            ash__buffer_append_text(&out, ", 'ignoreCase': true");
        ash__buffer_append_text(&out, "}");
    }
    ash__buffer_append_text(&out, "}");
    ash__buffer_text(&out);
    return (char *)ash__buffer_detach(&out);
}

/* The simulated store. */
struct key {
    ash_buffer bytes;
    uint32_t doc;
};

struct world {
    struct plan_indexes indexes;
    bson_t *docs[DOCS];
    uint32_t doc_count;
    struct key keys[MAX_INDEXES][DOCS * 64];
    uint32_t key_counts[MAX_INDEXES];
};

static struct world world;

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    size_t shared = x->bytes.len < y->bytes.len ? x->bytes.len : y->bytes.len;
    int order = memcmp(x->bytes.data, y->bytes.data, shared);
    if (order == 0 && x->bytes.len != y->bytes.len)
        order = x->bytes.len < y->bytes.len ? -1 : 1;
    return order != 0 ? order : (x->doc > y->doc) - (x->doc < y->doc);
}

static bool indexable(const bson_t *doc)
{
    ash_key_set set = ASH_KEY_SET_INIT;
    bool good = true;
    for (uint32_t i = 0; i < world.indexes.count && good; i++)
        good = ash__keys_extract(&world.indexes.patterns[i], ash__doc_from_bson(doc), &set, NULL) ==
                   0 &&
               set.count <= 64;
    ash__key_set_release(&set);
    return good;
}

static void index_docs(uint32_t at)
{
    ash_key_set set = ASH_KEY_SET_INIT;
    ash_index_desc *index = &world.indexes.descs[at];
    index->multikey = false;
    world.key_counts[at] = 0;
    for (uint32_t d = 0; d < world.doc_count; d++) {
        ash_doc doc = ash__doc_from_bson(world.docs[d]);
        if (index->partial != NULL && !ash__matcher_test(index->partial, doc, NULL, NULL))
            continue;
        assert_int_equal(ash__keys_extract(index->pattern, doc, &set, NULL), 0);
        index->multikey |= set.multikey;
        for (uint32_t k = 0; k < set.count; k++) {
            struct key *key = &world.keys[at][world.key_counts[at]++];
            ash_doc bytes = ash__key_set_at(&set, k);
            *key = (struct key){.doc = d};
            ash__buffer_append(&key->bytes, bytes.data, bytes.len);
        }
    }
    qsort(world.keys[at], world.key_counts[at], sizeof(struct key), compare_keys);
    ash__key_set_release(&set);
}

static void world_init(const char *indexes, bool plain)
{
    plan_indexes_init(&world.indexes, indexes);
    world.doc_count = 0;
    for (int i = 0; i < DOCS; i++) {
        bson_t *doc = random_doc(plain);
        if (indexable(doc))
            world.docs[world.doc_count++] = doc;
        else
            bson_destroy(doc);
    }
    for (uint32_t i = 0; i < world.indexes.count; i++)
        index_docs(i);
}

static void world_release(void)
{
    for (uint32_t i = 0; i < world.indexes.count; i++)
        for (uint32_t k = 0; k < world.key_counts[i]; k++)
            ash__buffer_release(&world.keys[i][k].bytes);
    for (uint32_t i = 0; i < world.doc_count; i++)
        bson_destroy(world.docs[i]);
    plan_indexes_release(&world.indexes);
}

struct result {
    uint32_t docs[DOCS];
    uint32_t count;
    bool seen[DOCS];
};

static int compare_buffers(const ash_buffer *a, const ash_buffer *b)
{
    struct key x = {*a, 0}, y = {*b, 0};
    return compare_keys(&x, &y);
}

static void visit(struct result *r, const ash_plan *p, const ash_matcher *m, uint32_t d)
{
    if (r->seen[d])
        return;
    if (p->needs_fetch_filter &&
        !ash__matcher_test(m, ash__doc_from_bson(world.docs[d]), NULL, NULL))
        return;
    r->seen[d] = true;
    r->docs[r->count++] = d;
}

/* Keys of the range, in the scan's direction; equal keys always by insertion. */
static void scan_range(struct result *r, const ash_plan *p, const ash_matcher *m,
                       const ash_key_range *range)
{
    uint32_t at = (uint32_t)(p->index - world.indexes.descs);
    uint32_t count = world.key_counts[at];
    const struct key *keys = world.keys[at];
    for (uint32_t i = 0; i < count;) {
        uint32_t first = p->backward ? count - 1 - i : i, last = first;
        if (p->backward)
            while (first > 0 && compare_buffers(&keys[first - 1].bytes, &keys[last].bytes) == 0)
                first--;
        bool inside = compare_buffers(&keys[last].bytes, &range->from) >= 0 &&
                      compare_buffers(&keys[last].bytes, &range->to) < 0;
        for (uint32_t k = first; inside && k <= last; k++)
            visit(r, p, m, keys[k].doc);
        i += last - first + 1;
    }
}

static int compare_backward(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    struct key first = {x->bytes, 0}, second = {y->bytes, 0};
    int order = compare_keys(&second, &first);
    return order != 0 ? order : (x->doc > y->doc) - (x->doc < y->doc);
}

static void merge_ranges(struct result *r, const ash_plan *p, const ash_matcher *m)
{
    static struct key found[DOCS * 64 * 8];
    uint32_t index = (uint32_t)(p->index - world.indexes.descs), count = 0;
    for (uint32_t i = 0; i < p->range_count; i++) {
        const ash_key_range *range = &p->ranges[i];
        for (uint32_t k = 0; k < world.key_counts[index]; k++) {
            struct key key = world.keys[index][k];
            if (compare_buffers(&key.bytes, &range->from) < 0 ||
                compare_buffers(&key.bytes, &range->to) >= 0)
                continue;
            assert_true(key.bytes.len >= range->prefix_len &&
                        memcmp(key.bytes.data, range->from.data, range->prefix_len) == 0);
            key.bytes.data += range->prefix_len;
            key.bytes.len -= range->prefix_len;
            assert_true(count < ASH_ARRAY_LEN(found));
            found[count++] = key;
        }
    }
    qsort(found, count, sizeof *found, p->backward ? compare_backward : compare_keys);
    for (uint32_t i = 0; i < count; i++)
        visit(r, p, m, found[i].doc);
}

static void run_plan(struct result *r, const ash_plan *p, const ash_matcher *m)
{
    if (p->kind == ASH_PLAN_COLLSCAN) {
        for (uint32_t d = 0; d < world.doc_count; d++)
            visit(r, p, m, p->backward ? world.doc_count - 1 - d : d);
    } else if (p->kind == ASH_PLAN_OR) {
        for (uint32_t i = 0; i < p->branch_count; i++) {
            ash_plan branch = *p->branches[i];
            branch.needs_fetch_filter |= p->needs_fetch_filter;
            run_plan(r, &branch, m);
        }
    } else if (p->merges) {
        merge_ranges(r, p, m);
    } else if (p->kind == ASH_PLAN_IXSCAN) {
        for (uint32_t i = 0; i < p->range_count; i++) {
            const ash_key_range *range = &p->ranges[p->backward ? p->range_count - 1 - i : i];
            assert_true(compare_buffers(&range->from, &range->to) < 0);
            if (i > 0 && !p->backward)
                assert_true(compare_buffers(&p->ranges[i - 1].to, &range->from) <= 0);
            scan_range(r, p, m, range);
        }
    }
}

/* false: a document has no place in the sort, and there is nothing to compare. */
static bool sort_all(struct result *r, const struct planned *q)
{
    ash_error err = ASH_ERROR_INIT;
    ash_sorter *sorter = ash__sorter_new(q->sort, 0, NULL);
    ash_doc doc;
    uint64_t order;
    bool good = true;
    for (uint32_t d = 0; d < world.doc_count; d++)
        if (ash__matcher_test(q->matcher, ash__doc_from_bson(world.docs[d]), NULL, NULL))
            good = good && ash__sorter_add(sorter, ash__doc_from_bson(world.docs[d]), d, &err) == 0;
    ash__sorter_finish(sorter);
    while (ash__sorter_next(sorter, &doc, &order)) {
        r->docs[r->count++] = (uint32_t)order;
        r->seen[order] = true;
    }
    ash__sorter_free(sorter);
    return good;
}

static uint32_t verdicts[3];

/* What an index's keys say about a filter is what the documents say. */
static void check_keys(uint32_t at, const ash_matcher *m, const char *filter, const char *indexes)
{
    const ash_index_desc *index = &world.indexes.descs[at];
    ash_key_filter *f = ash__key_filter_new(m, index);
    for (uint32_t k = 0; f != NULL && k < world.key_counts[at]; k++) {
        const struct key *key = &world.keys[at][k];
        const bson_t *doc = world.docs[key->doc];
        ash_doc bytes = {key->bytes.data, key->bytes.len};
        enum ash_key_verdict v = ash__key_filter_test(f, bytes);
        verdicts[v]++;
        if (v != ASH_KEY_UNSURE &&
            (v == ASH_KEY_MATCHES) != ash__matcher_test(m, ash__doc_from_bson(doc), NULL, NULL)) {
            char *json = bson_as_canonical_extended_json(doc, NULL);
            fail_msg("%s on the key of %s in %s: %s", filter, index->name, indexes, json);
        }
    }
    ash__key_filter_free(f);
}

static void check_one(uint64_t round, const char *indexes, const char *filter, const char *sort,
                      const ash_query_env *env, uint32_t kinds[5])
{
    ash_error err = ASH_ERROR_INIT;
    struct planned q;
    char text[100];
    struct result expected = {.count = 0}, got = {.count = 0};
    assert_ok(plan_query(&q, &world.indexes, filter, sort, NULL, env, &err), &err);
    plan_summary(q.plan, text, sizeof text);
    if (!sort_all(&expected, &q)) {
        planned_release(&q);
        return;
    }
    run_plan(&got, q.plan, q.matcher);
    for (uint32_t i = 0; i < world.indexes.count; i++)
        check_keys(i, q.matcher, filter, indexes);
    kinds[q.plan->merges ? MERGED : q.plan->kind]++;
    for (uint32_t d = 0; d < world.doc_count; d++)
        if (got.seen[d] != expected.seen[d]) {
            char *json = bson_as_relaxed_extended_json(world.docs[d], NULL);
            fail_msg("round %d: %s with %s by %s: %s %s", (int)round, filter, indexes, text,
                     got.seen[d] ? "should not give" : "misses", json);
        }
    bool sorted = q.plan->provides_sort && !ash__sort_spec_is_empty(q.sort);
    for (uint32_t i = 0; sorted && i < got.count; i++)
        if (got.docs[i] != expected.docs[i])
            fail_msg("round %d: %s sort %s with %s by %s: wrong order", (int)round, filter, sort,
                     indexes, text);
    planned_release(&q);
}

/* One of a few values in the first part of an index, in the order of the other parts. */
static void append_merged(ash_buffer *filter, ash_buffer *sort)
{
    const ash_key_pattern *p = &world.indexes.patterns[roll(world.indexes.count)];
    bool turned = roll(2) == 0;
    ash__buffer_printf(filter, "{'%s': {'$in': [", p->parts[0].path);
    for (uint32_t i = 0, count = 2 + roll(3); i < count; i++) {
        ash__buffer_append_text(filter, i > 0 ? ", " : "");
        append_value(filter, 3);
    }
    ash__buffer_append_text(filter, "]}");
    if (roll(3) == 0) {
        ash__buffer_printf(filter, ", '$and': [{'%s': ", PICK(paths));
        append_condition(filter);
        ash__buffer_append_text(filter, "}]");
    }
    ash__buffer_append_text(filter, "}");
    for (uint32_t i = 1; i < p->count; i++)
        ash__buffer_printf(sort, "%s'%s': %d", i == 1 ? "{" : ", ", p->parts[i].path,
                           p->parts[i].descending == turned ? 1 : -1);
    ash__buffer_append_text(sort, p->count > 1 ? "}" : "{}");
}

static void check_random(uint64_t round, const char *indexes, const ash_query_env *env,
                         uint32_t kinds[5])
{
    ash_buffer filter = ASH_BUFFER_INIT, sort = ASH_BUFFER_INIT;
    if (roll(6) == 0) {
        append_merged(&filter, &sort);
    } else {
        append_filter(&filter, 0);
        if (roll(2) == 0)
            append_pattern(&sort, 2, false);
        else
            ash__buffer_append_text(&sort, "{}");
    }
    check_one(round, indexes, ash__buffer_text(&filter), ash__buffer_text(&sort), env, kinds);
    ash__buffer_release(&filter);
    ash__buffer_release(&sort);
}

static void test_query_plan__random_plans_find_the_same(void **state)
{
    (void)state;
    uint32_t kinds[5] = {0};
    for (uint64_t round = 0; round < ROUNDS; round++) {
        ash_query_env env = {.collation = {.ignore_case = round % 10 == 0}};
        seed = (round + 1) * 0x9E3779B97F4A7C15u;
        for (int i = 0; i < 10; i++)
            roll(2);
        char *indexes = random_indexes();
        world_init(indexes, roll(3) == 0);
        for (int i = 0; i < QUERIES; i++)
            check_random(round, indexes, &env, kinds);
        world_release();
        ash__free(indexes);
    }
    /* All kinds of plan came up, or the test says little. */
    for (int i = 0; i < 5; i++)
        assert_true(kinds[i] > ROUNDS / 10);
    for (size_t i = 0; i < ASH_ARRAY_LEN(verdicts); i++)
        assert_true(verdicts[i] > ROUNDS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_plan__random_plans_find_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Changes in the tree that tests/cmd/v7files.py has made.  usage: tree-writer URI DB */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ashlar/tree.h>

static ash_error err = ASH_ERROR_INIT;

static void must(int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, "%s: %s\n", what, err.text);
    exit(1);
}

static void put(ash_tree *tree, const char *path, const char *data, size_t len)
{
    ash_tree_writer *w = NULL;
    must(ash_tree_open_writer(tree, path, NULL, NULL, &w, &err), path);
    must(ash_tree_writer_write(w, data, len, &err), path);
    must(ash_tree_writer_finish(w, NULL, NULL, &err), path);
    ash_tree_writer_free(w);
}

/* Two bits of each byte are alike: it packs, but not well; mask 255: not at all. */
static char *make_bytes(size_t len, unsigned mask)
{
    char *data = malloc(len);
    unsigned x = 1;
    for (size_t i = 0; data != NULL && i < len; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = (char)((x >> 24) & mask);
    }
    return data;
}

int main(int argc, char **argv)
{
    enum { LARGE = 700000, SMALL = 300 };
    ash_tree_options o = ASH_TREE_OPTIONS_INIT;
    ash_store *store = NULL;
    ash_tree *tree = NULL;
    char *raw = make_bytes(LARGE, 255), *packs = make_bytes(LARGE, 3);
    if (argc != 3 || raw == NULL || packs == NULL)
        return 2;
    o.db = argv[2];
    must(ash_store_open(argv[1], NULL, &store, &err), argv[1]);
    must(ash_tree_open(store, "/", &o, &tree, &err), "tree");
    put(tree, "docs/raw", raw, LARGE);
    put(tree, "docs/z", packs, LARGE);
    put(tree, "docs/in", raw, SMALL);
    put(tree, "docs/a.txt", packs, SMALL);
    put(tree, "docs/tiny", "tiny", 4);
    must(ash_tree_move(tree, "docs/raw", "raw", NULL, NULL, NULL, &err), "move");
    must(ash_tree_remove(tree, "docs/large", NULL, NULL, &err), "remove");
    ash_tree_close(tree);
    ash_store_close(store);
    free(raw);
    free(packs);
    return 0;
}

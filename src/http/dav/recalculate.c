/* SPDX-License-Identifier: Apache-2.0 */
/* PATCH with X-Recalculate-Hash, as Nextcloud has it: the digest of another kind of a file that is
 * there.  It is computed and told, and not kept: of a file that is asked for again it is again. */
#include "base/hash.h"
#include "base/mem.h"
#include "http/dav/resource.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *name, *label;
    ash_digest_kind kind;
} kinds[] = {
    {"md5", "MD5", ASH_DIGEST_MD5},
    {"sha1", "SHA1", ASH_DIGEST_SHA1},
    {"sha256", "SHA256", ASH_DIGEST_SHA256},
};

static int add_file(ash_dav *dav, const ash_op *op, const ash_tree_entry *e, ash_digest *digest,
                    ash_error *err)
{
    ash_tree_reader *r = NULL;
    size_t got = 1;
    uint8_t *piece = ash__alloc(ASH_PIECE_BYTES);
    int rc = ash_tree_open_entry(dav->tree, e, NULL, op, &r, err);
    while (rc == 0 && got > 0) {
        rc = ash_tree_reader_read(r, piece, ASH_PIECE_BYTES, &got, err);
        if (rc == 0)
            ash__digest_add(digest, piece, got);
    }
    ash_tree_reader_free(r);
    ash__free(piece);
    return rc;
}

static void answer_digest(ash_dav *dav, ash_exchange *x, const ash_tree_entry *e, size_t kind)
{
    ash_error err = ASH_ERROR_INIT;
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    char hex[2 * ASH_DIGEST_MAX_BYTES + 1];
    ash_digest *digest = ash__digest_new(kinds[kind].kind);
    if (digest == NULL) {
        ash__answer_text(x, 501, "this machine does not make %s", kinds[kind].label);
    } else if (add_file(dav, x->op, e, digest, &err) != 0) {
        ash__answer_error(x, &err);
    } else {
        ash__hex(bytes, ash__digest_finish(digest, bytes), hex);
        ash__answer_field(x, "OC-Checksum", "%s:%s", kinds[kind].label, hex);
        ash__answer_empty(x, 204);
    }
    ash__digest_free(digest);
}

void ash__dav_recalculate(ash_dav *dav, ash_exchange *x, const char *path, const char *name)
{
    ash_error err = ASH_ERROR_INIT;
    ash_tree_entry *e = NULL;
    size_t kind = 0;
    while (kind < ASH_ARRAY_LEN(kinds) && strcasecmp(name, kinds[kind].name) != 0)
        kind++;
    if (kind == ASH_ARRAY_LEN(kinds))
        ash__answer_text(x, 400, "X-Recalculate-Hash is md5, sha1 or sha256");
    else if (ash__dav_lookup(dav, x->op, path, &e, &err) != 0)
        ash__answer_error(x, &err);
    else if (e == NULL || ash_tree_entry_is_folder(e))
        ash__answer_text(x, 404, "there is no file %s", path);
    else
        answer_digest(dav, x, e, kind);
    ash_tree_entry_free(e);
}

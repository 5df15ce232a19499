/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/resource.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- validators ---- */

void ash__dav_etag(const ash_tree_entry *e, char out[ASH_ETAG_BYTES])
{
    if (!ash_tree_entry_is_folder(e)) {
        /* 128 bits of it tell contents apart as surely, and clients have short buffers: litmus cuts a
         * field off behind 200 bytes. */
        size_t len = strnlen(ash_tree_entry_digest(e), 32);
        out[0] = '"';
        memcpy(out + 1, ash_tree_entry_digest(e), len);
        memcpy(out + 1 + len, "\"", 2);
        return;
    }
    const bson_value_t *id = ash_tree_entry_id(e);
    char hex[25] = "root";
    if (id->value_type == BSON_TYPE_OID)
        bson_oid_to_string(&id->value.v_oid, hex);
    snprintf(out, ASH_ETAG_BYTES, "\"%s-%d\"", hex, ash_tree_entry_version(e));
}

void ash__dav_validators(const ash_tree_entry *e, char etag[ASH_ETAG_BYTES], ash_validators *out)
{
    *out = (ash_validators){0};
    if (e == NULL)
        return;
    ash__dav_etag(e, etag);
    *out = (ash_validators){etag, ash_tree_entry_modified_ms(e)};
}

/* ---- looking up ---- */

ash_op ash__dav_op(const ash_exchange *x)
{
    return x->op != NULL ? *x->op : (ash_op)ASH_OP_INIT;
}

char *ash__dav_who(const ash_op *op)
{
    const ash_principal *p = op != NULL ? op->principal : NULL;
    return p == NULL || p->user == NULL ? ash__strdup("") : ash__sprintf("%s.%s", p->db, p->user);
}

bool ash__dav_allows(ash_dav *dav, const ash_op *op, const char *path, unsigned rights)
{
    return op == NULL || ash_tree_allows(dav->tree, path, op->principal, rights, NULL, NULL) == 0;
}

/* A path that goes on below a file leads nowhere, as one does whose folder is missing. */
static bool is_nowhere(ash_dav *dav, const char *path, int rc)
{
    ash_tree_entry *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    if (rc == ASH_ENOTFOUND || rc == ASH_EACCES)
        return true;
    if (rc != ASH_EINVAL)
        return false;
    char *above = ash__strdup(path);
    for (char *slash; !(slash = strrchr(above, '/'), slash == NULL || slash == above);) {
        *slash = '\0';
        if (ash_tree_get(dav->tree, above, NULL, NULL, &e, &err) == 0)
            break;
    }
    bool below_file = e != NULL && !ash_tree_entry_is_folder(e);
    ash_tree_entry_free(e);
    ash__free(above);
    return below_file;
}

int ash__dav_lookup(ash_dav *dav, const ash_op *op, const char *path, ash_tree_entry **out,
                    ash_error *err)
{
    *out = NULL;
    int rc = ash_tree_get(dav->tree, path, NULL, op, out, err);
    return rc != 0 && is_nowhere(dav, path, rc) ? 0 : rc;
}

int ash__dav_lookup_parent(ash_dav *dav, const ash_op *op, const char *path, ash_tree_entry **out,
                           ash_error *err)
{
    const char *slash = strrchr(path, '/');
    char *above = ash__strndup(path, slash == path ? 1 : (size_t)(slash - path));
    int rc = ash__dav_lookup(dav, op, above, out, err);
    ash__free(above);
    if (rc == 0 && *out != NULL && !ash_tree_entry_is_folder(*out)) {
        ash_tree_entry_free(*out);
        *out = NULL;
    }
    return rc;
}

/* ---- addresses ---- */

void ash__dav_href(const ash_dav *dav, ash_buffer *out, const char *path, bool is_folder)
{
    ash__http_target_encode(out, dav->prefix);
    ash__http_target_encode(out, path);
    if (is_folder && out->data[out->len - 1] != '/')
        ash__buffer_append_byte(out, '/');
}

/* Is it this server's own name, as the client has it?  A proxy in between changes Host and leaves
 * Destination as it is, or the other way round: ports and schemes are not compared. */
static bool same_host(const ash_exchange *x, const char *host)
{
    const char *own = ash__head_field(x->head, "Host");
    const char *forwarded = ash__head_field(x->head, "X-Forwarded-Host");
    size_t len = strcspn(host, ":");
    if (host[0] == '[')
        len = strcspn(host, "]");
    return (own != NULL && strncasecmp(own, host, len) == 0 &&
            (own[len] == host[len] || own[len] == '\0' || own[len] == ':')) ||
           (forwarded != NULL && strncasecmp(forwarded, host, len) == 0);
}

static bool is_reserved(const char *path)
{
    size_t len = strlen(ASH_DAV_RESERVED);
    return strncmp(path, ASH_DAV_RESERVED, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

int ash__dav_destination(ash_dav *dav, ash_exchange *x, char **path, bool *is_folder)
{
    const char *field = ash__head_field(x->head, "Destination");
    const char *why;
    char *host = NULL;
    ash_http_target t = {0};
    size_t prefix = strlen(dav->prefix);
    int status = 0;
    *path = NULL;
    if (field == NULL || !ash__http_target_parse(field, &t, &host, &why) || t.path == NULL)
        status = 400;
    else if (host != NULL && !same_host(x, host))
        status = 502;
    else if (strncmp(t.path, dav->prefix, prefix) != 0 ||
             (t.path[prefix] != '/' && t.path[prefix] != '\0'))
        status = 502;
    else if (is_reserved(t.path))
        status = 403;
    if (status == 0) {
        *path = ash__strdup(t.path[prefix] == '\0' ? "/" : t.path + prefix);
        *is_folder = t.is_folder;
    }
    ash__http_target_release(&t);
    ash__free(host);
    return status;
}

int ash__dav_depth(const ash_exchange *x, int otherwise)
{
    const char *text = ash__head_field(x->head, "Depth");
    if (text == NULL)
        return otherwise;
    if (strcmp(text, "0") == 0)
        return 0;
    if (strcmp(text, "1") == 0)
        return 1;
    return strcasecmp(text, "infinity") == 0 ? -1 : -2;
}

/* ---- types ---- */

const char *ash__dav_type(const ash_tree_entry *e)
{
    if (ash_tree_entry_is_folder(e))
        return "httpd/unix-directory";
    const char *said = ash_tree_entry_content_type(e);
    return said != NULL && said[0] != '\0' ? said : ash__dav_type_of_name(ash_tree_entry_name(e));
}

void ash__dav_add_line(ash_buffer *out, const char *name, bool is_folder)
{
    for (const char *at = name; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        ash__buffer_append_byte(out, c < 0x20 || c == 0x7f ? '?' : c);
    }
    ash__buffer_append_text(out, is_folder ? "/\n" : "\n");
}

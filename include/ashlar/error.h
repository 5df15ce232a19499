/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASHLAR_ERROR_H
#define ASHLAR_ERROR_H

/* Errors.
 *
 * Every function that can fail returns 0 or one of the negative codes below and, when the caller
 * passes an ash_error, fills it in.  `err` may always be NULL.  An ash_error belongs to the caller,
 * owns nothing and needs no release; it is written only on failure.  One table
 * (src/base/error.def) gives each code its text, its MongoDB code, its HTTP status and the exit
 * code of the command. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In short.
 *
 * Example:
 *
 *     int rc = ASH_ENOTFOUND;
 *     if (rc != 0)
 *         printf("%s: %s, HTTP %d\n", ash_error_name(rc), ash_error_text(rc), ash_error_http_status(rc));
 */

enum {
    ASH_OK = 0,
    ASH_EINTERNAL = -1,      /* a bug in Ashlar or in a library beneath it */
    ASH_EINVAL = -2,         /* an argument, option, query or document that is not valid */
    ASH_ENOTFOUND = -3,      /* no such file, document, collection or index */
    ASH_ENOREVISION = -4,    /* the file exists, the revision asked for does not */
    ASH_EEXISTS = -5,        /* it is already there; a unique index refuses a second one */
    ASH_ECONDITION = -6,     /* a condition of the caller (if-absent, newest-is) does not hold */
    ASH_ELOCKED = -7,        /* a lock is held by somebody else */
    ASH_ELOST = -8,          /* the lock was held once and has been taken over since */
    ASH_ETIMEOUT = -9,       /* the deadline passed; the outcome of a write is then unknown */
    ASH_EBUSY = -10,         /* another process holds the store, and no server answers in it */
    ASH_ECONFLICT = -11,     /* a concurrent change won; the operation may be tried again */
    ASH_ECORRUPT = -12,      /* stored bytes do not match their checksum or break an invariant */
    ASH_ECHUNKMISSING = -13, /* a file's chunk is not there */
    ASH_ECHUNKEXTRA = -14,   /* a file has more chunks than its length allows */
    ASH_ECHUNKSIZE = -15,    /* a file's chunk has the wrong size */
    ASH_ENOSPC = -16,        /* no space left on the device, or over a size limit of the store */
    ASH_EACCES = -17,        /* the operating system or the server does not allow it */
    ASH_EREADONLY = -18,     /* the store is open for reading only */
    ASH_EIO = -19,           /* the device failed */
    ASH_ENETWORK = -20,      /* a server cannot be reached or hung up */
    ASH_EUNSUPPORTED = -21,  /* valid, but not something this build or backend does */
    ASH_ETOOBIG = -22,       /* over 16 MiB, nested too deep, or too long a name */
    ASH_ENOMEM = -23,        /* memory ran out, or an operation went over its memory limit */
    ASH_EVERSION = -24,      /* the store was written by a newer format version */
    ASH_EINTERRUPTED = -25,  /* cancelled */
    ASH_ECURSOR = -26,       /* no such cursor: it was closed, killed or timed out */
    ASH_ESTATE = -27,        /* not allowed in the object's present state */
    ASH_EPARTIAL = -28       /* some items of several failed */
};

typedef struct ash_error {
    int code;            /* one of the codes above */
    int32_t server_code; /* MongoDB's number for it, when it is more exact than the table's; or 0 */
    char text[504];      /* one line of UTF-8 without a final full stop; says what failed first */
} ash_error;

#define ASH_ERROR_INIT                                                                             \
    {                                                                                              \
        0, 0,                                                                                      \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* The code's constant text, never NULL ("not found").  Any int is allowed. */
const char *ash_error_text(int code);

/* The code's name without its prefix ("ENOTFOUND"). */
const char *ash_error_name(int code);

/* MongoDB's code for the error: err->server_code if set, else the table's for err->code. */
int32_t ash_error_server_code(const ash_error *err);

/* MongoDB's name for one of its codes ("DuplicateKey"), or "Location<code>". Thread-safe; the text
 * is copied into buf, which holds size_bytes. */
void ash_error_server_name(int32_t server_code, char *buf, size_t size_bytes);

/* HTTP status and process exit code that belong to a library code. */
int ash_error_http_status(int code);
int ash_error_exit_code(int code);

#ifdef __cplusplus
}

/* What the initialisers of options structs (ASH_…_OPTIONS_INIT) are made of: all zero but for
 * `size`.  C++ got the designated initialisers of C late, and warns of fields that are left out. */
template <typename options> inline options ash_options_init()
{
    options o = options();
    o.size = sizeof(options);
    return o;
}
template <typename options> inline options ash_op_options_init()
{
    options o = options();
    o.size = sizeof(options) - sizeof(o.op);
    o.op.size = sizeof(o.op);
    return o;
}
#define ASH_OPTIONS_INIT(type)    ash_options_init<type>()
#define ASH_OP_OPTIONS_INIT(type) ash_op_options_init<type>()
#else
#define ASH_OPTIONS_INIT(type)                                                                     \
    {                                                                                              \
        .size = sizeof(type)                                                                       \
    }
/* Of options that end with an ash_op, which has a size of its own. */
#define ASH_OP_OPTIONS_INIT(type)                                                                  \
    {                                                                                              \
        .size = sizeof(type) - sizeof(ash_op), .op = {.size = sizeof(ash_op) }                     \
    }
#endif
#endif

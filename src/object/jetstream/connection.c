/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/connection.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "object/jetstream/nkey.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    CONNECT_MS = 5000,
    RECONNECT_WAIT_MS = 200,
    RECONNECT_JITTER_MS = 50,
    PING_MS = 5000,
    PINGS_OUT = 2,
    IO_BYTES = 256 * 1024, /* a chunk and its head in one call of the system */
    PENDING_MESSAGES = 1 << 20,
    SIGNS_ALWAYS = 3 << 16 | 8 << 8, /* libnats 3.8.0 */
    SIGNED_ATTEMPTS = 3,
    NOT_FOUND = 404, /* as in HTTP, as what follows */
    TOO_MANY_REQUESTS = 429,
    SERVER_ERRORS = 500
};

static void on_error(natsConnection *nc, natsSubscription *sub, natsStatus status, void *closure)
{
    ash_js *js = closure;
    (void)nc;
    (void)sub;
    if (status == NATS_NOT_PERMITTED)
        __atomic_add_fetch(&js->denials, 1, __ATOMIC_RELAXED);
}

/* The last of a connection's callbacks. */
static void on_closed(natsConnection *nc, void *closure)
{
    ash_js *js = closure;
    (void)nc;
    ash__mutex_lock(&js->mutex);
    js->closed = true;
    ash__cond_broadcast(&js->closing);
    ash__mutex_unlock(&js->mutex);
}

/* ---- subscriptions that are over ---- */

struct ash_js_grave {
    natsSubscription *sub;
    uint64_t number;
    struct ash_js_grave *next;
};

void ash__js_bury(ash_js *js, natsSubscription *sub)
{
    if (sub == NULL)
        return;
    (void)natsSubscription_Unsubscribe(sub);
    struct ash_js_grave *grave = ash__new(struct ash_js_grave);
    grave->sub = sub;
    ash__mutex_lock(&js->mutex);
    grave->number = js->buried++;
    grave->next = js->graves;
    js->graves = grave;
    ash__mutex_unlock(&js->mutex);
}

static uint64_t count_buried(ash_js *js)
{
    ash__mutex_lock(&js->mutex);
    uint64_t count = js->buried;
    ash__mutex_unlock(&js->mutex);
    return count;
}

/* Of those that were buried before: the newest come first. */
static void destroy_buried(ash_js *js, uint64_t before)
{
    ash__mutex_lock(&js->mutex);
    struct ash_js_grave **at = &js->graves;
    while (*at != NULL && (*at)->number >= before)
        at = &(*at)->next;
    struct ash_js_grave *grave = *at;
    *at = NULL;
    ash__mutex_unlock(&js->mutex);
    while (grave != NULL) {
        struct ash_js_grave *next = grave->next;
        natsSubscription_Destroy(grave->sub);
        ash__free(grave);
        grave = next;
    }
}

/* ---- opening ---- */

static natsStatus set_servers(natsOptions *opts, const ash_nats_address *a)
{
    const char *servers[ASH_NATS_MAX_SERVERS];
    for (int i = 0; i < a->count; i++)
        servers[i] = a->servers[i];
    return natsOptions_SetServers(opts, servers, a->count);
}

static natsStatus set_manners(natsOptions *opts, ash_js *js)
{
    natsStatus s = natsOptions_SetTimeout(opts, CONNECT_MS);
    if (s == NATS_OK)
        s = natsOptions_SetMaxReconnect(opts, -1);
    if (s == NATS_OK)
        s = natsOptions_SetReconnectWait(opts, RECONNECT_WAIT_MS);
    if (s == NATS_OK)
        s = natsOptions_SetReconnectJitter(opts, RECONNECT_JITTER_MS, RECONNECT_JITTER_MS);
    if (s == NATS_OK)
        s = natsOptions_SetPingInterval(opts, PING_MS);
    if (s == NATS_OK)
        s = natsOptions_SetMaxPingsOut(opts, PINGS_OUT);
    if (s == NATS_OK)
        s = natsOptions_SetIOBufSize(opts, IO_BYTES);
    if (s == NATS_OK)
        s = natsOptions_SetMaxPendingMsgs(opts, PENDING_MESSAGES);
    if (s == NATS_OK)
        s = natsOptions_SetFailRequestsOnDisconnect(opts, true);
    /* Else a thread sends what was published, a millisecond later. */
    if (s == NATS_OK)
        s = natsOptions_SetSendAsap(opts, true);
    if (s == NATS_OK)
        s = natsOptions_SetName(opts, "ashlar");
    if (s == NATS_OK)
        s = natsOptions_SetClosedCB(opts, on_closed, js);
    return s == NATS_OK ? natsOptions_SetErrorHandler(opts, on_error, js) : s;
}

static natsStatus set_tls(natsOptions *opts, const ash_nats_address *a)
{
    natsStatus s = NATS_OK;
    if (a->tls || a->tls_ca != NULL || a->tls_cert != NULL)
        s = natsOptions_SetSecure(opts, true);
    if (s == NATS_OK && a->tls_ca != NULL)
        s = natsOptions_LoadCATrustedCertificates(opts, a->tls_ca);
    if (s == NATS_OK && a->tls_cert != NULL)
        s = natsOptions_LoadCertificatesChain(opts, a->tls_cert, a->tls_key);
    return s;
}

static natsStatus set_identity(natsOptions *opts, const ash_nats_address *a, const char *public_key)
{
    if (a->creds != NULL)
        return natsOptions_SetUserCredentialsFromFiles(opts, a->creds, NULL);
    if (a->nkey != NULL)
        return natsOptions_SetNKeyFromSeed(opts, public_key, a->nkey);
    if (a->token != NULL)
        return natsOptions_SetToken(opts, a->token);
    return a->user != NULL ? natsOptions_SetUserInfo(opts, a->user, a->password) : NATS_OK;
}

/* The library says no more than that something is wrong. */
static int check_files(const ash_nats_address *a, ash_error *err)
{
    const char *const files[] = {a->creds, a->tls_ca, a->tls_cert, a->tls_key};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i] != NULL && access(files[i], R_OK) != 0)
            return ash__fail_errno(err, errno, "cannot read %s", files[i]);
    return 0;
}

static int configure(natsOptions *opts, const ash_nats_address *a, ash_js *js, ash_error *err)
{
    char public_key[ASH_NKEY_PUBLIC_BYTES] = "";
    int rc = check_files(a, err);
    if (rc == 0 && a->nkey != NULL)
        rc = ash__nkey_public(a->nkey, public_key, err);
    if (rc != 0)
        return rc;
    natsStatus s = set_servers(opts, a);
    if (s != NATS_OK)
        return ash__fail(err, ASH_EINVAL, "the NATS address names a server that cannot be");
    s = set_manners(opts, js);
    if (s == NATS_OK && (s = set_tls(opts, a)) != NATS_OK)
        return ash__fail(err, ASH_EINVAL, "TLS to NATS: %s", natsStatus_GetText(s));
    if (s == NATS_OK && (s = set_identity(opts, a, public_key)) != NATS_OK)
        return ash__fail(err, ASH_EINVAL, "credentials for NATS: %s", natsStatus_GetText(s));
    return s == NATS_OK ? 0 : ash__js_fail_status(s, "to prepare", err);
}

/* What it means to whoever wrote the address. */
static int fail_to_connect(natsStatus status, ash_error *err)
{
    const char *advice = NULL;
    if (status == NATS_CONNECTION_AUTH_FAILED)
        advice = "not let in: user, password, token, key or credentials are not what it knows";
    else if (status == NATS_SECURE_CONNECTION_REQUIRED)
        advice = "the server wants TLS: tls://";
    else if (status == NATS_SECURE_CONNECTION_WANTED)
        advice = "the server has no TLS, which the address asks for";
    else if (status == NATS_SSL_ERROR)
        advice = "TLS failed: the certificate is of another host or by nobody who is trusted "
                 "(tls_ca=FILE), or the server wants one (tls_cert=FILE, tls_key=FILE)";
    int rc = ash__js_fail_status(status, "to connect", err);
    return advice != NULL ? ash__fail(err, rc, "NATS, to connect: %s", advice) : rc;
}

/* Before its 3.8, libnats leaves out a signature whose first byte is zero, and the server lets nobody
 * in: once in 256 times.  The next attempt has another nonce to sign. */
static bool loses_signatures(const ash_nats_address *a)
{
    return (a->creds != NULL || a->nkey != NULL) && nats_GetVersionNumber() < SIGNS_ALWAYS;
}

static natsStatus connect_with(natsConnection **nc, natsOptions *opts, const ash_nats_address *a)
{
    int attempts = loses_signatures(a) ? SIGNED_ATTEMPTS : 1;
    natsStatus s;
    do
        s = natsConnection_Connect(nc, opts);
    while (s == NATS_CONNECTION_AUTH_FAILED && --attempts > 0);
    return s;
}

int ash__js_connect(const ash_nats_address *address, int64_t timeout_ms, ash_js **out,
                    ash_error *err)
{
    ash_js *js = ash__new(ash_js);
    natsOptions *opts = NULL;
    natsStatus s = natsOptions_Create(&opts);
    ash__mutex_init(&js->mutex, ASH_RANK_STORE);
    ash__cond_init(&js->closing);
    int rc = s == NATS_OK ? configure(opts, address, js, err)
                          : ash__js_fail_status(s, "to prepare", err);

    js->timeout_ms = timeout_ms > 0 ? timeout_ms : ASH_JS_TIMEOUT_MS;
    js->api = address->domain != NULL ? ash__sprintf("$JS.%s.API", address->domain)
                                      : ash__strdup("$JS.API");
    if (rc == 0) {
        s = connect_with(&js->nc, opts, address);
        rc = s == NATS_OK ? 0 : fail_to_connect(s, err);
    }
    natsOptions_Destroy(opts);
    if (rc == 0)
        *out = js;
    else
        ash__js_close(js);
    return rc;
}

void ash__js_close(ash_js *js)
{
    if (js == NULL)
        return;
    if (js->nc != NULL) {
        natsConnection_Close(js->nc);
        ash__mutex_lock(&js->mutex);
        while (!js->closed)
            ash__cond_wait(&js->closing, &js->mutex);
        ash__mutex_unlock(&js->mutex);
        destroy_buried(js, UINT64_MAX);
        natsConnection_Destroy(js->nc);
    }
    ash__cond_release(&js->closing);
    ash__mutex_release(&js->mutex);
    ash__free(js->api);
    ash__free(js);
}

static int code_of_status(natsStatus status)
{
    switch (status) {
    case NATS_TIMEOUT:
        return ASH_ETIMEOUT;
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_NOT_PERMITTED:
        return ASH_EACCES;
    case NATS_MAX_PAYLOAD:
        return ASH_ETOOBIG;
    case NATS_NO_MEMORY:
        return ASH_ENOMEM;
    case NATS_INVALID_ARG:
    case NATS_ERR:
        return ASH_EINTERNAL;
    default:
        return ASH_ENETWORK;
    }
}

/* Not libnats' own text of the error, which may repeat an address with its password. */
int ash__js_fail_status(natsStatus status, const char *what, ash_error *err)
{
    if (status == NATS_NO_RESPONDERS)
        return ash__fail(err, ASH_ENETWORK, "NATS, %s: nobody answers there for JetStream", what);
    return ash__fail(err, code_of_status(status), "NATS, %s: %s", what, natsStatus_GetText(status));
}

static int code_of_answer(int number, int64_t code)
{
    switch (number) {
    case ASH_JS_NO_MESSAGE:
    case ASH_JS_SEQUENCE_NOT_FOUND:
    case ASH_JS_STREAM_NOT_FOUND:
        return ASH_ENOTFOUND;
    case ASH_JS_STREAM_NAME_IN_USE:
        return ASH_EEXISTS;
    case ASH_JS_WRONG_LAST_SEQUENCE:
        return ASH_ECONFLICT;
    case ASH_JS_STORE_FAILED:
    case ASH_JS_STORAGE_EXCEEDED:
    case ASH_JS_MEMORY_EXCEEDED:
    case ASH_JS_INSUFFICIENT_RESOURCES:
        return ASH_ENOSPC;
    case ASH_JS_SEALED:
        return ASH_EREADONLY;
    case ASH_JS_NO_REPLICAS:
    case ASH_JS_NOT_ENABLED:
    case ASH_JS_NOT_ENABLED_FOR_ACCOUNT:
        return ASH_EUNSUPPORTED;
    default:
        return code >= SERVER_ERRORS || code == TOO_MANY_REQUESTS ? ASH_ENETWORK
               : code == NOT_FOUND                                ? ASH_ENOTFOUND
                                                                  : ASH_EINVAL;
    }
}

int ash__js_number(const ash_json *answer)
{
    return (int)ash__json_int(ash__json_get(answer, "error"), "err_code", 0);
}

int ash__js_answer_error(const ash_json *answer, int *number, ash_error *err)
{
    const ash_json *error = ash__json_get(answer, "error");
    *number = 0;
    if (error == NULL || error->type != ASH_JSON_OBJECT)
        return 0;
    *number = ash__js_number(answer);
    return ash__fail(err, code_of_answer(*number, ash__json_int(error, "code", 0)),
                     "JetStream: %s (%d)", ash__json_text(error, "description", "error"), *number);
}

bool ash__js_is_passing(int rc, int number)
{
    return rc == ASH_ENETWORK || rc == ASH_ETIMEOUT || number == ASH_JS_CLUSTER_NOT_AVAILABLE ||
           number == ASH_JS_CLUSTER_NO_PEERS;
}

int ash__js_time_left(const ash_op *op, int64_t limit_ms, int64_t *out, ash_error *err)
{
    *out = limit_ms;
    if (op == NULL)
        return 0;
    if (op->cancel != NULL && __atomic_load_n(op->cancel, __ATOMIC_RELAXED) != 0)
        return ash__fail(err, ASH_EINTERRUPTED, "interrupted");
    if (op->deadline_ms == 0)
        return 0;
    int64_t left = op->deadline_ms - ash__clock_ms();
    if (left <= 0)
        return ash__fail(err, ASH_ETIMEOUT, "the deadline passed");
    *out = left < limit_ms ? left : limit_ms;
    return 0;
}

int ash__js_pause(const ash_op *op, int64_t give_up_ms, ash_error *err)
{
    int64_t pause = 0;
    int rc = ash__js_time_left(op, ASH_JS_PAUSE_MS, &pause, err);
    if (rc == 0 && ash__clock_ms() >= give_up_ms && (op == NULL || op->deadline_ms == 0))
        rc = ash__fail(err, ASH_ETIMEOUT, "JetStream did not answer in time");
    if (rc == 0)
        ash__clock_sleep_ms(pause);
    return rc;
}

const char *ash__js_header(natsMsg *message, const char *name)
{
    const char *value = NULL;
    return natsMsgHeader_Get(message, name, &value) == NATS_OK ? value : NULL;
}

int ash__js_ask(ash_js *js, natsMsg *message, const ash_op *op, natsMsg **answer, ash_error *err)
{
    int64_t left = 0;
    uint64_t denials = __atomic_load_n(&js->denials, __ATOMIC_RELAXED);
    int rc = ash__js_time_left(op, js->timeout_ms, &left, err);
    if (rc != 0)
        return rc;
    uint64_t buried = count_buried(js);
    natsStatus s = natsConnection_RequestMsg(answer, js->nc, message, left);
    if (s == NATS_OK)
        destroy_buried(js, buried);
    if (s == NATS_TIMEOUT && denials != __atomic_load_n(&js->denials, __ATOMIC_RELAXED))
        s = NATS_NOT_PERMITTED;
    return s == NATS_OK ? 0 : ash__js_fail_status(s, "to ask", err);
}

static int ask_once(ash_js *js, natsMsg *message, const ash_op *op, ash_js_answer *out,
                    ash_error *err)
{
    natsMsg *got = NULL;
    int rc = ash__js_ask(js, message, op, &got, err);
    if (rc == 0)
        rc = ash__json_parse(natsMsg_GetData(got), (size_t)natsMsg_GetDataLength(got), &out->json,
                             err);
    if (rc == 0)
        rc = ash__js_answer_error(out->json, &out->number, err);
    natsMsg_Destroy(got);
    return rc;
}

int ash__js_request_once(ash_js *js, const char *verb, const ash_buffer *body, const ash_op *op,
                         ash_js_answer *out, ash_error *err)
{
    char *subject = ash__sprintf("%s.%s", js->api, verb);
    natsMsg *message = NULL;
    *out = (ash_js_answer){NULL, 0};
    natsStatus s =
        natsMsg_Create(&message, subject, NULL, body != NULL ? (const char *)body->data : NULL,
                       body != NULL ? (int)body->len : 0);
    int rc =
        s == NATS_OK ? ask_once(js, message, op, out, err) : ash__js_fail_status(s, "to ask", err);
    natsMsg_Destroy(message);
    ash__free(subject);
    return rc;
}

int ash__js_request(ash_js *js, const char *verb, ash_buffer *body, const ash_op *op,
                    ash_json **answer, ash_error *err)
{
    int64_t give_up = ash__clock_ms() + ASH_JS_PATIENCE_MS;
    ash_js_answer got = {NULL, 0};
    int rc = 0;
    do {
        ash__json_free(got.json);
        rc = ash__js_request_once(js, verb, body, op, &got, err);
    } while (rc != 0 && ash__js_is_passing(rc, got.number) &&
             ash__js_pause(op, give_up, NULL) == 0);
    if (answer != NULL)
        *answer = got.json;
    else
        ash__json_free(got.json);
    return rc;
}

static int ask_page(ash_js *js, const ash_js_paged *p, int64_t offset, const ash_op *op,
                    ash_json **answer, ash_error *err)
{
    ash_buffer body = ASH_BUFFER_INIT;
    ash__buffer_append_byte(&body, '{');
    ash__json_put_text_member(&body, p->filter_key, p->filter);
    ash__json_put_int_member(&body, "offset", offset);
    ash__buffer_append_byte(&body, '}');
    int rc = ash__js_request(js, p->verb, &body, op, answer, err);
    ash__buffer_release(&body);
    return rc;
}

int ash__js_each_page(ash_js *js, const ash_js_paged *p, const ash_op *op, ash_error *err)
{
    int64_t offset = 0, total = 0;
    int rc = 0;
    do {
        ash_json *answer = NULL;
        int64_t count = 0;
        rc = ask_page(js, p, offset, op, &answer, err);
        if (rc == 0)
            rc = p->take(p->ctx, answer, &count, err);
        offset += count;
        total = count > 0 ? ash__json_int(answer, "total", 0) : 0;
        ash__json_free(answer);
    } while (rc == 0 && offset < total);
    return rc;
}

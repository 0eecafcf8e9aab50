#include "client/proof.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sandbox_key.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http1.h"

enum {
    RECEIVE_BYTES = 1024,
    ANSWER_MAX_BYTES = 8192,
    STATUS_OK = 200,
    /* A sandbox is on a network of this host, where the kernel of a live one accepts at once. */
    CONNECT_MS = 5000,
    ANSWER_MS = 10000,
};

struct proof {
    struct strbuf request;
    size_t n_sent;
    size_t n_received;
    int64_t until_ms;
    struct http1_reader reader;
    struct strbuf body;
    char expected[CRYPTO_HASH_HEX_BYTES];
};

struct proof *proof_new(const struct secret *key, const struct sockaddr_in *address)
{
    struct proof *proof = NEW(struct proof);
    CLEANUP(strbuf_done) struct strbuf end = STRBUF_INIT;
    char host[INET_ADDRSTRLEN] = "";
    char nonce[SANDBOX_NONCE_BYTES] = "";

    proof->reader = (struct http1_reader)HTTP1_READER_INIT;
    proof->request = (struct strbuf)STRBUF_INIT;
    proof->body = (struct strbuf)STRBUF_INIT;
    proof->until_ms = clock_monotonic_ms() + CONNECT_MS;
    (void)inet_ntop(AF_INET, &address->sin_addr, host, sizeof(host));
    strbuf_appendf(&end, "%s:%u", host, ntohs(address->sin_port));
    sandbox_nonce_make(nonce);
    sandbox_proof_make(key, nonce, end.text, proof->expected);
    strbuf_appendf(&proof->request,
                   "GET " SANDBOX_PROOF_PATH " HTTP/1.1\r\nHost: %s\r\nUser-Agent: deft\r\n"
                   "Accept: */*\r\n" SANDBOX_NONCE_HEADER ": %s\r\n\r\n",
                   end.text, nonce);
    return proof;
}

void proof_free(struct proof *proof)
{
    if (proof == NULL)
        return;
    strbuf_done(&proof->request);
    strbuf_done(&proof->body);
    http1_done(&proof->reader);
    mem_free(proof);
}

bool proof_is_sending(const struct proof *proof)
{
    return proof->n_sent < proof->request.len;
}

int64_t proof_until_ms(const struct proof *proof)
{
    return proof->until_ms;
}

static enum proof_state lose(const char *what, struct error *why)
{
    error_set(why, ERROR_UNAVAILABLE, "%s: %m", what);
    return PROOF_LOST;
}

static enum proof_state fail(const char *what, struct error *why)
{
    error_set(why, ERROR_UNAVAILABLE, "the sandbox's server did not authenticate: %s", what);
    return PROOF_FAILS;
}

static enum proof_state send_more(struct proof *proof, int fd, struct error *why)
{
    while (proof_is_sending(proof)) {
        ssize_t n = send(fd, proof->request.text + proof->n_sent,
                         proof->request.len - proof->n_sent, MSG_NOSIGNAL);

        if (n < 0)
            return errno == EAGAIN ? PROOF_PENDING : lose("connect", why);
        proof->n_sent += (size_t)n;
    }
    proof->until_ms = clock_monotonic_ms() + ANSWER_MS;
    return PROOF_PENDING;
}

/* Checks a complete reply. */
static enum proof_state check(const struct proof *proof, struct error *why)
{
    json_auto_t *answer = NULL;
    struct error ignored = ERROR_INIT;

    if (proof->reader.status != STATUS_OK || !proof->reader.is_kept)
        return fail("it does not support mutual authentication", why);
    if (json_parse(proof->body.text, proof->body.len, &answer, &ignored) < 0)
        return fail("its reply is not valid JSON", why);
    if (!text_equal_secret(json_text_or(answer, "proof", ""), proof->expected))
        return fail("it does not have the sandbox's key", why);
    return PROOF_HOLDS;
}

static enum proof_state take_input(struct proof *proof, struct http1_input *input,
                                   struct error *why)
{
    struct http1_piece piece = {HTTP1_LINE, NULL, 0};
    struct error ignored = ERROR_INIT;

    while (piece.kind != HTTP1_NONE && piece.kind != HTTP1_END) {
        if (http1_next(&proof->reader, input, &piece, &ignored) < 0)
            return fail("its reply is not HTTP", why);
        if (piece.kind == HTTP1_BYTES)
            strbuf_append_bytes(&proof->body, piece.bytes, piece.len);
    }
    if (piece.kind == HTTP1_NONE)
        return PROOF_PENDING;
    /* Bytes sent unasked would be taken for the next reply. */
    return input->len == 0 ? check(proof, why) : fail("it sent data after its reply", why);
}

static enum proof_state receive_some(struct proof *proof, int fd, struct error *why)
{
    char buffer[RECEIVE_BYTES];
    ssize_t n = recv(fd, buffer, sizeof(buffer), 0);
    struct http1_input input = {buffer, n > 0 ? (size_t)n : 0};

    if (n < 0)
        return errno == EAGAIN ? PROOF_PENDING : lose("receive", why);
    if (n == 0) {
        errno = ECONNRESET;
        return proof->n_received == 0 ? lose("receive", why)
                                      : fail("it closed the connection", why);
    }
    proof->n_received += input.len;
    if (proof->n_received > ANSWER_MAX_BYTES)
        return fail("its reply is too long", why);
    return take_input(proof, &input, why);
}

enum proof_state proof_step(struct proof *proof, int fd, struct error *why)
{
    enum proof_state state = PROOF_PENDING;

    if (proof_is_sending(proof))
        state = send_more(proof, fd, why);
    return state == PROOF_PENDING && !proof_is_sending(proof) ? receive_some(proof, fd, why)
                                                              : state;
}

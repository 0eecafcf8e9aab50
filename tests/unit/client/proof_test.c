/*
 * The question for a proof and its answer, byte by byte: the test plays the server.
 */
#include "client/proof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sandbox_key.h"
#include "base/secret.h"

#define PROOF_KEY "the proof key"

enum { QUESTION_BYTES = 2048, CONNECT_MS = 5000, ANSWER_MS = 10000 };

/* One proof under way, and the other end of its connection. */
struct asked {
    struct proof *proof;
    int fd;
    int server_fd;
    char question[QUESTION_BYTES];
    char nonce[SANDBOX_NONCE_BYTES];
};

static void asked_done(struct asked *asked)
{
    proof_free(asked->proof);
    fd_close(&asked->fd);
    fd_close(&asked->server_fd);
}

/* What comes next is waited for so long, from some moment since then. */
static void assert_is_due(const struct proof *proof, int64_t since_ms, int64_t wait_ms)
{
    int64_t until_ms = proof_until_ms(proof);

    assert_true(until_ms >= since_ms + wait_ms);
    assert_true(until_ms <= clock_monotonic_ms() + wait_ms);
}

/* Asks as for a connection to that address. */
static struct asked ask(const char *host, uint16_t port)
{
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct asked asked = {.question = ""};
    struct error why = ERROR_INIT;
    int64_t begun_ms = clock_monotonic_ms();
    const char *nonce = NULL;
    int pair[2];

    assert_int_equal(inet_pton(AF_INET, host, &address.sin_addr), 1);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    asked.fd = pair[0];
    asked.server_fd = pair[1];
    secret_set(&key, PROOF_KEY);
    asked.proof = proof_new(&key, &address);
    assert_true(proof_is_sending(asked.proof));
    assert_is_due(asked.proof, begun_ms, CONNECT_MS);
    assert_int_equal(proof_step(asked.proof, asked.fd, &why), PROOF_PENDING);
    assert_false(proof_is_sending(asked.proof));
    assert_is_due(asked.proof, begun_ms, ANSWER_MS);
    assert_true(recv(asked.server_fd, asked.question, sizeof(asked.question) - 1, 0) > 0);
    nonce = strstr(asked.question, SANDBOX_NONCE_HEADER ": ");
    assert_non_null(nonce);
    memcpy(asked.nonce, nonce + strlen(SANDBOX_NONCE_HEADER ": "), SANDBOX_NONCE_CHARS);
    return asked;
}

/* Answers with the proof for that address, with headers before it and bytes after it. */
static enum proof_state answer(struct asked *asked, const char *address, const char *headers,
                               const char *tail)
{
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    char proof[CRYPTO_HASH_HEX_BYTES];
    char text[512];
    struct error why = ERROR_INIT;
    int len = 0;

    secret_set(&key, PROOF_KEY);
    sandbox_proof_make(&key, asked->nonce, address, proof);
    len = snprintf(text, sizeof(text),
                   "HTTP/1.1 200 OK\r\n%sContent-Length: 76\r\n\r\n{\"proof\":\"%s\"}%s", headers,
                   proof, tail);
    assert_int_equal(send(asked->server_fd, text, (size_t)len, MSG_NOSIGNAL), len);
    return proof_step(asked->proof, asked->fd, &why);
}

static void proof_is_for_the_address_that_was_asked_for(void **state)
{
    static const struct {
        const char *address;
        enum proof_state state;
    } cases[] = {
        {"10.1.2.3:8000", PROOF_HOLDS},
        {"10.1.2.3:8001", PROOF_FAILS},
        {"10.1.2.4:8000", PROOF_FAILS},
        {"127.0.0.1:8000", PROOF_FAILS},
        {"10.1.2.3:16415", PROOF_FAILS},
        {"10.1.2.3", PROOF_FAILS},
        {"", PROOF_FAILS},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(asked_done) struct asked asked = ask("10.1.2.3", 8000);

        assert_non_null(strstr(asked.question, "Host: 10.1.2.3:8000\r\n"));
        assert_int_equal(answer(&asked, cases[i].address, "", ""), cases[i].state);
    }
}

static void each_question_has_a_nonce_of_its_own(void **state)
{
    CLEANUP(asked_done) struct asked first = ask("127.0.0.1", 8000);
    CLEANUP(asked_done) struct asked second = ask("127.0.0.1", 8000);

    (void)state;
    assert_true(sandbox_nonce_is_valid(first.nonce));
    assert_string_not_equal(first.nonce, second.nonce);
    /* The reply to the first challenge does not answer the second. */
    memcpy(second.nonce, first.nonce, sizeof(second.nonce));
    assert_int_equal(answer(&second, "127.0.0.1:8000", "", ""), PROOF_FAILS);
}

/* They would be taken for the answer to the request that follows. */
static void bytes_after_the_proof_spoil_it(void **state)
{
    static const char *const tails[] = {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "x"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
        CLEANUP(asked_done) struct asked asked = ask("127.0.0.1", 8000);

        assert_int_equal(answer(&asked, "127.0.0.1:8000", "", tails[i]), PROOF_FAILS);
    }
}

/* The request that follows needs the connection. */
static void proof_on_a_connection_that_ends_is_none(void **state)
{
    CLEANUP(asked_done) struct asked asked = ask("127.0.0.1", 8000);

    (void)state;
    assert_int_equal(answer(&asked, "127.0.0.1:8000", "Connection: close\r\n", ""), PROOF_FAILS);
}

static void proof_may_come_in_pieces_and_after_interim_answers(void **state)
{
    CLEANUP(asked_done) struct asked asked = ask("127.0.0.1", 8000);
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 10";
    struct error why = ERROR_INIT;

    (void)state;
    assert_int_equal(proof_step(asked.proof, asked.fd, &why), PROOF_PENDING);
    assert_true(send(asked.server_fd, interim, sizeof(interim) - 1, MSG_NOSIGNAL) > 0);
    assert_int_equal(proof_step(asked.proof, asked.fd, &why), PROOF_PENDING);
    assert_true(send(asked.server_fd, "2 x\r\n\r\n", 7, MSG_NOSIGNAL) > 0);
    assert_int_equal(answer(&asked, "127.0.0.1:8000", "", ""), PROOF_HOLDS);
}

#define REFUSED "the sandbox's server did not authenticate: "

/* What the server answers, and what is said of it. */
static void server_that_fails_is_told_why(void **state)
{
    static const struct {
        const char *answer;
        enum proof_state state;
        const char *message;
    } cases[] = {
        {"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n{}", PROOF_FAILS,
         REFUSED "it does not support mutual authentication"},
        {"HTTP/1.1 201 Odd\r\nContent-Length: 2\r\n\r\n{}", PROOF_FAILS,
         REFUSED "it does not support mutual authentication"},
        {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", PROOF_FAILS,
         REFUSED "it does not support mutual authentication"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{", PROOF_FAILS,
         REFUSED "its reply is not valid JSON"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", PROOF_FAILS,
         REFUSED "it does not have the sandbox's key"},
        {"SSH-2.0-OpenSSH\r\n", PROOF_FAILS, REFUSED "its reply is not HTTP"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}x", PROOF_FAILS,
         REFUSED "it sent data after its reply"},
        {"HTTP/1.1 200 OK\r\n", PROOF_FAILS, REFUSED "it closed the connection"},
        {"", PROOF_LOST, "receive: Connection reset by peer"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(asked_done) struct asked asked = ask("127.0.0.1", 8000);
        size_t len = strlen(cases[i].answer);
        struct error why = ERROR_INIT;
        enum proof_state is = PROOF_PENDING;

        assert_int_equal(send(asked.server_fd, cases[i].answer, len, MSG_NOSIGNAL), (ssize_t)len);
        fd_close(&asked.server_fd);
        /* What came first, then the end. */
        for (int k = 0; k < 2 && is == PROOF_PENDING; k++)
            is = proof_step(asked.proof, asked.fd, &why);
        assert_int_equal(is, cases[i].state);
        assert_string_equal(why.message, cases[i].message);
        assert_int_equal(why.code, ERROR_UNAVAILABLE);
    }
}

static void question_is_a_request_for_the_proof(void **state)
{
    CLEANUP(asked_done) struct asked asked = ask("127.0.0.1", 8000);
    char expected[QUESTION_BYTES];

    (void)state;
    (void)snprintf(expected, sizeof(expected),
                   "GET " SANDBOX_PROOF_PATH " HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n"
                   "User-Agent: deft\r\nAccept: */*\r\n" SANDBOX_NONCE_HEADER ": %s\r\n\r\n",
                   asked.nonce);
    assert_string_equal(asked.question, expected);
}

/* A header of so many bytes in all, in pieces: the server may send 8192 bytes. */
static enum proof_state answer_long(size_t n_bytes)
{
    CLEANUP(asked_done) struct asked asked = ask("127.0.0.1", 8000);
    static const char head[] = "HTTP/1.1 200 OK\r\nX-Long: ";
    enum proof_state state = PROOF_PENDING;
    struct error why = ERROR_INIT;
    char text[16384];

    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < strlen(head); i++)
        text[i] = head[i];
    assert_int_equal(send(asked.server_fd, text, n_bytes, MSG_NOSIGNAL), (ssize_t)n_bytes);
    for (size_t i = 0; i <= n_bytes / 1024 && state == PROOF_PENDING; i++)
        state = proof_step(asked.proof, asked.fd, &why);
    return state;
}

static void reply_has_a_longest_length(void **state)
{
    (void)state;
    assert_int_equal(answer_long(8192), PROOF_PENDING);
    assert_int_equal(answer_long(8193), PROOF_FAILS);
}

static void server_that_has_gone_is_lost(void **state)
{
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    const struct sockaddr_in address = {.sin_family = AF_INET};
    struct proof *proof = NULL;
    struct error why = ERROR_INIT;
    int pair[2];

    (void)state;
    secret_set(&key, PROOF_KEY);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    fd_close(&pair[1]);
    proof = proof_new(&key, &address);
    assert_int_equal(proof_step(proof, pair[0], &why), PROOF_LOST);
    assert_string_equal(why.message, "connect: Broken pipe");
    proof_free(proof);
    proof_free(NULL);
    fd_close(&pair[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proof_is_for_the_address_that_was_asked_for),
        cmocka_unit_test(each_question_has_a_nonce_of_its_own),
        cmocka_unit_test(bytes_after_the_proof_spoil_it),
        cmocka_unit_test(proof_on_a_connection_that_ends_is_none),
        cmocka_unit_test(server_that_fails_is_told_why),
        cmocka_unit_test(question_is_a_request_for_the_proof),
        cmocka_unit_test(reply_has_a_longest_length),
        cmocka_unit_test(server_that_has_gone_is_lost),
        cmocka_unit_test(proof_may_come_in_pieces_and_after_interim_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

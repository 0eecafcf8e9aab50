/*
 * The proof that the server knows its key, over a real connection: the proof holds its address.
 */
#include "sandbox/http/server_proof.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/sandbox_key.h"
#include "base/strbuf.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_server.h"
#include "sandbox/http/server_request.h"
#include "unit/sandbox/sandbox_test.h"

#define NONCE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void on_answered(struct http_connection *connection)
{
    (void)connection;
}

/* A socket with an address of the loopback; the address as text. */
static int bind_socket(char address_out[32])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, len) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        abort();
    (void)snprintf(address_out, 32, "127.0.0.1:%u", ntohs(address.sin_port));
    return fd;
}

/* The status of the answer; its body in *body_out. */
static int ask(struct action_config *config, int fd, const char *header, struct strbuf *body_out)
{
    CLEANUP(http_head_done) struct http_head head = HTTP_HEAD_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct action_server server = {.config = config};
    struct server_request *request = NULL;
    struct error err = ERROR_INIT;
    size_t used = 0;
    int status = 0;

    strbuf_appendf(&text, "GET " SANDBOX_PROOF_PATH " HTTP/1.1\r\n%s\r\n", header);
    assert_int_equal(http_head_read(&head, text.text, text.len, &used, &err), 0);
    request = server_request_new(&server, &head);
    request->answered = on_answered;
    request->socket = fd;
    server_proof_handle(request);
    assert_true(request->is_answered);
    status = request->status;
    strbuf_reset(body_out);
    strbuf_append_bytes(body_out, request->reply.text, request->reply.len);
    server_request_free(request);
    return status;
}

static void proof_is_of_the_nonce_and_the_address(void **state)
{
    struct action_config config = {.open = 0};
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;
    char address[32] = "";
    char proof[CRYPTO_HASH_HEX_BYTES] = "";

    (void)state;
    fd = bind_socket(address);
    secret_set(&config.proof_key, "a key");
    sandbox_proof_make(&config.proof_key, NONCE, address, proof);
    assert_int_equal(ask(&config, fd, SANDBOX_NONCE_HEADER ": " NONCE "\r\n", &body), 200);
    assert_non_null(strstr(body.text, proof));
    secret_done(&config.proof_key);
}

/* Whoever may choose the text that is proved could have another text proved. */
static void only_a_nonce_is_proved(void **state)
{
    static const char *const headers[] = {
        "",
        SANDBOX_NONCE_HEADER ": \r\n",
        SANDBOX_NONCE_HEADER ": 0123\r\n",
        SANDBOX_NONCE_HEADER ": " NONCE "0\r\n",
        SANDBOX_NONCE_HEADER
        ": 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde:\r\n",
    };
    struct action_config config = {.open = 0};
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;
    char address[32] = "";

    (void)state;
    fd = bind_socket(address);
    secret_set(&config.proof_key, "a key");
    for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
        assert_int_equal(ask(&config, fd, headers[i], &body), 400);
        assert_null(strstr(body.text, "proof"));
    }
    /* Not an address of its own either: nothing could tell a relayed proof from a genuine one. */
    assert_int_equal(ask(&config, -1, SANDBOX_NONCE_HEADER ": " NONCE "\r\n", &body), 400);
    secret_done(&config.proof_key);
}

static void server_without_a_key_proves_nothing(void **state)
{
    struct action_config config = {.open = 1};
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;
    char address[32] = "";

    (void)state;
    fd = bind_socket(address);
    assert_int_equal(ask(&config, fd, SANDBOX_NONCE_HEADER ": " NONCE "\r\n", &body), 404);
}

int server_proof_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proof_is_of_the_nonce_and_the_address),
        cmocka_unit_test(only_a_nonce_is_proved),
        cmocka_unit_test(server_without_a_key_proves_nothing),
    };

    return cmocka_run_group_tests_name("server_proof", tests, NULL, NULL);
}

#include "sandbox/init.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "sandbox/action_routes.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_server.h"
#include "sandbox/http/http_route.h"
#include "sandbox/http/server_request.h"
#include "unit/sandbox/sandbox_test.h"

static void on_answered(struct http_connection *connection)
{
    (void)connection;
}

/* The status with which the head of a POST is refused, before its body; 0: it is accepted. */
static int status_of_head(struct action_config *config, const char *text)
{
    CLEANUP(http_head_done) struct http_head head = HTTP_HEAD_INIT;
    CLEANUP(mem_freep) char *param = NULL;
    struct action_server server = {.config = config};
    struct server_request *request = NULL;
    const struct http_route *route = NULL;
    struct error err = ERROR_INIT;
    size_t used = 0;
    int status = 0;

    assert_int_equal(http_head_read(&head, text, strlen(text), &used, &err), 0);
    route = http_route_find(&action_routes, head.method, head.path.text, &param, &err);
    assert_non_null(route);
    request = server_request_new(&server, &head);
    request->answered = on_answered;
    if (route->begin != NULL)
        route->begin(request);
    status = request->status;
    server_request_free(request);
    return status;
}

#define HEAD "POST /api/init HTTP/1.1\r\nContent-Length: 1000000\r\n"

/* Anyone can send a head: a body of 1.2 MB is kept for the holder of the key alone. */
static void key_is_checked_before_the_body(void **state)
{
    struct action_config config = {.open = 0};

    (void)state;
    secret_set(&config.init_key, "first");
    assert_int_equal(status_of_head(&config, HEAD "\r\n"), 401);
    assert_int_equal(status_of_head(&config, HEAD "X-Init-API-Key: second\r\n\r\n"), 401);
    assert_int_equal(status_of_head(&config, HEAD "X-Init-API-Key: first\r\n\r\n"), 0);
    secret_done(&config.init_key);
    secret_set(&config.api_key, "key");
    assert_int_equal(status_of_head(&config, HEAD "X-Init-API-Key: first\r\n\r\n"), 400);
    secret_done(&config.api_key);
}

int init_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_is_checked_before_the_body),
    };

    return cmocka_run_group_tests_name("init", tests, NULL, NULL);
}

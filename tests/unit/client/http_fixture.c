#include "client/http_fixture.h"

#include "base/mem.h"
#include "client/direct_connections.h"

const struct test_reply plain_reply[] = {{.bytes = NULL}};
const struct test_reply silent_reply[] = {{.bytes = "", .ending = TEST_HOLD}};

int fixture_set_up(void **state)
{
    struct fixture *fixture = NEW(struct fixture);
    struct error err = ERROR_INIT;

    *state = fixture;
    return http_open(&fixture->http, &err);
}

int fixture_set_up_direct(void **state)
{
    struct fixture *fixture = NULL;

    if (fixture_set_up(state) < 0)
        return -1;
    fixture = *state;
    fixture->direct = direct_connections_new();
    return 0;
}

int fixture_tear_down(void **state)
{
    struct fixture *fixture = *state;

    direct_connections_free(fixture->direct);
    http_free(fixture->http);
    mem_free(fixture);
    return 0;
}

int fixture_start(const struct fixture *fixture, const struct http_request *request,
                  struct http_call **call_out, struct error *err)
{
    struct http_request with_direct = *request;

    with_direct.direct = fixture->direct;
    return http_start(fixture->http, &with_direct, call_out, err);
}

struct http_request fixture_get(const char *url)
{
    return (struct http_request){
        .method = "GET", .url = url, .address_of = ADDRESS_OF_ADMINISTRATOR, .timeout_ms = 60000};
}

enum error_code fixture_run(const struct fixture *fixture, const struct http_request *request,
                            struct http_call **call_out)
{
    struct error err = ERROR_INIT;

    if (fixture_start(fixture, request, call_out, &err) < 0)
        return err.code;
    return http_wait(*call_out, &err) < 0 ? err.code : ERROR_NONE;
}

enum error_code fixture_run_get(const struct fixture *fixture, const char *url)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct http_request request = fixture_get(url);

    return fixture_run(fixture, &request, &call);
}

#include "worker/mcp/mcp_test.h"

#include <string.h>

#include "support/pg.h"

void mcp_start_request(struct test_server *server, struct strbuf *out)
{
    strbuf_appendf(out, "{\"agent\": {\"mcp_config\": {\"one\": {\"url\": \"%s\"}}}}",
                   test_server_url(server, "/mcp"));
}

size_t mcp_n_requests(struct test_server *server, const char *method)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    size_t n = 0;

    strbuf_appendf(&name, "\"method\":\"%s\"", method);
    for (size_t i = 0; i < test_server_n_requests(server); i++)
        n += strstr(test_server_request(server, i), name.text) != NULL;
    return n;
}

int main(int argc, char **argv)
{
    (void)argc;
    test_need_postgres(argv);
    return variables_tests() + ended_sessions_tests() + program_call_tests() +
           program_progress_tests() + server_listing_tests() + server_call_tests() +
           server_progress_tests() + server_token_tests() + project_servers_tests() +
           stream_call_tests();
}

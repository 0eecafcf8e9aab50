#include "unit/sandbox/tools_tests.h"

#include "base/json.h"

int main(void)
{
    int n_failed = 0;

    json_setup();
    n_failed += editor_commands_tests();
    n_failed += mcp_program_tests();
    n_failed += mcp_programs_tests();
    n_failed += mcp_replies_tests();
    n_failed += ports_routes_tests();
    n_failed += preview_connections_tests();
    n_failed += server_status_tests();
    n_failed += action_config_tests();
    return n_failed > 0;
}

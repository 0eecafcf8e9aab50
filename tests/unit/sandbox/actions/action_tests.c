#include "unit/sandbox/actions/action_tests.h"

#include "base/json.h"

int main(void)
{
    int n_failed = 0;

    json_setup();
    n_failed += action_requests_tests();
    n_failed += action_tools_tests();
    n_failed += hook_tool_tests();
    return n_failed > 0;
}

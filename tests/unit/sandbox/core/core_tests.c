#include "unit/sandbox/core/core_tests.h"

#include "base/json.h"

int main(void)
{
    int n_failed = 0;

    json_setup();
    n_failed += action_routes_tests();
    n_failed += child_process_tests();
    n_failed += event_loop_tests();
    n_failed += memory_kills_tests();
    n_failed += textfile_tests();
    n_failed += tunnel_tests();
    return n_failed > 0;
}

#include "unit/sandbox/bash/bash_tests.h"

#include "base/json.h"

int main(void)
{
    int n_failed = 0;

    json_setup();
    n_failed += bash_commands_tests();
    n_failed += bash_events_tests();
    n_failed += bash_search_tests();
    return n_failed > 0;
}

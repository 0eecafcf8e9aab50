#include "unit/sandbox/terminal/terminal_tests.h"

#include "base/json.h"

int main(void)
{
    int n_failed = 0;

    json_setup();
    n_failed += terminal_tests();
    n_failed += terminal_ends_tests();
    n_failed += terminal_running_tests();
    return n_failed > 0;
}

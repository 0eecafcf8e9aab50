#include "unit/sandbox/legacy/legacy_tests.h"

#include "base/json.h"

int main(void)
{
    int n_failed = 0;

    json_setup();
    n_failed += legacy_actions_tests();
    n_failed += legacy_files_tests();
    n_failed += legacy_transfer_tests();
    n_failed += python_repl_tests();
    return n_failed > 0;
}

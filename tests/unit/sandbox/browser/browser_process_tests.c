#include "unit/sandbox/browser/browser_process_tests.h"

#include "base/json.h"

int main(void)
{
    int n_failed = 0;

    json_setup();
    n_failed += browser_process_tests();
    n_failed += chromium_tests();
    return n_failed > 0;
}

#include "unit/sandbox/checkpoint/checkpoint_tests.h"

#include "base/json.h"

int main(void)
{
    int n_failed = 0;

    json_setup();
    n_failed += file_list_tests();
    n_failed += object_store_tests();
    n_failed += file_snapshot_tests();
    n_failed += checkout_tests();
    n_failed += checkpoint_routes_tests();
    return n_failed > 0;
}

#include "worker/agent_test.h"

#include "support/pg.h"

int main(int argc, char **argv)
{
    int n_failed = 0;

    (void)argc;
    test_need_postgres(argv);
    n_failed += condensed_history_tests();
    n_failed += delta_outbox_tests();
    n_failed += event_writer_tests();
    n_failed += hook_reading_tests();
    n_failed += pending_call_tests();
    n_failed += project_reading_tests();
    n_failed += sandbox_call_tests();
    n_failed += sandbox_http_tests();
    n_failed += sandbox_tests();
    return n_failed > 0;
}

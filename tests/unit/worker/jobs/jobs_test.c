#include "worker/jobs/jobs_test.h"

#include "support/pg.h"

int main(int argc, char **argv)
{
    int n_failed = 0;

    (void)argc;
    test_need_postgres(argv);
    n_failed += ask_agent_tests();
    n_failed += condense_tests();
    n_failed += goal_tests();
    n_failed += job_conversation_tests();
    n_failed += job_tests();
    n_failed += title_tests();
    return n_failed > 0;
}

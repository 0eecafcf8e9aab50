#include "worker/worker_test.h"

#include "base/json.h"

int main(void)
{
    int n_failed = 0;

    json_setup();
    n_failed += run_control_tests();
    n_failed += database_retry_tests();
    n_failed += call_plan_tests();
    n_failed += event_size_tests();
    n_failed += history_tests();
    n_failed += secret_list_tests();
    n_failed += message_forms_tests();
    n_failed += messages_tests();
    n_failed += model_tests();
    n_failed += observation_tests();
    n_failed += policy_tests();
    n_failed += receivers_tests();
    n_failed += stuck_tests();
    n_failed += takeover_tests();
    n_failed += vision_tests();
    n_failed += task_tracker_tests();
    n_failed += token_gauge_tests();
    n_failed += invoke_skill_tests();
    n_failed += model_view_tests();
    n_failed += worker_tool_tests();
    return n_failed > 0;
}

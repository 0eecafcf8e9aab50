#include "unit/runtime/runtime_test.h"

#include "base/json.h"

int main(void)
{
    json_setup();
    return test_build_context() + test_build_form() + test_dockerfile() + test_demand() +
           test_dns() + test_docker_body() + test_egress_book() + test_egress_policy() +
           test_failure() + test_frames() + test_gate() + test_nflog() + test_process() +
           test_process_group() + test_resolver() + test_rules() + test_rules_log() +
           test_sandbox_users() + test_spares() + test_spec() + test_state() + test_tally() +
           test_tar();
}

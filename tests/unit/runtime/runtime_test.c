#include "unit/runtime/runtime_test.h"

#include "base/json.h"

int main(void)
{
    json_setup();
    return test_build_context() + test_build_form() + test_command_run() + test_container_config() +
           test_denial_counter() + test_dns_answer() + test_dns_message() + test_dns_sockets() +
           test_dns_tcp() + test_dnsmasq_command() + test_dockerfile() + test_dockerfile_text() +
           test_dockerfile_variables() + test_image_source() + test_iptables() +
           test_egress_policy() + test_egress_settings() + test_egress_table() +
           test_failure_reason() + test_firewall() + test_firewall_log() + test_log_demux() +
           test_nflog() + test_nflog_parse() + test_pool_sizing() + test_prealloc() +
           test_runtime_lock() + test_runtime_metrics() + test_runtime_record() +
           test_runtime_state() + test_service() + test_sandbox_users() + test_start_queue() +
           test_start_spec() + test_tar() + test_tenant();
}

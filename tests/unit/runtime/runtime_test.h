/*
 * The groups of the runtime service's unit tests; each returns the number of failures.
 */
#ifndef DEFT_TESTS_UNIT_RUNTIME_RUNTIME_TEST_H
#define DEFT_TESTS_UNIT_RUNTIME_RUNTIME_TEST_H

int test_build_context(void);
int test_build_form(void);
int test_command_run(void);
int test_container_config(void);
int test_denial_counter(void);
int test_dns_answer(void);
int test_dns_message(void);
int test_dns_sockets(void);
int test_dns_tcp(void);
int test_dnsmasq_command(void);
int test_dockerfile(void);
int test_dockerfile_text(void);
int test_dockerfile_variables(void);
int test_egress_policy(void);
int test_egress_settings(void);
int test_egress_table(void);
int test_failure_reason(void);
int test_firewall(void);
int test_firewall_log(void);
int test_image_source(void);
int test_iptables(void);
int test_log_demux(void);
int test_nflog(void);
int test_nflog_parse(void);
int test_pool_sizing(void);
int test_prealloc(void);
int test_runtime_lock(void);
int test_runtime_metrics(void);
int test_runtime_record(void);
int test_runtime_state(void);
int test_sandbox_users(void);
int test_service(void);
int test_start_queue(void);
int test_start_spec(void);
int test_tar(void);
int test_tenant(void);

#endif

/*
 * The groups of the runtime service's unit tests; each returns the number of failures.
 */
#ifndef DEFT_TESTS_UNIT_RUNTIME_RUNTIME_TEST_H
#define DEFT_TESTS_UNIT_RUNTIME_RUNTIME_TEST_H

int test_build_context(void);
int test_build_form(void);
int test_demand(void);
int test_dns(void);
int test_docker_body(void);
int test_dockerfile(void);
int test_egress_book(void);
int test_egress_policy(void);
int test_failure(void);
int test_frames(void);
int test_gate(void);
int test_nflog(void);
int test_process(void);
int test_process_group(void);
int test_resolver(void);
int test_rules(void);
int test_rules_log(void);
int test_sandbox_users(void);
int test_spares(void);
int test_spec(void);
int test_state(void);
int test_tally(void);
int test_tar(void);

#endif

/*
 * Tests of a worker's jobs, a group per module, over a real PostgreSQL and a model of canned
 * answers.
 */
#ifndef DEFT_TESTS_UNIT_WORKER_JOBS_JOBS_TEST_H
#define DEFT_TESTS_UNIT_WORKER_JOBS_JOBS_TEST_H

#include "worker/jobs/job_fixture.h"

int ask_agent_tests(void);
int condense_tests(void);
int goal_tests(void);
int job_conversation_tests(void);
int job_tests(void);
int title_tests(void);

#endif

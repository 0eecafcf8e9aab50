/*
 * The suites of this program.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_CHECKPOINT_CHECKPOINT_TESTS_H
#define DEFT_TESTS_UNIT_SANDBOX_CHECKPOINT_CHECKPOINT_TESTS_H

int file_list_tests(void);
int object_store_tests(void);
int file_snapshot_tests(void);
int checkout_tests(void);
int checkpoint_routes_tests(void);

#endif

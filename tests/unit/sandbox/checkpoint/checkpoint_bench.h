/*
 * A workspace and a store in a folder of the test's own.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_CHECKPOINT_CHECKPOINT_BENCH_H
#define DEFT_TESTS_UNIT_SANDBOX_CHECKPOINT_CHECKPOINT_BENCH_H

#include "base/attr.h"
#include "sandbox/checkpoint/file_snapshot.h"
#include "sandbox/checkpoint/object_store.h"
#include "unit/sandbox/sandbox_test.h"

struct checkpoint_bench {
    char folder[32]; /* removed after the test */
    char workspace[48];
    char state[48];
};

int checkpoint_bench_set_up(void **state);
int checkpoint_bench_tear_down(void **state);

/* Runs a line of sh in the workspace, with $STATE and $GIT (git for the store); it must succeed. */
void bench_run(struct checkpoint_bench *bench, const char *line) NONNULL;
/* Takes a checkpoint, with its own store. */
void bench_take(struct checkpoint_bench *bench, struct file_snapshot *snapshot) NONNULL;

#define CHECKPOINT_TEST(name)                                                                      \
    cmocka_unit_test_setup_teardown(name, checkpoint_bench_set_up, checkpoint_bench_tear_down)

#endif

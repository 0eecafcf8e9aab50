/*
 * The Docker back end with a container engine that a test plays.
 *
 * Ownership: docker_tear_down() releases everything.
 */
#ifndef DEFT_TESTS_UNIT_RUNTIME_DOCKER_DOCKER_FIXTURE_H
#define DEFT_TESTS_UNIT_RUNTIME_DOCKER_DOCKER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "runtime/docker/docker.h"
#include "unit/runtime/docker/fake_engine.h"

#define TEST_ACTION "the program"

/* The filter for objects of this instance, as in a path. */
#define FILTER_OURS "filters=%7B%22label%22%3A%5B%22deft.instance%3Dinst%22%5D%7D"

struct docker_fixture {
    struct fake_engine *engine;
    struct http *http;
    struct docker_settings settings; /* as given to the back end */
    struct backend *backend;
    struct docker *docker; /* the same */
    char action_path[96];
    char bundle_path[96];
    struct error err; /* of the last call */
};

/* An engine that creates and removes everything. *state is a struct docker_fixture. */
int docker_set_up(void **state);
int docker_tear_down(void **state);

/* As if the engine had been reached. */
void docker_be_up(struct docker_fixture *fixture) NONNULL;
/* Another back end on the same engine, with the present settings. */
void docker_restart(struct docker_fixture *fixture) NONNULL;
/* The name of the one network, or home, that is taken first. */
void docker_add_ready(struct docker_fixture *fixture, const char *network,
                      const char *home) NONNULL;
bool docker_knows(const struct docker_fixture *fixture, enum prealloc_kind kind,
                  const char *name) NONNULL MUST_CHECK;
/* Fails unless exactly that was asked, as in fake_engine_asked(); forgets it. */
void assert_asked(struct docker_fixture *fixture, const char *expected) NONNULL;

#define DOCKER_TEST(name) cmocka_unit_test_setup_teardown(name, docker_set_up, docker_tear_down)

int docker_cleanup_tests(void);
int docker_container_tests(void);
int docker_engine_tests(void);
int docker_events_tests(void);
int docker_home_tests(void);
int docker_image_build_tests(void);
int docker_image_lookup_tests(void);
int docker_network_tests(void);
int docker_shared_objects_tests(void);
int docker_start_tests(void);

#endif

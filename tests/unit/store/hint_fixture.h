/*
 * A process that writes to the store, one that listens to its hints, and a store without hints for
 * writes whose hints a test does not look at.
 */
#ifndef DEFT_TESTS_UNIT_STORE_HINT_FIXTURE_H
#define DEFT_TESTS_UNIT_STORE_HINT_FIXTURE_H

#include "store/db/hints.h"

struct db;
struct store_fixture;
struct uuid;

enum {
    DEADLINE_MS = 60000,
    EVENTS = 1U << HINT_EVENTS,
    WORK = 1U << HINT_WORK,
    CONTROL = 1U << HINT_CONTROL,
    RUNTIME = 1U << HINT_RUNTIME,
    ALL_KINDS = (1U << HINT_N_KINDS) - 1,
};

struct hint_fixture {
    struct store_fixture *plain;
    struct db *db;
    struct hints *sender; /* of db */
    struct hints *listener;
};

int hint_fixture_set_up(void **state);
int hint_fixture_tear_down(void **state);
/*
 * The kinds of hints with that id that were queued so far. A hint of the kind that is sent last
 * marks the end.
 */
unsigned hint_fixture_heard(const struct hint_fixture *fixture, const struct uuid *id);

#endif

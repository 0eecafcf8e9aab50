/*
 * The catalogue of the source tree, for tests of code that renders its texts.
 */
#ifndef DEFT_TESTS_UNIT_SUPPORT_TEST_CATALOGUE_H
#define DEFT_TESTS_UNIT_SUPPORT_TEST_CATALOGUE_H

#include "base/attr.h"

struct catalogue;

/* Read at the first call, and kept; ends the program when it does not parse. From one thread. */
struct catalogue *test_catalogue(void) MUST_CHECK;

#endif

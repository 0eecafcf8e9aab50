/*
 * The rules of Gemini's native API for the order of contents, as its fake has them
 * (tests/fakes/gemini-check.mjs).
 */
#ifndef DEFT_TESTS_UNIT_WORKER_CORE_GEMINI_RULES_H
#define DEFT_TESTS_UNIT_WORKER_CORE_GEMINI_RULES_H

#include "base/attr.h"

struct history;

/* Fails the test unless a model of the third generation takes the history. */
void assert_gemini_takes(const struct history *history) NONNULL;

#endif

/*
 * Assertions on a member anywhere in a JSON text, by value.
 */
#ifndef DEFT_TESTS_UNIT_SUPPORT_JSON_PATH_H
#define DEFT_TESTS_UNIT_SUPPORT_JSON_PATH_H

#include "base/attr.h"

/*
 * Fails the test unless the member at path has the expected value.
 *
 * path:     names and indices, such as "detail[0].loc" or "[2].id"; "" is the whole text.
 * expected: a JSON text ("\"idle\"", "3", "{\"a\":1}"); NULL means that there is no such member.
 */
#define assert_json_at(text, path, expected)                                                       \
    assert_json_at_line((text), (path), (expected), __FILE__, __LINE__)

void assert_json_at_line(const char *text, const char *path, const char *expected, const char *file,
                         int line);

#endif

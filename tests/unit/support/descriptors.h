/*
 * The descriptors of the test's own process: a test that counts them sees one that is not closed.
 */
#ifndef DEFT_TESTS_UNIT_SUPPORT_DESCRIPTORS_H
#define DEFT_TESTS_UNIT_SUPPORT_DESCRIPTORS_H

/* The number of open ones. */
int descriptors_count(void);

#endif

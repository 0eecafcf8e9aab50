/*
 * The tests of the routes for files, a group per subject.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_FILES_TESTS_H
#define DEFT_TESTS_UNIT_SANDBOX_FILES_TESTS_H

int upload_tests(void);
int download_tests(void);
int directories_tests(void);
int archive_tests(void);
int project_files_tests(void);

#endif

/*
 * HTTP statuses of errors, and their reason phrases: the one table of both.
 */
#ifndef DEFT_WEB_REPLY_STATUS_H
#define DEFT_WEB_REPLY_STATUS_H

#include "base/attr.h"
#include "base/error.h"

/* The status of a failure. Below 500 the error's message is for the client. */
int reply_status(enum error_code code) MUST_CHECK;
/* The reason phrase of a status, such as "Not Found"; a static string. */
const char *reply_phrase(int status) MUST_CHECK;

#endif

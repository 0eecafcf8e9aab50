/*
 * Routes that report the server's state.
 */
#ifndef DEFT_SANDBOX_STATUS_H
#define DEFT_SANDBOX_STATUS_H

#include "base/attr.h"

struct request;

void status_handle_alive(struct request *request) NONNULL;
void status_handle_ready(struct request *request) NONNULL;
void status_handle_info(struct request *request) NONNULL;

#endif

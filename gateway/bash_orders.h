/*
 * Commands that clients sent on their sockets, queued until the sandbox accepts them: one at a
 * time, to keep each client's order.
 *
 * Ownership: the orders own their texts; when a socket closes it is detached from its orders, which
 * are still carried out.
 */
#ifndef DEFT_GATEWAY_BASH_ORDERS_H
#define DEFT_GATEWAY_BASH_ORDERS_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct bash_socket;
struct error;

struct bash_order {
    struct bash_order *next;
    struct bash_socket *from; /* notified of a failure; NULL when it is closed */
    char *body;               /* of the sandbox's start_bash_command */
};

struct bash_orders {
    struct bash_order *first;
    struct bash_order *last;
    size_t n;
};

/* Reads {"command", "cwd"?, "timeout"?} into an order without a sender. ERROR_INVALID. */
int bash_order_read(const json_t *frame, struct bash_order **order_out,
                    struct error *err) NONNULL MUST_CHECK;
/* Takes ownership of the order. */
void bash_orders_add(struct bash_orders *orders, struct bash_order *order) NONNULL;
/* Removes the first order; there must be one. */
void bash_orders_drop_first(struct bash_orders *orders) NONNULL;
void bash_orders_done(struct bash_orders *orders) NONNULL;
/* Detaches a socket that is closing from its orders. */
void bash_orders_forget(struct bash_orders *orders, const struct bash_socket *socket) NONNULL;

#endif

/*
 * Commands that clients asked for on their sockets, until the sandbox has them: one after the
 * other, so that a client's order stands.
 *
 * Ownership: the orders own their texts; a socket that goes away takes its name off its orders,
 * which are carried out all the same.
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
    struct bash_socket *from; /* who hears of a failure; NULL when it is gone */
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
/* Takes the order. */
void bash_orders_add(struct bash_orders *orders, struct bash_order *order) NONNULL;
/* The first one is done with; there is one. */
void bash_orders_drop_first(struct bash_orders *orders) NONNULL;
void bash_orders_done(struct bash_orders *orders) NONNULL;
/* The socket goes away. */
void bash_orders_forget(struct bash_orders *orders, const struct bash_socket *socket) NONNULL;

#endif

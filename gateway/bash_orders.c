#include "gateway/bash_orders.h"

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"

enum { TIMEOUT_DEFAULT_S = 300, TIMEOUT_MAX_S = 3600 };

static int check(const json_t *frame, struct error *err)
{
    const json_t *cwd = json_object_get(frame, "cwd");
    const json_t *timeout = json_object_get(frame, "timeout");

    if (!json_is_string(json_object_get(frame, "command")))
        return error_set(err, ERROR_INVALID, "a command is an object with the text `command`");
    if (cwd != NULL && !json_is_null(cwd) && !json_is_string(cwd))
        return error_set(err, ERROR_INVALID, "cwd is a text or null");
    if (timeout != NULL && (!json_is_integer(timeout) || json_integer_value(timeout) < 1 ||
                            json_integer_value(timeout) > TIMEOUT_MAX_S))
        return error_set(err, ERROR_INVALID, "timeout is from 1 to %d seconds", TIMEOUT_MAX_S);
    return 0;
}

int bash_order_read(const json_t *frame, struct bash_order **order_out, struct error *err)
{
    json_auto_t *body = json_object();

    if (check(frame, err) < 0)
        return -1;
    json_put(body, "command", json_incref(json_object_get(frame, "command")));
    json_put_text(body, "cwd", json_text_or(frame, "cwd", NULL));
    json_put(body, "timeout", json_integer(json_int_or(frame, "timeout", TIMEOUT_DEFAULT_S)));
    *order_out = NEW(struct bash_order);
    (*order_out)->body = json_to_text(body);
    return 0;
}

void bash_orders_add(struct bash_orders *orders, struct bash_order *order)
{
    if (orders->last != NULL)
        orders->last->next = order;
    else
        orders->first = order;
    orders->last = order;
    orders->n++;
}

void bash_orders_drop_first(struct bash_orders *orders)
{
    struct bash_order *first = orders->first;

    orders->first = first->next;
    if (orders->first == NULL)
        orders->last = NULL;
    orders->n--;
    mem_free(first->body);
    mem_free(first);
}

void bash_orders_done(struct bash_orders *orders)
{
    while (orders->first != NULL)
        bash_orders_drop_first(orders);
}

void bash_orders_forget(struct bash_orders *orders, const struct bash_socket *socket)
{
    for (struct bash_order *order = orders->first; order != NULL; order = order->next) {
        if (order->from == socket)
            order->from = NULL;
    }
}

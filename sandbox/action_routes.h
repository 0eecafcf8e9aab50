/*
 * The table of all routes of deft-action.
 */
#ifndef DEFT_SANDBOX_ACTION_ROUTES_H
#define DEFT_SANDBOX_ACTION_ROUTES_H

struct http_route_table;

extern const struct http_route_table action_routes;

#endif

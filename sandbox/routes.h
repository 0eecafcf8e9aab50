/*
 * The table of all routes of deft-action.
 */
#ifndef DEFT_SANDBOX_ROUTES_H
#define DEFT_SANDBOX_ROUTES_H

struct route_table;

extern const struct route_table action_routes;

#endif

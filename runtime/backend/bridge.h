/*
 * What sandbox bridges are called: dsb, four digits that stand for the instance, eight of its own;
 * the network's name ends with the same twelve. So packet filter rules can be one instance's alone,
 * and a packet can be told to be one sandbox's.
 *
 * Threading: no state.
 */
#ifndef DEFT_RUNTIME_BACKEND_BRIDGE_H
#define DEFT_RUNTIME_BACKEND_BRIDGE_H

#include <stdbool.h>

#include "base/attr.h"
#include "runtime/backend/spares.h"

/* IFNAMSIZ. */
#define BRIDGE_NAME_BYTES 16
#define BRIDGE_TAG_BYTES 5
#define BRIDGE_ID_BYTES 13

/* Four hex digits; two instances on one host seldom share them, and nothing but log entries depends
 * on that. */
void bridge_tag(const char *instance, char tag[BRIDGE_TAG_BYTES]) NONNULL;
/* Random digits for a new network, the instance's first. */
void bridge_new_id(const char *instance, char id[BRIDGE_ID_BYTES]) NONNULL;
/* The network with that id, and its bridge. */
void bridge_network_name(const char *instance, const char *id,
                         char network[SPARE_NAME_BYTES]) NONNULL;
void bridge_name(const char *id, char name[BRIDGE_NAME_BYTES]) NONNULL;
/* The network of a bridge; false when that is none of the instance's. */
bool bridge_find_network(const char *instance, const char *bridge,
                         char network[SPARE_NAME_BYTES]) NONNULL MUST_CHECK;
/* True when the instance's rules see the network's bridge: one of an older deft has another name.
 */
bool bridge_is_seen(const char *instance, const char *network) NONNULL MUST_CHECK;

#endif

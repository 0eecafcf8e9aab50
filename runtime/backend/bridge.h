/*
 * Names of sandbox bridges: dsb, four digits of the instance, eight digits of the network; the
 * network's name ends with the same twelve. So packet filter rules can match one instance's
 * bridges, and a packet can be attributed to one sandbox.
 *
 * Threading: no state.
 */
#ifndef DEFT_RUNTIME_BACKEND_BRIDGE_H
#define DEFT_RUNTIME_BACKEND_BRIDGE_H

#include <stdbool.h>

#include "base/attr.h"
#include "runtime/backend/prealloc.h"

/* IFNAMSIZ. */
#define BRIDGE_NAME_BYTES 16
#define BRIDGE_TAG_BYTES 5
#define BRIDGE_ID_BYTES 13

/* Four hex digits; two instances on one host seldom share them, which affects only log entries. */
void bridge_tag(const char *instance, char tag[BRIDGE_TAG_BYTES]) NONNULL;
/* Random digits for a new network, preceded by the instance's. */
void bridge_new_id(const char *instance, char id[BRIDGE_ID_BYTES]) NONNULL;
/* Names of the network with that id, and of its bridge. */
void bridge_network_name(const char *instance, const char *id,
                         char network[PREALLOC_NAME_BYTES]) NONNULL;
void bridge_name(const char *id, char name[BRIDGE_NAME_BYTES]) NONNULL;
/* The network of a bridge; false if the bridge is not this instance's. */
bool bridge_find_network(const char *instance, const char *bridge,
                         char network[PREALLOC_NAME_BYTES]) NONNULL MUST_CHECK;
/* True if the instance's rules match the network's bridge: those of older versions are named
 * differently. */
bool bridge_is_seen(const char *instance, const char *network) NONNULL MUST_CHECK;

#endif

/*
 * A tool that an agent may have: an entry of the catalogue.
 */
#ifndef DEFT_MODEL_TOOLS_TOOL_H
#define DEFT_MODEL_TOOLS_TOOL_H

#include <stdbool.h>

#include "model/catalogue/catalogue.h"

struct object_schema;

/* How a tool runs. */
enum tool_place {
    TOOL_IN_SANDBOX,
    TOOL_IN_WORKER,
    TOOL_AT_SERVER,    /* an MCP server runs it */
    TOOL_IN_CLIENT,    /* the client gets the call; the agent does not wait for a result */
    TOOL_IN_CHILD,     /* starts another conversation, which the agent does not wait for */
    TOOL_IN_SUB_AGENT, /* starts another conversation; its end is the result */
    TOOL_IN_DELEGATES, /* starts several; the end of all is the result */
    TOOL_ENDS_RUN,
    TOOL_N_PLACES
};

/* Do sandboxes of this installation have a browser? */
enum sandbox_browser { SANDBOX_WITHOUT_BROWSER, SANDBOX_WITH_BROWSER };

struct tool {
    const char *name;             /* terminal */
    const char *title;            /* NULL if it has none */
    const char *kind;             /* TerminalTool */
    const char *action_kind;      /* TerminalAction */
    const char *observation_kind; /* TerminalObservation */
    enum tool_place place;
    bool is_read_only;
    const struct object_schema *schema; /* the members of its action: the arguments */
    enum catalogue_text text;           /* its description, with a part for each argument */
    const char *hints;                  /* d: destructive, i: idempotent, w: open world */
    const char *spec_names;             /* names in agent specifications: "a|b" */
    const char *set_names;              /* of the browser's set that includes it; NULL: in none */
    const char *resource;        /* that a call occupies: see resource_keys.h; NULL: by its name */
    const char *resource_member; /* of the action; its value completes the key; NULL: none */
    const char *told_set;        /* a set of this tool alone, listed in addition; NULL: none */
};

#endif

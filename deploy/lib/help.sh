# The texts of `./deft --help`, `./deft COMMAND --help` and `./deft --version`. None of them needs root.
# shellcheck shell=sh

usage() {
    cat <<'USAGE'
deft: a self-hosted platform for AI coding agents that work in sandboxes.

  ./deft up               build what changed, start what is not running, print a sign-in link
  ./deft down [--purge]   stop what `up` started; --purge also removes sandboxes and all data
  ./deft status           show each process with its memory; exit status 1 if one is down
  ./deft logs [process]   follow the logs: postgres, nginx, fcgi, gateway, worker, runtime, resolver
  ./deft key [NAME]       print a new API key
  ./deft key --runtime NAME  print a new key of the Runtime API (/runtime-api)
  ./deft key --list       list the keys: id, time of creation, state, kind, name
  ./deft key --revoke ID  revoke a key, by its id, or by its name if that is unique
  ./deft link             print a new one-time sign-in link
  ./deft test [pattern]   run all tests, or those whose name contains the pattern
  ./deft test --conformance
                          run the tests of the protocol checklists, and list items without a test
  ./deft bench [figure] [--json]
                          measure the figures of SPECIFICATION.md
  ./deft bench tasks [task] [--json]
                          let a real model do the tasks of tests/tasks
  ./deft doctor           check everything that deft needs, with a fix for each failed check
  ./deft COMMAND --help   describe a command and its settings
  ./deft --version        print the version of this checkout
  ./deft --help           print this text

Settings come from the environment, or from lines NAME=VALUE in the file deft.env next to this script:
USAGE
    help_settings
}

help_settings() {
    cat <<'SETTINGS'
  LLM_MODEL, LLM_API_KEY, LLM_BASE_URL   the language model; `up` stores it, an empty value removes
                                         it; without one a scripted model is used
  DEFT_APP_PORT (3000), DEFT_AGENT_PORT (8000), DEFT_LISTEN (127.0.0.1)
  DEFT_APP_URL       URL of the page for browsers (http://localhost and its port)
  DEFT_AGENT_URL     URL of the agent API for clients (http://localhost and its port)
  DEFT_HOSTNAMES     further host names of the page, separated by spaces
  DEFT_VAR           the state directory (var next to this script)
  DEFT_INSTANCE      prefix of containers, volumes and networks (derived from DEFT_VAR)
  DEFT_DOCKER_SOCKET the container engine (/var/run/docker.sock)
  DEFT_RUNTIME       docker (the default), or process: no container engine, sandboxes are
                     processes of this host (bubblewrap), which isolates less
  DEFT_SANDBOX_BROWSER  1: sandboxes have Chromium, agents get browser tools; `up` builds the image
SETTINGS
}

help_up() {
    cat <<'HELP'
Usage: ./deft up

Installs missing packages, builds what changed, applies database migrations, starts each process as a
user of its own, and prints a one-time sign-in link. It can be run again at any time: steps that are
already done are skipped.

Settings, from the environment or from lines NAME=VALUE in deft.env:
HELP
    help_settings
    cat <<'HELP'
docs/operations.md lists the settings of each process; names begin with DEFT_, LLM_, LOG_ or OH_.
HELP
}

help_down() {
    cat <<'HELP'
Usage: ./deft down [--purge [--yes]]

Stops what `up` started. Conversations, keys and the files of sandboxes are kept.
  --purge  also remove conversations, keys, sandboxes, workspaces and logs, after a confirmation
  --yes    with --purge: do not ask for confirmation
Settings: DEFT_VAR (which instance).
HELP
}

help_status() {
    cat <<'HELP'
Usage: ./deft status

Prints one line for each process, with its user and memory, then one for each service that they need.
The exit status is 1 if something is down or runs as the wrong user.
Settings: DEFT_VAR (which instance).
HELP
}

help_logs() {
    cat <<'HELP'
Usage: ./deft logs [PROCESS]

Follows the logs of all processes or of one: postgres, nginx, fcgi, gateway, worker, runtime, resolver.
The files are var/log/PROCESS/current, readable by root and members of the group deft-log.
Settings: DEFT_VAR (which instance), LINES_SHOWN (20: earlier lines to show).
HELP
}

help_key() {
    cat <<'HELP'
Usage: ./deft key [NAME]
       ./deft key --runtime NAME
       ./deft key --list
       ./deft key --revoke ID

Creates, lists and revokes API keys. A key is shown only once, when it is created.
  NAME            create an API key of that name ("deft key") and print it
  --runtime NAME  create a key of the Runtime API and print it
  --list          list the keys: id, time of creation (UTC), valid or revoked, kind, name
  --revoke ID     revoke a key and remove the sandboxes that it created; instead of the id, the
                  name of the key if only one valid key has it
Settings: DEFT_VAR (which instance).
HELP
}

help_link() {
    cat <<'HELP'
Usage: ./deft link

Prints a new one-time sign-in link, valid for a day.
Settings: DEFT_VAR (which instance), DEFT_APP_URL (the link's host).
HELP
}

help_test() {
    cat <<'HELP'
Usage: ./deft test [PATTERN]
       ./deft test --all | --conformance | --slowest

Starts instances of its own, runs the tests against them, and removes them.
  PATTERN        only files whose path, or tests whose name, contains it; or a suite: page, lint, asan,
                 tsan, or analyze, fuzz and races, which a normal run leaves out
  --all          all suites including those three; takes hours
  --conformance  the tests of the protocol checklists; lists items without a test
  --slowest      print the thirty slowest files and programs of the last run; runs nothing
Settings: DEFT_KEEP (1: keep the instances), DEFT_RUNTIME, DEFT_TEST_INSTANCES_MAX (two per processor).
HELP
}

help_bench() {
    cat <<'HELP'
Usage: ./deft bench [FIGURE] [--json]
       ./deft bench tasks [TASK] [--json]

Starts an instance of its own and measures all figures of SPECIFICATION.md, or one.
  --json  print the figures as JSON, an object in each line
  tasks   instead, let a model do the tasks of tests/tasks (TASK: part of a name), which costs money;
          prints success, steps, tokens, cost and time of each, then the totals. Exit status: 0 all
          were solved, 1 some were not, 2 nothing could be run
Settings: DEFT_KEEP (1: keep the instance), DEFT_BENCH_LOAD_MINUTES and DEFT_BENCH_FLEET_MINUTES (8 and 10: duration
of the figures `load` and `fleet`); of tasks:
  DEFT_TASKS_MODEL     the model, such as anthropic/claude-opus-5 (docs/models.md)
  DEFT_TASKS_API_KEY   its key; not needed with a DEFT_TASKS_BASE_URL whose server takes none
  DEFT_TASKS_BASE_URL  the address of its server, if it is not the provider's own
  DEFT_TASKS_AT_ONCE   tasks that run at once (3)
  DEFT_TASKS_STEPS     most steps of a task (100)
  DEFT_TASKS_SECONDS   most seconds of a task (1800)
HELP
}

help_doctor() {
    cat <<'HELP'
Usage: ./deft doctor

Checks everything that deft needs: one line for each check, and a fix if it fails. The exit status is
1 if a check failed.
Settings: those of `up`.
HELP
}

# is_asked_for_help ARGUMENTS...
is_asked_for_help() {
    for _argument; do
        case $_argument in
        -h | --help) return 0 ;;
        esac
    done
    return 1
}

# refuse_arguments COMMAND [ARGUMENT...]: for commands without arguments.
refuse_arguments() {
    case ${2-} in
    '') [ $# -eq 1 ] || die "$1 takes no arguments" "./deft $1 --help" ;;
    -*) die "$1: unknown option '$2'" "./deft $1 --help" ;;
    *) die "$1 takes no arguments" "./deft $1 --help" ;;
    esac
}

# The version, and the commit of a git checkout.
print_version() {
    _version=$(sed -n 's/^AC_INIT(\[deft\], \[\(.*\)\])$/\1/p' "$DEFT_HOME/configure.ac")
    _commit=$(git -c safe.directory="$DEFT_HOME" -C "$DEFT_HOME" rev-parse --short HEAD 2>/dev/null || :)
    say "deft $_version${_commit:+ ($_commit)}"
}

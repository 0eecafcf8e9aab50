# What `./deft --help`, `./deft COMMAND --help` and `./deft --version` print. None of it needs root.
# shellcheck shell=sh

usage() {
    cat <<'USAGE'
deft: AI coding agents at work in sandboxes, on your own machine.

  ./deft up               build what changed, start what is not running, print a sign-in link
  ./deft down [--purge]   stop what `up` started; --purge also removes sandboxes and all data
  ./deft status           what runs, since when, how much memory it takes; exit 1 if not all is well
  ./deft logs [process]   follow the logs: postgres, nginx, fcgi, gateway, worker, runtime
  ./deft key [NAME]       print a new API key
  ./deft key --runtime NAME  print a new key of the Runtime API (/runtime-api)
  ./deft key --list       the keys that there are: id, when made, valid or revoked, kind, name
  ./deft key --revoke ID  let no client in with that key any more; a name is fine where one key has it
  ./deft link             print a new one-time sign-in link
  ./deft test [pattern]   run the tests, or those whose name holds the pattern
  ./deft test --conformance
                          run the tests of the documents' checklists, and say what each list lacks
  ./deft bench [figure] [--json]
                          measure the figures of SPECIFICATION.md
  ./deft doctor           look for what could be wrong, and say how to mend it
  ./deft COMMAND --help   what a command does, and the settings that matter to it
  ./deft --version        the version of this checkout
  ./deft --help           this text

Settings come from the environment, or from lines NAME=VALUE in the file deft.env beside this script:
USAGE
    help_settings
}

help_settings() {
    cat <<'SETTINGS'
  LLM_MODEL, LLM_API_KEY, LLM_BASE_URL   the language model; `up` keeps it, an empty value takes it
                                         away; without one a scripted model plays
  DEFT_APP_PORT (3000), DEFT_AGENT_PORT (8000), DEFT_LISTEN (127.0.0.1)
  DEFT_APP_URL       what browsers call the page (http://localhost and its port)
  DEFT_AGENT_URL     what clients call the agent API (http://localhost and its port)
  DEFT_HOSTNAMES     more host names to answer to, separated by spaces
  DEFT_VAR           where everything is kept (var beside this script)
  DEFT_INSTANCE      prefix of containers, volumes and networks (made from DEFT_VAR)
  DEFT_DOCKER_SOCKET the container engine (/var/run/docker.sock)
  DEFT_RUNTIME       process: no container engine, sandboxes are processes of this host (bubblewrap),
                     which isolates less; docker
  DEFT_SANDBOX_BROWSER  1: sandboxes have a Chromium, agents get the browser tools; `up` makes the image
SETTINGS
}

help_up() {
    cat <<'HELP'
Usage: ./deft up

Installs the packages that are missing, builds what changed, deploys the database's schema, starts each
process as a user of its own, and prints a one-time sign-in link. It may be run again at any time: what
is as it should be stays as it is.

Settings, from the environment or from lines NAME=VALUE in deft.env:
HELP
    help_settings
    cat <<'HELP'
Settings of single processes are in docs/operations.md; all have DEFT_, LLM_, LOG_ or OH_ names.
HELP
}

help_down() {
    cat <<'HELP'
Usage: ./deft down [--purge [--yes]]

Stops what `up` started. Conversations, keys and the files of sandboxes stay.
  --purge  also removes them, after a question: conversations, keys, sandboxes, workspaces, logs
  --yes    with --purge: do not ask
Settings: DEFT_VAR (which instance).
HELP
}

help_status() {
    cat <<'HELP'
Usage: ./deft status

Prints a line for each process, with its user and its memory, then what the processes need. The exit
status is 1 when something is down, or runs as another user than it should.
Settings: DEFT_VAR (which instance).
HELP
}

help_logs() {
    cat <<'HELP'
Usage: ./deft logs [PROCESS]

Follows what the processes print, or one of them: postgres, nginx, fcgi, gateway, worker, runtime.
The files are var/log/PROCESS/current; root and members of the group deft-log may read them.
Settings: DEFT_VAR (which instance), LINES_SHOWN (20: lines of the past).
HELP
}

help_key() {
    cat <<'HELP'
Usage: ./deft key [NAME]
       ./deft key --runtime NAME
       ./deft key --list
       ./deft key --revoke ID

Makes, lists and revokes API keys. A key is shown once, when it is made.
  NAME            print a new API key of that name (deft key)
  --runtime NAME  print a new key of the Runtime API
  --list          the keys that there are: id, when made (UTC), valid or revoked, kind, name
  --revoke ID     let no client in with that key any more, and remove the sandboxes that it asked for;
                  a name is fine where one valid key has it
Settings: DEFT_VAR (which instance).
HELP
}

help_link() {
    cat <<'HELP'
Usage: ./deft link

Prints a new one-time sign-in link, which is valid for a day.
Settings: DEFT_VAR (which instance), DEFT_APP_URL (where the link leads).
HELP
}

help_test() {
    cat <<'HELP'
Usage: ./deft test [PATTERN]
       ./deft test --conformance

Brings up an instance of its own, runs the tests against it, and removes it.
  PATTERN        only files whose path, or else tests whose name, holds it; also: lint, asan, tsan, page
  --conformance  the tests of the documents' checklists; says what each list lacks
Settings: DEFT_KEEP (1: leave the instance up), DEFT_RUNTIME.
HELP
}

help_bench() {
    cat <<'HELP'
Usage: ./deft bench [FIGURE] [--json]

Brings up an instance of its own and measures the figures of SPECIFICATION.md, or one of them.
  --json  print the figures as JSON
Settings: DEFT_KEEP (1: leave the instance up), DEFT_BENCH_LOAD_MINUTES (8: of the figure `load`).
HELP
}

help_doctor() {
    cat <<'HELP'
Usage: ./deft doctor

Looks at everything that deft needs, a line for each check, with what to do where it fails. The exit
status is 1 when a check failed.
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

# refuse_arguments COMMAND [ARGUMENT...]: for a command that takes none.
refuse_arguments() {
    case ${2-} in
    '') [ $# -eq 1 ] || die "$1 takes no arguments" "./deft $1 --help" ;;
    -*) die "$1 does not know '$2'" "./deft $1 --help" ;;
    *) die "$1 takes no arguments" "./deft $1 --help" ;;
    esac
}

# The version, and the commit where this is a checkout with git.
print_version() {
    _version=$(sed -n 's/^AC_INIT(\[deft\], \[\(.*\)\])$/\1/p' "$DEFT_HOME/configure.ac")
    _commit=$(git -c safe.directory="$DEFT_HOME" -C "$DEFT_HOME" rev-parse --short HEAD 2>/dev/null || :)
    say "deft $_version${_commit:+ ($_commit)}"
}

#!/bin/sh
# Brings a database to the schema of this folder: sh sql/migrate.sh db:pg:NAME
#
# A new database gets the steps of sqitch.plan. One that was made by the plan in old/ first gets the
# steps of that plan that it does not have; its schema is then the same as that of a new one, and the
# steps up to @base are recorded as deployed. A run that was killed is continued by the next one, which
# may run the last script again: sqitch records a step after its script is committed.
# Decision: docs/decisions/0068-one-sql-file-per-subject.md
set -eu

target=$1
cd "$(dirname "$0")"

# Inherited by psql: the next run waits for the step that a killed one left in progress.
exec 9<sqitch.plan
flock 9

# has FOLDER PATTERN: whether that plan's state in the database has such a line, after "# " and blanks.
has() {
    state=$(cd "$1" && sqitch status --show-tags "$target" 2>&1) || :
    case $state in
        *'# Project:'* | *'No changes deployed'* | *'not been initialized'*) ;;
        *)
            printf '%s\n' "$state" >&2
            exit 1
            ;;
    esac
    printf '%s\n' "$state" | grep -q "^# *$2"
}

if has old 'Change: ' && ! has . '@base '; then
    (cd old && sqitch deploy "$target")
    sqitch deploy --log-only --to @base "$target"
fi
sqitch deploy --verify "$target"

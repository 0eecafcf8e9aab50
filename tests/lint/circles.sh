#!/bin/sh
# Modules of the production tree whose calls, or uses of each other's constants, form a circle. Reads the symbols
# of a build's objects: circles.sh [BUILD], the current folder by default. A function that is called through a
# pointer is no such use. Prints the members of each circle; exit 1 when there is one.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
cd "${1:-.}"
folders=''
for folder in lib fcgi gateway worker runtime sandbox relay launcher; do
    if [ -d "$folder" ]; then
        folders="$folders $folder"
    fi
done
# shellcheck disable=SC2086 # a list of our own folder names
objects=$(find $folders -name '*.o' | LC_ALL=C sort)
if [ -z "$objects" ]; then
    echo "circles.sh: no objects in $PWD; run make first"
    exit 1
fi

# Automake prefixes an object with its program's name: worker/deft_worker-pool.o. Objects of removed sources are
# passed over.
circles=$(printf '%s\n' "$objects" | xargs nm -A | awk -v top="$top" '
function module_of(object,    path, line) {
    if (!(object in module)) {
        path = object
        sub(/[.]o$/, "", path)
        if (match(path, /[^\/]*$/))
            path = substr(path, 1, RSTART - 1) substr(path, RSTART + index(substr(path, RSTART), "-"))
        module[object] = (getline line <(top "/" path ".c")) > 0 ? path : ""
        close(top "/" path ".c")
    }
    return module[object]
}
{
    from = module_of(substr($0, 1, index($0, ":") - 1))
    kind = $(NF - 1)
    if (from == "")
        next
    if (kind == "U")
        needs[from, $NF] = 1
    else if (kind ~ /^[BDRTVW]$/)
        home[$NF] = from
}
END {
    for (key in needs) {
        split(key, need, SUBSEP)
        if (need[2] in home && home[need[2]] != need[1])
            print need[1], home[need[2]]
    }
}' | LC_ALL=C sort -u | tsort 2>&1 >/dev/null | sed 's/^tsort: //' | grep -v '^-: ' || :)
if [ -n "$circles" ]; then
    printf '%s\n' "$circles" | LC_ALL=C sort -u | sed 's/.*/&.c:1: in a circle of calls/'
    exit 1
fi

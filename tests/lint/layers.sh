#!/bin/sh
# Includes go up the table of folders in docs/architecture.md, never down or sideways, and a library's
# headers appear only in the folders named below. In a folder with rooms they go from later rooms to
# earlier ones; no modules (x.c and x.h) include each other in a circle; a folder holds at most 30
# modules. Prints file:line of each offence; exit 1 then.
set -eu

cd "$(dirname "$0")/../.."
folders=''
bad=0
for folder in lib fcgi gateway worker runtime sandbox relay launcher; do
    if [ -d "$folder" ]; then
        folders="$folders $folder"
    fi
done

# shellcheck disable=SC2016,SC2086 # awk's own dollars; a list of our own folder names
find $folders -name '*.[ch]' | LC_ALL=C sort | xargs awk '
BEGIN {
    may["base"] = "base"
    may["model"] = "base model"
    may["client"] = "base model client"
    may["llm"] = "base model client llm"
    may["forge"] = "base model client forge"
    may["store"] = "base model store"
    may["auth"] = "base model client store auth"
    may["start"] = "base model store start"
    all = "base model client llm forge store auth start"
    may["web"] = "base web"
    may["fcgi"] = all " web fcgi"
    may["gateway"] = all " gateway"
    may["worker"] = all " worker"
    may["runtime"] = all " web runtime"
    may["sandbox"] = "base model sandbox"
    may["relay"] = "base"
    may["launcher"] = "base"

    # The rooms of a folder, from the lowest to the highest. Files beside them are above all of them,
    # but for the folders whose own files are beneath.
    rooms["lib/model"] = "schema catalogue event plugins secrets agent openai conversation tools security masking prompt start"
    rooms["lib/llm"] = "formats"
    rooms["lib/store"] = "db conversation runtime user"
    rooms["fcgi"] = "core sandbox settings preview agent app openapi"
    rooms["fcgi/agent"] = "mcp workspace plugins conversation"
    rooms["gateway"] = "core preview feed bash ws"
    rooms["runtime"] = "backend build bwrap docker core egress images lifecycle api"
    rooms["sandbox"] = "core http editor search browser git checkpoint ports bash files terminal actions legacy"
    rooms["worker/agent"] = "core query sandbox mcp hooks calls llm"
    beneath = "lib/model lib/llm fcgi/agent"

    # pattern of a library header, and the layers that may see it
    n = 0
    library[++n] = "^openssl/"; owners[n] = "base"
    library[++n] = "^curl/"; owners[n] = "client"
    library[++n] = "^(libpq-fe|postgres_ext|libpq/.*|pg_config)[.]?h?$"; owners[n] = "store"
    library[++n] = "^jwt[.]h$"; owners[n] = "auth"
    library[++n] = "^(fcgi.*)[.]h$"; owners[n] = "web"
    library[++n] = "^libwebsockets[.]h$"; owners[n] = "gateway"
    library[++n] = "^http_parser[.]h$"; owners[n] = "sandbox"
    library[++n] = "^zlib[.]h$"; owners[n] = "base runtime sandbox"
    library[++n] = "^libmnl/"; owners[n] = "runtime"
    library[++n] = "^yaml[.]h$"; owners[n] = "model"
    library[++n] = "^seccomp[.]h$"; owners[n] = "base runtime"
}

function has(list, word) {
    return index(" " list " ", " " word " ") > 0
}

function complain(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    n_bad++
}

# Where the path stands in its house: the number of its room, or 0 or 99 beside the rooms.
function level_of(path, house,    rest, room, i, n, list) {
    rest = substr(path, length(house) + 2)
    if (index(rest, "/") == 0)
        return has(beneath, house) ? 0 : 99
    room = substr(rest, 1, index(rest, "/") - 1)
    n = split(rooms[house], list, " ")
    for (i = 1; i <= n; i++) {
        if (list[i] == room)
            return i
    }
    complain(house " has no room " room)
    return 99
}

function check_rooms(included,    path, house) {
    path = (included ~ /^(base|model|client|llm|forge|store|auth|start|web)\//) ? "lib/" included : included
    for (house in rooms) {
        if (index(FILENAME, house "/") == 1 && index(path, house "/") == 1 &&
            level_of(path, house) > level_of(FILENAME, house))
            complain("a lower room must not include " included)
    }
}

FNR == 1 {
    split(FILENAME, part, "/")
    layer = part[1] == "lib" ? part[2] : part[1]
    if (!(layer in may))
        complain("no layer is called " layer)
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    split(quoted[2], part, "/")
    if (quoted[2] == "config.h")
        next
    if (index(quoted[2], "/") == 0)
        complain("\"" quoted[2] "\": write the folder, too")
    else if (!has(may[layer], part[1]))
        complain(layer " must not include " quoted[2])
    else
        check_rooms(quoted[2])
}

/^[ \t]*#[ \t]*include[ \t]*</ {
    split($0, angled, /[<>]/)
    for (i = 1; i <= n; i++) {
        if (angled[2] ~ library[i] && !has(owners[i], layer))
            complain("<" angled[2] "> belongs to " owners[i])
    }
}

END {
    exit n_bad > 0
}
' || bad=1

# shellcheck disable=SC2086 # a list of our own folder names
crowded=$(find $folders -name '*.[ch]' | sed 's|/\([^/]*\)[.][ch]$| \1|' | LC_ALL=C sort -u | awk '
{ n[$1]++ }
END { for (folder in n) if (n[folder] > 30) printf "%s:1: %d modules in a folder, at most 30\n", folder, n[folder] }')

# Each include as a pair of modules; tsort names the members of every circle.
# shellcheck disable=SC2016,SC2086
circles=$(find $folders -name '*.[ch]' | LC_ALL=C sort | xargs awk '
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    from = FILENAME
    to = (quoted[2] ~ /^(base|model|client|llm|forge|store|auth|start|web)\//) ? "lib/" quoted[2] : quoted[2]
    sub(/[.][ch]$/, "", from)
    sub(/[.][ch]$/, "", to)
    if (from != to)
        print from, to
}' | tsort 2>&1 >/dev/null | sed 's/^tsort: //' | grep -v '^-: ' || :)
circles=$(printf '%s\n' "$circles" | grep . | LC_ALL=C sort -u | sed 's/.*/&:1: in a circle of includes/' || :)

if [ -n "$crowded$circles" ]; then
    printf '%s\n%s\n' "$crowded" "$circles" | grep .
    bad=1
fi
exit "$bad"

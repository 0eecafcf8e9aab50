#!/bin/sh
# Includes go up the list of STYLE.md, section 1, never down or sideways, and a library's headers
# appear only in the folder that is named beside it. Prints file:line of each offence; exit 1 then.
set -eu

cd "$(dirname "$0")/../.."
folders=''
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
    all = "base model client llm forge store auth"
    may["fcgi"] = all " fcgi"
    may["gateway"] = all " gateway"
    may["worker"] = all " worker"
    may["runtime"] = all " runtime"
    may["sandbox"] = "base model sandbox"
    may["relay"] = "base"
    may["launcher"] = "base"

    # pattern of a library header, and the layers that may see it
    n = 0
    library[++n] = "^openssl/"; owners[n] = "base"
    library[++n] = "^curl/"; owners[n] = "client"
    library[++n] = "^(libpq-fe|postgres_ext|libpq/.*|pg_config)[.]?h?$"; owners[n] = "store"
    library[++n] = "^jwt[.]h$"; owners[n] = "auth"
    library[++n] = "^(fcgi.*)[.]h$"; owners[n] = "fcgi runtime"
    library[++n] = "^libwebsockets[.]h$"; owners[n] = "gateway sandbox"
    library[++n] = "^zlib[.]h$"; owners[n] = "runtime sandbox"
    library[++n] = "^seccomp[.]h$"; owners[n] = "base runtime"
}

function has(list, word) {
    return index(" " list " ", " " word " ") > 0
}

function complain(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    n_bad++
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
' || exit 1

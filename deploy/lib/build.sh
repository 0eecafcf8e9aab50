# Builds the programs and the page in DEFT_BUILD, from a copy of the sources, so that the checkout
# is not changed. A stamp holds the hash of the inputs: if they are unchanged, nothing is done.
# shellcheck shell=sh

# stamp_is NAME HASH
stamp_is() {
    [ "$(cat "$DEFT_STAMPS/$1" 2>/dev/null || :)" = "$2" ]
}

stamp_set() {
    printf '%s\n' "$2" >"$DEFT_STAMPS/$1"
}

# The files of the checkout: those that git tracks or does not ignore; without git, all.
sources_list() (
    cd "$DEFT_HOME"
    if [ -e .git ]; then
        git -c safe.directory="$DEFT_HOME" ls-files --cached --others --exclude-standard
    else
        find . -type d \( -path ./var -o -name node_modules -o -name dist -o -path './build*' \) -prune \
            -o -type f -print | sed 's|^\./||'
    fi | LC_ALL=C sort -u | while IFS= read -r file; do
        [ ! -f "$file" ] || printf '%s\n' "$file"
    done
)

# Updates the copy of the sources. Only changed files are copied, with the time of the copy: a
# file's own time may be older than what was compiled from an earlier state of it.
sources_copy() (
    exec 8>"$DEFT_BUILD/lock"
    flock 8
    mkdir -p "$DEFT_BUILD/src"
    sources_list >"$DEFT_BUILD/sources.new"
    (cd "$DEFT_HOME" && tr '\n' '\0' <"$DEFT_BUILD/sources.new" | xargs -0 -r sha256sum --) |
        LC_ALL=C sort >"$DEFT_BUILD/sums.new"
    touch "$DEFT_BUILD/sums"
    LC_ALL=C comm -13 "$DEFT_BUILD/sums" "$DEFT_BUILD/sums.new" | cut -c67- |
        tar -C "$DEFT_HOME" -cf - --no-recursion --verbatim-files-from -T - |
        tar -C "$DEFT_BUILD/src" --no-same-owner -m -xf -
    if [ -f "$DEFT_BUILD/sources" ]; then
        LC_ALL=C comm -23 "$DEFT_BUILD/sources" "$DEFT_BUILD/sources.new" |
            (cd "$DEFT_BUILD/src" && tr '\n' '\0' | xargs -0 -r rm -f --)
    fi
    mv "$DEFT_BUILD/sources.new" "$DEFT_BUILD/sources"
    mv "$DEFT_BUILD/sums.new" "$DEFT_BUILD/sums"
    chown -R --from=root "$BUILD_USER" "$DEFT_BUILD/src"
)

# sources_hash PATTERN: one hash over the copied files whose path matches the extended pattern.
sources_hash() (
    cd "$DEFT_BUILD/src"
    grep -E -- "$1" ../sources | tr '\n' '\0' | xargs -0 -r sha256sum | sha256sum | cut -d' ' -f1
)

# The inputs of the compiler.
BUILD_SOURCES='^(configure\.ac|Makefile\.am|m4/|lib/|fcgi/|gateway/|worker/|runtime/|sandbox/|relay/|launcher/|sql/|scripted/|catalogue/|tests/([^/]*$|unit/|fuzz/|lint/|bench/.*\.[ch]$))'

# Compiles, and installs into DEFT_APP.
build_programs() {
    _hash=$DEFT_BUILD_KIND-$(sources_hash "$BUILD_SOURCES")
    if stamp_is programs "$_hash"; then
        remark "up to date"
        return
    fi
    remark "compiling"
    # Trials share the build with the running instance.
    exec 8>"$DEFT_BUILD/lock-programs"
    flock 8
    build_configure
    build_install_launcher
    as_builder make -s -C "$DEFT_BUILD/$DEFT_BUILD_KIND" -j"$(nproc)"
    make -s -C "$DEFT_BUILD/$DEFT_BUILD_KIND" install prefix="$DEFT_APP"
    mkdir -p "$DEFT_APP/share/deft"
    [ ! -d "$DEFT_BUILD/src/scripted" ] || cp -R "$DEFT_BUILD/src/scripted" "$DEFT_APP/share/deft/"
    stamp_set programs "$_hash"
    remark "compiled and installed"
}

build_configure() {
    _flags=''
    [ "$DEFT_BUILD_KIND" != checked ] || _flags=--enable-werror
    [ -x "$DEFT_BUILD/src/configure" ] || as_builder sh -c 'cd "$1" && autoreconf -i' sh "$DEFT_BUILD/src"
    as_builder mkdir -p "$DEFT_BUILD/$DEFT_BUILD_KIND"
    [ -f "$DEFT_BUILD/$DEFT_BUILD_KIND/Makefile" ] ||
        as_builder sh -c 'cd "$1" && ../src/configure --quiet $2' sh "$DEFT_BUILD/$DEFT_BUILD_KIND" "$_flags"
}

# First, because PostgreSQL is started by it while the rest is compiled.
build_install_launcher() {
    as_builder make -s -C "$DEFT_BUILD/$DEFT_BUILD_KIND" -j"$(nproc)" deft-launch
    mkdir -p "$DEFT_APP/bin"
    install "$DEFT_BUILD/$DEFT_BUILD_KIND/deft-launch" "$DEFT_APP/bin/deft-launch"
}

# Builds the page, and replaces the previous one in one step.
build_page() {
    _hash=$(sources_hash '^www/')
    if stamp_is page "$_hash"; then
        remark "up to date"
        return
    fi
    exec 8>"$DEFT_BUILD/lock-page"
    flock 8
    if [ "$(cat "$DEFT_BUILD/page" 2>/dev/null)" != "$_hash" ]; then
        node_packages www
        remark "building"
        as_builder npm --prefix "$DEFT_BUILD/src/www" run build
        printf '%s\n' "$_hash" >"$DEFT_BUILD/page"
    fi
    mkdir -p "$DEFT_APP/share/deft"
    rm -rf "$DEFT_APP/share/deft/www.new" "$DEFT_APP/share/deft/www.old"
    cp -R "$DEFT_BUILD/src/www/dist" "$DEFT_APP/share/deft/www.new"
    [ ! -d "$DEFT_APP/share/deft/www" ] || mv "$DEFT_APP/share/deft/www" "$DEFT_APP/share/deft/www.old"
    mv "$DEFT_APP/share/deft/www.new" "$DEFT_APP/share/deft/www"
    rm -rf "$DEFT_APP/share/deft/www.old"
    stamp_set page "$_hash"
    remark "built"
}

# node_packages FOLDER: installs the packages of its package-lock.json if that changed.
node_packages() {
    _folder=$DEFT_BUILD/src/$1
    _lock=$(sources_hash "^$1/package(-lock)?\.json$")
    [ ! -d "$_folder/node_modules" ] || [ "$(cat "$_folder/node_modules/.deft-lock" 2>/dev/null)" != "$_lock" ] || return 0
    remark "fetching npm packages of $1"
    as_builder npm --prefix "$_folder" ci --no-audit --no-fund --loglevel=error
    mkdir -p "$_folder/node_modules"
    printf '%s\n' "$_lock" >"$_folder/node_modules/.deft-lock"
}

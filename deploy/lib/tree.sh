# Sandboxes as processes of this host (DEFT_RUNTIME=process): bubblewrap instead of an engine, and the
# default image as a folder, var/images/RECIPE, which all of them use read-only.
# shellcheck shell=sh

ISOLATES_LESS="processes of this host: they share its kernel, and no packet filter restricts them"

has_engine() {
    [ "$DEFT_RUNTIME" = docker ]
}

# The package lists of this instance.
packages_of_instance() {
    if has_engine; then
        echo run build engine
    else
        echo run build process
    fi
}

# A step of `up`, in place of image_prepare.
tree_prepare() {
    is_traversable "$DEFT_VAR" || {
        echo "Sandboxes run as users of their own and cannot reach $DEFT_VAR: set DEFT_VAR to a folder that other users may enter."
        return 1
    }
    tree_works || return 1
    _tree=$(tree_path)
    if [ ! -d "$_tree" ]; then
        remark "building the sandboxes' root file system (Debian $(image_suite))"
        tree_make "$_tree"
    fi
    remark "sandboxes are $ISOLATES_LESS"
}

# The folder is named after the hash of its recipe.
tree_path() (
    if [ "$DEFT_SANDBOX_IMAGE" = "$BROWSER_IMAGE" ]; then
        recipe=$(mktemp -d)
        browser_image_recipe "$recipe"
        hash=$(DEFT_HOME=$recipe image_recipe_hash)
        rm -rf "$recipe"
    else
        hash=$(image_recipe_hash)
    fi
    echo "$DEFT_VAR/images/$hash"
)

# tree_make FOLDER: builds it under another name, and renames it when it is complete.
tree_make() {
    _work=$(mktemp -d)
    mkdir -p "$DEFT_VAR/images"
    rm -rf "$1.new"
    mkdir "$1.new"
    image_sources >"$_work/sources"
    apt-config dump | grep -E '^Acquire::(Check-Valid-Until|Check-Date|Retries|http|https|ForceIPv4)' >"$_work/apt.conf" || :
    _recipe=$DEFT_HOME
    if [ "$DEFT_SANDBOX_IMAGE" = "$BROWSER_IMAGE" ]; then
        _recipe=$_work/recipe
        browser_image_recipe "$_recipe"
    fi
    { (DEFT_HOME=$_recipe image_bootstrap "$_work") || : >"$_work/failed"; } |
        tar -x --numeric-owner --exclude='./dev/*' -C "$1.new" || : >"$_work/failed"
    if [ -f "$_work/failed" ]; then
        rm -rf "$_work" "$1.new"
        return 1
    fi
    # In a sandbox with the host's network, the host's file is mounted over this one.
    [ -e "$1.new/etc/resolv.conf" ] || : >"$1.new/etc/resolv.conf"
    rm -rf "$_work"
    mv "$1.new" "$1"
}

# The same test as deft-runtime's, as a user like those of sandboxes.
tree_works() {
    setpriv --reuid 1900000000 --regid 1900000000 --clear-groups \
        bwrap --unshare-user --unshare-pid --unshare-net --ro-bind / / --proc /proc --dev /dev true || {
        echo "bubblewrap cannot create a sandbox on this host: user namespaces must be allowed (kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)."
        return 1
    }
}

# tree_runtime OPTION: runs deft-runtime for one task, in the environment of its service.
tree_runtime() {
    [ -x "$DEFT_APP/bin/deft-runtime" ] && [ -f "$DEFT_SERVICES/runtime/env/DEFT_PROCESS_DIR" ] || return 0
    chpst -e "$DEFT_SERVICES/runtime/env" "$DEFT_APP/bin/deft-runtime" "$1" || warn "deft-runtime $1 failed"
}

# After `down`: sandboxes have ended, and no process uses an older tree.
tree_sweep() {
    for _tree in "$DEFT_VAR"/images/*; do
        [ ! -d "$_tree" ] || [ "$_tree" = "$(tree_path)" ] || rm -rf --one-file-system "$_tree"
    done
}

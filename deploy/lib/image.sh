# The default sandbox image: the host's Debian release with the tools of deploy/image/packages.txt,
# made by mmdebstrap and handed to the engine as a tar stream.
# shellcheck shell=sh

# A step of `up`: the engine, then the image where it is missing or its recipe changed.
image_prepare() {
    remark "starting the container engine"
    engine_start
    _hash=$(image_recipe_hash)
    if [ "$(image_label)" = "$_hash" ]; then
        remark "engine $(engine_version), $DEFT_SANDBOX_IMAGE is there"
        return
    fi
    if [ "$DEFT_SANDBOX_IMAGE" != deft-sandbox:1 ]; then
        image_exists && remark "engine $(engine_version), $DEFT_SANDBOX_IMAGE is there" && return
        echo "There is no image $DEFT_SANDBOX_IMAGE in the engine, and deft makes only deft-sandbox:1."
        return 1
    fi
    remark "making $DEFT_SANDBOX_IMAGE (Debian $(image_suite))"
    # Two instances that start together make it once.
    (
        flock 8
        [ "$(image_label)" = "$_hash" ] || image_make "$_hash"
    ) 8>"$ENGINE_STATE/image.lock"
    remark "engine $(engine_version), $DEFT_SANDBOX_IMAGE made"
}

image_suite() {
    sed -n 's/^VERSION_CODENAME=//p' /etc/os-release
}

image_recipe_hash() {
    cat "$DEFT_HOME/deploy/image/packages.txt" "$DEFT_HOME/deploy/image/customize" "$DEFT_HOME/deploy/lib/image.sh" \
        /etc/os-release | sha256sum | cut -c1-16
}

image_exists() {
    engine_call GET "/images/$DEFT_SANDBOX_IMAGE/json" >/dev/null 2>&1
}

image_label() {
    engine_call GET "/images/$DEFT_SANDBOX_IMAGE/json" 2>/dev/null |
        grep -o '"deft.recipe":"[0-9a-f]*"' | head -n 1 | cut -d'"' -f4
}

# image_make HASH. A stream that broke off is an image too, so the name is given at the end.
image_make() {
    _work=$(mktemp -d)
    _repo=${DEFT_SANDBOX_IMAGE%:*}
    _tag=${DEFT_SANDBOX_IMAGE##*:}
    _old=$(image_id)
    image_sources >"$_work/sources"
    apt-config dump | grep -E '^Acquire::(Check-Valid-Until|Check-Date|Retries|http|https|ForceIPv4)' >"$_work/apt.conf" || :
    { image_bootstrap "$_work" || : >"$_work/failed"; } | image_import "$_repo" "$_tag-new" "$1" || : >"$_work/failed"
    if [ -f "$_work/failed" ]; then
        rm -rf "$_work"
        engine_call DELETE "/images/$_repo:$_tag-new" >/dev/null 2>&1 || :
        return 1
    fi
    rm -rf "$_work"
    engine_call POST "/images/$_repo:$_tag-new/tag?repo=$_repo&tag=$_tag"
    engine_call DELETE "/images/$_repo:$_tag-new"
    # Removes the previous image; the engine refuses while a sandbox uses it.
    [ -z "$_old" ] || engine_call DELETE "/images/$_old" >/dev/null 2>&1 || :
}

image_id() {
    engine_call GET "/images/$DEFT_SANDBOX_IMAGE/json" 2>/dev/null | sed -n 's/^{"Id":"\([^"]*\)".*/\1/p'
}

# The same mirrors that the host uses, Debian's own sections only.
image_sources() {
    _suite=$(image_suite)
    apt-get indextargets --format "\$(REPO_URI) \$(RELEASE) \$(COMPONENT) \$(ORIGIN)" 'Created-By: Packages' |
        sed -n "s/^\([^ ]*\) \($_suite[^ ]*\) main Debian$/deb \1 \2 main/p" | sort -u
}

# Prints the tar stream of the root file system. Manuals and translations stay out.
image_bootstrap() {
    _packages=$(sed 's/#.*//' "$DEFT_HOME/deploy/image/packages.txt" | tr -s ' \n' ',')
    mmdebstrap --quiet --mode=root --variant=apt --include="${_packages#,}" --aptopt="$1/apt.conf" \
        --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
        --customize-hook="$DEFT_HOME/deploy/image/customize \"\$1\"" "$(image_suite)" - - <"$1/sources"
}

# image_import REPOSITORY TAG HASH: reads the tar stream.
image_import() {
    _changes='USER 10001:10001
WORKDIR /workspace/project
ENV LANG=C.UTF-8
CMD ["/bin/bash"]
LABEL deft.recipe='$3
    _query=$(printf '%s\n' "$_changes" | sed -e 's/%/%25/g; s/ /%20/g; s/:/%3A/g; s|/|%2F|g; s/=/%3D/g; s/"/%22/g; s/\[/%5B/g; s/\]/%5D/g; s/^/\&changes=/' | tr -d '\n')
    engine_call POST "/images/create?fromSrc=-&repo=$1:$2$_query" \
        -H 'Content-Type: application/x-tar' -H 'Expect:' -T -
}

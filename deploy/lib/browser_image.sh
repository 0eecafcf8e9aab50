# The sandbox image with a browser, for DEFT_SANDBOX_BROWSER=1: the default image's recipe
# (deploy/lib/image.sh) plus the packages of deploy/image/packages-browser.txt.
# shellcheck shell=sh

BROWSER_IMAGE=deft-sandbox-browser:1

# A step of `up`, in place of image_prepare.
browser_image_prepare() {
    remark "starting the container engine"
    engine_start
    _recipe=$(mktemp -d)
    _failed=''
    browser_image_recipe "$_recipe"
    remark "looking for $BROWSER_IMAGE"
    # Instances that start together build it once.
    (
        flock 8
        _hash=$(DEFT_HOME=$_recipe image_recipe_hash)
        [ "$(image_label)" = "$_hash" ] && exit 0
        remark "building $BROWSER_IMAGE (Debian $(image_suite) with Chromium; downloads about 150 MB)"
        DEFT_HOME=$_recipe image_make "$_hash"
    ) 8>"$ENGINE_STATE/image.lock" || _failed=yes
    rm -rf "$_recipe"
    [ -z "$_failed" ] || return 1
    remark "engine $(engine_version), $BROWSER_IMAGE is there"
}

# browser_image_recipe FOLDER: writes the recipe there, in the layout of the default image's in DEFT_HOME.
browser_image_recipe() {
    mkdir -p "$1/deploy/image" "$1/deploy/lib"
    cat "$DEFT_HOME/deploy/image/packages.txt" "$DEFT_HOME/deploy/image/packages-browser.txt" >"$1/deploy/image/packages.txt"
    cp "$DEFT_HOME/deploy/image/customize" "$1/deploy/image/"
    cp "$DEFT_HOME/deploy/lib/image.sh" "$1/deploy/lib/"
}

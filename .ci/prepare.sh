# Installs what ./demo and ./check need to build; source it with `.` from the top folder. POSIX sh.
#
#   need_tools    a C compiler, meson, ninja and pkg-config: installs what is missing with apt-get
#   need_unity    the sources of the Unity test framework in subprojects/unity
# shellcheck shell=sh

say() {
    printf '\n== %s\n' "$*"
}

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

have() {
    command -v "$1" >/dev/null 2>&1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

missing_packages() {
    have cc || echo gcc
    printf '#include <math.h>\n' | cc -E - >/dev/null 2>&1 || echo libc6-dev
    have meson || echo meson
    have ninja || echo ninja-build
    have pkg-config || echo pkg-config
}

# If nothing is missing, apt-get is not called at all.
need_tools() {
    packages=$(missing_packages | paste -s -d ' ' -)
    [ -n "$packages" ] || return 0
    say "Installing $packages"
    have apt-get || die "this needs $packages; there is no apt-get to install them, so please install them yourself."
    [ "$(id -u)" -eq 0 ] || have sudo ||
        die "this needs $packages; please install them as root, or run this as root (there is no sudo)."
    # The package lists may be absent or stale; if they cannot be updated, the existing ones may still work.
    as_root apt-get -qq update || true
    # shellcheck disable=SC2086 # one word per package
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $packages \
        </dev/null >/dev/null ||
        die "apt-get could not install $packages; can a Debian mirror be reached?"
    packages=$(missing_packages | paste -s -d ' ' -)
    [ -z "$packages" ] || die "apt-get reported no error, but these are still missing: $packages"
}

# Unity's sources are part of Debian's source package cjson. The machine's own apt sources, turned into deb-src ones
# in a private folder, are used to find it; nothing is written outside that folder. A step may fail because of a third
# party's source, so only the result is checked.
unity_from_debian() { # folder to work in
    eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
    mkdir -p "$1/sources" "$1/lists/partial" "$1/cache/archives/partial"
    cat "${list:-}" "${parts:-}"*.list 2>/dev/null |
        sed -n 's/^[[:space:]]*deb[[:space:]]/deb-src /p' >"$1/sources/lines.list"
    for source in "${parts:-}"*.sources; do
        [ -f "$source" ] || continue
        sed 's/^Types:.*/Types: deb-src/' "$source" >"$1/sources/$(basename "$source")"
    done
    # Hooks are cleared because they act on the machine, not on the private folder.
    cat >"$1/apt.conf" <<CONF
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$1/sources";
Dir::State::lists "$1/lists";
Dir::Cache "$1/cache";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
CONF
    # Run as root, apt downloads as another user, who cannot write here.
    [ "$(id -u)" -ne 0 ] || echo 'APT::Sandbox::User "root";' >>"$1/apt.conf"
    (
        cd "$1" || exit
        apt-get -qq -c apt.conf update
        apt-get -qq -c apt.conf --download-only source cjson &&
            mkdir cjson && tar -xf cjson_*.orig.tar.* -C cjson --strip-components=1
    ) >"$1/log" 2>&1
    [ -f "$1/cjson/tests/unity/src/unity.c" ]
}

need_unity() {
    [ -f subprojects/unity/meson.build ] && return 0
    say "Fetching the Unity test framework"
    if have apt-get; then
        work=$(mktemp -d)
        if unity_from_debian "$work"; then
            rm -rf subprojects/unity
            cp -R "$work/cjson/tests/unity" subprojects/unity
            cp subprojects/packagefiles/unity/meson.build subprojects/unity/
            echo "from Debian's source package cjson"
            rm -rf "$work"
            return 0
        fi
        echo "Debian's source package cjson could not be downloaded:"
        tail -n 3 "$work/log"
        rm -rf "$work"
    fi
    have git || die "Unity could not be downloaded from a Debian mirror, and git, which is needed to get it from GitHub, is missing."
    meson subprojects download unity </dev/null ||
        die "Unity could not be downloaded, neither from a Debian mirror nor from GitHub; is there a network connection?"
    echo "from GitHub"
}

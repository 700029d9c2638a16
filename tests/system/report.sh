# Counts the checks of a shell test and reports them in the format of Unity; tests source it with `.`.
# shellcheck shell=sh

set -u
passed=0 failed=0 skipped=0

ok() { # sentence
    passed=$((passed + 1))
    echo "$1: PASS"
}

not_ok() { # sentence, what was found instead
    failed=$((failed + 1))
    echo "$1: FAIL: ${2:-}"
}

skip() { # sentence, reason
    skipped=$((skipped + 1))
    echo "$1: IGNORE: $2"
}

# Passes if the text of objections is empty.
expect_empty() { # sentence, objections
    if [ -z "$2" ]; then ok "$1"; else not_ok "$1" "$2"; fi
}

# Runs a command, and shows its output only if it failed.
expect_success() { # sentence, command...
    sentence=$1
    shift
    if output=$("$@" 2>&1); then ok "$sentence"; else not_ok "$sentence" "$output"; fi
}

# Runs a command or function, which must exit with this code and print this text on stdout or stderr.
expect_said() { # code, text, command...
    code=$1 part=$2
    shift 2
    output=$("$@" 2>&1 </dev/null)
    found=$?
    sentence="$* ends with $code and says: $part"
    case $output in
    *"$part"*) [ "$found" -eq "$code" ] && ok "$sentence" || not_ok "$sentence" "code $found: $output" ;;
    *) not_ok "$sentence" "code $found: $output" ;;
    esac
}

# Sets the program or function that a test is about.
about() { # command
    command=$1
}

# Like expect_said, for that command.
expect() { # code, text, words...
    code=$1 part=$2
    shift 2
    expect_said "$code" "$part" "$command" "$@"
}

finish() {
    echo "$((passed + failed + skipped)) Tests $failed Failures $skipped Ignored"
    [ "$failed" -eq 0 ] || exit 1
    [ "$passed" -gt 0 ] || exit 77 # meson: skipped
    exit 0
}

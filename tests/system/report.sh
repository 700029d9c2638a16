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

# Waits until a command succeeds. How long that takes is the machine's affair; the limit is for what never comes.
wait_for() { # command...
    wait_up_to 1800 "$@"
}

wait_up_to() { # seconds, command...
    tenths=$((10 * $1))
    shift
    until "$@"; do
        [ "$tenths" -gt 0 ] || return 1
        sleep 0.1
        tenths=$((tenths - 1))
    done
}

has_lines() { # file, number: so many at least
    [ -f "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]
}

is_stopped() { # process: by SIGSTOP, which takes a moment; where there is no /proc we trust that it was short
    [ ! -r "/proc/$1/status" ] || grep -q '^State:[[:space:]]*[TtZX]' "/proc/$1/status"
}

# Halts a process with SIGSTOP and returns when it stands still; a process that has ended is refused.
halt() { # process
    kill -STOP "$1" 2>/dev/null && wait_for is_stopped "$1"
}

finish() {
    echo "$((passed + failed + skipped)) Tests $failed Failures $skipped Ignored"
    [ "$failed" -eq 0 ] || exit 1
    [ "$passed" -gt 0 ] || exit 77 # meson: skipped
    exit 0
}

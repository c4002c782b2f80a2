# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# lib.sh - for the tests of the command: run it, compare all that it prints and
# its exit status with what is written in the test, report TAP.
# HUGETEXT, MAKE_ELF: the programs; WORK: a folder that is the test's own.

set -u

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck disable=SC2034 # used by the tests
roots=$here/sysroot
: "${HUGETEXT:?}" "${MAKE_ELF:?}"
HUGETEXT=$(realpath "$HUGETEXT") MAKE_ELF=$(realpath "$MAKE_ELF")
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
export LC_ALL=C
tests_run=0 tests_failed=0

# What commands are run with; see as_nobody.
runner=()

# run COMMAND [ARGUMENT...]: the word hugetext stands for the program.
run()
{
	[[ $1 != hugetext ]] || set -- "$HUGETEXT" "${@:2}"
	timeout 20 "${runner[@]}" "$@" > "$WORK/.is" 2>&1
}

result()
{
	local verdict=ok

	tests_run=$((tests_run + 1))
	if (($1)); then
		verdict='not ok'
		tests_failed=$((tests_failed + 1))
	fi
	echo "$verdict $tests_run - $2"
}

# expect NAME COMMAND [ARGUMENT...] < EXPECTED: stdout and stderr together, and
# a last line "exit N" unless the exit status is 0.
expect()
{
	local name=$1 status=0

	shift
	run "$@" || status=$?
	((!status)) || echo "exit $status" >> "$WORK/.is"
	if diff -u --label expected --label actual - "$WORK/.is" > "$WORK/.diff"; then
		result 0 "$name"
	else
		sed 's/^/# /' "$WORK/.diff"
		result 1 "$name"
	fi
}

# expect_status NAME STATUS COMMAND [ARGUMENT...]: what it prints is of no interest.
expect_status()
{
	local name=$1 should=$2 status=0

	shift 2
	run "$@" || status=$?
	if ((status == should)); then
		result 0 "$name"
	else
		sed 's/^/# /' "$WORK/.is"
		echo "# exit status $status instead of $should"
		result 1 "$name"
	fi
}

# From here on commands run without privilege. A user who is not root has
# none to give up.
as_nobody()
{
	chmod 755 "$WORK"
	cp "$HUGETEXT" "$WORK/hugetext"
	HUGETEXT=$WORK/hugetext
	((EUID)) || runner=(setpriv --reuid=65534 --regid=65534 --clear-groups)
}

finish()
{
	echo "1..$tests_run"
	exit $((tests_failed != 0))
}

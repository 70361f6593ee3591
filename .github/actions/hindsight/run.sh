#!/usr/bin/env bash
# Builds and explores a program, as action.yml says. The reports are
# DIRECTORY/races.json, races.md and races.xml; the page of the job shows the
# second. The exit status is that of the exploration, 66 for a race, unless
# FAIL is false.
set -euo pipefail

: "${PROGRAM:?the executable and its arguments}"
dir=${DIRECTORY:-hindsight-results}
mkdir -p "$dir"
[ -z "${BUILD:-}" ] || bash -euo pipefail -c "$BUILD"

# Words, as a shell would split them.
eval "program=($PROGRAM)"
eval "flags=(${FLAGS:-})"

# The runs are made once; the other forms are written from what they left.
explore() { hindsight explore --runs "${RUNS:-100}" "${flags[@]}" -o "$dir/runs" "$@" "${program[@]}"; }
status=0
explore --format json >"$dir/races.json" || status=$?
case $status in
0 | 66) ;;
*) exit "$status" ;;
esac
explore --resume --format markdown >"$dir/races.md" || [ $? = 66 ]
explore --resume --format junit >"$dir/races.xml" || [ $? = 66 ]
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$dir/races.md" >>"$GITHUB_STEP_SUMMARY"
[ -z "${GITHUB_OUTPUT:-}" ] || echo "races=$(sed -n 's|^ *"static": \([0-9]*\).*|\1|p' "$dir/races.json")" >>"$GITHUB_OUTPUT"
[ "${FAIL:-true}" != true ] || exit "$status"

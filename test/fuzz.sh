#!/bin/sh
# Runs every fuzz target of the main module for a while, one after the other, and stops at the first that fails.
#
#	test/fuzz.sh 30s                 every target for 30 s
#	test/fuzz.sh 5m ./scheme/...     those of some packages
#
# What a failure has found is kept under testdata/fuzz of its package, and is tested by go test from then on.
set -eu
cd "$(dirname "$0")/.."

time=${1:-30s}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- ./...

for package in $(${GO:-go} list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "$@"); do
	for target in $(${GO:-go} test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "== $package $target"
		# Making an input smaller takes up to a minute, and most are only of interest, not failures.
		${GO:-go} test -fuzzminimizetime 10x -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
	done
done

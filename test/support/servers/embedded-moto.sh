#!/bin/sh
# usage: embedded-moto.sh PROGRAM [ARGUMENT…] <a pipe
#
# Runs PROGRAM for as long as somebody holds the other end of stdin: a pipe closes however its holder ends,
# SIGKILL included. Once the server is up, stdout is its log and nobody else's.
set -eu
exec 2>&1
"$@" </dev/null &
server=$!
trap 'kill -KILL "$server"' EXIT
trap exit HUP INT TERM
exec >/dev/null 2>&1
read -r _ || :

#!/bin/sh
# usage: embedded-program.sh FOLDER PROGRAM [ARGUMENT…] <a pipe
#
# Runs PROGRAM, and all processes that it starts, for as long as somebody holds the other end of stdin, then removes
# FOLDER unless its name is empty. A pipe closes however its holder ends, SIGKILL included. Once the server is up,
# stdout is its log and nobody else's.
set -eu
folder=$1
shift
exec 2>&1
ulimit -c 0
setsid "$@" </dev/null &
server=$!

clean_up() {
  # One with children has a moment to see their ends; nobody needs it in order any more. A shell's background processes
  # ignore QUIT unless they handle it.
  kill -QUIT "$server" || :
  kill -TERM "$server" || :
  (sleep 2 && kill -KILL "-$server") &
  patience=$!
  wait "$server" || :
  kill "$patience" || :
  kill -KILL "-$server" || :
  if [ -n "$folder" ]; then rm -rf "$folder"; fi
}
trap clean_up EXIT
trap exit HUP INT TERM
# The server has no time to write anything.
trap 'kill -KILL "-$server"; exit' USR1
exec >/dev/null 2>&1
read -r _ || :

#!/bin/sh
# usage: sandbox.sh FOLDER COMMAND... <a pipe
#
# Runs COMMAND for as long as somebody holds the other end of stdin, then ends it and removes FOLDER.
# A pipe closes however its holder ends, SIGKILL included: nothing outlives the program that started it.
set -eu
folder=$1
shift

"$@" </dev/null &
command=$!
# From here on stdout is the command's alone: it closes when that ends.
exec >/dev/null
clean_up() {
  kill "$command" 2>/dev/null && wait "$command" || :
  rm -rf "$folder"
}
trap clean_up EXIT
trap exit HUP INT TERM
read -r _ || :

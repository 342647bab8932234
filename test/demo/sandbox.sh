#!/bin/sh
# usage: sandbox.sh FOLDER COMMAND... <a pipe
#
# Runs COMMAND until the other end of stdin closes, then ends COMMAND and removes FOLDER. A pipe closes even if the process at
# its other end is killed, so COMMAND never outlives the program that started this script.
set -eu
folder=$1
shift

"$@" </dev/null &
command=$!
# Leave stdout to the command alone: it then closes when the command ends.
exec >/dev/null
clean_up() {
  kill "$command" 2>/dev/null && wait "$command" || :
  rm -rf "$folder"
}
trap clean_up EXIT
trap exit HUP INT TERM
read -r _ || :

#!/bin/sh
# usage: embedded-postgres.sh FOLDER BIN [PREFIX...] <a pipe
#
# Runs a PostgreSQL in FOLDER for as long as somebody holds the other end of stdin, then removes FOLDER.
# A pipe closes however its holder ends, SIGKILL included: no server and no folder outlives the program
# that started it. BIN holds the binaries; PREFIX is what runs them as somebody other than root.
# FOLDER holds `password` and `settings.conf`; INITDB_OPTIONS are more options of initdb. Once the server is up,
# stdout is its log and nobody else's.
set -eu
folder=$1 bin=$2
shift 2
server=''
exec 2>&1

clean_up() {
  if [ -n "$server" ]; then
    # TERM ends one that has not set up its handlers yet, QUIT one that has.
    kill -TERM "$server" && kill -QUIT "$server" && wait "$server" || :
  fi
  rm -rf "$folder"
}
trap clean_up EXIT
trap exit HUP INT TERM

# A copy of another server's data may be there already.
if [ ! -d "$folder/data" ]; then
  # shellcheck disable=SC2086 # several options
  "$@" "$bin/initdb" --pgdata="$folder/data" --username=postgres --pwfile="$folder/password" \
    --auth=scram-sha-256 --encoding=UTF8 --no-locale --no-sync $INITDB_OPTIONS
fi
cat "$folder/settings.conf" >>"$folder/data/postgresql.conf"

"$@" "$bin/postgres" -D "$folder/data" &
server=$!
exec >/dev/null 2>&1
read -r _ || :

#!/bin/sh
# usage: embedded-mariadb.sh FOLDER MARIADBD <a pipe
#
# Runs a MariaDB in FOLDER for as long as somebody holds the other end of stdin, then removes FOLDER.
# A pipe closes however its holder ends, SIGKILL included: no server and no folder outlives the program
# that started it. FOLDER holds `settings.cnf` and `bootstrap.sql`. Once the server is up, stdout is its
# log and nobody else's.
set -eu
folder=$1 mariadbd=$2
server=''
exec 2>&1

clean_up() {
  if [ -n "$server" ]; then
    # Nobody needs the data any more, so there is nothing to shut down in order.
    kill -KILL "$server" && wait "$server" || :
  fi
  rm -rf "$folder"
}
trap clean_up EXIT
trap exit HUP INT TERM

mkdir "$folder/data"
"$mariadbd" --defaults-file="$folder/settings.cnf" --bootstrap --loose-wsrep-on=OFF <"$folder/bootstrap.sql"

"$mariadbd" --defaults-file="$folder/settings.cnf" &
server=$!
exec >/dev/null 2>&1
read -r _ || :

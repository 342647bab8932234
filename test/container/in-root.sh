#!/bin/sh
# usage: unshare --mount --pid --fork [--user --map-root-user] in-root.sh ROOT rw|ro WORKDIR USER [MOUNT...] -- COMMAND...
#
# Runs COMMAND as PID 1 of a container whose root filesystem is the folder ROOT, seen from inside; nothing else of
# the machine is to be seen. MOUNT is SOURCE:TARGET:ro|rw, and its target in ROOT is made here. USER is UID:GID, or
# empty for root; ro makes the whole root filesystem read-only, /tmp excepted, which is always a tmpfs.
set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin
umask 022
root=$1 mode=$2 workdir=$3 user=$4
shift 4
# Without root outside there is a single user in here.
read -r _ _ users </proc/self/uid_map

mount --bind "$root" "$root"
while [ "$1" != -- ]; do
  source=${1%%:*} access=${1##*:} target=${1#*:} target=$root${target%:*}
  shift
  if [ -d "$source" ]; then
    mkdir -p "$target"
  elif [ ! -e "$target" ]; then
    mkdir -p "${target%/*}" && touch "$target"
  fi
  mount --rbind "$source" "$target"
  # Never more than before: what the machine denies stays denied, also where its own root is asking.
  [ "$access" = rw ] || mount -o remount,bind,ro,nosuid,nodev "$target"
done
shift

mkdir -p "$root/proc" "$root/dev" "$root/tmp" "$root/mnt"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
[ "$mode" = rw ] || mount -o remount,bind,ro,nosuid,nodev "$root"

cd "$root"
pivot_root . mnt
umount -l /mnt
cd "$workdir"

if [ -z "$user" ]; then
  exec "$@"
elif [ "$users" = 1 ]; then
  # That one user gets the number that is asked for, and gives up root's rights.
  exec unshare --user --map-user="${user%:*}" --map-group="${user#*:}" setpriv --no-new-privs "$@"
else
  exec setpriv --reuid="${user%:*}" --regid="${user#*:}" --clear-groups --no-new-privs --bounding-set=-all \
    --inh-caps=-all "$@"
fi

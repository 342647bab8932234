#!/bin/sh
# usage: unshare --mount --pid --fork [--user --map-root-user] in-root.sh ROOT rw|ro WORKDIR USER [MOUNT...] -- COMMAND...
#
# Runs COMMAND as PID 1 of a container. Its root filesystem is the folder ROOT, and it sees nothing else of the machine.
# MOUNT is SOURCE:TARGET:ro|rw; this script makes TARGET in ROOT. USER is UID:GID, or empty for root. With ro, the whole
# root filesystem is read-only except for /tmp, which is always a tmpfs.
set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin
umask 022
root=$1 mode=$2 workdir=$3 user=$4
shift 4
# If the caller isn't root, the container has a single user.
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
  # Also set nosuid and nodev: if the machine's own mount has them, a remount without them would fail or, as root, lift them.
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
  # The single user gets the uid and gid of USER, and gives up root's rights.
  exec unshare --user --map-user="${user%:*}" --map-group="${user#*:}" setpriv --no-new-privs "$@"
else
  exec setpriv --reuid="${user%:*}" --regid="${user#*:}" --clear-groups --no-new-privs --bounding-set=-all \
    --inh-caps=-all "$@"
fi

/** Disks that a test can fill. */
import { spawnSync } from 'node:child_process'

/** Why there can be none here, or false. */
export function noSmallDisk(): string | false {
  const probe = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', '/mnt'])
  return probe.status === 0 ? false : 'needs root and a mount namespace of its own (unshare -m)'
}

const SCRIPT = `set -e
state=$1
shift
mkdir -p "$state/disk"
mount -t tmpfs -o size=8m none "$state/disk"
find "$state" -maxdepth 1 -type f -exec cp -a {} "$state/disk" ';'
mount --bind "$state/disk" "$state"
exec "$@"`

/** Prefix for a command, so that it finds its state folder, with its contents, on a small disk. */
export function onSmallDisk(stateFolder: string): string[] {
  return ['unshare', '-m', 'sh', '-c', SCRIPT, 'sh', stateFolder]
}

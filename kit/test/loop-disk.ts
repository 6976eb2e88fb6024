/** Disks of a test: files that are mounted as block devices, and can be filled, frozen, pulled and put back. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Owner } from './running-daemon.ts'

/** Why there are none here; false where there are. */
export const noLoopDisks: string | false = whyNone()

function whyNone(): string | false {
  if (process.getuid?.() !== 0) return 'disks of files need root'
  try {
    execFileSync('losetup', ['--find'], { stdio: 'pipe' })
    execFileSync('mkfs.ext4', ['-V'], { stdio: 'pipe' })
    return false
  } catch {
    return 'disks of files need loop devices and mkfs.ext4'
  }
}

export interface LoopDisk {
  /** Where it is mounted. */
  folder: string
  /** Its bytes. */
  image: string
  mount(options?: string): void
  unmount(): void
  /** Writes hang until it thaws. */
  freeze(): void
  thaw(): void
  /** The device is gone under the mount: every call that reaches it fails. */
  pull(): void
}

/** Makes an ext4 of some megabytes, and mounts it; all is undone with the test. */
export function loopDisk(t: Owner, work: string, name: string, megabytes: number): LoopDisk {
  const image = join(work, `${name}.img`)
  const folder = join(work, name)
  let device = ''
  let isFrozen = false
  const run = (command: string, ...args: string[]) => execFileSync(command, args, { encoding: 'utf8', stdio: 'pipe' })
  const attempt = (task: () => void) => {
    try {
      task()
    } catch {
      // It was undone already.
    }
  }
  writeFileSync(image, '')
  truncateSync(image, megabytes * 1e6)
  run('mkfs.ext4', '-q', '-F', '-m', '0', image)
  mkdirSync(folder)

  function mount(options = 'rw'): void {
    device = run('losetup', '--find', '--show', image).trim()
    run('mount', '-o', options, device, folder)
  }

  function unmount(): void {
    run('umount', '--lazy', folder)
    attempt(() => run('losetup', '--detach', device))
  }

  function thaw(): void {
    if (isFrozen) run('fsfreeze', '--unfreeze', folder)
    isFrozen = false
  }

  mount()
  t.teardown(() => {
    attempt(thaw)
    attempt(unmount)
  })
  return {
    ...{ folder, image, mount, unmount, thaw },
    freeze() {
      run('fsfreeze', '--freeze', folder)
      isFrozen = true
    },
    pull() {
      truncateSync(image, 0)
      run('losetup', '--set-capacity', device)
    },
  }
}

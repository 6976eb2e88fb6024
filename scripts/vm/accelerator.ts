/** Chooses how a guest runs: with this machine's virtualisation if it works, else emulated. */
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'

/** Milliseconds within which a truly virtualised kernel reaches its first program; it takes two seconds. */
const PROBE_MS = 15_000

const KVM = ['-accel', 'kvm', '-cpu', 'max']
/**
 * The oldest processor that the pinned Node supports: newer features would only be emulated, and probed by the kernel.
 */
const EMULATED = ['-accel', 'tcg,thread=multi', '-cpu', 'Nehalem']

let known: string[] | undefined

/**
 * QEMU's arguments. The presence of `/dev/kvm` is not enough: in nested machines some open, answer, and then stop at
 * the first unknown instruction. So the guest's own kernel is tried, once per process.
 */
export function acceleratorArguments(image: string): string[] {
  known ??= canVirtualise(image) ? KVM : EMULATED
  return known
}

function canVirtualise(image: string): boolean {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK)
  } catch {
    return false
  }
  const args = [...KVM, '-machine', 'q35', '-m', '256', '-nodefaults', '-no-user-config', '-display', 'none']
  args.push('-kernel', join(image, 'vmlinuz'), '-initrd', join(image, 'initrd'), '-no-reboot', '-serial', 'stdio')
  args.push('-append', 'console=ttyS0 quiet panic=-1 probe')
  const tried = spawnSync('qemu-system-x86_64', args, { encoding: 'utf8', timeout: PROBE_MS, killSignal: 'SIGKILL' })
  return tried.stdout.includes('init: probed')
}

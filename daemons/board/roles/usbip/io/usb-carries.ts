/** What this machine itself would lose with a device: its network, or a disk that is in use. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { UsbDevice } from '../core/ports.ts'
import { attribute, names } from './sysfs-files.ts'

/** @param interfaces folders of the device's interfaces below sysfs; @param mountsFile as /proc/self/mountinfo */
export async function carriedBy(interfaces: readonly string[], mountsFile: string): Promise<UsbDevice['carries']> {
  for (const folder of interfaces) {
    if ((await names(join(folder, 'net'))).length > 0) return 'network'
    for (const disk of await disksOf(folder)) if (await isInUse(disk, mountsFile)) return 'disk'
  }
  return null
}

/** Folders of block devices of one interface: `host0/target0:0:0/0:0:0:0/block/sda`. */
async function disksOf(folder: string): Promise<string[]> {
  const targets = await below([folder], (name) => name.startsWith('host'))
  const units = await below(await below(targets, (name) => name.startsWith('target')), (name) => name.includes(':'))
  return await below(
    units.map((unit) => join(unit, 'block')),
    () => true,
  )
}

async function below(folders: readonly string[], isMeant: (name: string) => boolean): Promise<string[]> {
  const found = await Promise.all(
    folders.map(async (folder) => (await names(folder)).filter(isMeant).map((name) => join(folder, name))),
  )
  return found.flat()
}

/** Mounted, or part of something else such as an encrypted or joined disk; so with each of its partitions. */
async function isInUse(disk: string, mountsFile: string): Promise<boolean> {
  const mounted = await mountedNumbers(mountsFile)
  const parts = [disk, ...(await below([disk], (name) => disk.endsWith(name.replace(/p?\d+$/, ''))))]
  for (const part of parts) {
    if (mounted.has((await attribute(join(part, 'dev'))) ?? '')) return true
    if ((await names(join(part, 'holders'))).length > 0) return true
  }
  return false
}

/** `major:minor` of everything that is mounted. @source proc_pid_mountinfo(5), field 3 */
async function mountedNumbers(mountsFile: string): Promise<ReadonlySet<string>> {
  const lines = (await readFile(mountsFile, 'utf8')).split('\n')
  return new Set(lines.map((line) => line.split(' ')[2] ?? ''))
}

/** Cuts the power in the middle of updates: what a copy of the disk's bytes holds is what the machine finds afterwards. */
import { copyFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { loopDisk } from '../loop-disk.ts'
import { type KillStage, killStage } from './update-kills.ts'
import { startedVersion } from './update-stage.ts'

const DISK_MB = 24

/**
 * Applies an update again and again, each time with a cut after another number of changes of the disk, and starts from what
 * had reached the disk.
 * @param isSick whether the new release is to be taken back
 * @returns versions that ran after the cuts
 */
export async function cutPower(
  t: Test,
  { cuts, isSick, mostChanges }: { cuts: number; isSick: boolean; mostChanges: number },
): Promise<string[]> {
  const work = mkdtempSync(join(tmpdir(), 'cuts-'))
  t.teardown(() => rmSync(work, { recursive: true, force: true }))
  const stage = await killStage(t)
  const found: string[] = []
  for (let at = 0; at < cuts; at++) {
    const n = 1 + Math.floor((at * mostChanges) / cuts)
    found.push(await cutOnce(t, { stage, work, name: `${isSick ? 'sick' : 'well'}-${at}`, n, isSick }))
  }
  return found
}

interface Cut {
  stage: KillStage
  work: string
  name: string
  n: number
  isSick: boolean
}

async function cutOnce(t: Test, { isSick, n, name, stage, work }: Cut): Promise<string> {
  const disk = loopDisk(t, work, name, DISK_MB)
  const folder = join(disk.folder, 'machine')
  cpSync(stage.machine(), folder, { recursive: true, verbatimSymlinks: true })
  // What was there before is on the disk.
  disk.unmount()
  disk.mount()
  const how = isSick ? 'sick' : undefined
  await stage.apply(folder, n, how)
  // What has reached the device, and nothing of what the kernel holds above it.
  const after = loopDisk(t, work, `${name}-after`, DISK_MB)
  after.unmount()
  copyFileSync(disk.image, after.image)
  disk.unmount()
  after.mount()
  const machine = join(after.folder, 'machine')
  const version = await startedVersion(join(machine, 'root'))
  const said = await stage.apply(machine, 0, how)
  t.equal(
    await startedVersion(join(machine, 'root')),
    isSick ? '1.0.0' : '1.1.0',
    `cut at ${n}: ${version} was there, then ${JSON.stringify(said)}`,
  )
  after.unmount()
  for (const one of [disk, after]) rmSync(one.image)
  return version
}

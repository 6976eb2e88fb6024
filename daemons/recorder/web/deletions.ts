/** What footage goes if less is kept: said before it is saved. */
import { bytesText, dateOf, timeOf } from '#kit/web/numbers.ts'
import type { Disk, KeptSettings } from './api.ts'
import * as texts from './texts.ts'

interface DeletionFacts {
  before: KeptSettings
  after: KeptSettings
  /** Cameras by name, and where the oldest footage of each begins; undefined without any. */
  cameras: readonly { id: string; name: string; oldestAt: number | undefined }[]
  disks: readonly Disk[]
  nowMs: number
  zone: string | undefined
}

const DAY_MS = 86_400_000

/** A sentence for each rule that deletes something; preserved stretches stay in any case. */
export function whatGoes(facts: DeletionFacts): string[] {
  return [...tooOld(facts), ...tooMuch(facts), ...tooFull(facts)]
}

function tooOld({ after, before, cameras, nowMs, zone }: DeletionFacts): string[] {
  const names = new Map<string, { days: number; was: number; names: string[] }>()
  for (const { id, name, oldestAt } of cameras) {
    const [days, was] = [after.cameras[id] ?? after.keepDays, before.cameras[id] ?? before.keepDays]
    if (days >= was || oldestAt === undefined || oldestAt >= nowMs - days * DAY_MS) continue
    const same = names.get(`${days} ${was}`) ?? { days, was, names: [] }
    same.names.push(name)
    names.set(`${days} ${was}`, same)
  }
  return [...names.values()].map(({ days, names, was }) => {
    const at = nowMs - days * DAY_MS
    return texts.daysDelete({ days, was, names, before: `${dateOf(at, zone)} ${timeOf(at, zone, 'min')}` })
  })
}

function tooMuch({ after, before, disks }: DeletionFacts): string[] {
  const kept = disks.reduce((sum, { footageBytes }) => sum + footageBytes, 0)
  if (after.keepBytes >= before.keepBytes || after.keepBytes >= kept) return []
  return [texts.bytesDelete(bytesText(after.keepBytes), bytesText(kept - after.keepBytes))]
}

function tooFull({ after, before, disks }: DeletionFacts): string[] {
  if (after.freeBytes <= before.freeBytes) return []
  return disks.flatMap(({ folder, footageBytes, freeBytes }) => {
    const goes = Math.min(footageBytes, after.freeBytes - (freeBytes ?? after.freeBytes))
    return goes <= 0 ? [] : [texts.freeDeletes(folder, bytesText(after.freeBytes), bytesText(goes))]
  })
}

/** Installations and releases in words: when one was seen, what came of an update, and what the verdict is. */
import { age, bytesText, dateOf, listed } from '#kit/web/numbers.ts'
import type { Judgement, Lit } from '#kit/web/parts.ts'
import type { Counts, Delivery, Installation, InstallationState, Release } from './api.ts'
import * as texts from './texts.ts'

/** What the words depend on. */
export interface When {
  /** The server's time, epoch ms. */
  nowMs: number
  zone: string | undefined
}

const MINUTE_MS = 60_000
const WEEK_MS = 7 * 24 * 60 * MINUTE_MS
/** One that did not ask for so long has lost its way here, or its power: it would ask every night. */
const SILENT_MS = 3 * 24 * 60 * MINUTE_MS

/** `just now`, `12 min ago`, `3 d ago`, and of older ones the date. */
export function agoText(atMs: number, { nowMs, zone }: When): string {
  const sinceMs = nowMs - atMs
  if (sinceMs < MINUTE_MS) return texts.justNow
  return sinceMs < WEEK_MS ? texts.ago(age(sinceMs, 1)) : dateOf(atMs, zone)
}

/** Whether an enabled installation should have asked by now. */
export function isSilent({ last_seen_at: seenAt, state }: Installation, nowMs: number): boolean {
  return state === 'enabled' && nowMs - seenAt > SILENT_MS
}

/** Its name, or the beginning of its id. */
export function nameOf({ id, name }: Pick<Installation, 'id' | 'name'>): string {
  return name ?? texts.unnamed(id.slice(0, 8))
}

/** The lamp and the word of a state. */
export const STATES: Readonly<Record<InstallationState, { lit: Lit; word: string }>> = {
  pending: { lit: 'warn', word: texts.waits },
  enabled: { lit: 'ok', word: texts.enabled },
  disabled: { lit: 'off', word: texts.disabled },
}

/** A state with its reason. */
export interface Said {
  lit: Lit
  text: string
}

/** `1.5.0 rolled back 2 h ago: the probe failed`. */
export function deliveryText(delivery: Delivery, when: When): Said {
  const { fetched_at, outcome, reason, reported_at, step } = delivery
  const name = releaseName(delivery)
  const at = reported_at ?? fetched_at
  const ago = at === null ? '' : agoText(at, when)
  const why = [step === null ? '' : texts.atStep(step), reason === null ? '' : `: ${reason}`].join('')
  if (outcome === 'applied') return { lit: 'ok', text: texts.applied(name, ago) }
  if (outcome === 'rolled_back') return { lit: 'fault', text: texts.rolledBack(name, ago) + why }
  if (outcome === 'failed') return { lit: 'fault', text: texts.failed(name, ago) + why }
  return { lit: 'busy', text: texts.fetched(name, ago) }
}

/** What came of the last update; undefined if there was none. */
export function lastUpdate({ updates }: Installation, when: When): Said | undefined {
  const last = updates.at(-1)
  return last && deliveryText(last, when)
}

/** Releases that it rolled back from, which it is not offered again. */
export function shunned({ updates }: Installation): string[] {
  return updates.filter(({ outcome }) => outcome === 'rolled_back').map(releaseName)
}

/** Whether anybody waits. */
export function judgeInstallations({ disabled, enabled, pending }: Counts): Judgement {
  const known = [enabled > 0 ? texts.enabledShort(enabled) : '', disabled > 0 ? texts.disabledShort(disabled) : '']
  const others = enabled + disabled > 0 ? texts.othersAre(listed(known.filter((part) => part !== ''))) : ''
  if (pending > 0)
    return {
      lit: 'warn',
      sentence: texts.waitForEnabling(pending),
      why: `${texts.untilThen(pending)} ${others}`.trim(),
    }
  if (enabled + disabled === 0) return { lit: 'off', sentence: texts.noneYet }
  return {
    lit: enabled > 0 ? 'ok' : 'off',
    sentence: texts.areEnabled(enabled),
    why: disabled > 0 ? texts.areDisabled(disabled) : '',
  }
}

/** A release in words: its version, of an image with the kind of board that it is for. */
export function releaseName({ compatible, version }: Pick<Release, 'compatible' | 'version'>): string {
  return compatible === null ? version : texts.imageFor(version, compatible)
}

/** The lamp and the word of a release. */
export function releaseState({ hold, percent, state, update }: Release): Said {
  if (state === 'halted') return { lit: 'fault', text: texts.halted }
  if (state !== 'offered') return { lit: 'off', text: texts.withdrawn }
  if (!update) return { lit: 'off', text: texts.installerOnly }
  if (hold) return { lit: 'warn', text: texts.held }
  if (percent === 0) return { lit: 'off', text: texts.offeredToNobody }
  return { lit: 'ok', text: percent < 100 ? texts.offeredTo(percent) : texts.offered }
}

/** `fetched by 12, applied by 10, failed at 1`. */
export function reachText({ applied, failed, fetched }: Release): string {
  if (fetched + applied + failed === 0) return texts.nobodyFetched
  return texts.reach(fetched, applied, failed)
}

/** What is wrong with a rollout, the worst first; else what is offered. */
export function judgeReleases(all: readonly Release[]): Judgement {
  if (all.length === 0) return { lit: 'off', sentence: texts.nothingPublished }
  const halted = all.filter(({ state }) => state === 'halted').map(releaseName)
  if (halted.length > 0)
    return { lit: 'fault', sentence: texts.areHalted(listed(halted), halted.length), why: texts.haltedMeans }
  const offered = all.filter(({ state, update }) => state === 'offered' && update !== null)
  const failed = offered.find((one) => one.failed > 0)
  if (failed)
    return { lit: 'warn', sentence: texts.failedAt(releaseName(failed), failed.failed), why: texts.failedMeans }
  // Held at the lowest of them: above it nobody is offered anything.
  const hold = offered.findLast((one) => one.hold)
  if (hold) return { lit: 'warn', sentence: texts.everybodyHeld(releaseName(hold)), why: texts.heldMeans }
  const stable = offered.filter(({ channel }) => channel === 'stable')
  // Of a server that has both, the newest Plantroom says more than the newest image of one kind of board.
  const newest = stable.find(({ compatible }) => compatible === null) ?? stable[0]
  if (!newest) return { lit: 'off', sentence: texts.noStable }
  return { lit: 'ok', sentence: texts.newestIs(releaseName(newest), newest.percent), why: reachSentence(newest) }
}

function reachSentence(release: Release): string {
  const text = reachText(release)
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

/** `3.4 MB`, of both files. */
export function sizeText({ installer, update }: Release): string {
  return bytesText((update ?? installer)?.size)
}

/** When it was published first. */
export function publishedAt({ installer, update }: Release): number | undefined {
  const all = [update?.published_at, installer?.published_at].filter((at) => at !== undefined)
  return all.length === 0 ? undefined : Math.min(...all)
}

/** The beginning of a bundle hash, or that none was sent. */
export function bundleText({ installer, update }: Release): Said {
  const hash = (update ?? installer)?.bundle_hash
  return hash ? { lit: 'ok', text: texts.hashBegins(hash.slice(0, 12)) } : { lit: 'warn', text: texts.hashMissing }
}

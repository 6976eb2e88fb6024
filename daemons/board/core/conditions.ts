/** The conditions that a board reports to its ledger: what is wrong with its role, its clock and its neighbours. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Condition, Conditions } from '#kit/records/ledger-entry.ts'
import type { FoundPeer } from './peers/peers.ts'
import type { PtpView } from './ptp/ptp.ts'
import type { Verdict } from './role.ts'
import { brokenCheck, type Check } from './sound/sound.ts'

/** Where conditions are read from, each time something may have changed. */
interface BoardSources {
  role: string
  verdict(): Verdict
  /** The conditions of the role itself; if absent, they follow from its verdict. */
  ofRole?: (() => readonly Condition[]) | undefined
  ptp?: (() => PtpView) | undefined
  peers(): readonly Pick<FoundPeer, 'name' | 'address' | 'state'>[]
  isTimeSynchronised(): boolean | null
}

/** All conditions that hold now. */
export function boardConditions(from: BoardSources): Condition[] {
  return [
    ...(from.ofRole?.() ?? verdictConditions(from.role, from.verdict())),
    ...(from.ptp ? ptpConditions(from.ptp()) : []),
    ...from.peers().flatMap(peerConditions),
    ...(from.isTimeSynchronised() === false ? [UNSYNCHRONISED] : []),
  ]
}

const UNSYNCHRONISED: Condition = {
  what: 'clock_unsynchronised',
  where: 'clock',
  severity: 'warning',
  sentence: 'The clock of this board follows no time server: instants may be wrong. Let it reach one.',
}

function verdictConditions(role: string, { state, text }: Verdict): Condition[] {
  return state === 'fault' ? [{ what: 'role_failed', where: role, severity: 'fault', sentence: text }] : []
}

/** The conditions of a role with sound: it is silent while it should play or send. A stopped role reports nothing. */
export function soundConditions(role: 'decoder' | 'encoder', { text }: Verdict, checks: readonly Check[]): Condition[] {
  const broken = brokenCheck(checks)
  if (broken?.state !== 'fault') return []
  const what = CARD_CHECKS.has(broken.name) ? 'card_lost' : 'sound_silent'
  return [{ what, where: role, severity: 'fault', sentence: text }]
}

/** The checks that concern the sound card. */
const CARD_CHECKS: ReadonlySet<string> = new Set(['input', 'output'])

function ptpConditions({ enabled, state, text }: PtpView): Condition[] {
  if (!enabled || (state !== 'holdover' && state !== 'fault')) return []
  return [{ what: 'ptp_lost', where: 'ptp', severity: 'warning', sentence: text }]
}

function peerConditions({ address, name, state }: Pick<FoundPeer, 'name' | 'address' | 'state'>): Condition[] {
  if (state !== 'unreachable' && state !== 'absent') return []
  const sentence = `${name} at ${address} does not answer. If it is gone for good, dismiss it on the page Matrix.`
  return [{ what: 'peer_gone', where: `board ${name}`, severity: 'warning', sentence }]
}

interface WatchParts {
  clock: Clock
  conditions: Conditions
  /** Wait between a change and the look at all conditions; changes within it share one look. */
  leastMs: number
  /** All conditions that hold now. */
  read(): readonly Condition[]
}

/** Raises conditions that are new, and clears those that hold no more. */
export interface ConditionWatch {
  /** Something may have changed. */
  changed(): void
  close(): void
}

export function watchConditions({ clock, conditions, leastMs, read }: WatchParts): ConditionWatch {
  let raised: readonly Condition[] = []
  let timer: Timer | undefined

  function judge(): void {
    timer = undefined
    const now = read()
    const keys = new Set(now.map(keyOf))
    for (const before of raised) if (!keys.has(keyOf(before))) conditions.clear(before.what, before.where)
    for (const one of now) conditions.raise(one)
    raised = now
  }

  return {
    changed() {
      timer ??= clock.after(leastMs, judge)
    },
    close: () => timer?.cancel(),
  }
}

function keyOf({ what, where }: Condition): string {
  return `${what} ${where}`
}

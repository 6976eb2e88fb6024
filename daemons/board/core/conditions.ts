/** What the ledger is told of a board: whatever its role, its clock, its neighbours and its machine are in trouble with. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Condition, Conditions } from '#kit/records/ledger-entry.ts'
import type { FoundPeer } from './peers/peers.ts'
import type { PtpView } from './ptp/ptp.ts'
import type { Verdict } from './role.ts'
import { brokenCheck, type Check } from './sound/sound.ts'

/** What is judged, each time something has changed. */
interface BoardSources {
  role: string
  verdict(): Verdict
  /** Of the role itself; if absent, its verdict is what there is to say. */
  ofRole?: (() => readonly Condition[]) | undefined
  ptp?: (() => PtpView) | undefined
  peers(): readonly Pick<FoundPeer, 'name' | 'address' | 'state'>[]
  isTimeSynchronised(): boolean | null
}

/** Everything that is wrong now. */
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

/** A role with sound: silent while it should play or send, and why. A stopped one is not. */
export function soundConditions(role: 'decoder' | 'encoder', { text }: Verdict, checks: readonly Check[]): Condition[] {
  const broken = brokenCheck(checks)
  if (broken?.state !== 'fault') return []
  const what = CARD_CHECKS.has(broken.name) ? 'card_lost' : 'sound_silent'
  return [{ what, where: role, severity: 'fault', sentence: text }]
}

/** The links of the chains that stand for the sound card. */
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
  /** How soon after a change it is judged; whatever changes meanwhile is judged once. */
  leastMs: number
  /** All that is wrong now. */
  read(): readonly Condition[]
}

/** Tells the ledger what has come and what is over. */
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

/** A building for tests of macros: rows, ports that record their calls, a clock that moves only on request. */
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Session } from '../../../core/access/accounts.ts'
import type { Outcome } from '../../../core/audit.ts'
import type { Ack } from '../../../core/drivers/driver.ts'
import { type Json, objectOf } from '../../../core/json.ts'
import { createMacroCall, MacroEngine, type RunMacro } from '../../../core/macros/engine.ts'
import { createMacroBook, type MacroBook } from '../../../core/macros/plan.ts'
import type { AttributeRef, LiveRun, MacroOrder, MacroPorts, RunEnd, Secrets } from '../../../core/macros/ports.ts'
import type { Trace } from '../../../core/macros/run.ts'
import { MACRO_LIMITS, type MacroArgs, type MacroLimits, makeArgs } from '../../../core/macros/values.ts'
import type { Book, Row } from '../../../core/site/book.ts'

/** A step in a test: its position is its place in the list. */
export type RigStep = { type: string; [column: string]: Json }
export type RigMacro = { name: string; steps?: readonly RigStep[]; [column: string]: unknown }

export interface Rig {
  clock: FakeClock
  book: MacroBook
  engine: MacroEngine
  runMacro: RunMacro
  limits: MacroLimits
  ports: MacroPorts
  /** Commands that reached the drivers. */
  sent: MacroOrder[]
  notices: string[]
  /** Attributes by `name` or `name@zone_id`; others do not exist. */
  values: Map<string, { value: Json; isSecure: boolean }>
  live: Map<string, Json>
  changed(): void
  rows: { id: number; macro_id: number; user_id: number | null; end?: RunEnd }[]
  /** Results of the next commands; `undefined`, or none left, means success. `'never'` means no answer at all. */
  answers: (Fault | Ack | 'never')[]
  /** Zones that a session without elevation may command. */
  scope: Set<number>
  trace(runId: number): Trace
}

export function rig(macros: readonly RigMacro[], limits: Partial<MacroLimits> = {}, userRuns = 64): Rig {
  const clock = fakeClock()
  const whole = { ...MACRO_LIMITS, ...limits }
  const book = createMacroBook(bookOf(macros), whole)
  const listeners = new Set<() => void>()
  const onChange = (listener: () => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  const keyOf = ({ name, target }: AttributeRef) => (target.zone_id === undefined ? name : `${name}@${target.zone_id}`)
  const state: Pick<Rig, 'sent' | 'notices' | 'values' | 'live' | 'rows' | 'answers' | 'scope'> = {
    sent: [],
    notices: [],
    values: new Map(),
    live: new Map(),
    rows: [],
    answers: [],
    scope: new Set([1]),
  }
  const ports: MacroPorts = {
    clock,
    chance: () => 0.5,
    refusal: (_, target) =>
      target.zone_id !== undefined && state.scope.has(target.zone_id) ? undefined : 'scope_denied',
    sessionNow: (session) => session,
    async dispatch(order) {
      state.sent.push(order)
      const answer = state.answers.shift()
      if (answer === 'never') return new Promise<never>(() => {})
      if (answer instanceof Fault) throw answer
      return answer ?? {}
    },
    attributes: {
      read: (ref) => state.values.get(keyOf(ref)),
      async set(ref, value) {
        const known = state.values.get(keyOf(ref))
        if (!known) throw new Fault('no_attribute', 'no such attribute')
        state.values.set(keyOf(ref), { ...known, value })
      },
      onChange,
    },
    live: { read: (target, field) => state.live.get(`${target.zone_id ?? target.device_id}.${field}`), onChange },
    async notify({ text }) {
      state.notices.push(text)
    },
    keeper: {
      async begin(run) {
        return state.rows.push({ id: state.rows.length + 1, ...run })
      },
      async end(id, end) {
        const row = state.rows[id - 1]
        if (row) row.end = JSON.parse(JSON.stringify(end))
      },
      unended: async () => state.rows.filter(({ end }) => !end).map(({ id }) => id),
    },
    secrets: rigSecrets,
  }
  const engine = new MacroEngine({ book, ports, limits: whole, userRuns })
  return {
    ...state,
    clock,
    book,
    engine,
    ports,
    limits: whole,
    runMacro: createMacroCall({ book, engine, clock, limits: whole }),
    changed() {
      for (const listener of [...listeners]) listener()
    },
    trace: (runId) => state.rows[runId - 1]?.end?.trace as Trace,
  }
}

/** Judges by words in the name; also nested ones. */
export const rigSecrets: Secrets = {
  isSensitiveName: (name) => /password|secret|pin|token|key/i.test(name),
  isSecretAttribute: (name) => /password|secret|pin|token|key/i.test(name) || name === 'note',
  withoutSecrets: (value) => withoutSecrets(value),
  holdsSecret: (value) => JSON.stringify(withoutSecrets(value)) !== JSON.stringify(value),
}

function withoutSecrets(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value)
  return objectOf(fields.map(([key, entry]) => [key, rigSecrets.isSensitiveName(key) ? null : withoutSecrets(entry)]))
}

/** Macros get ids from 1 in order. */
export function bookOf(macros: readonly RigMacro[]): Book {
  const rows = macros.map(({ steps: _, ...columns }, index) => ({ id: index + 1, ...columns }) as unknown as Row)
  const steps = macros.flatMap(({ steps = [] }, index) =>
    steps.map((step, at) => ({ ...step, id: index * 1000 + at + 1, macro_id: index + 1, position: at + 1 }) as Row),
  )
  const table = (name: string): readonly Row[] => (name === 'macro' ? rows : steps)
  return {
    rows: table,
    row: (name, id) => table(name).find((row) => row.id === id),
    named: (name, wanted) => table(name).filter((row) => row.name === wanted),
    revision: () => 1,
  }
}

export function session(over: Partial<Session> = {}): Session {
  const may = () => true
  return {
    userId: 7,
    username: 'ada',
    roles: [],
    isElevated: false,
    surface: 'api',
    mustChangePassword: false,
    may,
    uis: [],
    ...over,
  }
}

/** A step that sends its text: the outcome of a macro is read in `notices`. */
export const say = (text: string, more: Record<string, Json> = {}) => ({ type: 'notify', args: { text }, ...more })

/** Starts the macro with this id, without a particular caller. */
export function start(house: Rig, id = 1, args: Record<string, Json> = {}): LiveRun {
  const plan = house.book.plan(house.book.find({ id }) as Row)
  return house.engine.start({ plan, args: argsOf(args), caller: null })
}

/** The outcome of a run, and the texts its macro sent. */
export function came(house: Rig, run: LiveRun): [string, string | undefined, string[]] {
  return [run.state, run.end?.code, house.notices]
}

/** The args of a run, from a JSON object. */
export function argsOf(values: Record<string, Json>): MacroArgs {
  return makeArgs(Object.entries(values), MACRO_LIMITS.valueChars)
}

/** The body of an outcome. */
export function bodyOf(outcome: Pick<Outcome, 'body'>): Record<string, Json> {
  return ('json' in outcome.body ? outcome.body.json : undefined) as Record<string, Json>
}

/** Routes of the macro editor, for elevated sessions only: macros, their steps, trying them out, and their runs. */
import { Type } from 'typebox'
import { createReader, fieldsFault } from '#kit/http/check.ts'
import { count, instant, object, orNull, type Route, text, yesNo } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Outcome } from '../core/audit.ts'
import { isList, isObject, type Json } from '../core/json.ts'
import type { MacroDraft, MacroWish, TrialWish } from '../core/macros/editing.ts'
import type { UiMacros, UiTables } from '../core/surfaces.ts'
import { granted, type UiGate } from './ui-gate.ts'

/** Most steps of a body; the setting `macros.steps` decides. */
const MOST_STEPS = 10_000
/** Most runs of one answer. */
const MOST_RUNS = 200

const rowId = () => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const anything = () => Type.Record(Type.String(), Type.Unknown())

const step = Type.Object(
  {
    id: Type.Optional(Type.Integer({ minimum: 1, description: 'its row; absent: a new one' })),
    type: text,
    zone_id: Type.Optional(Type.Unknown({ description: 'id or name; in `args` too' })),
    device_id: Type.Optional(Type.Unknown({ description: 'id or name' })),
    command: Type.Optional(orNull(text)),
    args: Type.Optional(Type.Unknown()),
    on_error: Type.Optional(orNull(text)),
    retries: Type.Optional(orNull(Type.Integer())),
  },
  { additionalProperties: false },
)
const steps = () => Type.Array(step, { maxItems: MOST_STEPS, description: 'all of them, in order' })

const wish = {
  id: Type.Optional(Type.Integer({ minimum: 1, description: 'absent: a new macro' })),
  values: Type.Record(Type.String(), Type.Unknown(), {
    description: 'columns of `macro`; those that are absent stay as they are',
  }),
  steps: steps(),
  seen: Type.Optional(
    Type.Object(
      { values: anything(), steps: steps() },
      { description: 'as `GET /ui/macros/open` had it: what is another by now is refused' },
    ),
  ),
}
const readWish = createReader(Type.Object(wish, { additionalProperties: false }))
const readTrial = createReader(
  Type.Object(
    {
      ...wish,
      args: Type.Record(Type.String(), Type.Unknown(), { default: {}, description: 'what it is called with' }),
      waits: Type.Enum(['met', 'expired'], { default: 'met', description: 'of waits that do not hold at once' }),
    },
    { additionalProperties: false },
  ),
)
const readId = createReader(Type.Object({ id: rowId() }, { additionalProperties: false }), '?', 'text')
const readRuns = createReader(
  Type.Object(
    {
      macro: Type.Optional(rowId()),
      before: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: Number.MAX_SAFE_INTEGER }),
      limit: Type.Integer({ minimum: 1, maximum: MOST_RUNS, default: 50 }),
    },
    { additionalProperties: false },
  ),
  '?',
  'text',
)
const readTarget = createReader(
  Type.Object({ zone_id: Type.Optional(rowId()), device_id: Type.Optional(rowId()) }, { additionalProperties: false }),
  '?',
  'text',
)

const pending = orNull(Type.Enum(['add', 'change', 'remove']))

const runLine = {
  id: Type.Integer(),
  macro_id: Type.Integer(),
  macro: orNull(text),
  by: orNull(Type.String({ description: 'null: the building itself' })),
  called: Type.Boolean({ description: 'by a step of another macro' }),
  started_at: instant,
  ended_at: orNull(instant),
  result: text,
  why: orNull(text),
}
const names = object({ zone: anything(), device: anything(), macro: anything() })
const told = object({
  step: text,
  type: text,
  at: Type.Integer({ description: 'milliseconds since the run began' }),
  ended_at: orNull(Type.Integer()),
  state: text,
  decided: Type.Unknown(),
  answer: Type.Unknown(),
  error: orNull(text),
  message: orNull(text),
  withheld: Type.Boolean({ description: 'a secret took part in it' }),
})

const listAnswer = object({
  macros: Type.Array(
    object({
      id: Type.Integer(),
      name: text,
      description: orNull(text),
      enabled: yesNo,
      elevated: yesNo,
      steps: count,
      pending,
      flaw: orNull(Type.String({ description: 'why it cannot be run' })),
      last: orNull(object(runLine)),
    }),
  ),
})
const openAnswer = object({
  macro: object({
    id: Type.Integer(),
    name: orNull(text),
    pending,
    values: anything(),
    secrets: Type.Array(text),
    names: anything(),
  }),
  steps: Type.Array(anything()),
  names,
})
const savedAnswer = object({ success: Type.Literal(true), pending: count, macro_id: Type.Integer() })
const trialAnswer = object({
  state: text,
  ended_at: Type.Integer({ description: 'milliseconds after its start' }),
  why: orNull(text),
  sent: Type.Array(object({ at: Type.Integer(), macro: text, step: text, type: text, what: Type.Unknown() })),
  steps: Type.Array(told),
  left: Type.Integer({ description: 'what the answer has no room for' }),
  names,
})
const runsAnswer = object({ runs: Type.Array(object(runLine)) })
const runAnswer = object({
  ...runLine,
  args: Type.Unknown(),
  steps: orNull(Type.Array(told, { description: 'null where no trace is kept' })),
  left: count,
  names,
})
const replayAnswer = object({
  same: Type.Boolean({ description: 'this version decides each step as it was decided then' }),
  step: orNull(Type.String({ description: 'the first that differs' })),
})
const verbsAnswer = object({
  verbs: Type.Array(object({ name: text, label: orNull(text), schema: Type.Unknown() })),
})

interface MacroParts {
  macros: UiMacros
  tables: Pick<UiTables, 'write'>
}

/** Each answers 403 `not_elevated` to other sessions: steps name devices and say what their traces saw. */
export function uiMacroRoutes(gate: UiGate, { macros, tables }: MacroParts): Route[] {
  return [...editingRoutes(gate, { macros, tables }), ...runRoutes(gate, macros)]
}

function editingRoutes(gate: UiGate, { macros, tables }: MacroParts): Route[] {
  return [
    gate.elevated({
      method: 'GET',
      path: '/ui/macros',
      reply: listAnswer,
      summary: 'Macros as they will be after Apply All, with what is wrong with them and their last run',
      handle: () => granted({ macros: macros.list() }),
    }),
    gate.elevated({
      method: 'GET',
      path: '/ui/macros/open',
      query: readId,
      reply: openAnswer,
      summary: 'One macro with its steps, as they will be after Apply All',
      handle: ({ query }) => granted(macros.open(readId({ ...(query as object) }).id) ?? noSuch('macro')),
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/macros/save',
      body: readWish,
      reply: savedAnswer,
      isRecordedFirst: true,
      summary: 'Adds or changes one macro with all of its steps, for Apply All',
      async handle({ body, session }) {
        const draft = drafted(macros, readWish(body) as MacroWish)
        const outcome = await tables.write(session, { rows: draft.rows, remove: draft.remove })
        return { outcome: ofMacro(outcome, draft.id) }
      },
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/macros/try',
      body: readTrial,
      reply: trialAnswer,
      summary: 'What a macro would do as it is edited; sends nothing',
      handle({ body }) {
        const asked = readTrial(body) as TrialWish
        const draft = drafted(macros, asked)
        return granted(
          tried(() => macros.tryOut(draft, asked)),
          `macro ${draft.id}`,
        )
      },
    }),
    gate.elevated({
      method: 'GET',
      path: '/ui/verbs',
      query: readTarget,
      reply: verbsAnswer,
      summary: 'The verbs that are known for a zone or a device, with what they take',
      handle({ query }) {
        const target = readTarget({ ...(query as object) }) as Parameters<UiMacros['verbs']>[0]
        return granted({ verbs: macros.verbs(target) ?? noSuch('zone_id') })
      },
    }),
  ]
}

function runRoutes(gate: UiGate, macros: UiMacros): Route[] {
  return [
    gate.elevated({
      method: 'GET',
      path: '/ui/macro/runs',
      query: readRuns,
      reply: runsAnswer,
      summary: 'Runs of macros that are kept, newest first',
      handle({ query }) {
        const { macro, before, limit } = readRuns({ ...(query as object) })
        return granted({ runs: macros.runs({ macro, before, limit }) })
      },
    }),
    gate.elevated({
      method: 'GET',
      path: '/ui/macro/run',
      query: readId,
      reply: runAnswer,
      summary: 'One run of a macro, step by step, without secrets',
      handle: ({ query }) => granted(macros.run(readId({ ...(query as object) }).id) ?? noSuch('run')),
    }),
    gate.elevated({
      method: 'GET',
      path: '/ui/macro/replay',
      query: readId,
      reply: replayAnswer,
      summary: 'Whether a kept run would go the same way in this version; sends nothing',
      handle({ query }) {
        const { id } = readId({ ...(query as object) })
        return granted(tried(() => macros.replay(id)))
      },
    }),
  ]
}

/** @throws Fault `bad_fields` with all that is wrong */
function drafted(macros: UiMacros, asked: MacroWish): MacroDraft {
  const draft = macros.draft(asked)
  if (draft.faults.length > 0) throw fieldsFault(draft.faults)
  return draft
}

/** Faults of the args or of the trace are reported at their own fields. @throws Fault `bad_fields` */
function tried<Value>(work: () => Value): Value {
  try {
    return work()
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    const { code, message } = thrown
    if (code === 'macro_trace') throw fieldsFault([{ field: 'id', message: `${message}.` }])
    if (!code.startsWith('macro_')) throw thrown
    throw fieldsFault([{ field: 'args', message }])
  }
}

/** @throws Fault `bad_fields` */
function noSuch(what: 'macro' | 'run' | 'zone_id'): never {
  const sentence = {
    macro: 'There is no such macro.',
    run: 'This run is not kept.',
    zone_id: 'There is no such target.',
  }
  throw fieldsFault([{ field: what === 'zone_id' ? what : 'id', message: sentence[what] }])
}

/** Renames the fields of faults: the table says `macro_step[2].zone_id`, the editor `steps[2].zone_id`. */
function ofMacro(outcome: Outcome, macroId: number): Outcome {
  const { json } = outcome.body as { json?: Json }
  if (json === undefined || !isObject(json)) return outcome
  if (outcome.status === 200) return { ...outcome, body: { json: { ...json, macro_id: macroId } } }
  if (!isList(json.fields ?? null)) return outcome
  const fields = (json.fields as readonly { field: string; message: string }[]).map(({ field, message }) => ({
    field: field.replace(/^macro\[0\]\./, '').replace(/^macro_step\[/, 'steps['),
    message,
  }))
  return { ...outcome, body: { json: { ...json, fields } } }
}

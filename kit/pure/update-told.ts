/** What a machine tells of its updates: a file that its updater alone writes, and that a controller shows. */
import { type Static, Type } from 'typebox'

const strict = { additionalProperties: false }
const short = Type.String({ maxLength: 64 })
const instant = Type.Integer({ minimum: 0, maximum: 8.64e15 })

/** Longest line: what could not be done, and the backup that it names. */
export const LONGEST_TOLD = 2000
/** Most lines of one run; further ones push the oldest out. */
export const MOST_TOLD = 64
/** Largest such file: these lines in the longest form of JSON, and some more. */
export const TOLD_BYTES = 1_048_576

const sentence = Type.String({ maxLength: LONGEST_TOLD })

/** A sentence of the log. */
const line = Type.Object({ at: instant, text: sentence }, strict)

/** What came of a run. */
const end = Type.Object(
  {
    at: instant,
    /**
     * As the outcomes of `plantroom update`; and settled: no update was cut off. failed: `code` of the fault says why.
     * put_off: what runs on this machine must not be cut.
     */
    outcome: Type.Enum(['current', 'available', 'bad', 'applied', 'rolled_back', 'settled', 'failed', 'put_off']),
    text: sentence,
    code: Type.Optional(short),
  },
  strict,
)

const run = Type.Object(
  {
    /** handed: to apply a release file that somebody has carried here. */
    task: Type.Enum(['check', 'apply', 'handed', 'settle']),
    begunAt: instant,
    lines: Type.Array(line, { maxItems: MOST_TOLD }),
    /** Null while it runs; and of one that was cut off. */
    end: Type.Union([end, Type.Null()]),
  },
  strict,
)

/** What the update server said last. */
const looked = Type.Object(
  {
    at: instant,
    /** Null where nothing is newer. */
    newest: Type.Union([short, Type.Null()]),
    /** Why the newest is not tried again. */
    bad: Type.Optional(sentence),
    /** Hours in which it is to be applied, HH:MM-HH:MM. */
    window: Type.Optional(Type.String({ maxLength: 11 })),
  },
  strict,
)

/** What came of the last update that was applied, or was to be. */
const last = Type.Object(
  {
    at: instant,
    outcome: Type.Enum(['applied', 'rolled_back', 'failed']),
    text: sentence,
  },
  strict,
)

export const toldSchema = Type.Object(
  {
    run,
    looked: Type.Union([looked, Type.Null()]),
    last: Type.Union([last, Type.Null()]),
  },
  strict,
)
/** Times are epoch ms. */
export type UpdateTold = Static<typeof toldSchema>
export type UpdateRun = UpdateTold['run']

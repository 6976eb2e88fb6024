/** Runs that the building starts by itself, for schedules and triggers: their turn, their args, their audit record. */

import type { Clock, Timer } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { isSensitiveName } from '#kit/pure/sensitive-name.ts'
import { durationText } from '#kit/pure/text.ts'
import type { AuditBook, AuditFacts, AuditReason, AuditRecord } from '../audit.ts'
import { isObject, type Json } from '../json.ts'
import type { Row } from '../site/book.ts'
import { filledArgs } from './decide.ts'
import type { MacroEngine } from './engine.ts'
import { runAuditFacts } from './kept-run.ts'
import type { CallBook, LiveRun } from './ports.ts'
import { type MacroLimits, makeArgs } from './values.ts'

/** What starts a macro. */
export interface HouseCause {
  kind: 'schedule' | 'trigger'
  /** Of `schedule` or `trigger`: its macro_id, its args, its name. */
  row: Row
  /** What happened, by the names by which the args of the row may refer to it. */
  event: Readonly<Record<string, Json>>
  /** Names in `event` whose values are secret, whatever they are called. */
  secret?: readonly string[]
  /** How many runs led to this one. */
  chain: number
}

interface HouseParts {
  book: CallBook
  engine: Pick<MacroEngine, 'start'>
  audit: Pick<AuditBook, 'add'>
  clock: Clock
  limits: HouseLimits
}

interface HouseLimits extends Pick<MacroLimits, 'valueChars' | 'answerMs' | 'queueMs'> {
  /** Most runs of the building that live at once, so that people's have room beside. */
  houseRuns: number
  /** Most that wait for that. */
  houseWaiting: number
}

interface Waiting {
  cause: HouseCause
  timer: Timer
}

/** Lives as long as the daemon. */
export class HouseRuns {
  readonly #parts: HouseParts
  readonly #waiting: Waiting[] = []
  #living = 0
  #isStopped = false

  constructor(parts: HouseParts) {
    this.#parts = parts
  }

  /** Starts the macro, at once or in its turn. Never throws: the audit says what came of it. */
  start(cause: HouseCause): void {
    if (this.#isStopped) return
    const { clock, limits } = this.#parts
    if (this.#living < limits.houseRuns) this.#begin(cause)
    else if (this.#waiting.length >= limits.houseWaiting)
      this.refuse(cause, `${this.#waiting.length} runs of schedules and triggers wait already`, 'busy')
    else {
      const entry = { cause, timer: clock.after(limits.queueMs, () => this.#expired(entry)) }
      this.#waiting.push(entry)
    }
  }

  /** Records that a macro was not started. @param times how often, for what happens often */
  refuse(cause: HouseCause, sentence: string, reason: AuditReason = 'trigger_limit', times = 1): void {
    const detail = times === 1 ? sentence : `${sentence} (${times} times)`
    this.#add(cause, { outcome: 'refused', detail }, { reason, status: reason === 'missed' ? 408 : 429 })
  }

  /** Lets nothing start any more. */
  stop(): void {
    this.#isStopped = true
    for (const { timer } of this.#waiting.splice(0)) timer.cancel()
  }

  #expired(entry: Waiting): void {
    this.#waiting.splice(this.#waiting.indexOf(entry), 1)
    const sentence = `it had no turn within ${durationText(this.#parts.limits.queueMs)}, as ${this.#living} runs of the building live already`
    this.refuse(entry.cause, sentence, 'busy')
  }

  #begin(cause: HouseCause): void {
    const { clock, limits } = this.#parts
    const beganMs = clock.monotonicMs()
    try {
      const run = this.#startedRun(cause)
      this.#living++
      let isRecorded = false
      const record = () => {
        if (!isRecorded) this.#record(cause, run, beganMs)
        isRecorded = true
      }
      const due = clock.after(limits.answerMs, record)
      run.onEnd(() => {
        due.cancel()
        record()
        this.#living--
        this.#giveTurn()
      })
    } catch (thrown) {
      const { code, message } = faultOf(thrown, 'macro_failed', 'the macro could not be started')
      this.#add(cause, { outcome: 'failed', detail: `${code}: ${message}` }, {})
      this.#giveTurn()
    }
  }

  /** @throws Fault `unknown_macro`, and those of a call */
  #startedRun({ row, event, secret = [], chain }: HouseCause): LiveRun {
    const { book, engine, limits } = this.#parts
    const macro = book.find({ id: row.macro_id })
    if (macro === undefined) throw new Fault('unknown_macro', `macro ${row.macro_id} is not there, or is disabled`)
    const names = Object.keys(event).filter((name) => isSensitiveName(name) || secret.includes(name))
    const happened = makeArgs(Object.entries(event), limits.valueChars, { secret: names })
    const args = filledArgs(isObject(row.args) ? row.args : {}, happened, limits.valueChars)
    return engine.start({ plan: book.plan(macro), args, caller: null, chain })
  }

  #giveTurn(): void {
    const next = this.#waiting.shift()
    if (next === undefined) return
    next.timer.cancel()
    // Not within the turn of the run that has just ended.
    this.#parts.clock.soon(() => this.start(next.cause))
  }

  #record(cause: HouseCause, run: LiveRun, beganMs: number): void {
    const { facts, reason } = runAuditFacts(run, '')
    const elapsedMs = Math.round(this.#parts.clock.monotonicMs() - beganMs)
    this.#add(cause, facts, { reason, runId: run.id, elapsedMs })
  }

  #add(
    { kind, row }: HouseCause,
    facts: Pick<AuditFacts, 'outcome' | 'detail'>,
    more: Partial<Pick<AuditRecord, 'reason' | 'runId' | 'elapsedMs' | 'status'>>,
  ): void {
    const { audit, book, clock } = this.#parts
    const { reason = null, runId = null, elapsedMs = 0, status = 200 } = more
    const nameOf = (one: Row | undefined, id: Json | undefined) =>
      typeof one?.name === 'string' ? JSON.stringify(one.name) : id
    const macro = nameOf(book.find({ id: row.macro_id }), row.macro_id)
    void audit.add({
      ...{ at: clock.epochMs(), requestType: kind, method: 'RUN', path: `/${kind}/${row.id}`, status, elapsedMs },
      ...{ clientIp: '', userId: null, username: null, granted: reason === null, reason },
      ...{ target: `macro ${row.macro_id}`, runId },
      facts: { ...facts, action: `macro ${macro} by ${kind} ${nameOf(row, row.id)}` },
    })
  }
}

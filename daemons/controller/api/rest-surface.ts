/** The REST surface as the server serves it: each call is answered by the order of checks, and recorded. */
import { atMost, type Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import type { Surface, SurfaceAnswer, SurfaceCall } from '#kit/http/surface.ts'
import type { Log } from '#kit/log.ts'
import type { AuditRecord } from '../core/audit.ts'
import { textOf } from '../core/outcome.ts'
import { notRecorded, type RestOutcome } from './rest-answers.ts'
import { restDescription } from './rest-description.ts'
import { BODY_BYTES } from './rest-endpoints.ts'
import { beginCall, createRestOrder, type RestCall, type RestNeeds } from './rest-order.ts'

/** What the surface needs. */
export interface RestSurfaceNeeds extends RestNeeds {
  clock: Clock
  log: Log
  limits: {
    /** How long an answer waits for its record to be on the disk (config `audit.record_ms`). */
    recordMs: number
  }
}

/**
 * Everything under `/api`. Answers to `/api/token` and `/api/control/*` go out when their record is on the disk, the
 * others at once.
 * @source document 1
 */
export function restSurface(needs: RestSurfaceNeeds): Surface {
  const { audit, clock } = needs
  const outcomeOf = createRestOrder(needs)

  function handle(call: SurfaceCall): SurfaceAnswer | Promise<SurfaceAnswer> {
    const beganMs = clock.monotonicMs()
    const rest = beginCall(call, needs)
    const outcome = outcomeNow(rest)
    return outcome instanceof Promise
      ? outcome.catch((error) => failed(error, call)).then((late) => recorded(rest, late, beganMs))
      : recorded(rest, outcome, beganMs)
  }

  function outcomeNow(rest: RestCall): RestOutcome | Promise<RestOutcome> {
    try {
      return outcomeOf(rest)
    } catch (error) {
      return failed(error, rest)
    }
  }

  function recorded(rest: RestCall, made: RestOutcome, beganMs: number): SurfaceAnswer | Promise<SurfaceAnswer> {
    const outcome = rest.takes(sizeOf(made)) ? made : unreadBefore
    const record = recordOf(rest, outcome, { at: clock.epochMs(), elapsedMs: clock.monotonicMs() - beganMs })
    // Nothing is to be undone of what was refused: while the disk takes nothing, nobody is kept waiting for that.
    if (isAwaited(rest) && (record.granted || audit.takes())) return whenKept(record, outcome)
    void audit.add(record)
    return answerOf(outcome)
  }

  async function whenKept(record: AuditRecord, outcome: RestOutcome): Promise<SurfaceAnswer> {
    const isKept = await atMost(clock, needs.limits.recordMs, audit.add(record, true))
    if (isKept) return answerOf(outcome)
    needs.log.error('audit_late', { ...record, waitedMs: needs.limits.recordMs })
    // What was refused needs no taking back: the log has it now.
    if (!record.granted) return answerOf(outcome)
    audit.late(record)
    return answerOf(notRecorded(true))
  }

  return {
    prefix: '/api',
    bodyBytes: BODY_BYTES,
    describes: restDescription,
    handle,
    onRefused(call, status) {
      const outcome: RestOutcome = { status, body: { text: '' }, reason: null }
      void audit.add(recordOf(beginCall(call, needs), outcome, { at: clock.epochMs(), elapsedMs: 0 }))
    },
  }
}

/** Whose answers wait for their record, refusals too. */
function isAwaited({ place }: RestCall): boolean {
  return place?.endpoint.name === 'token' || place?.endpoint.name === 'control'
}

/**
 * What a rule threw: its status where its code has one, else 500 without a word of it. A disk that took nothing is no
 * fault that a caller could mend, and its sentence names files of the house: that is 500 as well.
 * @source document 1, HTTP statuses
 */
function failed(error: unknown, call: SurfaceCall): RestOutcome {
  const isOfDisk = error instanceof Fault && error.code === 'store_write_failed'
  const { status, headers, text } = call.answerOf(isOfDisk ? new Error(error.message, { cause: error }) : error)
  return { status, headers, body: { text }, reason: null }
}

function recordOf(
  call: RestCall,
  outcome: RestOutcome,
  { at, elapsedMs }: { at: number; elapsedMs: number },
): AuditRecord {
  const { session } = call
  return {
    at,
    elapsedMs,
    requestType: 'rest_api',
    method: call.method,
    path: call.path,
    status: outcome.status,
    clientIp: call.origin.clientIp,
    userId: session?.userId ?? outcome.user?.id ?? null,
    username: session?.username ?? outcome.user?.username ?? null,
    granted: outcome.reason === null && outcome.status < 400,
    reason: outcome.reason,
    target: outcome.target ?? null,
    runId: outcome.runId ?? null,
    facts: outcome.facts ?? null,
  }
}

/** What comes to more than a little is rows, and those come in pieces or are short. */
function sizeOf({ body }: RestOutcome): number {
  return 'pieces' in body ? body.pieces.reduce((sum, { length }) => sum + length, 0) : 0
}

/** Nothing is to be undone of what was only read. */
const unreadBefore: RestOutcome = {
  status: 503,
  body: {
    json: {
      error: 'too_much_unsent',
      message: 'the answer does not fit beside those that wait to be read at your address; read them, then ask again',
    },
  },
  reason: 'busy',
}

function answerOf({ status, headers, body }: RestOutcome): SurfaceAnswer {
  const content = 'pieces' in body ? { pieces: body.pieces } : { text: textOf(body) }
  return headers ? { status, headers, ...content } : { status, ...content }
}

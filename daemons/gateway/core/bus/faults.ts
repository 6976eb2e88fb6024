/** The faults of a bus: counters, and sentences for users. */

import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { BusFaultKind, BusProtocol, BusReply, BusRequest, ReplyFlaw } from './protocol.ts'

// The counters of one line.

/** All counters at zero. Each is raised by one per event, except `noiseBytes`: by one per byte. */
export function busCounts() {
  return {
    txFrames: 0,
    rxFrames: 0,
    requests: 0,
    replies: 0,
    exceptions: 0,
    broadcasts: 0,
    timeouts: 0,
    badReplies: 0,
    lateReplies: 0,
    echoes: 0,
    crcErrors: 0,
    wrongUnit: 0,
    wrongFunction: 0,
    shortFrames: 0,
    longFrames: 0,
    mismatchedReplies: 0,
    malformedFrames: 0,
    strayFrames: 0,
    noiseBytes: 0,
    echoChecks: 0,
    sendFailures: 0,
    lineBusy: 0,
    queueFull: 0,
    refusedSilent: 0,
    scanUnanswered: 0,
    expired: 0,
    holds: 0,
    fences: 0,
    doubts: 0,
    copies: 0,
  }
}

export type BusCounts = ReturnType<typeof busCounts>

/** The counter that a flawed frame raises. */
export const countOfFlaw: Readonly<Record<ReplyFlaw, keyof BusCounts>> = {
  crc: 'crcErrors',
  wrong_unit: 'wrongUnit',
  wrong_function: 'wrongFunction',
  short: 'shortFrames',
  long: 'longFrames',
  mismatch: 'mismatchedReplies',
  malformed: 'malformedFrames',
}

/** What was received after a request, by counter name; `noiseBytes` in bytes, all others in frames. */
export type Heard = Readonly<Record<string, number>>

/**
 * Counters which mean that the unit may have spoken but was not understood. Frames of another unit are not among them.
 */
const rubbish = [
  'crcErrors',
  'wrongFunction',
  'shortFrames',
  'longFrames',
  'mismatchedReplies',
  'malformedFrames',
  'noiseBytes',
]

const kinds = new WeakMap<Fault, BusFaultKind>()

/** The kind of a bus fault; undefined for other faults, such as a refusal or a closed line. */
export function busFaultKind(fault: Fault): BusFaultKind | undefined {
  return kinds.get(fault)
}

type AnyProtocol<Request extends BusRequest> = Pick<
  BusProtocol<Request, BusReply>,
  'detailsOf' | 'fault' | 'nameOf' | 'isWrite'
>
type Details = Readonly<Record<string, unknown>>

/** The sentences about requests of one protocol. */
export type BusFaults<Request extends BusRequest> = ReturnType<typeof createBusFaults<Request>>

export function createBusFaults<Request extends BusRequest>(protocol: AnyProtocol<Request>) {
  return { ...answerFaults(protocol), ...waitingFaults(protocol) }
}

type Made = (kind: BusFaultKind, sentence: string, details: Details) => Fault

function maker({ fault: faultOfKind }: Pick<AnyProtocol<BusRequest>, 'fault'>): Made {
  return (kind, sentence, details) => {
    const fault = faultOfKind(kind, sentence, { details })
    kinds.set(fault, kind)
    return fault
  }
}

/** Faults of requests that were sent. */
function answerFaults<Request extends BusRequest>(protocol: AnyProtocol<Request>) {
  const { detailsOf, nameOf } = protocol
  const made = maker(protocol)
  const warningOf = (request: Request) =>
    protocol.isWrite(request) ? ' The write may have been carried out all the same.' : ''

  return {
    /**
     * No reply in time: `noReply` if nothing of the unit was received, `badReply` if bytes came that are no valid
     * reply. `details`: those of the request, waitedMs, heard; lateMs if the unit has answered too late before.
     * @param lateMs the longest time the unit took to answer a request that had timed out; 0: it never answered late
     */
    noReply(request: Request, waitedMs: number, heard: Heard, lateMs = 0): Fault {
      const isRubbish = rubbish.some((name) => heard[name])
      const list = Object.entries(heard).map(([name, count]) => `${name} ${count}`)
      const seen = list.length > 0 ? ` Heard meanwhile: ${list.join(', ')}.` : ''
      const what = isRubbish ? 'gave no valid answer' : 'did not answer'
      const sentence = `Unit ${request.unitId} ${what} to ${nameOf(request)} within ${durationText(waitedMs)}.${seen}${lateness(lateMs)}${warningOf(request)}`
      return made(isRubbish ? 'badReply' : 'noReply', sentence, {
        ...detailsOf(request),
        waitedMs,
        heard: { ...heard },
        ...(lateMs > 0 && { lateMs: Math.round(lateMs) }),
      })
    },

    /**
     * The request was not sent: the unit owes a reply that could be mistaken for this one's, and did not answer the
     * fence, the read that shows that no older reply is to come.
     * @param why the fault of that read
     */
    unproven(request: Request, why: Fault): Fault {
      return asWhy(
        why,
        `Unit ${request.unitId} still owes an answer that could be mistaken for the one to ${nameOf(request)}, so that was not sent. A read to settle it came to nothing: ${why.message}`,
        detailsOf(request),
      )
    },

    /** The line was closed, or lost, while the request was in flight. `details`: those of `why`, mayBeOut. */
    cutOff: (request: Request, why: Fault): Fault => asWhy(why, why.message + warningOf(request), { mayBeOut: true }),
  }
}

/** Faults of requests that were not sent. */
function waitingFaults<Request extends BusRequest>(protocol: AnyProtocol<Request>) {
  const { detailsOf } = protocol
  const made = maker(protocol)

  return {
    /** Polls and background work are not sent to a silent unit. `details`: unitId, nextTryAt, retryAfterMs. */
    unitSilent(
      unitId: number,
      { misses, retryInMs, nextTryEpochMs }: { misses: number; retryInMs: number; nextTryEpochMs: number },
    ): Fault {
      const when = retryInMs > 0 ? `in ${durationText(Math.ceil(retryInMs))}` : 'as soon as the line has room'
      return made(
        'unitSilent',
        `Unit ${unitId} left its last ${misses} requests without a valid answer, so it was not asked; it is tried again ${when}.`,
        { unitId, nextTryAt: nextTryEpochMs, retryAfterMs: Math.ceil(retryInMs) },
      )
    },

    /**
     * A request left the queue because its deadline passed.
     * @param heldLateMs given if its unit is on hold: the longest time it took to answer a request that had timed out
     */
    expired(request: Request, waitedMs: number, heldLateMs: number | undefined): Fault {
      const isHeld = heldLateMs !== undefined
      const why = isHeld ? 'the unit is held back because it owes an answer' : 'the line was busy with other requests'
      const sentence = `The request to unit ${request.unitId} waited ${durationText(waitedMs)} and was not sent: ${why}.${lateness(heldLateMs ?? 0)}`
      return made('expired', sentence, { ...detailsOf(request), waitedMs })
    },

    /** The caller has hung up. */
    withdrawn(request: Request): Fault {
      const sentence = `The request to unit ${request.unitId} was not sent: the caller has hung up.`
      return made('withdrawn', sentence, detailsOf(request))
    },

    /** The line was never silent long enough to send. */
    lineBusy(request: Request, waitedMs: number): Fault {
      const sentence = `The line was not silent within ${durationText(waitedMs)}, so nothing was sent to unit ${request.unitId}. Another master or noise is on it.`
      return made('lineBusy', sentence, { ...detailsOf(request), waitedMs })
    },

    /** The driver did not send the request. */
    sendTimeout(request: Request, waitedMs: number): Fault {
      const sentence = `The driver did not send the request to unit ${request.unitId} within ${durationText(waitedMs)}; flow control may hold it back.`
      return made('sendTimeout', sentence, { ...detailsOf(request), waitedMs })
    },
  }
}

/** The same kind and code with another sentence. */
function asWhy(why: Fault, sentence: string, details: Details): Fault {
  const fault = new Fault(why.code, sentence, { cause: why, details: { ...why.details, ...details } })
  const kind = kinds.get(why)
  if (kind) kinds.set(fault, kind)
  return fault
}

function lateness(lateMs: number): string {
  if (lateMs === 0) return ''
  return ` It has answered ${durationText(lateMs)} after a request: settings.response_timeout_ms is too short for it.`
}

/** The queue of the line is full. */
export function queueFullFault(port: string, waiting: number, retryAfterMs: number): Fault {
  return new Fault('queue_full', `${waiting} requests wait for ${port}, as many as settings.queue allows.`, {
    details: { retryAfterMs },
  })
}

/** @throws Fault `bad_fields` with every fault in `details.fields`, if there are any */
export function refuseFields(fields: readonly { field: string; message: string }[]): void {
  if (fields.length === 0) return
  const sentence = fields.map(({ field, message }) => `${field} ${message}`).join('; ')
  throw new Fault('bad_fields', sentence, { details: { fields } })
}

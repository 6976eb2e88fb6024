/** What goes wrong on a Modbus line: counters, and sentences for users. */

import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { ReplyFlaw, SentRequest } from '../../wire/modbus-reply.ts'
import { exceptionName, functionName, modbusFunctions } from '../../wire/modbus-request.ts'

// Counters of one Modbus line, by kind.

/** All counters at zero; each is raised by one per event, `noiseBytes` per byte. */
export function modbusCounts() {
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

export type ModbusCounts = ReturnType<typeof modbusCounts>

/** Which counter a flawed frame raises. */
export const countOfFlaw: Readonly<Record<ReplyFlaw, keyof ModbusCounts>> = {
  crc: 'crcErrors',
  wrong_unit: 'wrongUnit',
  wrong_function: 'wrongFunction',
  short: 'shortFrames',
  long: 'longFrames',
  mismatch: 'mismatchedReplies',
  malformed: 'malformedFrames',
}

/** What was heard after a request, by counter name; `noiseBytes` in bytes, all else in frames. */
export type Heard = Readonly<Record<string, number>>

/** Counters that mean the unit may have spoken, and was not understood. A frame of another unit is none of them. */
const rubbish = [
  'crcErrors',
  'wrongFunction',
  'shortFrames',
  'longFrames',
  'mismatchedReplies',
  'malformedFrames',
  'noiseBytes',
]

/**
 * No answer within the time: `modbus_timeout` where nothing of the unit was heard, `modbus_bad_reply` where bytes
 * came that are no answer. `details`: unitId, fc, waitedMs, heard; lateMs where it has answered too late before.
 * @param lateMs the longest time that the unit took to answer what was given up; 0: it never did
 */
export function noReplyFault(sent: SentRequest, waitedMs: number, heard: Heard, lateMs = 0): Fault {
  const { unitId, fc } = sent.request
  const isRubbish = rubbish.some((name) => heard[name])
  const list = Object.entries(heard).map(([name, count]) => `${name} ${count}`)
  const seen = list.length > 0 ? ` Heard meanwhile: ${list.join(', ')}.` : ''
  const warning = modbusFunctions.get(fc)?.isWrite ? ' The write may have been carried out all the same.' : ''
  const what = isRubbish ? 'gave no answer that holds' : 'did not answer'
  const details = { unitId, fc, waitedMs, heard: { ...heard }, ...(lateMs > 0 && { lateMs: Math.round(lateMs) }) }
  return new Fault(
    isRubbish ? 'modbus_bad_reply' : 'modbus_timeout',
    `Unit ${unitId} ${what} to ${functionName(fc)} within ${durationText(waitedMs)}.${seen}${lateness(lateMs)}${warning}`,
    { details },
  )
}

function lateness(lateMs: number): string {
  if (lateMs === 0) return ''
  return ` It has answered ${durationText(lateMs)} after a request: settings.response_timeout_ms is too short for it.`
}

/**
 * It was not asked: it owes an answer that could be mistaken for the one to this, and did not answer the read that
 * would have shown that nothing older is to come.
 * @param why what became of that read
 */
export function unprovenFault({ request: { unitId, fc } }: SentRequest, why: Fault): Fault {
  return new Fault(
    why.code,
    `Unit ${unitId} still owes an answer that could be mistaken for the one to ${functionName(fc)}, so that was not sent. A read to settle it came to nothing: ${why.message}`,
    { cause: why, details: { ...why.details, unitId, fc } },
  )
}

/** The unit answered with an exception. `details`: unitId, fc, exception {code, name}. */
export function exceptionFault(sent: SentRequest, code: number): Fault {
  const { unitId, fc } = sent.request
  const name = exceptionName(code)
  return new Fault('modbus_exception', `Unit ${unitId} answered ${functionName(fc)} with exception ${code}, ${name}.`, {
    details: { unitId, fc, exception: { code, name } },
  })
}

/** Polls and background work do not go to a unit that is silent. `details`: unitId, nextTryAt, retryAfterMs. */
export function unitSilentFault(
  unitId: number,
  { misses, retryInMs, nextTryEpochMs }: { misses: number; retryInMs: number; nextTryEpochMs: number },
): Fault {
  const when = retryInMs > 0 ? `in ${durationText(Math.ceil(retryInMs))}` : 'as soon as the line has room'
  return new Fault(
    'modbus_unit_silent',
    `Unit ${unitId} left its last ${misses} requests without an answer that holds, so it was not asked; it is tried again ${when}.`,
    { details: { unitId, nextTryAt: nextTryEpochMs, retryAfterMs: Math.ceil(retryInMs) } },
  )
}

/**
 * A request left the queue because its time was over.
 * @param heldLateMs its unit is held back: the longest time that it took to answer what was given up
 */
export function expiredFault(sent: SentRequest, waitedMs: number, heldLateMs: number | undefined): Fault {
  const { unitId, fc } = sent.request
  const isHeld = heldLateMs !== undefined
  const why = isHeld ? 'the unit is held back because it owes an answer' : 'the line was busy with other requests'
  const sentence = `The request to unit ${unitId} waited ${durationText(waitedMs)} and was not sent: ${why}.${lateness(heldLateMs ?? 0)}`
  return new Fault('modbus_expired', sentence, { details: { unitId, fc, waitedMs } })
}

/** Whoever asked is gone. */
export function withdrawnFault({ request }: Pick<SentRequest, 'request'>): Fault {
  const { unitId, fc } = request
  return new Fault('modbus_withdrawn', `The request to unit ${unitId} was not sent: who asked it has left.`, {
    details: { unitId, fc },
  })
}

/** The line was closed, or lost, while the request was out. `details`: those of `why`, mayBeOut. */
export function cutOffFault({ request }: Pick<SentRequest, 'request'>, why: Fault): Fault {
  const warning = modbusFunctions.get(request.fc)?.isWrite ? ' The write may have been carried out all the same.' : ''
  return new Fault(why.code, why.message + warning, { cause: why, details: { ...why.details, mayBeOut: true } })
}

/** The line was never silent long enough to send. */
export function lineBusyFault(sent: SentRequest, waitedMs: number): Fault {
  const { unitId, fc } = sent.request
  return new Fault(
    'modbus_line_busy',
    `The line was not silent within ${durationText(waitedMs)}, so nothing was sent to unit ${unitId}. Another master or noise is on it.`,
    { details: { unitId, fc, waitedMs } },
  )
}

/** The driver did not send the request. */
export function sendFault(sent: SentRequest, waitedMs: number): Fault {
  const { unitId, fc } = sent.request
  return new Fault(
    'modbus_send_timeout',
    `The driver did not send the request to unit ${unitId} within ${durationText(waitedMs)}; flow control may hold it back.`,
    { details: { unitId, fc, waitedMs } },
  )
}

/** Too many requests wait. */
export function queueFullFault(port: string, waiting: number, retryAfterMs: number): Fault {
  return new Fault('queue_full', `${waiting} requests wait for ${port}, as many as settings.queue allows.`, {
    details: { retryAfterMs },
  })
}

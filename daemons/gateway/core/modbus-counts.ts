/** Counters of one Modbus line, by kind. */
import type { ReplyFlaw } from '../wire/modbus-reply.ts'

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

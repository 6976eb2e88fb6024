/** What a point's value is worth: state x event -> next state. */

/**
 * - `unknown` never read
 * - `good` read, and young enough
 * - `stale` its last value is older than the limit
 * - `bad` there is no value: the device says so, or never answered
 */
export type PointQuality = 'unknown' | 'good' | 'stale' | 'bad'

/**
 * - `read` a value came
 * - `refused` the unit answered that there is none: an exception, not a number
 * - `unanswered` a read came to nothing: silence
 * - `notOpen` the line is closed or gone: nothing will refresh the value, so it is not good for a moment longer
 * - `aged` the last value has become older than the limit
 */
export type PointEvent = 'read' | 'refused' | 'unanswered' | 'notOpen' | 'aged'

/** A pair that is not listed does not change the state: one read that fails leaves a young value good. */
export const pointQualityTable: Readonly<Record<PointQuality, Partial<Record<PointEvent, PointQuality>>>> = {
  unknown: { read: 'good', refused: 'bad', unanswered: 'bad', notOpen: 'bad' },
  good: { refused: 'bad', notOpen: 'stale', aged: 'stale' },
  stale: { read: 'good', refused: 'bad' },
  bad: { read: 'good' },
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextPointQuality(quality: PointQuality, event: PointEvent): PointQuality {
  return pointQualityTable[quality][event] ?? quality
}

/**
 * Reports beside packets of RTP: what a camera says of its clock, and what it is told of what came.
 * @source RFC 3550, 6.4 (reports), 6.5 (CNAME), A.3 and A.8 (loss and jitter)
 */

/** What a sender says of its own clock: the wall time of one stamp. */
export interface SenderReport {
  source: number
  /** Of the camera's clock, seconds since 1900 with a fraction: only differences of them mean anything here. */
  ntpS: number
  timestamp: number
}

const SENDER_REPORT = 200
const RECEIVER_REPORT = 201
const SOURCE_DESCRIPTION = 202

/** The sender report of a compound of packets; undefined if it has none, or is none. */
export function readSenderReport(bytes: Uint8Array): SenderReport | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 0; at + 4 <= bytes.length; at += 4 + 4 * view.getUint16(at + 2)) {
    if (view.getUint8(at) >> 6 !== 2) return undefined
    if (view.getUint8(at + 1) !== SENDER_REPORT || at + 28 > bytes.length) continue
    const ntpS = view.getUint32(at + 8) + view.getUint32(at + 12) / 2 ** 32
    return { source: view.getUint32(at + 4), ntpS, timestamp: view.getUint32(at + 16) }
  }
  return undefined
}

/** Counts what came of one stream, for reports to its sender. */
export interface Reception {
  /** @param bytes of a packet of RTP; what is none is left out */
  packet(bytes: Uint8Array, arrivalMs: number): void
  reported(report: SenderReport, arrivalMs: number): void
  /** A receiver report and the name of who sends it; undefined while nothing came. */
  report(nowMs: number): Uint8Array | undefined
}

/** @param own names this receiver, 32 bits by chance @param ticksPerS of the stamps */
export function createReception(own: number, ticksPerS: number): Reception {
  let source: number | undefined
  let first = 0
  let highest = 0
  let received = 0
  let jitter = 0
  let transitTicks: number | undefined
  let before = { expected: 0, received: 0 }
  let last: { report: SenderReport; atMs: number } | undefined

  function begin(from: number, sequence: number): void {
    source = from
    first = highest = sequence
    received = 0
    jitter = 0
    transitTicks = undefined
    before = { expected: 0, received: 0 }
    last = undefined
  }

  return {
    packet(bytes, arrivalMs) {
      if (bytes.length < 12) return
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      const sequence = view.getUint16(2)
      if (view.getUint32(8) !== source) begin(view.getUint32(8), sequence)
      // Sequence numbers further apart than half their range are behind, not ahead.
      const ahead = ((sequence - highest) << 16) >> 16
      if (ahead > 0) highest += ahead
      received++
      const transit = (arrivalMs * ticksPerS) / 1000 - view.getUint32(4)
      if (transitTicks !== undefined) jitter += (Math.min(Math.abs(transit - transitTicks), ticksPerS) - jitter) / 16
      transitTicks = transit
    },
    reported(report, atMs) {
      if (report.source === source) last = { report, atMs }
    },
    report(nowMs) {
      if (source === undefined) return undefined
      const expected = highest - first + 1
      const [due, came] = [expected - before.expected, received - before.received]
      before = { expected, received }
      const fraction = due > 0 && due > came ? Math.floor(((due - came) * 256) / due) : 0
      const lost = Math.max(0, Math.min(0x7f_ffff, expected - received))
      const reportedAt = last ? middleOf(last.report.ntpS) : 0
      const sinceReport = last ? Math.round(((nowMs - last.atMs) * 65_536) / 1000) >>> 0 : 0
      const block = [
        source,
        ((fraction << 24) | lost) >>> 0,
        highest >>> 0,
        Math.round(jitter),
        reportedAt,
        sinceReport,
      ]
      return Uint8Array.from([
        ...[0x81, RECEIVER_REPORT, 0, 7, ...[own, ...block].flatMap(u32)],
        // A CNAME of one byte, its end and padding.
        ...[0x81, SOURCE_DESCRIPTION, 0, 2, ...u32(own), 1, 1, 0x70, 0],
      ])
    },
  }
}

/** The middle 32 bits of a time of NTP. */
function middleOf(ntpS: number): number {
  return Math.floor((ntpS % 65_536) * 65_536) >>> 0
}

function u32(value: number): number[] {
  return [(value >>> 24) & 0xff, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff]
}

/** Recovers the clock of a sender without shared PTP from the arrival times of its packets. */
import { audioTimeAt, type Calibration } from '../ptp/ptp.ts'

// The line through the fastest packets: arrival time against the instant of their timestamps.

/** The fastest packet of a period: its arrival, and the instant of its timestamp on the receiver's clock. */
interface FastestPacket {
  /** CLOCK_MONOTONIC. */
  monotonicNs: bigint
  mediaNs: bigint
}

/** Uses the fastest packet of each second, for the last minute. */
const SECOND_NS = 1_000_000_000
const MOST_SECONDS = 60
/** Seconds before a slope is trusted: one late second would tilt a shorter line. */
const SLOPE_AFTER_S = 4
/** No crystal is further off. */
const MOST_RATE = 200e-6
/** If this many seconds in a row are off by more than this, sender or network have moved. */
const MOVED_SECONDS = 4
const MOVED_NS = 2_000_000

/** A fastest packet, in ns: `x` since the first, `y` how far its timestamp is ahead of CLOCK_MONOTONIC. */
interface Point {
  x: number
  y: number
}

/** y = level + rate * x */
interface Line {
  level: number
  rate: number
}

/** Bounded: holds the packets of a minute. */
function createArrivalLine() {
  let origin: FastestPacket | undefined
  /** The fastest packet of each second; and doubted ones. */
  let points: Point[] = []
  let doubts: Point[] = []
  let isAhead = false
  let rate = 0

  /** In the first seconds each packet may be much faster than those before. */
  const isYoung = () => points.length < MOVED_SECONDS

  /** A packet far off the line is held until others agree. @returns whether sender or network have moved */
  function add(packet: FastestPacket): boolean {
    origin ??= packet
    const sinceNs = packet.monotonicNs - origin.monotonicNs
    const point = { x: Number(sinceNs), y: Number(packet.mediaNs - origin.mediaNs - sinceNs) }
    const line = isYoung() ? null : fit(points, rate)
    const off = line === null ? 0 : point.y - line.level - line.rate * point.x
    const isDoubted = Math.abs(off) > MOVED_NS
    if (!isDoubted || off > 0 !== isAhead) doubts = []
    isAhead = off > 0
    if (isDoubted) doubts = merged(doubts, point, rate)
    else points = merged(points, point, rate)
    const hasMoved = doubts.length === MOVED_SECONDS
    if (hasMoved) {
      points = doubts
      doubts = []
    }
    rate = fit(points, rate).rate
    return hasMoved
  }

  return {
    add,
    isYoung,
    /** Starts a new line, keeping the known rate. */
    restart(): void {
      points = []
      doubts = []
    },
    /** The instant on the sender's clock, by the line; null if no packet has come since the start. */
    mediaNsAt(monotonicNs: bigint): bigint | null {
      if (origin === undefined || points.length === 0) return null
      const sinceNs = monotonicNs - origin.monotonicNs
      const line = fit(points, rate)
      return origin.mediaNs + sinceNs + BigInt(Math.round(line.level + line.rate * Number(sinceNs)))
    },
    /** How much faster the sender runs than CLOCK_MONOTONIC. */
    rate: () => rate,
    /** Whether the rate was measured from packets since the start. */
    isRateKnown: () => spanS(points) >= SLOPE_AFTER_S,
  }
}

/** Keeps the fastest packet of each of the last seconds. */
function merged(points: readonly Point[], point: Point, rate: number): Point[] {
  const last = points.at(-1)
  const isNext = last === undefined || Math.floor(point.x / SECOND_NS) > Math.floor(last.x / SECOND_NS)
  if (isNext) return [...points, point].slice(-MOST_SECONDS)
  return point.y > last.y + rate * (point.x - last.x) ? [...points.slice(0, -1), point] : [...points]
}

function spanS(points: readonly Point[]): number {
  const [first, last] = [points[0], points.at(-1)]
  return first === undefined || last === undefined ? 0 : (last.x - first.x) / SECOND_NS
}

/**
 * The line above all points and nearest to them: the edge of their upper hull over the middle.
 * @param known rate used if the points cover too short a time
 * @source Moon, Skelly, Towsley: Estimation and Removal of Clock Skew from Network Delay Measurements, INFOCOM 1999, IV
 */
function fit(points: readonly Point[], known: number): Line {
  let slope = known
  if (spanS(points) >= SLOPE_AFTER_S) {
    const middle = points.reduce((sum, { x }) => sum + x, 0) / points.length
    const hull = upperHull(points)
    const right = hull.findIndex(({ x }) => x >= middle)
    const [from, to] = [hull[right - 1], hull[right]]
    if (from !== undefined && to !== undefined)
      slope = Math.min(MOST_RATE, Math.max(-MOST_RATE, (to.y - from.y) / (to.x - from.x)))
  }
  return { level: Math.max(...points.map(({ x, y }) => y - slope * x)), rate: slope }
}

/** From left to right, turning right at each corner. */
function upperHull(points: readonly Point[]): Point[] {
  const hull: Point[] = []
  for (const point of points) {
    while (hull.length >= 2 && !turnsRight(hull.slice(-2), point)) hull.pop()
    hull.push(point)
  }
  return hull
}

function turnsRight([from, over]: Point[], to: Point): boolean {
  if (from === undefined || over === undefined) return true
  return (over.x - from.x) * (to.y - from.y) - (over.y - from.y) * (to.x - from.x) < 0
}

// The clock. Packets may be delayed by chance but never early, so the fastest are the most accurate.

/** One look at arrivals. */
interface ArrivalLook {
  /** CLOCK_MONOTONIC. */
  nowNs: bigint
  /** Since the last look; null if no packet came. */
  fastest: FastestPacket | null
  /** How often the anchor was reset. Packets from before and after a reset lie on different lines. */
  anchors: number
}

/** An error is corrected within this many seconds, but at no more than this rate: half a hundredth of a semitone. */
const SLEW_NS = 5_000_000_000
const MOST_SLEW = 300e-6
/**
 * Larger errors, at the start or after sender or network have moved, are stepped rather than slewed: while the clock is
 * ahead, packets are late; while it is behind, it only plays later than it could.
 */
const STEP_BACK_NS = 1_000_000
const STEP_ON_NS = 5_000_000

/** Call `look` a few times a second, and calibrate the receiver's clock with its result. */
export function createRecoveredClock() {
  const line = createArrivalLine()
  let anchors: number | undefined
  let current: Calibration | undefined
  let steps = 0

  function keep(monotonicNs: bigint, audioNs: bigint, rate: number): Calibration {
    current = { monotonicNs, audioNs, ratePpb: Math.round(rate * 1e9) }
    return current
  }

  /** @returns the calibration for the clock; null before the first packet */
  function look({ nowNs, fastest, anchors: anchorsNow }: ArrivalLook): Calibration | null {
    if (anchorsNow !== anchors) line.restart()
    anchors = anchorsNow
    const isYoung = line.isYoung()
    const hasMoved = fastest !== null && line.add(fastest)
    const dueNs = line.mediaNsAt(nowNs)
    if (current === undefined) return dueNs === null ? null : keep(nowNs, dueNs, line.rate())
    const isNs = audioTimeAt(current, nowNs)
    // While the sender is silent, keep the last rate that was found.
    if (dueNs === null || fastest === null) return keep(nowNs, isNs, line.rate())
    const off = Number(dueNs - isNs)
    if ((isYoung || hasMoved) && (off < -STEP_BACK_NS || off > STEP_ON_NS)) {
      steps++
      return keep(nowNs, dueNs, line.rate())
    }
    const slew = Math.min(MOST_SLEW, Math.max(-MOST_SLEW, off / SLEW_NS))
    return keep(nowNs, isNs, line.rate() + slew)
  }

  return {
    look,
    /** How much faster the sender runs than this machine; null while unknown. */
    ratePpm: () => (line.isRateKnown() ? line.rate() * 1e6 : null),
    /** Number of times it was stepped rather than slewed. */
    steps: () => steps,
  }
}

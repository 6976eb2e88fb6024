/** The line on which the fastest packets of a sender lie: when they came against the instant of their timestamps. */

/** The fastest packet of some time: when it came, and the instant of its timestamp on the receiver's clock. */
export interface FastestPacket {
  /** CLOCK_MONOTONIC. */
  monotonicNs: bigint
  mediaNs: bigint
}

/** Of a second the fastest packet counts, and of seconds a minute's. */
const SECOND_NS = 1_000_000_000
const MOST_SECONDS = 60
/** Seconds before a slope is believed: one late second would tilt a shorter line. */
const SLOPE_AFTER_S = 4
/** Rates beyond this are no crystal's. */
const MOST_RATE = 200e-6
/** Where so many seconds in a row are off by more than this, sender or network have moved. */
const MOVED_SECONDS = 4
const MOVED_NS = 2_000_000

/** Where a fastest packet lies, in ns: `x` since the first, `y` how far its timestamp is ahead of CLOCK_MONOTONIC. */
interface Point {
  x: number
  y: number
}

/** y = level + rate * x */
interface Line {
  level: number
  rate: number
}

/** Bounded: the packets of a minute. */
export function createArrivalLine() {
  let origin: FastestPacket | undefined
  /** The fastest packet of each second; and those that are not believed yet. */
  let points: Point[] = []
  let doubts: Point[] = []
  let isAhead = false
  let rate = 0

  /** In the first seconds each packet may be much faster than those before. */
  const isYoung = () => points.length < MOVED_SECONDS

  /** A packet far off the line waits until others say the same. @returns whether sender or network have moved */
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
    /** What comes next is of another line, at the rate that is known. */
    restart(): void {
      points = []
      doubts = []
    },
    /** The instant on the sender's clock, by the line; null where no packet has come since the start. */
    mediaNsAt(monotonicNs: bigint): bigint | null {
      if (origin === undefined || points.length === 0) return null
      const sinceNs = monotonicNs - origin.monotonicNs
      const line = fit(points, rate)
      return origin.mediaNs + sinceNs + BigInt(Math.round(line.level + line.rate * Number(sinceNs)))
    },
    /** How much faster the sender runs than CLOCK_MONOTONIC. */
    rate: () => rate,
    /** Whether that was found in what came since the start. */
    isRateKnown: () => spanS(points) >= SLOPE_AFTER_S,
  }
}

/** The fastest of each second, of the last ones. */
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
 * The line that no point lies above and that is nearest to all of them: the edge of their upper hull over the middle.
 * @param known rate that is taken where the points are of too short a time
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

import t from 'tap'
import { audioTimeAt, type Calibration } from '../../../core/ptp/ptp.ts'
import { createRecoveredClock } from '../../../core/sound/recovered-clock.ts'

const MS = 1_000_000
const LOOK_MS = 250

/** Random numbers that are the same in every run. */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** What a sender does, and the network between: one packet a millisecond. */
interface Sent {
  /** How much faster the sender's clock runs than ours. */
  ppm: number
  /** How late a packet is, in ns, by the time since the start in ms. */
  lateNs(atMs: number): number
  /** How far the sender's timestamps jump at that time, in ns. */
  jumpNs?(atMs: number): number
}

/** Looks four times a second for that long. @returns at each look the clock's error in ns, positive is ahead */
function run(sent: Sent, seconds: number, clock = createRecoveredClock()) {
  const startNs = 5_000_000_000n
  let calibration: Calibration | undefined
  const errors: number[] = []
  const mediaAt = (atMs: number) =>
    BigInt(Math.round(atMs * MS * (1 + sent.ppm * 1e-6))) + BigInt(sent.jumpNs?.(atMs) ?? 0) + 77_000_000_000n
  for (let lookMs = LOOK_MS; lookMs <= seconds * 1000; lookMs += LOOK_MS) {
    let best: { lateNs: number; atMs: number } | undefined
    for (let atMs = lookMs - LOOK_MS; atMs < lookMs; atMs++) {
      const lateNs = sent.lateNs(atMs)
      if (lateNs < (best?.lateNs ?? Number.POSITIVE_INFINITY)) best = { lateNs, atMs }
    }
    const nowNs = startNs + BigInt(lookMs * MS)
    const fastest =
      best === undefined
        ? null
        : { monotonicNs: startNs + BigInt(best.atMs * MS + Math.round(best.lateNs)), mediaNs: mediaAt(best.atMs) }
    calibration = clock.look({ nowNs, fastest, anchors: 1 }) ?? calibration
    if (calibration) errors.push(Number(audioTimeAt(calibration, nowNs) - mediaAt(lookMs)))
  }
  return { errors, clock }
}

/** The largest error from that second on. */
function worst(errors: readonly number[], fromS: number): number {
  return Math.max(...errors.slice((fromS * 1000) / LOOK_MS).map(Math.abs))
}

t.test('a sender that is 100 ppm fast, or slow, is followed through 5 ms of jitter', async (t) => {
  for (const ppm of [100, -100]) {
    const random = chance(ppm)
    const { errors, clock } = run({ ppm, lateNs: () => random() * 5 * MS }, 60)
    t.ok(worst(errors, 30) < 0.05 * MS, `${ppm} ppm: within 50 us after half a minute`, { worst: worst(errors, 30) })
    t.ok(worst(errors, 2) < 1 * MS, `${ppm} ppm: never a millisecond off`, { worst: worst(errors, 2) })
    t.ok(Math.abs((clock.ratePpm() ?? 0) - ppm) < 2, `${ppm} ppm: the rate is known`, { rate: clock.ratePpm() })
    t.equal(clock.steps(), 0)
  }
})

t.test('a constant delay is not an error: the link offset counts from the fastest packets', async (t) => {
  const { errors } = run({ ppm: 0, lateNs: () => 3 * MS }, 20)
  t.ok(errors.every((error) => Math.abs(error + 3 * MS) < 1000))
})

t.test('the clock never goes faster or slower by more than 0.3 ms in a second than the sender', async (t) => {
  const random = chance(5)
  const { errors } = run({ ppm: 20, lateNs: () => random() ** 4 * 20 * MS }, 40)
  const moves = errors.slice(40).map((error, at, all) => Math.abs(error - (all[at - 1] ?? error)))
  t.ok(Math.max(...moves) <= (0.33 * MS * LOOK_MS) / 1000, 'beyond the first ten seconds', { most: Math.max(...moves) })
})

t.test('bursts in which everything is delayed for two seconds move nothing', async (t) => {
  const random = chance(9)
  const isHeldUp = (atMs: number) => atMs % 11_000 > 9000
  const { errors, clock } = run({ ppm: 40, lateNs: (atMs) => random() * MS + (isHeldUp(atMs) ? 15 * MS : 0) }, 90)
  t.ok(worst(errors, 30) < 0.1 * MS, 'within 0.1 ms', { worst: worst(errors, 30) })
  t.equal(clock.steps(), 0)
})

t.test('a network that has become slower for good is followed after four seconds, by one step', async (t) => {
  const { errors, clock } = run({ ppm: 10, lateNs: (atMs) => (atMs < 30_000 ? 0 : 8 * MS) }, 60)
  t.equal(clock.steps(), 1)
  t.ok(errors.slice(36_000 / LOOK_MS).every((error) => Math.abs(error + 8 * MS) < 0.1 * MS))
})

t.test('a sender whose timestamps jump is followed, forward and back', async (t) => {
  for (const by of [30 * MS, -30 * MS]) {
    const { errors, clock } = run({ ppm: 0, lateNs: () => 0, jumpNs: (atMs) => (atMs < 20_000 ? 0 : by) }, 40)
    t.equal(clock.steps(), 1)
    t.ok(worst(errors, 27) < 0.1 * MS, `${by / MS} ms`, { worst: worst(errors, 27) })
  }
})

t.test('a sender that restarts is followed from its first packets, at the known rate', async (t) => {
  const { clock } = run({ ppm: 80, lateNs: () => 0 }, 30)
  const nowNs = 90_000_000_000n
  const fastest = { monotonicNs: nowNs, mediaNs: 500_000_000_000n }
  const calibration = clock.look({ nowNs, fastest, anchors: 2 })
  t.equal(clock.steps(), 1)
  t.equal(calibration?.audioNs, 500_000_000_000n)
  t.ok(Math.abs((calibration?.ratePpb ?? 0) - 80_000) < 1000, 'still 80 ppm', { calibration })
})

t.test('a sender that falls silent is waited for at its rate, without a slew', async (t) => {
  const { clock } = run({ ppm: -60, lateNs: () => 0 }, 30)
  const silent = clock.look({ nowNs: 60_000_000_000n, fastest: null, anchors: 1 })
  t.ok(Math.abs((silent?.ratePpb ?? 0) + 60_000) < 1500, 'at -60 ppm', { silent })
})

t.test('there is no reading before the first packet', async (t) => {
  const clock = createRecoveredClock()
  t.equal(clock.look({ nowNs: 1n, fastest: null, anchors: 0 }), null)
  t.equal(clock.ratePpm(), null)
})

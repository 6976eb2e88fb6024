/** Tests of the rule that keeps a card on the audio clock, with simulated cards. */
import t from 'tap'
import { createCardServo } from '../../../core/sound/card.ts'

const TARGET = 480

interface SimulatedCard {
  /** Parts in a million by which the card is slower than the board. */
  slowPpm: number
  /** Frames by which its reports are off, at random. */
  noise?: number
  /** Frames that it always reports too many: the step in which its pointer moves. */
  bias?: number
}

/** A card that plays: the board writes frames into it, the card uses them up. */
function simulate(card: SimulatedCard, mostPpm = 2000) {
  const servo = createCardServo({ targetFrames: TARGET, mostPpm })
  let seed = 1
  const random = () => {
    seed = (seed * 48271) % 2147483647
    return seed / 2147483647 - 0.5
  }
  const sim = { fill: TARGET, ppm: 0, starts: 1, lowest: TARGET, highest: TARGET, refills: 0, suspended: false, servo }
  function run(seconds: number, each?: () => void): void {
    for (let second = 0; second < seconds; second++) {
      const before = sim.fill
      if (!sim.suspended) sim.fill += (card.slowPpm - sim.ppm) * 0.048
      const fill = (before + sim.fill) / 2 + (card.bias ?? 0) + random() * 2 * (card.noise ?? 0)
      const advice = servo.look({ fillFrames: sim.suspended ? null : fill, starts: sim.starts, elapsedS: 1 })
      sim.ppm = advice.ppm
      if (advice.refill) {
        sim.refills += 1
        sim.starts += 1
        sim.fill = TARGET
      }
      sim.lowest = Math.min(sim.lowest, sim.fill)
      sim.highest = Math.max(sim.highest, sim.fill)
      each?.()
    }
  }
  return Object.assign(sim, { run })
}

t.test('a card on the clock of the board is never corrected, however coarse its reports', async (t) => {
  const sim = simulate({ slowPpm: 0, noise: 15, bias: 96 })
  let corrected = 0
  sim.run(3600, () => {
    if (sim.ppm !== 0) corrected += 1
  })
  t.equal(corrected, 0)
  t.equal(sim.servo.state(), 'resting')
})

for (const slowPpm of [100, -100, 300, -1000]) {
  t.test(`a card ${slowPpm} ppm slower is held, and its buffer neither runs dry nor over`, async (t) => {
    const sim = simulate({ slowPpm, noise: 10 })
    sim.run(300)
    t.equal(sim.servo.state(), 'holding')
    t.ok(sim.lowest > 0 && sim.highest < 2 * TARGET, `between ${sim.lowest} and ${sim.highest} frames`)
    const ppms: number[] = []
    const fills: number[] = []
    sim.run(600, () => {
      ppms.push(sim.ppm)
      fills.push(sim.fill)
    })
    t.ok(
      Math.max(...ppms.map((ppm) => Math.abs(ppm - slowPpm))) < 12,
      `${Math.min(...ppms)} .. ${Math.max(...ppms)} ppm`,
    )
    t.ok(Math.max(...fills) - Math.min(...fills) < 40, `${Math.min(...fills)} .. ${Math.max(...fills)} frames`)
    t.ok(Math.abs(sim.servo.driftPpm() - slowPpm) < 3, `drift ${sim.servo.driftPpm()}`)
    t.equal(sim.refills, 0)
  })
}

t.test('a drift that changes as the card warms up is followed', async (t) => {
  const card = { slowPpm: 20, noise: 10 }
  const sim = simulate(card)
  sim.run(300)
  for (let minute = 0; minute < 60; minute++) {
    card.slowPpm -= 1
    sim.run(60)
  }
  t.ok(sim.lowest > TARGET - 150 && sim.highest < TARGET + 150, `between ${sim.lowest} and ${sim.highest} frames`)
  t.ok(Math.abs(sim.servo.driftPpm() - card.slowPpm) < 4, `drift ${sim.servo.driftPpm()}`)
})

t.test('a card that has come back to the clock is left alone again', async (t) => {
  const card = { slowPpm: 50, noise: 5 }
  const sim = simulate(card)
  sim.run(300)
  t.equal(sim.servo.state(), 'holding')
  card.slowPpm = 0
  sim.run(900)
  t.equal(sim.servo.state(), 'resting')
  t.equal(sim.ppm, 0)
})

t.test('after a restart the card is corrected by the known drift', async (t) => {
  const sim = simulate({ slowPpm: 200 })
  sim.run(300)
  sim.fill = TARGET
  sim.starts += 1
  sim.run(2)
  t.equal(sim.servo.state(), 'settling')
  t.ok(Math.abs(sim.ppm - 200) < 1, `${sim.ppm} ppm`)
  sim.run(60)
  t.equal(sim.servo.state(), 'holding')
  t.ok(Math.abs(sim.fill - TARGET) < 20, `${sim.fill} frames`)
})

t.test('a fill that jumps far away is refilled once, and not steered for minutes', async (t) => {
  const sim = simulate({ slowPpm: 0 })
  sim.run(60)
  sim.fill = 3 * TARGET
  sim.run(60)
  t.equal(sim.refills, 1)
  t.equal(sim.fill, TARGET)
  t.equal(sim.ppm, 0)
})

t.test('a small jump is steered away without a break', async (t) => {
  const sim = simulate({ slowPpm: 0 })
  sim.run(60)
  sim.fill += 100
  sim.run(600)
  t.equal(sim.refills, 0)
  t.ok(Math.abs(sim.fill - TARGET) < 32, `${sim.fill} frames`)
})

t.test('a card that reports nothing changes nothing', async (t) => {
  const sim = simulate({ slowPpm: 80 })
  sim.run(300)
  sim.suspended = true
  sim.run(600)
  t.ok(Math.abs(sim.ppm - 80) < 2, `${sim.ppm} ppm`)
  sim.suspended = false
  sim.run(60)
  t.ok(Math.abs(sim.fill - TARGET) < 30)
})

t.test('no correction exceeds the limit', async (t) => {
  const sim = simulate({ slowPpm: 1500 }, 300)
  let most = 0
  sim.run(600, () => {
    most = Math.max(most, Math.abs(sim.ppm))
  })
  t.equal(most, 300)
  t.ok(sim.refills > 1, 'it is refilled instead')
})

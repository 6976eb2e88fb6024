/** When a unit is noisy: judged over its last exchanges, so that chance does not keep changing its state. */
import fc from 'fast-check'
import t from 'tap'
import { UnitWindow } from '../../../core/bus/unit-health.ts'
import { settingsWith } from './modbus-line.ts'

const settings = settingsWith()
const WINDOW = settings.noisy_window

/** `.` answered, `d` damaged, `m` missing, `2` answered twice. */
function windowOf(said: string, over: Parameters<typeof settingsWith>[0] = {}): UnitWindow {
  const window = new UnitWindow(settingsWith(over))
  play(window, said)
  return window
}

function play(window: UnitWindow, said: string): void {
  for (const [at, one] of [...said].entries()) {
    if (one === 'd' || one === 'm') window.missed(one === 'd' ? 'damaged' : 'missing', at)
    else window.answered()
    if (one === '2') window.twice(at)
  }
}

t.test('counts the last exchanges, and what was wrong with them', async (t) => {
  const window = windowOf(`${'d'.repeat(9)}${'.'.repeat(95)}dm2`)
  t.same(window.lately(), { exchanges: 100, damaged: 3, missing: 1, twice: 1, lastBadAt: 106 })
  play(window, '.'.repeat(WINDOW))
  t.same(window.lately(), { exchanges: 100, damaged: 0, missing: 0, twice: 0, lastBadAt: null })
})

t.test('one bad exchange in ten makes a unit noisy, once there are five, whatever was wrong with them', async (t) => {
  for (const bad of ['d', 'm', '2']) {
    t.equal(windowOf(`.${bad.repeat(4)}`).isNoisy, false, `four ${bad}`)
    t.equal(windowOf(`.${bad.repeat(5)}`).isNoisy, true, `five ${bad}`)
    t.equal(windowOf(`${'.'.repeat(91)}${bad.repeat(9)}`).isNoisy, false, `nine of a hundred ${bad}`)
    t.equal(windowOf(`${'.'.repeat(90)}${bad.repeat(10)}`).isNoisy, true, `ten of a hundred ${bad}`)
  }
  t.equal(windowOf('ddddd').isNoisy, false, 'one that never answered is not noisy')
})

t.test('a noisy unit is well again after a whole window without a bad exchange, and not before', async (t) => {
  const window = windowOf(`${'.'.repeat(20)}${'d'.repeat(16)}`)
  play(window, '.'.repeat(WINDOW - 1))
  t.equal(window.isNoisy, true)
  play(window, '.')
  t.equal(window.isNoisy, false)
  const sooner = windowOf(`${'.'.repeat(90)}${'d'.repeat(10)}`, { noisy_until_percent: 5 })
  play(sooner, `${'.'.repeat(94)}`)
  t.equal(sooner.isNoisy, true)
  play(sooner, '.')
  t.equal(sooner.isNoisy, false, 'as soon as the setting says')
})

t.test('an answer that comes late does not count as missing', async (t) => {
  const window = windowOf('.mmmm')
  window.late()
  t.match(window.lately(), { exchanges: 5, missing: 3 })
  play(window, 'm')
  t.equal(window.isNoisy, false)
})

t.test('on a line that loses many answers a few missing in a row are not silence', async (t) => {
  const isSilence = (said: string) => windowOf(said).isSilence(said.length - said.lastIndexOf('.') - 1)
  t.equal(isSilence('mm'), false)
  t.equal(isSilence('mmm'), true, 'as many as the setting says')
  t.equal(isSilence(`${'.'.repeat(97)}mmm`), true)
  const sixth = '.....d'.repeat(16)
  t.equal(isSilence(`${sixth}.ddddddd`), false)
  t.equal(isSilence(`${sixth}.dddddddd`), true, 'eight, if a sixth is lost')
  t.equal(isSilence(`${'.dd'.repeat(20)}.${'m'.repeat(19)}`), false)
  t.equal(isSilence(`${'.dd'.repeat(20)}.${'m'.repeat(20)}`), true, 'however much is lost')
})

t.test('whatever happens, a unit does not become noisy twice within a window, nor with too few bad exchanges', (t) => {
  const said = fc.array(fc.constantFrom('.', '.', '.', 'd', 'm', '2'), { maxLength: 1500 })
  const limits = fc.record({
    noisy_window: fc.integer({ min: 10, max: 200 }),
    noisy_from_percent: fc.integer({ min: 1, max: 100 }),
    noisy_least: fc.integer({ min: 1, max: 50 }),
  })
  fc.assert(
    fc.property(said, limits, (outcomes, over) => {
      const window = new UnitWindow(settingsWith(over))
      let noisyAt = Number.NEGATIVE_INFINITY
      let was = false
      for (const [at, outcome] of outcomes.entries()) {
        play(window, outcome)
        const { damaged, exchanges, missing, twice } = window.lately()
        const bad = damaged + missing + twice
        if (exchanges > over.noisy_window || bad > exchanges) return false
        if (window.isNoisy && !was) {
          if (at - noisyAt < over.noisy_window || bad < over.noisy_least) return false
          noisyAt = at
        }
        if (was && !window.isNoisy && bad > 0) return false
        was = window.isNoisy
      }
      return true
    }),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 200), seed: 16 },
  )
  t.end()
})

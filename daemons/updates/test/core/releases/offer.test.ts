import t from 'tap'
import { offerTo, placeOf } from '../../../core/releases/offer.ts'
import { installation, release } from '../records.ts'

const releases = (...all: ReturnType<typeof release>[]) => all
const offered = (of: Parameters<typeof installation>[0], all: ReturnType<typeof release>[]) =>
  offerTo(installation(of), all)?.version

t.test('the highest that is offered, not withdrawn, not halted, and has an update', async (t) => {
  const all = releases(
    release('1.5.0', { update: null }),
    release('1.4.0', { state: 'withdrawn' }),
    release('1.3.0', { state: 'halted' }),
    release('1.2.0'),
    release('1.1.0'),
  )
  t.equal(offered({}, all), '1.2.0')
  t.equal(offered({}, []), undefined)
})

t.test(
  'its channel is what the administrator says, else what it asks for, else stable; beta gets stable ones too',
  async (t) => {
    const all = releases(release('1.3.0-beta.1', { channel: 'beta' }), release('1.2.0'))
    t.equal(offered({}, all), '1.2.0')
    t.equal(offered({ askedChannel: 'beta' }, all), '1.3.0-beta.1')
    t.equal(offered({ askedChannel: 'beta', channel: 'stable' }, all), '1.2.0')
    t.equal(offered({ channel: 'beta' }, releases(release('1.2.0'))), '1.2.0')
  },
)

t.test('arch and the version it can be applied from are held to', async (t) => {
  const all = releases(release('2.0.0', { minFrom: '1.5.0' }), release('1.6.0', { arch: 'arm64' }), release('1.5.0'))
  t.equal(offered({ version: '1.4.0', arch: 'amd64' }, all), '1.5.0')
  t.equal(offered({ version: '1.4.0', arch: 'arm64' }, all), '1.6.0')
  t.equal(offered({ version: '1.5.0', arch: 'amd64' }, all), '2.0.0')
})

t.test('what it rolled back from is left out, what merely failed is not', async (t) => {
  const of = (outcome: 'rolled_back' | 'failed') => ({
    deliveries: [{ version: '1.2.0', fetchedAt: null, outcome, reportedAt: 1, step: null, reason: null }],
  })
  const all = releases(release('1.2.0'), release('1.1.0'))
  t.equal(offered(of('rolled_back'), all), '1.1.0')
  t.equal(offered(of('failed'), all), '1.2.0')
})

t.test('nobody is offered more than the version that is held', async (t) => {
  const all = releases(release('1.3.0'), release('1.2.0', { isHeld: true, channel: 'beta' }), release('1.1.0'))
  t.equal(offered({}, all), '1.1.0')
  t.equal(offered({ channel: 'beta' }, all), '1.2.0')
})

t.test('a share takes about as many as it says, always the same, and keeps them as it grows', async (t) => {
  const ids = Array.from({ length: 5000 }, (_, at) => at.toString(16).padStart(32, '0'))
  const those = (percent: number) => new Set(ids.filter((id) => placeOf('1.2.0', id) < percent))
  for (const percent of [1, 10, 50, 90]) {
    const share = those(percent).size / ids.length
    t.ok(Math.abs(share - percent / 100) < 0.02, `${percent} % are ${share}`)
  }
  const [few, many] = [those(10), those(20)]
  t.ok([...few].every((id) => many.has(id)))
  t.ok(
    [...few].some((id) => placeOf('1.3.0', id) >= 10),
    'others come first in the next version',
  )
  t.equal(offered({ id: [...few][0] ?? '' }, releases(release('1.2.0', { percent: 10 }))), '1.2.0')
  t.equal(those(0).size, 0)
})

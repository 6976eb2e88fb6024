/** Images are releases of their own: whatever is done to one changes nothing for other boards, and nothing for updates. */
import t from 'tap'
import type { InstallationRecord } from '../../../core/ports.ts'
import { installation, registryOf, release, releasesOf } from '../records.ts'

const image = (version: string, compatible: string, more: Parameters<typeof release>[1] = {}) =>
  release(version, { compatible, ...more })

t.test('who is offered what, by kind, kind of board and architecture', async (t) => {
  const { releases } = releasesOf([
    release('1.4.0'),
    image('1.5.0', 'panel'),
    image('1.4.0', 'panel', { arch: 'arm64' }),
    image('1.6.0', 'amplifier', { state: 'withdrawn' }),
    image('1.3.0', 'amplifier', { arch: 'arm64' }),
    image('2.0.0', 'beamer', { channel: 'beta' }),
  ])
  const rows: [of: Parameters<typeof installation>[0], expected: string | undefined][] = [
    [{}, '1.4.0'],
    [{ compatible: 'panel' }, '1.5.0'],
    [{ compatible: 'amplifier' }, '1.3.0'],
    [{ compatible: 'amplifier', arch: 'arm64' }, '1.3.0'],
    [{ compatible: 'amplifier', arch: 'amd64' }, undefined],
    [{ compatible: 'beamer' }, undefined],
    [{ compatible: 'beamer', askedChannel: 'beta' }, '2.0.0'],
    [{ compatible: 'toaster' }, undefined],
    [{ compatible: 'Panel' }, undefined],
  ]
  for (const [of, expected] of rows) {
    const found = releases.latestFor(installation(of))
    t.equal(found?.version, expected, JSON.stringify(of))
    if (found) t.equal(found.compatible, of?.compatible)
  }
  t.equal(releases.latestInstaller(), undefined)
})

t.test('one that is held, withdrawn or deleted keeps nobody of another kind from theirs', async (t) => {
  const { gone, releases } = releasesOf([
    release('1.4.0', { isHeld: true }),
    release('1.5.0'),
    image('1.4.0', 'panel'),
    image('1.5.0', 'panel'),
  ])
  const now = () => [{}, { compatible: 'panel' }].map((of) => releases.latestFor(installation(of))?.version)
  t.same(now(), ['1.4.0', '1.5.0'])
  await releases.change('1.4.0@panel', { hold: true })
  t.same(now(), ['1.4.0', '1.4.0'])
  await releases.change('1.4.0', { hold: false })
  t.same(now(), ['1.5.0', '1.4.0'], 'each kind has its own')
  await releases.change('1.4.0@panel', { withdrawn: true })
  t.same(now(), ['1.5.0', '1.5.0'])
  await releases.remove('1.5.0@panel')
  t.same(now(), ['1.5.0', undefined])
  t.same(
    gone.map(({ version }) => version),
    ['1.4.0@panel', '1.5.0@panel'],
  )
  t.throws(() => releases.requireUpdate('1.4.0@panel'), { code: 'release_gone' })
  t.throws(() => releases.requireUpdate('1.4.0@beamer'), { code: 'unknown_release' })
  t.ok(releases.requireUpdate('1.4.0'))
})

t.test('failures of boards of one kind halt the image for these alone', async (t) => {
  const failed = {
    version: '1.4.0',
    compatible: 'panel',
    fetchedAt: 1,
    outcome: 'failed' as const,
    reportedAt: 2,
    step: null,
    reason: null,
  }
  const { halted, releases } = releasesOf([release('1.4.0'), image('1.4.0', 'panel'), image('1.4.0', 'beamer')], {
    rollout: { haltPercent: 50, haltReports: 1 },
    installations: [installation({ compatible: 'panel', deliveries: [failed] })],
  })
  for (const key of ['1.4.0', '1.4.0@beamer', '1.4.0@panel']) await releases.judge(key)
  t.same(halted, ['1.4.0@panel'])
  t.same([...releases.counts().keys()], ['1.4.0@panel'])
  t.equal(releases.latestFor(installation())?.version, '1.4.0')
})

t.test(
  'what came of an update says nothing of the image of its version, and outlives a change of the kind',
  async (t) => {
    const { registry } = registryOf()
    const { releases } = releasesOf([release('1.1.0'), image('1.1.0', 'panel')])
    const offered = (one: InstallationRecord) => releases.latestFor(one)?.compatible ?? releases.latestFor(one)?.version
    const id = 'b'.repeat(32)
    t.throws(() => registry.require(id, '10.0.0.1', { version: '1.0.0' }), { code: 'unauthorized' })
    await registry.change([id], { enabled: true })
    await registry.report(id, { version: '1.1.0', outcome: 'rolled_back', step: null, reason: null })
    const says = { version: '1.0.0', compatible: 'panel' }
    const board = registry.require(id, '10.0.0.1', says)
    t.match(board, { compatible: 'panel', deliveries: [{ outcome: 'rolled_back', compatible: undefined }] })
    t.equal(offered(board), 'panel')
    await registry.report(id, { version: '1.1.0', compatible: 'panel', outcome: 'applied', step: null, reason: null })
    t.match(registry.require(id, '10.0.0.1', says), {
      deliveries: [{ outcome: 'rolled_back' }, { outcome: 'applied', compatible: 'panel' }],
    })
    t.match(registry.require(id, '10.0.0.1'), { compatible: 'panel' }, 'a download says nothing of itself')
    const again = registry.require(id, '10.0.0.1', { version: '1.0.0' })
    t.notOk('compatible' in again)
    t.equal(offered(again), undefined, 'it is not sent into the version that it fell back from')
  },
)

t.test(
  'an image for a kind of board that is another by case alone is refused: its boards would never see it',
  async (t) => {
    const { releases } = releasesOf([image('1.4.0', 'panel')])
    const update = { ...image('1.5.0', 'Panel').update, publishedAt: 1 } as NonNullable<
      ReturnType<typeof image>['update']
    >
    const published = (compatible: string) => ({
      version: '1.5.0',
      compatible,
      update,
      signed: undefined,
      claim: () => 'x',
    })
    await t.rejects(releases.publish(published('Panel')), { code: 'bad_upload', message: /Panel.*panel/ })
    t.equal(await releases.publish(published('panel')), true)
  },
)

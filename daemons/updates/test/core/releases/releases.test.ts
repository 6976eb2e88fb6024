import t from 'tap'
import { heldBytes } from '#kit/test/heap.ts'
import { nextState, releaseTable } from '../../../core/releases/releases.ts'
import { file, installation, release, releasesOf } from '../records.ts'

const claim = () => 'update 1.0.0'
const update = (checksum = 'c'.repeat(64)) => ({ ...file({ checksum }), encryptionKey: 'e'.repeat(64) })

t.test('row by row: the states of a release', async (t) => {
  for (const [state, row] of Object.entries(releaseTable))
    for (const event of ['publish', 'halt', 'resume', 'withdraw', 'restore', 'remove'] as const) {
      const next = row[event]
      const go = () => nextState(state as 'offered', event)
      if (next === undefined) t.throws(go, { code: 'release_state' }, `${state} ${event}`)
      else t.equal(go(), next)
    }
})

t.test('a version is published once: the same bytes again are nothing new, others are refused', async (t) => {
  const { releases } = releasesOf([])
  const publish = (checksum?: string) =>
    releases.publish({ version: '1.0.0', update: update(checksum), signed: undefined, claim })
  t.equal(await publish(), true)
  t.equal(await publish(), false)
  await t.rejects(publish('d'.repeat(64)), { code: 'release_exists' })
  t.equal(await releases.publish({ version: '1.0.0', installer: file(), signed: undefined, claim }), true)
  t.match(releases.get('1.0.0'), { channel: 'stable', update: {}, installer: {} })
  await releases.publish({ version: '1.1.0-rc.1', update: update(), signed: undefined, claim })
  t.match(releases.get('1.1.0-rc.1'), { channel: 'beta' })
})

t.test('a bundle hash may follow later, and no other takes its place', async (t) => {
  const { releases } = releasesOf([])
  const publish = (bundleHash: string | null) =>
    releases.publish({ version: '1.0.0', update: { ...update(), bundleHash }, signed: undefined, claim })
  await publish(null)
  t.equal(await publish('a'.repeat(64)), true)
  t.equal(await publish(null), false)
  await t.rejects(publish('b'.repeat(64)), { code: 'release_exists' })
  t.equal(releases.get('1.0.0')?.update?.bundleHash, 'a'.repeat(64))
})

t.test('the rules of the signed record count', async (t) => {
  const { releases } = releasesOf([])
  const signed = { version: '1.0.0', checksum: '', sizeBytes: 1, bundleHash: null, minFrom: '0.9.0', arch: 'arm64' }
  await releases.publish({ version: '1.0.0', update: update(), signed, claim })
  t.match(releases.get('1.0.0'), { minFrom: '0.9.0', arch: 'arm64' })
})

t.test('what could not be written has not happened', async (t) => {
  const { disk, releases } = releasesOf([release('1.0.0')])
  disk.isFull = true
  await t.rejects(releases.change('1.0.0', { withdrawn: true }))
  await t.rejects(releases.publish({ version: '2.0.0', update: update(), signed: undefined, claim }))
  t.match(releases.list(), [{ version: '1.0.0', state: 'offered' }])
  t.equal(releases.list().length, 1)
})

t.test(
  'a withdrawn release ends what is sent, a deleted one its files too; both are told from one that never was',
  async (t) => {
    const { gone, releases } = releasesOf([release('1.0.0', { isHeld: true }), release('2.0.0')])
    t.equal(releases.requireUpdate('2.0.0').file, 'f')
    await releases.change('2.0.0', { withdrawn: true })
    await releases.change('2.0.0', { withdrawn: true })
    t.throws(() => releases.requireUpdate('2.0.0'), { code: 'release_gone' })
    await releases.remove('1.0.0')
    t.throws(() => releases.requireUpdate('1.0.0'), { code: 'release_gone' })
    t.throws(() => releases.requireUpdate('3.0.0'), { code: 'unknown_release' })
    t.throws(() => releases.requireInstaller('3.0.0'), { code: 'unknown_release' })
    await t.rejects(releases.remove('1.0.0'), { code: 'unknown_release' })
    t.same(gone, [
      { version: '2.0.0', files: [] },
      { version: '1.0.0', files: ['f'] },
    ])
    t.equal(
      await releases.publish({ version: '1.0.0', update: update(), signed: undefined, claim }),
      true,
      'it may come again',
    )
  },
)

t.test('one version is held at a time, and none that is withdrawn', async (t) => {
  const { releases } = releasesOf([release('1.0.0'), release('2.0.0')])
  await releases.change('1.0.0', { hold: true })
  await releases.change('2.0.0', { hold: true })
  t.same(
    releases.list().map(({ isHeld }) => isHeld),
    [true, false],
  )
  t.match(await releases.change('2.0.0', { withdrawn: true }), { isHeld: false })
  await t.rejects(releases.change('2.0.0', { hold: true }), { code: 'release_state' })
})

t.test(
  'a release is halted at so many percent of so many reports, and counts anew once it is offered again',
  async (t) => {
    const report = (version: string, outcome: 'applied' | 'failed' | 'rolled_back', reportedAt: number) =>
      installation({ deliveries: [{ version, fetchedAt: 1, outcome, reportedAt, step: null, reason: null }] })
    const installations = [report('1.0.0', 'failed', 5), report('1.0.0', 'applied', 5), report('1.0.0', 'applied', 5)]
    const rollout = { haltPercent: 50, haltReports: 4 }
    const { clock, halted, releases } = releasesOf([release('1.0.0')], { rollout, installations })
    await releases.judge('1.0.0')
    t.same(halted, [], 'too few reports')
    installations.push(report('1.0.0', 'rolled_back', 5))
    await releases.judge('1.0.0')
    await releases.judge('1.0.0')
    t.same(halted, ['1.0.0'])
    t.same(releases.counts().get('1.0.0'), { fetched: 4, applied: 2, failed: 2 })
    await releases.change('1.0.0', { halted: false })
    await releases.judge('1.0.0')
    t.same(halted, ['1.0.0', 'not 1.0.0'])
    for (let times = 0; times < 2; times++) installations.push(report('1.0.0', 'failed', clock.epochMs() + 1))
    await releases.judge('1.0.0')
    t.same(halted, ['1.0.0', 'not 1.0.0', '1.0.0'])
  },
)

t.test('failures before the download halt a release: its record may be what is wrong with it', async (t) => {
  const delivery = { version: '1.0.0', fetchedAt: null, outcome: 'failed' as const, reportedAt: 5 }
  const installations = [installation({ deliveries: [{ ...delivery, step: 'check', reason: 'it has expired' }] })]
  const rollout = { haltPercent: 50, haltReports: 1 }
  const { halted, releases } = releasesOf([release('1.0.0')], { rollout, installations })
  await releases.judge('1.0.0')
  t.same(halted, ['1.0.0'])
})

t.test('of as many as may be, those that were deleted make room, and no other', async (t) => {
  const { releases } = releasesOf([release('1.0.0'), release('2.0.0')], { most: 2 })
  const publish = () => releases.publish({ version: '3.0.0', update: update(), signed: undefined, claim })
  await t.rejects(publish(), { code: 'too_many_releases' })
  await releases.remove('1.0.0')
  t.equal(await publish(), true)
  t.equal(releases.get('1.0.0'), undefined)
})

t.test('a release takes the memory that the plan counts for it', async (t) => {
  const before = await heldBytes()
  const many = 500
  const records = Array.from({ length: many }, (_, at) =>
    JSON.parse(
      JSON.stringify(
        release(`1.${at}.0`, { installer: file(), update: { ...update(), signed: `${at}`.padEnd(6000, 's') } }),
      ),
    ),
  )
  const { releases } = releasesOf(records)
  t.equal(releases.list()[0]?.version, '1.499.0')
  const each = ((await heldBytes()) - before) / many
  t.ok(each < 8192, `${Math.round(each)} bytes`)
})

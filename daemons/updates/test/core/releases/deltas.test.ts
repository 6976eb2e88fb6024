import t from 'tap'
import { heldBytes } from '#kit/test/heap.ts'
import { deltaKey } from '../../../core/ports.ts'
import { delta, deltasOf, release, releasesOf } from '../records.ts'

const kept = (name: string) => ({ file: name, checksum: name.padEnd(64, '0'), sizeBytes: 5 })
const wish = (from: string, name: string, version = '1.2.0') => ({
  ...{ version, from, filename: `${name}.delta.enc`, kept: kept(name), claim: () => 'claim' },
})

function stage(most = 2) {
  const made = releasesOf([release('1.2.0'), release('1.1.0')])
  return { ...made, ...deltasOf(made.releases, { most }) }
}

t.test('a delta is offered to the version that it is from, and to no other', async (t) => {
  const { deltas, releases } = stage()
  t.match(await deltas.publish(wish('1.1.0', 'one')), { isNew: true, record: { from: '1.1.0', version: '1.2.0' } })
  const update = releases.requireUpdate('1.2.0')
  t.match(deltas.from('1.1.0', { version: '1.2.0', update }), { file: 'one' })
  t.equal(deltas.from('1.0.0', { version: '1.2.0', update }), undefined)
  t.equal(deltas.require('1.1.0', '1.2.0').file, 'one')
  await deltas.publish(wish('1.0.0', 'three'))
  t.same(
    deltas.of('1.2.0', update).map(({ from }) => from),
    ['1.1.0', '1.0.0'],
  )
  t.throws(() => deltas.require('0.9.0', '1.2.0'), { code: 'unknown_release' })
  t.throws(() => deltas.require('1.1.0', '1.3.0'), { code: 'unknown_release' })
})

t.test('the same delta again changes nothing, another takes its place', async (t) => {
  const { deltas, gone } = stage()
  await deltas.publish(wish('1.1.0', 'one'))
  t.match(await deltas.publish(wish('1.1.0', 'one')), { isNew: false })
  t.same(gone, [])
  t.match(await deltas.publish(wish('1.1.0', 'two')), { isNew: true })
  t.same(gone, ['one'])
  t.equal(deltas.require('1.1.0', '1.2.0').file, 'two')
})

t.test('a delta needs its update, a lower version to be from, and a place', async (t) => {
  const { deltas, releases } = stage(1)
  t.throws(() => deltas.requirePlace('1.1.0', '9.0.0'), { code: 'unknown_release' })
  t.throws(() => deltas.requirePlace('1.2.0', '1.2.0'), { code: 'bad_version' })
  await deltas.publish(wish('1.1.0', 'one'))
  await t.rejects(deltas.publish(wish('1.0.0', 'two')), { code: 'too_many_deltas' })
  t.ok(deltas.requirePlace('1.1.0', '1.2.0'), 'what is there may be replaced')
  await releases.change('1.2.0', { withdrawn: true })
  await t.rejects(deltas.publish(wish('1.1.0', 'three')), { code: 'release_gone' })
  t.throws(() => deltas.require('1.1.0', '1.2.0'), { code: 'release_gone' }, 'given to nobody')
  await releases.change('1.2.0', { withdrawn: false })
  t.equal(deltas.require('1.1.0', '1.2.0').file, 'one', 'and there again with its release')
})

t.test('deltas go with the release that is deleted', async (t) => {
  const { deltas, disk, gone, releases, saved, unwritten } = stage()
  await deltas.publish(wish('1.1.0', 'one'))
  await deltas.publish(wish('1.0.0', 'two'))
  await deltas.prune()
  t.same(gone, [])
  await releases.remove('1.2.0')
  disk.isFull = true
  await deltas.prune()
  t.same([gone, unwritten.length], [[], 1], 'what is not written down has not happened')
  disk.isFull = false
  await deltas.prune()
  t.same([gone, [...saved.keys()]], [['one', 'two'], []])
})

t.test('a delta of other bytes of the same version is given to nobody', async (t) => {
  const { releases } = stage()
  const record = delta('1.2.0', '1.1.0', { file: 'old', archive: 'other' })
  const { deltas, gone } = deltasOf(releases, { records: [record] })
  t.throws(() => deltas.require('1.1.0', '1.2.0'), { code: 'unknown_release' })
  await deltas.prune()
  t.same(gone, ['old'])
})

t.test('what another server publishes and removes is known here', async (t) => {
  const { deltas, releases } = stage()
  const record = delta('1.2.0', '1.1.0', { file: 'theirs' })
  deltas.follow({ changed: [record], removed: [] })
  t.equal(deltas.require('1.1.0', '1.2.0').file, 'theirs')
  deltas.follow({ changed: [], removed: [deltaKey(record)] })
  t.throws(() => deltas.require('1.1.0', '1.2.0'), { code: 'unknown_release' })
  t.ok(releases.get('1.2.0'))
})

t.test('a delta takes no more memory than its row says', async (t) => {
  const { releases } = stage()
  const before = await heldBytes()
  const many = 2000
  const records = Array.from({ length: many }, (_, at) =>
    delta(`1.${at}.0`, `0.${at}.0`, {
      ...{ file: crypto.randomUUID(), checksum: `${at}`.padStart(64, 'a'), archive: `${at}`.padStart(64, 'b') },
    }),
  )
  const { deltas } = deltasOf(releases, { records: JSON.parse(JSON.stringify(records)) })
  const each = ((await heldBytes()) - before) / many
  t.ok(each < 2048 && deltas, `${Math.round(each)} bytes`)
})

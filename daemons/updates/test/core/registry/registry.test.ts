import t from 'tap'
import { heldBytes } from '#kit/test/heap.ts'
import { installation, registryOf } from '../records.ts'

const id = (at: number) => at.toString(16).padStart(32, '0')

t.test('an unknown id is registered and refused; once it is enabled it is let in', async (t) => {
  const { registry, written } = registryOf()
  t.throws(() => registry.require(id(1), '10.0.0.1', { version: '1.0.0' }), { code: 'unauthorized' })
  t.match(registry.get(id(1)), { state: 'pending', version: '1.0.0', registeredFrom: '10.0.0.1' })
  await registry.change([id(1)], { enabled: true, name: 'Roof' })
  t.equal(registry.require(id(1), '10.0.0.2').name, 'Roof')
  t.match(registry.get(id(1)), { address: '10.0.0.2', version: '1.0.0' })
  await registry.change([id(1)], { enabled: false })
  t.throws(() => registry.require(id(1), '10.0.0.1'), { code: 'unauthorized' })
  t.throws(() => registry.require(undefined, '10.0.0.1'), { code: 'unauthorized' })
  t.same(registry.counts(), { pending: 0, enabled: 0, disabled: 1 })
  t.equal(written.length, 2, 'a change is written at once, a question is not')
})

t.test('when each was seen is written together, and again if it could not be', async (t) => {
  const { clock, disk, registry, unwritten, written } = registryOf({}, [
    installation({ id: id(1) }),
    installation({ id: id(2) }),
  ])
  registry.start()
  for (let times = 0; times < 100; times++) for (const one of [1, 2]) registry.require(id(one), '10.0.0.1')
  t.equal(written.length, 0)
  disk.isFull = true
  clock.advance(1000)
  await new Promise(setImmediate)
  t.equal(unwritten.length, 1)
  disk.isFull = false
  clock.advance(1000)
  await new Promise(setImmediate)
  t.same(written, [{ changed: [id(1), id(2)], removed: [] }])
  clock.advance(5000)
  await registry.stop()
  t.equal(written.length, 1, 'nothing is written where nothing was seen')
})

t.test('an address brings so many ids an hour, and a trusted one as many as it likes', async (t) => {
  const { clock, refused, registry } = registryOf({ perAddressPerHour: 2, pendingMax: 1000 })
  const ask = (at: number, address: string) =>
    t.throws(() => registry.require(id(at), address), { code: 'unauthorized' })
  for (let at = 0; at < 5; at++) ask(at, '10.0.0.1')
  t.equal(registry.list().length, 2)
  t.same(refused, ['address', 'address', 'address'])
  ask(10, '10.0.0.2')
  t.equal(registry.list().length, 3, 'another address has a share of its own')
  clock.advance(3_600_000)
  ask(3, '10.0.0.1')
  t.equal(registry.list().length, 4)
  for (let at = 100; at < 120; at++) ask(at, 'trusted')
  t.equal(registry.list().length, 24)
})

t.test('where all places to wait are taken, the network with most loses its oldest', async (t) => {
  const { registry } = registryOf({ pendingMax: 4 })
  const ask = (at: number, address: string) => t.throws(() => registry.require(id(at), address))
  ask(1, 'honest')
  for (let at = 2; at < 50; at++) ask(at, 'flood')
  const left = registry.list().map((one) => one.registeredFrom)
  t.equal(left.length, 4)
  t.equal(left.filter((from) => from === 'honest').length, 1)
})

t.test('one that nobody enabled and that does not ask any more is forgotten', async (t) => {
  const { clock, registry, written } = registryOf({ pendingMs: 10_000, writeMs: 1000 })
  registry.start()
  t.throws(() => registry.require(id(1), '10.0.0.1'))
  clock.advance(11_000)
  await registry.stop()
  t.equal(registry.get(id(1)), undefined)
  t.same(written.at(-1), { changed: [], removed: [id(1)] })
})

t.test('several are changed together or not at all, and no more are enabled than may', async (t) => {
  const { registry } = registryOf({ most: 1 })
  for (const one of [1, 2]) t.throws(() => registry.require(id(one), '10.0.0.1'))
  await t.rejects(registry.change([id(1), id(3)], { enabled: true }), { code: 'unknown_installation' })
  await t.rejects(registry.change([id(1), id(2)], { enabled: true }), { code: 'too_many_installations' })
  t.same(registry.counts(), { pending: 2, enabled: 0, disabled: 0 })
  await registry.change([id(1)], { enabled: true })
  await registry.change([id(1)], { enabled: false })
  t.same(registry.counts(), { pending: 1, enabled: 0, disabled: 1 })
})

t.test('a report is written before it counts, once, and those of the last versions are kept', async (t) => {
  const { clock, registry, written } = registryOf({}, [installation({ id: id(1) })])
  const report = (version: string, outcome: 'rolled_back' | 'applied') =>
    registry.report(id(1), { version, outcome, step: 'restart', reason: null })
  t.equal(await report('1.0.0', 'rolled_back'), true)
  t.equal(await report('1.0.0', 'rolled_back'), false)
  t.equal(written.length, 1)
  for (let at = 1; at < 20; at++) await report(`1.${at}.0`, 'applied')
  t.equal(written.length, 1, 'one that reports again and again is written with what else was seen')
  clock.advance(1000)
  await report('1.20.0', 'applied')
  t.equal(written.length, 2)
  const { deliveries = [] } = registry.get(id(1)) ?? {}
  t.equal(deliveries.length, 8)
  t.match(
    deliveries[0],
    { version: '1.0.0', outcome: 'rolled_back' },
    'what it must not get again is remembered longest',
  )
  await registry.change([id(1)], { retry: true })
  t.equal(registry.get(id(1))?.deliveries.length, 7)
})

t.test('an installation takes the memory that the plan counts for it', async (t) => {
  const before = await heldBytes()
  const many = 2000
  const deliveries = Array.from({ length: 8 }, (_, at) => ({
    ...{ version: `1.${at}.0`, fetchedAt: 1, outcome: 'failed' as const, reportedAt: 2, step: 's'.repeat(64) },
    reason: `${at}`.padEnd(500, 'r'),
  }))
  const records = Array.from({ length: many }, (_, at) =>
    JSON.parse(JSON.stringify(installation({ id: id(at), name: 'n'.repeat(64), deliveries }))),
  )
  const { registry } = registryOf({ most: many }, records)
  for (let at = 0; at < many; at++)
    registry.require(id(at), '10.0.0.1', { version: '1.0.0', build: `${at}`.padEnd(64, 'b') })
  const each = ((await heldBytes()) - before) / many
  t.ok(each < 8192, `${Math.round(each)} bytes for one with the longest texts`)
  t.equal(registry.list().length, many)
})

t.test('whoever has many addresses keeps nobody else from registering, and takes no more memory', async (t) => {
  const { refused, registry } = registryOf({ addresses: 50, pendingMax: 20, perAddressPerHour: 1 })
  const ask = (at: number, address: string) => t.throws(() => registry.require(id(at), address))
  ask(1, '192.0.2.1')
  for (let at = 100; at < 180; at++) ask(at, `10.0.1.${at}`)
  ask(2, '192.0.2.2')
  t.ok(registry.get(id(1)) && registry.get(id(2)), 'those of other sites wait to be enabled')
  t.equal(registry.list().length, 20)
  t.equal(refused.filter((why) => why === 'address').length, 0)
  ask(300, '192.0.2.1')
  t.equal(refused.at(-1), 'address', 'an address of a small site is still counted')
  ask(301, '10.0.1.100')
  t.ok(registry.get(id(301)), 'the oldest of the large site was forgotten: no more than so many are counted')
})

t.test('what another daemon decided counts, and what was seen and reported here since stays', async (t) => {
  const id = 'a'.repeat(32)
  const { registry, written } = registryOf({}, [installation({ seenAt: 1, address: '10.0.0.1' })])
  registry.require(id, '10.0.0.9', { version: '1.1.0' })
  registry.fetched(id, { version: '1.2.0' })
  const theirs = {
    ...{ version: '1.1.0', fetchedAt: 5, outcome: 'rolled_back' as const, reportedAt: 6, step: null, reason: null },
  }
  registry.follow({ changed: [installation({ state: 'disabled', name: 'Roof', deliveries: [theirs] })], removed: [] })
  t.match(registry.get(id), { state: 'disabled', name: 'Roof', address: '10.0.0.9', version: '1.1.0' })
  t.match(registry.get(id)?.deliveries, [theirs, { version: '1.2.0', fetchedAt: Number }])
  await registry.stop()
  t.same(written, [{ changed: [id], removed: [] }])
  registry.follow({ changed: [installation({ name: 'Cellar' })], removed: [] })
  t.match(
    registry.get(id),
    { state: 'enabled', name: 'Cellar', address: '10.0.0.1', deliveries: [] },
    'written: theirs is newer',
  )
  registry.follow({ changed: [], removed: [id] })
  t.equal(registry.get(id), undefined)
})

t.test('versions that another daemon offers again stay so, though more was fetched here meanwhile', async (t) => {
  const id = 'a'.repeat(32)
  const back = {
    ...{ version: '1.1.0', fetchedAt: 5, outcome: 'rolled_back' as const, reportedAt: 6, step: null, reason: null },
  }
  const { registry } = registryOf({}, [installation({ deliveries: [back] })])
  registry.fetched(id, { version: '1.1.0' })
  registry.follow({ changed: [installation({ deliveries: [] })], removed: [] })
  t.match(registry.get(id)?.deliveries, [{ version: '1.1.0', outcome: null }])
})

t.test('one that is forgotten here and enabled there is known again; reports that wait share one write', async (t) => {
  const { clock, registry, written } = registryOf({ pendingMs: 1000, writeMs: 5000 })
  t.throws(() => registry.require('b'.repeat(32), '10.0.0.1'))
  registry.start()
  clock.advance(5000)
  t.equal(registry.get('b'.repeat(32)), undefined)
  registry.follow({ changed: [installation({ id: 'b'.repeat(32), state: 'pending' })], removed: [] })
  t.equal(registry.get('b'.repeat(32)), undefined)
  registry.follow({ changed: [installation({ id: 'b'.repeat(32) }), installation()], removed: [] })
  t.match(registry.get('b'.repeat(32)), { state: 'enabled' })
  written.length = 0
  const report = (id: string) => registry.report(id, { version: '1.1.0', outcome: 'applied', step: null, reason: null })
  await Promise.all([report('a'.repeat(32)), report('b'.repeat(32))])
  t.equal(written.length, 1)
  await registry.stop()
})

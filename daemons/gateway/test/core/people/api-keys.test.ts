import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { createApiKeys, type KeyRecord, type KeyWish } from '../../../core/people/keys.ts'

const wish: KeyWish = { name: 'pump', role: 'viewer', ports: null, expiresAt: null }

function keysOf(records: KeyRecord[] = [], max = 10) {
  const clock = fakeClock(1_900_000_000_000)
  const state = { isFull: false }
  const saved: KeyRecord[][] = []
  let made = 0
  const mint = {
    make: () => ({ id: `id${++made}`, text: `plk_id${made}_secret${made}`, secretHash: `hash of secret${made}` }),
    isSecretOf: (secret: string, hash: string | undefined) => hash === `hash of ${secret}`,
  }
  const save = async (list: KeyRecord[]) => {
    await new Promise((resolve) => setImmediate(resolve))
    if (state.isFull) throw new Error('disk full')
    saved.push(list)
  }
  const keys = createApiKeys({ clock, log: silentLog, mint, save, limits: { max, saveMs: 60_000 } }, records)
  return { clock, keys, saved, state }
}

const pump = { id: 'id1', secret: 'secret1' }

t.test('a key is shown once, and kept as a hash', async (t) => {
  const { keys, saved } = keysOf()
  const made = await keys.make({ ...wish, ports: ['/dev/a'] }, 'ada')
  t.match(made, { id: 'id1', name: 'pump', createdBy: 'ada', lastUsedAt: null, state: 'live', key: 'plk_id1_secret1' })
  t.match(saved, [[{ id: 'id1', secretHash: 'hash of secret1', ports: ['/dev/a'] }]])
  t.notMatch(JSON.stringify(keys.list()), /secret/i)
  t.notMatch(JSON.stringify(saved), /plk_/)
})

t.test('the secret of a key, and no other, gives a caller with its name, role and ports', async (t) => {
  const { keys } = keysOf()
  await keys.make({ ...wish, ports: ['/dev/a'] }, 'ada')
  await keys.make({ ...wish, name: 'all', role: 'admin' }, 'ada')
  t.same(keys.callerOf(pump), { name: 'key:pump', role: 'viewer', isKey: true, only: ['/dev/a'] })
  t.same(keys.callerOf({ id: 'id2', secret: 'secret2' }), { name: 'key:all', role: 'admin', isKey: true })
  t.equal(keys.callerOf({ id: 'id1', secret: 'secret2' }), undefined)
  for (const id of ['id3', '__proto__', 'constructor']) t.equal(keys.callerOf({ id, secret: 'secret1' }), undefined)
})

t.test('a caller that knows the secret of an expired key is told when it expired', async (t) => {
  const { clock, keys } = keysOf()
  await keys.make({ ...wish, expiresAt: clock.epochMs() + 5000 }, 'ada')
  const caller = keys.callerOf(pump) ?? {}
  t.equal(keys.isLive(caller), true)
  clock.advance(5000)
  const details = { expiredAt: 1_900_000_005_000 }
  t.throws(() => keys.callerOf(pump), { code: 'key_expired', message: /2030-03-17T17:46:45/, details })
  t.equal(keys.callerOf({ ...pump, secret: 'x' }), undefined)
  t.match(keys.list(), [{ state: 'expired' }])
  t.equal(keys.isLive(caller), false)
})

t.test('a removed key stops working at once, and a new one of the same name is another key', async (t) => {
  const { keys, saved } = keysOf()
  await keys.make(wish, 'ada')
  const caller = keys.callerOf(pump) ?? {}
  let wasLive: boolean | undefined
  keys.onRemoved(() => {
    wasLive = keys.isLive(caller)
  })
  await keys.remove('id1')
  t.equal(wasLive, false)
  t.equal(keys.callerOf(pump), undefined)
  t.same(saved.at(-1), [])
  await keys.make(wish, 'ada')
  t.equal(keys.isLive(caller), false)
  await t.rejects(keys.remove('id1'), { code: 'unknown_key' })
})

t.test('no two keys have names that differ only in case, and there are no more keys than allowed', async (t) => {
  const { keys } = keysOf([], 2)
  const both = ['pump', 'PUMP'].map((name) => keys.make({ ...wish, name }, 'ada'))
  t.match(await Promise.allSettled(both), [{ status: 'fulfilled' }, { reason: { code: 'key_exists' } }])
  await keys.make({ ...wish, name: 'two' }, 'ada')
  await t.rejects(keys.make({ ...wish, name: 'three' }, 'ada'), { code: 'too_many_keys', message: /keys\.max/ })
})

t.test('a change that could not be saved has not happened', async (t) => {
  const { keys, state } = keysOf()
  await keys.make(wish, 'ada')
  state.isFull = true
  await t.rejects(keys.make({ ...wish, name: 'two' }, 'ada'))
  await t.rejects(keys.remove('id1'))
  t.match(keys.list(), [{ id: 'id1' }])
  t.equal(keys.list().length, 1)
  t.ok(keys.callerOf(pump))
})

t.test('a thousand uses are one write, and none is lost at the end', async (t) => {
  const { clock, keys, saved, state } = keysOf()
  await keys.make(wish, 'ada')
  for (let times = 0; times < 1000; times++) keys.callerOf(pump)
  t.match(keys.list(), [{ lastUsedAt: 1_900_000_000_000 }])
  t.equal(saved.length, 1)
  await clock.run(60_000)
  t.match(saved, [{}, [{ lastUsedAt: 1_900_000_000_000 }]])
  state.isFull = true
  keys.callerOf(pump)
  await clock.run(60_000)
  t.equal(saved.length, 2)
  state.isFull = false
  keys.callerOf(pump)
  await keys.close()
  t.match(saved.at(-1), [{ lastUsedAt: 1_900_000_120_000 }])
  await keys.close()
  t.equal(saved.length, 3)
})

t.test('the end waits for a write that is under way', async (t) => {
  const { clock, keys, saved } = keysOf()
  await keys.make(wish, 'ada')
  keys.callerOf(pump)
  clock.advance(60_000)
  await keys.close()
  t.equal(saved.length, 2)
})

t.test('keys survive a restart, whoever made them', async (t) => {
  const { keys, saved } = keysOf()
  await keys.make({ ...wish, ports: ['/dev/a'] }, 'somebody who is gone')
  const again = keysOf(saved[0]).keys
  t.match(again.callerOf(pump), { name: 'key:pump', only: ['/dev/a'] })
  t.match(again.list(), [{ createdBy: 'somebody who is gone' }])
})

t.test('the most keys allowed, each with the most ports, take no more than their row says', async (t) => {
  const max = 64
  const pathsOf = (at: number) => Array.from({ length: 64 }, (_, port) => `/dev/${at}-${port}`.padEnd(512, 'ж'))
  const bytes = await heapBytesOf(async () => {
    const { keys } = keysOf([], max)
    for (let at = 0; at < max; at++) {
      const asked = { ...wish, name: `${at}`.padEnd(64, 'ж'), ports: pathsOf(at) }
      await keys.make(JSON.parse(JSON.stringify(asked)), 'ada')
    }
    await t.rejects(keys.make({ ...wish, name: 'one more' }, 'ada'), { code: 'too_many_keys' })
    return keys
  })
  const row = rowOf(memoryPlan().rows, 'API keys', { 'keys.max': max })
  t.ok(bytes < row.allBytes, `${bytes / max} bytes a key, of ${row.eachBytes}`)
})

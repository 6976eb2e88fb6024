/** What device definitions and their sessions take of memory: the rows of both daemons' plans. */
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { loadDefinition } from '#kit/device/load.ts'
import { readConfig } from '#kit/pure/device/device.ts'
import { definitionRows } from '#kit/pure/device/memory-rows.ts'
import { DeviceSession, MOST_POLL_TURNS } from '#kit/pure/device/session.ts'
import { heapBytesOf } from '../heap.ts'
import { definitionFile, shippedSets } from './shipped-sets.ts'

const [definitions, sessions] = definitionRows('bytes', 'devices')

t.test('definitions in use take no more than their row', async (t) => {
  const { names } = shippedSets()
  const files = names().map((name) => new TextEncoder().encode(JSON.stringify(definitionFile(name))))
  const sizeBytes = files.reduce((sum, { length }) => sum + length, 0)
  const held = await heapBytesOf(() => files.map((file) => loadDefinition(file)))
  const all = definitions?.all
  const row = typeof all === 'function' ? all((() => sizeBytes) as never) : 0
  t.ok(held > 0 && held < row, `${Math.round(held / sizeBytes)} bytes for each of ${sizeBytes}`)
})

t.test('a session takes no more than its row, with as many polls and waiting commands as it may have', async (t) => {
  const sets = shippedSets()
  const device = sets.get('shure-p300')
  const config = readConfig(device, {})
  const zones = Array.from({ length: MOST_POLL_TURNS }, (_, at) => String((at % 28) + 1))
  const MANY = 50
  const kept: DeviceSession[] = []
  const held = await heapBytesOf(() => {
    const all = Array.from({ length: MANY }, () => {
      const session = new DeviceSession({
        ...{ device, config, zones, clock: systemClock, digest: sets.digest, pollMs: undefined },
        ...{ whenLate: { holdMs: 600_000 }, queue: 8 },
        hooks: { async send() {}, report() {}, answered() {}, ended() {} },
      })
      void session.open()
      for (let at = 0; at < 8; at++) session.command('preset', { preset: 1 }).catch(() => {})
      return session
    })
    kept.push(...all)
    return all
  })
  const each = sessions?.each
  t.ok(typeof each === 'number' && held / MANY < each, `${Math.round(held / MANY)} bytes each`)
  for (const session of kept) session.close(new Error('over') as never)
})

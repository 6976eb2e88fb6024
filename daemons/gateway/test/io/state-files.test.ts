/** The state files of the gateway: what is read back, and what is refused. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { silentLog } from '#kit/log.ts'
import type { PortRecord } from '../../core/lines/ports.ts'
import { createStateFiles } from '../../io/state-files.ts'

const line = { baud: 9600, data_bits: 8, parity: 'none', stop_bits: 1, flow: 'none', rs485: null, low_latency: false }
const fileWith = (settings: object, points?: object[]) =>
  JSON.stringify({
    version: 1,
    ports: [{ path: '/dev/ttyUSB0', protocol: 'raw', line, settings, enabled: true, webhooks: [], points }],
  })

function filesOf(t: Test, files: Record<string, string>) {
  const folder = t.testdir()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return { folder, ports: createStateFiles(folder, silentLog).ports }
}

t.test('fills in settings that came with a newer version', async (t) => {
  const { ports } = filesOf(t, { 'ports.json': fileWith({ queue: 7 }) })
  const [record] = await ports.load()
  t.match(record?.settings, { queue: 7, framing: 'silence', silence_ms: 20 })
})

t.test('treats a file with a setting out of range as damaged, and uses its backup', async (t) => {
  const { folder, ports } = filesOf(t, {
    'ports.json': fileWith({ queue: 1_000_000_000 }),
    'ports.json.bak': fileWith({ queue: 7 }),
  })
  const [record] = (await ports.load()) as [PortRecord]
  t.equal(record.settings.queue, 7)
  t.match(readdirSync(folder).join(), /ports\.json\.damaged-/)
})

t.test('names the file, port and key of a setting that is refused', async (t) => {
  const { ports } = filesOf(t, { 'ports.json': fileWith({ queue: -1 }) })
  await t.rejects(ports.load(), {
    code: 'store_damaged',
    message: /ports\.json is damaged \(\/dev\/ttyUSB0: settings\.queue is -1, expected/,
  })
})

t.test('a file from before there were points has none', async (t) => {
  const { ports } = filesOf(t, { 'ports.json': fileWith({}) })
  const [record] = await ports.load()
  t.same(record?.points, [])
})

t.test('points come back as they were saved, with what a newer version added', async (t) => {
  const point = { name: 'a', unitId: 1, fc: 3, address: 0, type: 'u16' }
  const { ports } = filesOf(t, { 'ports.json': fileWith({}, [point]) })
  const records = await ports.load()
  t.match(records[0]?.points, [{ ...point, scale: 1, pollMs: 10_000, template: null }])
  await ports.save(records)
  t.same(await ports.load(), records)
})

t.test('points that do not fit together are a damaged file, with port and field', async (t) => {
  const { ports } = filesOf(t, {
    'ports.json': fileWith({}, [{ name: 'a', unitId: 1, fc: 1, address: 0, type: 'u16' }]),
  })
  await t.rejects(ports.load(), { code: 'store_damaged', message: /ttyUSB0: points\[0\]\.type is u16/ })
})

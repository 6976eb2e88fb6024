import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { silentLog } from '#kit/log.ts'
import { createDecoderFiles } from '../../io/decoder-files.ts'

const SAVED = {
  route: { mcast: '239.69.10.4', port: 5004, source: null, link_ms: 7.5, mclk_offset: null, encoding: 'L16' as const },
  settings: { mcast: '', port: 5004 },
}

t.test('route and volume are read back as they were saved', async (t) => {
  const folder = t.testdir()
  const files = createDecoderFiles(folder, silentLog)
  t.equal(await files.loadRoute(), null)
  t.same(await files.loadVolume(), { volume_db: 0, mute: false })
  await files.saveRoute(SAVED)
  await files.saveVolume({ volume_db: -12.5, mute: true })
  const again = createDecoderFiles(folder, silentLog)
  t.same(await again.loadRoute(), SAVED)
  t.same(await again.loadVolume(), { volume_db: -12.5, mute: true })
  t.match(JSON.parse(await readFile(join(folder, 'route.json'), 'utf8')), { version: 1 })
})

t.test('a file without a route is set aside, and the previous one is used', async (t) => {
  const folder = t.testdir()
  const files = createDecoderFiles(folder, silentLog)
  await files.saveRoute(SAVED)
  await files.saveRoute(SAVED)
  const bad = { version: 1, ...SAVED, route: { ...SAVED.route, mcast: '10.0.0.1' } }
  await writeFile(join(folder, 'route.json'), JSON.stringify(bad))
  t.same(await createDecoderFiles(folder, silentLog).loadRoute(), SAVED)
})

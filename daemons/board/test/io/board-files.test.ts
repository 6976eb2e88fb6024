import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { silentLog } from '#kit/log.ts'
import { untouchedNetwork } from '../../core/machine/network.ts'
import { firstSettings } from '../../core/settings/settings.ts'
import { createBoardFiles } from '../../io/state-files.ts'
import { heard, peerRig } from '../core/peers/peer-rig.ts'

t.test('a freshly flashed board has no files, and what it saves is there at the next start', async (t) => {
  const folder = t.testdir()
  const files = createBoardFiles(folder, silentLog)
  t.equal(await files.settings.load(), undefined)
  t.equal(await files.starts.load(), undefined)
  t.same(await files.network.load(), untouchedNetwork)
  const settings = { settings: firstSettings({ role: 'usbip', hostname: 'b', mcast: '' }), saves: 2 }
  const start = { bootId: 'one', startedAt: 1, reason: 'first', intent: 'ota', isStopped: true } as const
  const address = { ip: '10.0.0.1', prefix: 8, gw: '10.0.0.2' }
  const { table, appear, clock } = peerRig()
  for (const host of [2, 3]) appear(heard(host))
  await clock.run(1000)
  const boards = table.kept()
  const network = { ...untouchedNetwork, state: 'unconfirmed', address, before: address, deadlineMs: 12.5 } as const
  await files.settings.save(settings)
  await files.starts.save(start)
  await files.network.save(network)
  t.same(await files.peers.load(), [])
  await files.peers.save(boards)
  const again = createBoardFiles(folder, silentLog)
  t.same(await again.settings.load(), settings)
  t.same(await again.starts.load(), start)
  t.same(await again.network.load(), network)
  t.same(await again.peers.load(), boards)
})

t.test('a corrupt file is set aside, and the previous one is used', async (t) => {
  const folder = t.testdir()
  const files = createBoardFiles(folder, silentLog)
  await files.settings.save({ settings: { name: 'old' }, saves: 1 })
  await files.settings.save({ settings: { name: 'new' }, saves: 2 })
  const path = join(folder, 'settings.json')
  writeFileSync(path, readFileSync(path, 'utf8').slice(0, 40))
  t.same(await createBoardFiles(folder, silentLog).settings.load(), { settings: { name: 'old' }, saves: 1 })
})

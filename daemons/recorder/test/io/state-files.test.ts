import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { silentLog } from '#kit/log.ts'
import type { CameraRecord } from '../../core/cameras/book.ts'
import { keptAccounts, openCameras, openSite } from '../../io/state-files.ts'

const door: CameraRecord = {
  ...{ id: '0badcafe', name: 'Door', enabled: true, url: 'rtsp://10.0.0.5/one' },
  ...{
    subUrl: null,
    username: 'ann',
    password: 'se:cret',
    mode: 'intelligence_only',
    audio: false,
    transport: 'udp' as const,
    onvif: null,
  },
  ...{ masks: [], cameraEvents: true },
  outputs: { probedAt: 1, notes: null, list: [{ id: 'r', kind: 'relay', name: 'Relay 1', driver: 'onvif' }] },
  talkback: { probedAt: 5, codec: 'PCMU', reason: null },
}

t.test('passwords of cameras are sealed on the disk, and are there again after a restart', async (t) => {
  const folder = t.testdir({})
  await (await openCameras(folder, silentLog)).save([door, { ...door, id: '00000001', password: null }])
  const path = join(folder, 'cameras.json')
  t.notMatch(readFileSync(path, 'utf8'), /cret/)
  const { records } = await openCameras(folder, silentLog)
  t.same(records, [door, { ...door, id: '00000001', password: null }])
})

t.test('masks are there again after a restart', async (t) => {
  const folder = t.testdir({})
  const masked = {
    ...door,
    masks: [
      [
        [0, 0.5],
        [1, 0.25],
        [0.5, 1],
      ] as [number, number][],
    ],
  }
  await (await openCameras(folder, silentLog)).save([masked])
  t.same((await openCameras(folder, silentLog)).records, [masked])
})

t.test('a password that is moved to another address does not open, and the other cameras are recorded', async (t) => {
  const folder = t.testdir({})
  const other = { ...door, id: '00000001', url: 'rtsp://10.0.0.6/one' }
  await (await openCameras(folder, silentLog)).save([door, other])
  const path = join(folder, 'cameras.json')
  writeFileSync(path, readFileSync(path, 'utf8').replace('10.0.0.5', '203.0.113.5'))
  const { records } = await openCameras(folder, silentLog)
  t.same(records, [{ ...door, url: 'rtsp://203.0.113.5/one', password: null }, other])
})

t.test('a second address is kept, bound to the password as the first, and older files have none', async (t) => {
  const folder = t.testdir({})
  const onvif = { service: 'http://10.0.0.5/onvif', recordToken: 'main', watchToken: null, fps: 12.5 }
  const sub = { ...door, id: '00000001', subUrl: 'rtsp://10.0.0.5/two', onvif }
  const path = join(folder, 'cameras.json')
  const { save } = await openCameras(folder, silentLog)
  await save([door, sub])
  const text = readFileSync(path, 'utf8')
  t.same((await openCameras(folder, silentLog)).records, [door, sub])
  writeFileSync(path, text.replace('10.0.0.5/two', '10.0.0.5/four'))
  t.same((await openCameras(folder, silentLog)).records[1], { ...sub, subUrl: 'rtsp://10.0.0.5/four', password: null })
  writeFileSync(path, text.replace('http://10.0.0.5/onvif', 'http://203.0.113.5/onvif'))
  t.match((await openCameras(folder, silentLog)).records, [{ password: 'se:cret' }, { password: null }])
  const { cameras, ...rest } = JSON.parse(text)
  const older = cameras.map(
    ({ masks: _, onvif: __, subUrl: ___, talkback: ____, ...camera }: Record<string, unknown>) => camera,
  )
  writeFileSync(path, JSON.stringify({ ...rest, cameras: older.slice(0, 1) }))
  t.same((await openCameras(folder, silentLog)).records, [{ ...door, talkback: null }])
})

t.test('a recorder keeps its id, and one without a saved step counts as set up', async (t) => {
  const folder = t.testdir({})
  const first = await openSite(folder, silentLog)
  t.equal(first.step(), 'complete')
  await first.moveTo('storage')
  await first.rename('Mill')
  const second = await openSite(folder, silentLog)
  t.same([second.id, second.step(), second.name()], [first.id, 'storage', 'Mill'])
})

t.test('the command line makes the first account, and gives the only one another password', async (t) => {
  const folder = t.testdir({})
  const none = await keptAccounts(folder)
  t.same(none.usernames, [])
  await none.setPassword('admin', 'long enough')
  const one = await keptAccounts(folder)
  t.same(one.usernames, ['admin'])
  const before = readFileSync(join(folder, 'users.json'), 'utf8')
  await one.setPassword('admin', 'another one')
  const { users } = JSON.parse(readFileSync(join(folder, 'users.json'), 'utf8'))
  const [was] = JSON.parse(before).users
  t.match(users, [{ id: was.id, role: 'administrator', cameras: 'all' }])
  t.not(users[0].passwordHash, was.passwordHash)
})

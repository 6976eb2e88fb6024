/** A controller over two boards: what a zone is told is heard at the decoder's output. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ask, startDaemon } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { gstMissing } from '#native/node-gst/test/gst-here.ts'
import { openRestSite } from './rest-site.ts'

const skip = gstMissing()
/** Of no other test, and no other run of this one. */
const GROUP = `239.${70 + (process.pid % 100)}.${(process.pid >> 7) & 0xff}.9`
const PORT = 25_510
const PASSWORD = 'correct horse battery'
/** Of the file that a decoder plays into: two channels of 24 bits. */
const FRAME_BYTES = 6
const RATE = 48_000

async function startBoard(t: Test, role: string, settings: object, sets: string[]) {
  const stateFolder = mkdtempSync(join(tmpdir(), 'board-device-'))
  t.teardown(() => rmSync(stateFolder, { recursive: true, force: true }))
  const value = { settings: { role, sap: false, ...settings }, saves: 1 }
  writeFileSync(join(stateFolder, 'settings.json'), JSON.stringify({ version: 1, value }))
  const own = ['mdns.enabled=false', 'ptp.enabled=false', 'audio.interface=lo', 'streams.ravenna=false', ...sets]
  const board = await startDaemon(t, 'board', { stateFolder, sets: [`board.role=${role}`, ...own] })
  const form = new URLSearchParams({ password: PASSWORD })
  await ask(`${board.url}/api/password`, { method: 'POST', body: form })
  return { ...board, transport: { kind: 'board', host: '127.0.0.1', port: Number(new URL(board.url).port) } }
}

/** The loudest sample of the newest frames in the file. */
function loudest(path: string, frames: number): number {
  const bytes = readFileSync(path)
  const tail = bytes.subarray(bytes.length - ((bytes.length - 44) % FRAME_BYTES) - frames * FRAME_BYTES)
  let most = 0
  for (let at = 0; at + 3 <= tail.length; at += 3) most = Math.max(most, Math.abs(tail.readIntLE(at, 3)))
  return most / 2 ** 23
}

t.test('an audio zone over a decoder, and an encoder', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'board-sound-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'played.wav')
  const [decoder, encoder] = await Promise.all([
    startBoard(t, 'decoder', { mcast: '', channels: 2 }, [`audio.sink="file:${file}"`]),
    startBoard(t, 'encoder', { mcast: GROUP, port: PORT, channels: 2 }, ['audio.source="tone"']),
  ])
  const device = (id: number, name: string, transport: object) => {
    return { id, name, driver: 'board', password: PASSWORD, transport }
  }
  const site = await openRestSite(t, {
    rows: {
      device: [
        device(20, 'Bar', decoder.transport),
        device(21, 'Mixer', encoder.transport),
        { ...device(22, 'Locked', decoder.transport), password: 'another one' },
      ],
      zone: [
        { id: 30, name: 'Bar', type: 'audio', device_id: 20 },
        { id: 31, name: 'Mixer', type: 'audio', device_id: 21 },
      ],
      ...{ command: [], macro: [], macro_step: [], ui: [{ name: 'Ground' }, { name: 'Whole' }], attribute: [] },
      ...{ ui_zone: [], ui_zone_group_ui: [] },
    },
  })
  const token = await site.tokenOf('ada')
  const instance = async (id: number) => (await site.get(`/api/data/zone?id=${id}&_instance=true`, token)).body[0]
  const device22 = async () => (await site.get('/api/data/device?id=22&_instance=true', token)).body[0]
  const command = async (verb: string, args: object = {}) =>
    (await site.post('/api/control/command', { zone_id: 30, command: verb, args }, token)).body
  const frames = () => (statSync(file).size - 44) / FRAME_BYTES
  const heardFor = async (count: number) => {
    const begin = frames()
    await until('it has played on', () => frames() >= begin + count)
    return loudest(file, count / 2)
  }

  await until('both are online', async () => (await instance(30)).state === 'stopped' && (await instance(31)).sound)
  t.match(await instance(31), { role: 'encoder', mcast: GROUP, port: PORT })

  await t.test('a route is played', async (t) => {
    const route = { mcast: GROUP, port: PORT, encoding: 'L24', link_ms: 100 }
    t.match(await command('route', route), { success: true })
    t.match(await command('volume_db', { volume_db: 0 }), { success: true })
    await until('it plays', async () => (await instance(30)).state === 'playing' && (await instance(30)).sound === true)
    await until('it is heard', async () => (await heardFor(RATE / 10)) > 0.01)
    // A board that missed sound reports it for one minute.
    await until('nothing is wrong', async () => (await instance(30)).error === null, 75_000)
    t.match(await instance(30), { mcast: GROUP, port: PORT, volume_db: 0, mute: false })
  })

  await t.test('volume and mute change what is heard', async (t) => {
    const before = await heardFor(RATE / 5)
    t.match(await command('volume_db', { volume_db: -20 }), { success: true })
    t.match(await instance(30), { volume_db: -20 }, 'told with the answer')
    await until('it is a tenth', async () => Math.abs((await heardFor(RATE / 5)) / before - 0.1) < 0.01)
    t.match(await command('mute', { mute: true }), { success: true })
    await until('it is silent', async () => (await heardFor(RATE / 5)) === 0)
    t.match(await instance(30), { mute: true })
    await until('the zone is not playing', async () => (await instance(30)).state === 'silent')
    t.match(await command('mute', { mute: false }), { success: true })
    t.match(await command('stop'), { success: true })
    await until('it is stopped', async () => (await instance(30)).state === 'stopped')
  })

  await t.test('what the board does not take is told in its words', async (t) => {
    t.match(await command('volume_db', { volume_db: 40 }), { success: false, error: /the board says: volume_db: / })
    t.match(await command('route', { mcast: '10.1.2.3', port: 1 }), { success: false, error: /mcast: / })
    t.match(await command('detach'), { success: false, error: /the board / })
    t.match(await device22(), { state: 'offline', error: /takes no password from here/ })
  })

  await t.test('what somebody sets at the board is told by itself', async (t) => {
    const headers = { authorization: `Basic ${btoa(`admin:${PASSWORD}`)}` }
    const body = new URLSearchParams({ volume: '33' })
    await ask(`${decoder.url}/api/volume`, { method: 'POST', headers, body })
    await until('it is told', async () => (await instance(30)).volume === 33)
    t.match(await instance(30), { mute: false })
  })

  await t.test('a lost board shows so', async (t) => {
    await decoder.stop('SIGKILL')
    await until('its zone is unknown', async () => (await instance(30)).state === 'unknown')
    t.match(await command('volume', { volume: 1 }), { success: false, error: /offline/ })
    t.match(await instance(31), { sound: true })
  })
})

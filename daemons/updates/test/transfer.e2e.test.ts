/** Uploads and downloads of the built update server that go wrong: cut, slow, too long, too many, a full disk, a withdrawal. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { bareClient } from '#kit/test/http/bare-client.ts'
import { stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { type Archive, archiveOf, openStage, type Stage, UPDATE_KEY } from './stage.ts'

const archive = archiveOf(400_000)
const large = archiveOf(24_000_000)
const shared = openStage(t, {
  sets: ['uploads.max_bytes=25000000', 'registration.per_address_per_hour=10000', 'http.request_timeout_ms=500'],
})
/** With the settings that it has by itself. */
const ordinary = openStage(t)
const portOf = ({ url }: Stage) => Number(new URL(url).port)

function head(version: string, { key }: Archive, length: number | 'chunked', more = ''): string {
  const size = length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`
  const own = `X-Svc-Update-Key: ${UPDATE_KEY}\r\nX-Svc-Version: ${version}\r\nX-Svc-Encryption-Key: ${key}`
  return `POST /push_update HTTP/1.1\r\nHost: x\r\n${own}\r\n${more}${size}\r\n\r\n`
}

/** Until the server holds nothing of an upload that it does not keep. */
async function settled(stage: Stage, many: number): Promise<void> {
  await until(`${many} files are stored`, () => stage.stored().length === many)
}

t.test('an upload that is cut anywhere leaves nothing, and the version can be published', async (t) => {
  const stage = await shared
  const before = stage.stored().length
  const length = archive.bytes.length
  const cuts = [
    0,
    1,
    111,
    112,
    65_664,
    length - 1,
    ...Array.from({ length: 6 }, () => Math.floor(Math.random() * length)),
  ]
  for (const [at, bytes] of cuts.entries()) {
    const socket = connect(portOf(stage), '127.0.0.1').on('error', () => {})
    socket.write(head('1.0.0', archive, at % 2 === 0 ? length : 'chunked'))
    const sent = archive.bytes.subarray(0, bytes)
    if (at % 2 === 0) socket.write(sent)
    else socket.write(Buffer.concat([Buffer.from(`${length.toString(16)}\r\n`), sent]))
    await until('it has begun', () => stage.stored().length > before)
    socket.destroy()
    await settled(stage, before)
  }
  t.equal((await stage.publish('1.0.0', archive)).status, 200)
})

t.test('500 MB and one byte are refused by their length before a byte is read', async (t) => {
  const stage = await ordinary
  const { bare, answered } = bareClient(portOf(stage))
  bare.write(head('1.0.0', archive, 524_288_001))
  t.match(await answered, /^HTTP\/1.1 413 .*body_too_large/s)
  t.same(stage.stored(), [])
  bare.destroy()
})

t.test('what is too long without saying so is refused when it gets too long', async (t) => {
  const stage = await shared
  const before = stage.stored().length
  const { bare, answered } = bareClient(portOf(stage))
  bare.write(head('1.1.0', large, 'chunked'))
  const more = Buffer.concat([large.bytes, Buffer.alloc(1_100_000)])
  bare.write(`${more.length.toString(16)}\r\n`)
  bare.write(more)
  t.match(await answered, /^HTTP\/1.1 4(?:13 .*body_too_large|00 .*container_)/s)
  bare.destroy()
  await settled(stage, before)
  const raw = await stage.publishInstaller('1.1.0', new Uint8Array(25_000_001))
  t.match(raw, { status: 413, body: { error: 'body_too_large' } })
  t.equal((await stage.publishInstaller('1.1.0', new Uint8Array(25_000_000))).status, 200)
})

t.test('a wrong key is answered before the body is read', async (t) => {
  const stage = await shared
  const { bare, answered } = bareClient(portOf(stage))
  bare.write(head('1.2.0', archive, archive.bytes.length).replace(UPDATE_KEY, 'wrong-key'))
  t.match(await answered, /^HTTP\/1.1 401 .*unauthorized/s)
  bare.destroy()
})

t.test('an upload that moves has no time limit; one that stands still or trickles is ended', async (t) => {
  const stage = await openStage(t, {
    sets: ['http.request_timeout_ms=200', 'uploads.idle_ms=1500', 'uploads.pace_ms=1000', 'uploads.pace_bytes=5000'],
  })
  const push = request(`${stage.url}/push_update`, {
    method: 'POST',
    headers: { 'x-svc-update-key': UPDATE_KEY, 'x-svc-version': '1.0.0', 'x-svc-encryption-key': archive.key },
  })
  const parts = 12
  for (let at = 0; at < parts; at++) {
    const size = Math.ceil(archive.bytes.length / parts)
    push.write(archive.bytes.subarray(at * size, (at + 1) * size))
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const [answer] = await once(push.end(), 'response')
  t.equal(answer.statusCode, 200, 'though it took longer than a request may')
  answer.resume()
  const before = stage.stored().length
  const still = bareClient(portOf(stage))
  still.bare.write(head('1.1.0', archive, 1000))
  t.match(await still.answered, /^HTTP\/1.1 408 .*request_timeout/s)
  const trickle = bareClient(portOf(stage))
  trickle.bare.write(head('1.1.0', archive, archive.bytes.length))
  let at = 0
  const dripping = setInterval(() => trickle.bare.write(archive.bytes.subarray(at, ++at)), 20)
  t.match(await trickle.answered, /^HTTP\/1.1 408 .*too slow/s)
  clearInterval(dripping)
  for (const { bare } of [still, trickle]) bare.destroy()
  await settled(stage, before)
})

t.test('as many uploads at once as may be; one more is 429 with Retry-After', async (t) => {
  const stage = await openStage(t, { sets: ['uploads.at_once=1'] })
  const first = connect(portOf(stage), '127.0.0.1').on('error', () => {})
  first.write(head('1.0.0', archive, archive.bytes.length))
  await until('it has begun', () => stage.stored().length === 1)
  const { body } = await stage.admin('GET', '/admin/api/uploads')
  t.match(body.uploads, [{ kind: 'update', version: '1.0.0', size: archive.bytes.length }])
  const answer = await stage.publish('1.1.0', archive)
  t.match(answer, { status: 429, body: { error: 'too_many_uploads' } })
  t.equal(answer.headers.get('retry-after'), '30')
  first.destroy()
  await settled(stage, 0)
  t.equal((await stage.publish('1.1.0', archive)).status, 200)
})

t.test('an artifact that is still being uploaded takes a place; one more is 429', async (t) => {
  const stage = await openStage(t, { sets: ['artifacts.at_once=1'] })
  const bytes = Buffer.from('{"name":"x"}')
  const path = (name: string) => `/admin/api/artifacts?type=web_service&filename=${name}.json`
  const { cookie, 'x-csrf-token': token } = await stage.cookie()
  const lines = ['content-type: application/json', `cookie: ${cookie}`, `x-csrf-token: ${token}`]
  const first = bareClient(portOf(stage))
  const more = [`host: 127.0.0.1:${portOf(stage)}`, `content-length: ${bytes.length}`, 'connection: close', '', '']
  first.bare.write([`POST ${path('first')} HTTP/1.1`, ...lines, ...more].join('\r\n'))
  first.bare.write(bytes.subarray(0, 5))
  const second = () => stage.admin('POST', path('second'), { name: 'x' })
  let answer = await second()
  for (; answer.status === 201; answer = await second())
    await stage.admin('DELETE', '/admin/api/artifacts/web_service/second.json')
  t.match(answer, { status: 429, body: { error: 'too_many_uploads' } })
  first.bare.write(bytes.subarray(5))
  t.match(await first.answered, /^HTTP\/1.1 201 /)
  t.equal((await second()).status, 201)
})

function noSmallDisk(): string | false {
  const probe = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', '/mnt'])
  return probe.status === 0 ? false : 'needs root and a mount namespace of its own (unshare -m)'
}

t.test(
  'a full disk: what comes is refused with what is missing, and what was there is given out',
  { skip: noSmallDisk() },
  async (t) => {
    const folder = join(stateFolderOf(t), 'disk')
    mkdirSync(folder)
    const script = 'disk=$1; shift; mount -t tmpfs -o size=4m none "$disk" && exec "$@"'
    const within = ['unshare', '-m', 'sh', '-c', script, 'sh', folder]
    const stage = await openStage(t, { within, sets: [`storage.folder=${folder}`] })
    t.equal((await stage.publish('1.0.0', archive)).status, 200)
    const id = await stage.enabled()
    const said = await stage.publish('2.0.0', large)
    t.match(said, { status: 507, body: { error: 'no_room', message: /MB are missing/ } }, 'by its length')
    const unsaid = bareClient(portOf(stage))
    unsaid.bare.write(head('2.0.0', large, 'chunked'))
    unsaid.bare.write(`${large.bytes.length.toString(16)}\r\n`)
    unsaid.bare.write(large.bytes)
    t.match(await unsaid.answered, /^HTTP\/1.1 507 .*no_room/s)
    unsaid.bare.destroy()
    t.match((await stage.post('/check_update', { installation_id: id, version: '0.9.0' })).body, { version: '1.0.0' })
    t.equal((await stage.post('/pull_update', { installation_id: id })).status, 200)
    t.equal((await stage.publish('1.1.0', archiveOf(300_000))).status, 200, 'its place is free again')
  },
)

/** Asks for an archive, and takes nothing of it. */
function pull(stage: Stage, id: string): Promise<{ socket: Socket; heard: () => string }> {
  const socket = connect(portOf(stage), '127.0.0.1').on('error', () => {})
  const body = JSON.stringify({ installation_id: id })
  socket.write(
    `POST /pull_update HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  let heard = ''
  return new Promise((resolve) => {
    socket.once('data', (data) => {
      socket.pause()
      heard = String(data)
      resolve({ socket, heard: () => heard })
    })
  })
}

t.test('a release that is withdrawn while it is fetched ends there, and is 410 then', async (t) => {
  const stage = await ordinary
  await stage.publish('1.0.0', large)
  const id = await stage.enabled('0.9.0')
  const { socket } = await pull(stage, id)
  await stage.admin('PATCH', '/admin/api/updates/1.0.0', { withdrawn: true })
  const ended = once(socket, 'close')
  let taken = 0
  socket.on('data', (data) => (taken += data.length)).resume()
  await ended
  t.ok(taken < large.bytes.length, 'it does not get all of it')
  const again = await stage.post('/pull_update', { installation_id: id, version: '1.0.0' })
  t.match(again, { status: 410, body: { error: 'release_gone' } })
  const { body } = await stage.admin('GET', '/api/health')
  t.same(body.downloads, { updates: 0, installers: 0 })
})

t.test('downloads are bounded for an installation and in all; who takes nothing is ended', async (t) => {
  const stage = await openStage(t, {
    sets: ['downloads.per_installation=1', 'http.stalled_ms=1500', 'downloads.total=2'],
  })
  await stage.publish('1.0.0', large)
  const [first, second, third] = [await stage.enabled(), await stage.enabled(), await stage.enabled()]
  const one = await pull(stage, first)
  t.match(one.heard(), /^HTTP\/1.1 200/)
  const answer = await stage.post('/pull_update', { installation_id: first, version: '1.0.0' })
  t.match(answer, { status: 429, body: { error: 'too_many_downloads' } })
  t.equal(answer.headers.get('retry-after'), '30')
  await pull(stage, second)
  t.equal((await stage.post('/pull_update', { installation_id: third })).status, 429, 'in all')
  t.match((await stage.admin('GET', '/api/health')).body.downloads, { updates: 2 })
  await until('both are ended', async () => (await stage.admin('GET', '/api/health')).body.downloads.updates === 0)
  t.equal((await stage.post('/pull_update', { installation_id: first })).status, 200)
})

t.test('a file that is gone from the disk is said to be, and its release stays', async (t) => {
  const stage = await ordinary
  t.equal((await stage.publish('1.1.0', archive)).status, 200)
  const id = await stage.enabled('0.9.0')
  for (const name of stage.stored()) rmSync(join(`${stage.stateFolder}-files`, 'releases', name))
  t.match(await stage.post('/pull_update', { installation_id: id }), { status: 503, body: { error: 'file_lost' } })
})

t.test(
  'killed at any instant of an upload: a release is there whole or not at all, and can be published',
  async (t) => {
    const folder = stateFolderOf(t)
    const [stateFolder, file] = [join(folder, 'state'), join(folder, 'password')]
    writeFileSync(file, 'of the integrator')
    const options = { stateFolder, sets: [`admin.password_file=${file}`], password: 'of the integrator' }
    let stage = await openStage(t, options)
    for (let times = 0; times < 6; times++) {
      const version = `1.0.${times}`
      const under = stage.publish(version, archive).catch(() => undefined)
      const { promise, resolve } = Promise.withResolvers<void>()
      // From before its first byte to after its answer.
      setTimeout(resolve, Math.random() * 60)
      await promise
      await stage.stop('SIGKILL')
      const answered = (await under)?.status === 200
      stage = await openStage(t, options)
      const id = await stage.enabled()
      const pulled = await stage.post('/pull_update', { installation_id: id, version })
      t.ok(
        pulled.status === 200 || (pulled.status === 404 && !answered),
        `${version}: ${pulled.status}, answered: ${answered}`,
      )
      if (pulled.status === 200) t.equal(pulled.headers.get('content-length'), String(archive.bytes.length))
      t.equal((await stage.publish(version, archive)).status, 200)
    }
  },
)

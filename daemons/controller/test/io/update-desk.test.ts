/** Updates and the machine: a service, a file and a lock of the test in the place of root's. */
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Test, t } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { LONGEST_TOLD, MOST_TOLD, type UpdateTold } from '#kit/pure/update-told.ts'
import { lockUpdates } from '#kit/release/update-lock.ts'
import { until } from '#kit/test/until.ts'
import { createQuietSocket, createUpdateDesk } from '../../io/update-desk.ts'

/** Short, as the path of a socket is. */
function folderOf(t: Test): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'plantroom-desk-')))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function deskIn(t: Test, { answerMs = 20_000, programs = '' } = {}) {
  const folder = folderOf(t)
  const [socket, toldFile] = [join(folder, 'update.sock'), join(folder, 'told.json')]
  const release = join(folder, 'root/releases/1.0.0-00000000')
  mkdirSync(release, { recursive: true })
  const open = () =>
    createUpdateDesk({
      ...{ stateFolder: folder, programs: programs || release, clock: systemClock },
      limits: { socket, toldFile, answerMs },
    })
  return { ...open(), folder, open, release, root: join(folder, 'root'), socket, toldFile }
}

const TOLD: UpdateTold = {
  run: { task: 'check', begunAt: 1, lines: [{ at: 2, text: 'a line' }], end: null },
  ...{ looked: null, last: null },
}

async function service(t: Test, path: string, hear: (socket: Socket) => void): Promise<void> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    hear(socket)
  })
  server.listen(path)
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
}

t.test('a request is one word, and the answer one line', async (t) => {
  const { ask, canAsk, socket } = deskIn(t)
  t.equal(canAsk(), false)
  await service(t, socket, (peer) => {
    peer.once('data', (request) => void peer.end(`heard ${String(request).trim()}\nmore`))
  })
  t.equal(canAsk(), true)
  t.equal(await ask('check'), 'heard check')
  t.equal(await ask('apply'), 'heard apply')
})

t.test(
  'a service that is not there, hangs, hangs up or does not end its line is named, with what to look at',
  async (t) => {
    const { ask, open, socket } = deskIn(t, { answerMs: 50 })
    const look = { code: 'update_unreachable', message: /systemctl status plantroom-update\.socket/ }
    await t.rejects(ask('apply'), { ...look, message: /cannot be asked \(ENOENT\)/ })
    const acts: ((peer: Socket) => void)[] = [
      () => {},
      (peer) => void peer.destroy(),
      (peer) => void peer.write('x'.repeat(10_000)),
    ]
    await service(t, socket, (peer) => {
      peer.resume()
      acts.shift()?.(peer)
    })
    for (const _ of [...acts]) await t.rejects(open().ask('apply'), look)
  },
)

t.test('what the updater tells is read when it has changed, and only if it is whole and of its form', async (t) => {
  const { folder, told, toldFile } = deskIn(t)
  const write = (content: string) => {
    writeFileSync(join(folder, 'next'), content)
    renameSync(join(folder, 'next'), toldFile)
  }
  t.equal(await told(), undefined)
  write(JSON.stringify(TOLD))
  t.same(await told(), TOLD)
  const lines = Array.from({ length: MOST_TOLD }, (_, at) => ({ at, text: '\u0001'.repeat(LONGEST_TOLD) }))
  const largest = { ...TOLD, run: { ...TOLD.run, lines } }
  write(JSON.stringify(largest))
  t.same(await told(), largest, 'the largest that is told')
  for (const bad of [
    '',
    '{',
    '[]',
    JSON.stringify({ ...TOLD, more: 1 }),
    JSON.stringify({ ...largest, run: 1 }),
    ' '.repeat(2e6),
  ]) {
    write(bad)
    t.same(await told(), largest, 'what was read before stays')
  }
  rmSync(toldFile)
  mkdirSync(toldFile)
  t.same(await told(), largest)
})

t.test('it knows who updates this Plantroom, and whether an update runs', async (t) => {
  const { foreign, isRunning, release, root } = deskIn(t)
  t.equal(await foreign(), undefined)
  t.equal(await isRunning(), false)
  const lock = await lockUpdates(root)
  t.equal(await isRunning(), true)
  lock.release()
  await until('the lock is gone', async () => !(await isRunning()))
  symlinkSync(release, join(root, 'current'))
  t.equal(await deskIn(t, { programs: join(root, 'current') }).foreign(), undefined, 'by the link, too')
  const elsewhere = deskIn(t, { programs: folderOf(t) })
  t.match(await elsewhere.foreign(), { kind: 'other', sentence: /which its installer did not make/ })
  t.equal(await elsewhere.isRunning(), false)
})

t.test('who asked is known after a restart, and a damaged file is as none', async (t) => {
  const { asked, folder, keep, open } = deskIn(t)
  t.equal(await asked(), undefined)
  const signal = { by: 'signal', who: 'signal', begunAt: 5, logged: { at: 6, text: 'a line' } } as const
  await keep(signal)
  t.same(await open().asked(), signal)
  await keep(undefined)
  t.equal(await open().asked(), undefined)
  for (const bad of ['', '{}', '{"by":"root","who":"","begunAt":1,"logged":null}']) {
    writeFileSync(join(folder, 'update-asked.json'), bad)
    t.equal(await open().asked(), undefined)
  }
})

// Macros.

async function quiet(t: Test, living: number, holdMs = 30_000) {
  const path = join(folderOf(t), 'quiet.sock')
  const state = { living, holds: 0 }
  function hold() {
    state.holds++
    return () => void state.holds--
  }
  const socket = createQuietSocket({ path, clock: systemClock, holdMs, macros: { living: () => state.living, hold } })
  await socket.start()
  t.teardown(() => socket.stop())
  const heard: string[] = []
  function open() {
    const peer = connect({ path }).setEncoding('utf8')
    peer.on('data', (piece) => void heard.push(String(piece)))
    return peer
  }
  return { heard, open, path, socket, state }
}

t.test('no macro begins from when none runs until the updater lets go', async (t) => {
  const { heard, open, state } = await quiet(t, 1)
  const peer = open()
  await until('it is told that one runs', () => heard.join('') === 'busy\n')
  t.equal(state.holds, 0, 'others may begin meanwhile')
  state.living = 0
  await until('it is told that none does', () => heard.join('') === 'busy\nquiet\n')
  t.equal(state.holds, 1)
  peer.destroy()
  await until('macros may begin again', () => state.holds === 0)
})

t.test('an updater that hangs holds macros back for a while only, and what it says is not read', async (t) => {
  const { heard, open, state } = await quiet(t, 0, 50)
  const peer = open()
  peer.write('apply\n'.repeat(1000))
  await until('it is let go', () => peer.closed && state.holds === 0)
  t.same(heard.join(''), 'quiet\n')
})

t.test(
  'a few may ask at once; the socket of one that was killed is replaced, and it ends with the controller',
  async (t) => {
    const { open, path, socket, state } = await quiet(t, 0)
    const peers = Array.from({ length: 8 }, open)
    await until('four are let go', () => peers.filter(({ closed }) => closed).length === 4)
    t.equal(state.holds, 4)
    socket.stop()
    await until('all are', () => peers.every(({ closed }) => closed) && state.holds === 0)
    writeFileSync(path, 'left behind')
    const macros = { living: () => 0, hold: () => () => {} }
    const again = createQuietSocket({ path, clock: systemClock, holdMs: 50, macros })
    await again.start()
    t.equal(await text(connect({ path })), 'quiet\n')
    again.stop()
    await createQuietSocket({ path: '', clock: systemClock, holdMs: 50, macros }).start()
    const nowhere = createQuietSocket({ path: '/nowhere/quiet.sock', clock: systemClock, holdMs: 50, macros })
    await t.rejects(nowhere.start(), { code: 'update_quiet_failed' })
  },
)

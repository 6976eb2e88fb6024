/** The root side of the update button, and how it waits for macros. */
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Test, t } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { until } from '#kit/test/until.ts'
import { serveAsked } from '../update-asked.ts'
import { updateHooks } from '../update-hooks.ts'
import { outerFolder } from './small-checkout.ts'

type Perform = Parameters<typeof serveAsked>[0]['perform']

/** Runs until the test has ended, or as the fake clock says. @param end ends what runs */
function serving(t: Test, perform: Perform, end = () => {}) {
  const clock = fakeClock()
  const path = join(outerFolder(t), 'update.sock')
  const log: string[] = []
  const limits = { gapMs: 5000, idleMs: 2000 }
  let isOver = false
  void serveAsked({ clock, at: { path }, perform, say: (line) => void log.push(line), limits }).then(() => {
    isOver = true
  })
  const untilOver = () =>
    until('the service ends by itself', () => {
      clock.advance(1000)
      return isOver
    })
  t.teardown(async () => {
    end()
    await untilOver()
  })
  return { clock, log, untilOver, path, ask: (request: string) => asked(path, request) }
}

async function asked(path: string, request: string): Promise<string> {
  const socket = connect({ path })
  socket.write(request)
  return await text(socket)
}

/** A run that a test ends. */
function run() {
  const ended = Promise.withResolvers<void>()
  const tasks: string[] = []
  const perform: Perform = async (task, onBegun) => {
    tasks.push(task)
    onBegun(1000 + tasks.length)
    await ended.promise
  }
  return { ...ended, tasks, perform }
}

t.test('C.1 a request is one of two words, and answered once it has begun', async (t) => {
  const { perform, resolve, tasks } = run()
  const { ask, untilOver } = serving(t, perform, resolve)
  t.equal(await ask('apply\n'), 'begun 1001\n')
  t.same(tasks, ['apply'])
  resolve()
  await untilOver()
})

t.test('while one runs, and for some seconds after, no other begins', async (t) => {
  const { perform, resolve, tasks } = run()
  const { ask, clock } = serving(t, perform, resolve)
  await ask('check\n')
  t.equal(await ask('apply\n'), 'running\n')
  resolve()
  while ((await ask('check\n')) === 'running\n');
  for (const _ of [1, 2]) {
    t.equal(await ask('check\n'), 'soon\n')
    clock.advance(2500)
  }
  t.equal(await ask('check\n'), 'begun 1002\n')
  t.same(tasks, ['check', 'check'])
})

t.test(
  'whoever asks while an update that was cut off is ended is answered, and keeps the service no longer',
  async (t) => {
    const { ask, untilOver } = serving(t, async () => {})
    t.match(await ask('handed\n'), /^refused .*ended first: ask again\n$/)
    await untilOver()
  },
)

t.test('any other request begins nothing', async (t) => {
  const { perform, resolve, tasks } = run()
  const { ask } = serving(t, perform, resolve)
  for (const request of [
    'settle\n',
    'apply \n',
    'apply 1.0\n',
    '\n',
    'APPLY\n',
    '--yes\n',
    'x'.repeat(100),
    'check\0\n',
  ])
    t.equal(await ask(request), 'unknown\n', JSON.stringify(request))
  t.same(tasks, [])
})

t.test('one who connects and says nothing is let go, and of many only a few are heard at once', async (t) => {
  const { perform, resolve } = run()
  const { clock, path } = serving(t, perform, resolve)
  const sockets = Array.from({ length: 20 }, () => connect({ path }))
  for (const socket of sockets) socket.on('error', () => {})
  const gone = (socket: Socket) => socket.closed || socket.readableEnded
  for (const socket of sockets) socket.resume()
  await until('most are let go at once', () => sockets.filter(gone).length === 12)
  clock.advance(5000)
  await until('the others after their time', () => sockets.every(gone))
})

t.test('whoever has its answer and does not hang up keeps no place', async (t) => {
  const { perform, resolve } = run()
  const { ask, path } = serving(t, perform, resolve)
  const sockets = Array.from({ length: 8 }, () => connect({ path, allowHalfOpen: true }))
  for (const socket of sockets) socket.on('error', () => {}).write('what\n')
  t.same(await Promise.all(sockets.map((socket) => text(socket))), Array(8).fill('unknown\n'))
  t.equal(await ask('apply\n'), 'begun 1001\n')
  for (const socket of sockets) socket.destroy()
})

t.test('why nothing began is answered in one line, and stands in the log', async (t) => {
  const fault = new Fault('update_not_ours', 'this Plantroom runs\nfrom elsewhere')
  const { ask, log } = serving(t, () => Promise.reject(fault))
  t.equal(await ask('apply\n'), 'refused this Plantroom runs from elsewhere\n')
  t.same(log, [fault.message])
})

t.test('C.2 while the command by hand updates, a request is answered as running', async (t) => {
  const { ask } = serving(t, () => Promise.reject(new Fault('update_running', 'an update is running already')))
  t.equal(await ask('apply\n'), 'running\n')
})

t.test('whoever hangs up does not end what was begun', async (t) => {
  const { perform, resolve, tasks } = run()
  const { ask, path } = serving(t, perform, resolve)
  const socket = connect({ path })
  await once(socket, 'connect')
  socket.write('apply\n', () => void socket.destroy())
  await until('it has begun', () => tasks.length === 1)
  t.equal(await ask('apply\n'), 'running\n')
})

// Macros.

function hooksAt(quietSocket: string, macroWaitMs: number) {
  const world = { out() {}, err() {}, daemonsFolder: '/', env: {}, readPassword: async () => '' }
  return updateHooks(world, { ...{ root: '/', state: '/', kept: 1, stateOf: () => '/' }, quietSocket, macroWaitMs })
}

/** A controller that tells whether macros run. @returns the socket of whoever waits */
async function controller(t: Test, said: string) {
  const path = join(outerFolder(t), 'quiet.sock')
  const heard: string[] = []
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.setEncoding('latin1').on('data', (piece) => void heard.push(String(piece)))
    socket.on('error', () => {})
    socket.write(said)
  })
  server.listen(path)
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { path, heard, sockets }
}

t.test('an update waits until no macro runs, and says so once', async (t) => {
  const { heard, path, sockets } = await controller(t, 'busy\nbusy\n')
  const said: string[] = []
  const holding = hooksAt(path, 600_000).hold(['gateway', 'controller'], (sentence) => void said.push(sentence))
  await until('it waits', () => said.length > 0)
  sockets[0]?.write('busy\nqui')
  sockets[0]?.write('et\n')
  const { release } = await holding
  t.same(said, ['a macro runs: the update waits for its end, at most 10 min'])
  t.equal(sockets[0]?.closed, false, 'the connection holds macros back')
  release()
  await until('until it is let go', () => sockets[0]?.closed === true)
  t.same(heard, [], 'the controller hears nothing from root')
})

t.test('an update is put off where macros do not end in time, or what is told makes no sense', async (t) => {
  for (const said of ['busy\n', '', 'x'.repeat(100_000), 'Quiet\nquiet ']) {
    const { path, sockets } = await controller(t, said)
    const putOff = { code: 'update_put_off', message: /nothing was changed, try again later/ }
    await t.rejects(
      hooksAt(path, 50).hold(['controller'], () => {}),
      putOff,
    )
    await until('it lets go', () => sockets[0]?.closed === true)
  }
})

t.test('where no controller runs, or it ends, there is nothing to wait for', async (t) => {
  const { path, sockets } = await controller(t, 'busy\n')
  await hooksAt(path, 600_000).hold(['gateway'], () => t.fail('it does not wait'))
  const holding = hooksAt(path, 600_000).hold(['controller'], () => {})
  await until('it waits', () => sockets.length === 1)
  sockets[0]?.destroy()
  await holding
  rmSync(path)
  await hooksAt(path, 600_000).hold(['controller'], () => {})
  await hooksAt('', 600_000).hold(['controller'], () => {})
})

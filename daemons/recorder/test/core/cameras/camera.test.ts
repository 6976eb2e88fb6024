import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { Camera, cameraStateTable } from '../../../core/cameras/camera.ts'
import type { StreamListener, StreamPlace } from '../../../core/ports.ts'
import type { Stream } from '../../../core/recording/stream.ts'
import { h264 } from '../../../wire/h264.ts'

function stage() {
  const clock = fakeClock()
  const sessions: { listener: StreamListener; end(fault?: Error): void }[] = []
  const ended: string[] = []
  const disk = { isReady: true }
  const stream = {
    onOpened() {},
    onPacket() {},
    onReport() {},
    onEnded: () => void ended.push('ended'),
  } as unknown as Stream
  const opener = {
    play(_: StreamPlace, listener: StreamListener, signal: AbortSignal) {
      const { promise, resolve } = Promise.withResolvers<Error | undefined>()
      signal.addEventListener('abort', () => resolve(undefined))
      sessions.push({ listener, end: resolve })
      return promise
    },
  }
  const place = { url: 'rtsp://c/', username: undefined, password: undefined }
  const camera = new Camera({
    place,
    clock,
    opener,
    stream,
    retry: { firstMs: 500, maxMs: 8000 },
    pictureMs: 30_000,
    isDiskReady: () => disk.isReady,
    onChange() {},
    onFlood() {},
    eventsStatus: () => null,
  })
  return { camera, clock, disk, ended, sessions }
}

const opened = { payloadType: 96, clockRate: 90_000, codec: h264, known: [], sound: undefined }

t.test(
  'a camera that breaks off is connected again after waits that double, and the first picture makes them short',
  async (t) => {
    const { camera, clock, ended, sessions } = stage()
    camera.start()
    t.equal(camera.health().state, 'connecting')
    const lostAt = clock.epochMs()
    for (const [at, waitMs] of [500, 1000, 2000].entries()) {
      sessions[at]?.end(new Fault('camera_unreachable', 'away'))
      await clock.run(0)
      t.match(camera.health(), {
        state: 'lost',
        stateSince: lostAt,
        fault: { code: 'camera_unreachable' },
        nextTryAt: clock.epochMs() + waitMs,
      })
      await clock.run(waitMs)
      t.match(camera.health(), { state: 'lost', stateSince: lostAt, nextTryAt: null }, 'a try is no contact')
    }
    sessions[3]?.listener.onOpened(opened)
    t.match(camera.health(), { state: 'lost', stateSince: lostAt }, 'and without a picture it is none either')
    camera.pictured()
    t.match(camera.health(), { state: 'recording', fault: null, lastPictureAt: clock.epochMs() })
    sessions[3]?.end(new Fault('camera_silent', 'silent'))
    await clock.run(0)
    t.equal(camera.health().nextTryAt, clock.epochMs() + 500)
    t.equal(ended.length, 4)
  },
)

t.test('a wrong password and a stream of another kind are not tried again and again', async (t) => {
  for (const [code, state] of [
    ['camera_refused', 'refused'],
    ['camera_unsupported', 'unsupported'],
    ['bad_parameter_set', 'unsupported'],
  ] as const) {
    const { camera, clock, sessions } = stage()
    camera.start()
    sessions[0]?.end(new Fault(code, 'no'))
    await clock.run(0)
    t.match(camera.health(), { state, nextTryAt: clock.epochMs() + 8000 })
  }
})

t.test(
  'a camera that plays and sends nothing that can be recorded is not called recording, and is given up',
  async (t) => {
    const { camera, clock, sessions } = stage()
    camera.start()
    sessions[0]?.listener.onOpened(opened)
    await clock.run(20_000)
    t.equal(camera.health().state, 'starting')
    camera.pictured()
    await clock.run(29_000)
    t.equal(camera.health().state, 'recording')
    await clock.run(3600)
    t.match(camera.health(), { state: 'lost', fault: { code: 'camera_no_picture', message: /for 30 s/ } })
    await clock.run(500)
    t.equal(sessions.length, 2, 'and is tried again')
  },
)

t.test('a camera that is switched off stays off, whenever it happens', async (t) => {
  const { camera, clock, sessions } = stage()
  camera.start()
  await camera.stop()
  t.equal(camera.health().state, 'off')
  camera.start()
  sessions[1]?.end(new Fault('camera_ended', 'over'))
  await clock.run(0)
  await camera.stop()
  await clock.run(60_000)
  t.equal(sessions.length, 2)
  t.match(camera.health(), { state: 'off', nextTryAt: null, fault: null })
})

t.test('each state can be left by switching off, and is reached', async (t) => {
  for (const [state, row] of Object.entries(cameraStateTable))
    t.equal(row.switchedOff, state === 'off' ? undefined : 'off', state)
  const reached = new Set(Object.values(cameraStateTable).flatMap((row) => Object.values(row)))
  t.same([...reached].sort(), Object.keys(cameraStateTable).sort())
})

t.test('a camera is not blamed for a disk that takes nothing', async (t) => {
  const { camera, clock, disk, sessions } = stage()
  disk.isReady = false
  camera.start()
  sessions[0]?.listener.onOpened(opened)
  await clock.run(30_000)
  t.match(camera.health(), { state: 'lost', fault: { code: 'camera_not_kept', message: /^No disk has taken .* 30 s/ } })
  disk.isReady = true
  await clock.run(500)
  sessions[1]?.listener.onOpened(opened)
  camera.pictured()
  t.match(camera.health(), { state: 'recording', fault: null })
})

/** Tests of io/picture-decoder.ts with the process that it begins. */
import { spawn } from 'node:child_process'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import { createLog } from '#kit/log.ts'
import { stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import type { CodedGroup, CodedPicture, PictureWish } from '../../core/ports.ts'
import { createDecoderProcess } from '../../io/picture-decoder.ts'
import { writeUnits } from '../../wire/annex-b.ts'
import { createWorkerReader, type WorkerMessage, writeWorkerMessage } from '../../wire/worker-message.ts'
import { FILM, firstGroupOf, makeCountingFilm, numberOf, pixelsOf } from '../counting-film.ts'

const work = stateFolderOf(t)
const group = firstGroupOf(await makeCountingFilm(work, 1), work)
const limits = {
  startMs: 60_000,
  answerMs: 60_000,
  queue: 4,
  pixels: 8_847_360,
  keptPixels: 2_304_000,
  memoryBytes: 402_653_184,
  idleMs: 600_000,
}
const never = new AbortController().signal

function opened(test: Test, over: Partial<typeof limits> = {}, clock = systemClock) {
  const faults: (string | undefined)[] = []
  const log = createLog({ level: 'error', stream: { write() {} } } as unknown as Parameters<typeof createLog>[0])
  const decoder = createDecoderProcess({
    ...{ clock, log, limits: { ...limits, ...over } },
    onFault: (fault) => void faults.push(fault?.code),
  })
  test.teardown(() => decoder.close())
  return { decoder, faults }
}

function wishOf(of: CodedGroup, more: Partial<PictureWish> = {}): PictureWish {
  return { camera: 'door', group: of, width: undefined, masks: [], ...more }
}

const upTo = (of: CodedGroup, count: number) => ({ ...of, pictures: of.pictures.slice(0, count) })

t.test('makes a JPEG of the last picture of a group, as wide as was asked', async (t) => {
  const { decoder } = opened(t)
  for (const count of [1, 2, 9, 15])
    t.equal(await numberOf(await decoder.picture(wishOf(upTo(group, count)), never)), count - 1, `picture ${count}`)
  const small = await pixelsOf(await decoder.picture(wishOf(group, { width: 145 }), never))
  t.same([small.width, small.height], [144, 96])
  const wide = await pixelsOf(await decoder.picture(wishOf(group, { width: 5000 }), never))
  t.same([wide.width, wide.height], [FILM.width, FILM.height], 'never larger than it was')
  t.match(decoder.health(), { state: 'ready', crashes: 0, fault: null, decoders: { h264: String } })
})

t.test('comes after what records as soon as it is ready, with all of its threads', async (t) => {
  const { decoder } = opened(t)
  await decoder.picture(wishOf(upTo(group, 2)), never)
  const niceness = (task: string) => Number(readFileSync(`${task}/stat`, 'utf8').split(') ')[1]?.split(' ')[16])
  const [child = ''] = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ')
  const tasks = readdirSync(`/proc/${child}/task`).map((task) => `/proc/${child}/task/${task}`)
  const decoding = tasks.filter(
    (task) => !/^(node|V8Worker|DelayedTask|SignalInsp|libuv)/.test(readFileSync(`${task}/comm`, 'utf8')),
  )
  t.ok(decoding.length > 1)
  for (const task of [`/proc/${child}`, ...decoding])
    t.equal(niceness(task), getPriority() + 5, readFileSync(`${task}/comm`, 'utf8'))
})

t.test('gives the shades of a picture, a small one, for what is compared', async (t) => {
  const { decoder } = opened(t)
  const asked = { camera: 'door', group: upTo(group, 6), width: 146 }
  const { bytes, height, width } = await decoder.shades(asked, never)
  t.same([width, height, bytes.length], [144, 96, 144 * 96])
  const jpeg = await pixelsOf(await decoder.picture(wishOf(upTo(group, 6), { width: 144 }), never))
  const wrong = [...bytes].filter((shade, at) => Math.abs(shade - jpeg.at(at % width, Math.floor(at / width))) > 60)
  t.ok(wrong.length < bytes.length / 50, `${wrong.length} pixels are another`)
})

t.test('finds the picture among those that are decoded before and shown after it', async (t) => {
  const film = await makeCountingFilm(work, 1, ['-bf', '2', '-tune', 'film', '-x264-params', 'b-adapt=0'])
  const reordered = firstGroupOf(film, work)
  const shown = reordered.pictures.map(({ shownMs }) => shownMs)
  t.ok(
    shown.some((ms, at) => at > 0 && ms < (shown[at - 1] ?? 0)),
    'the film has such pictures',
  )
  const { decoder } = opened(t)
  const order = shown.toSorted((a, b) => a - b)
  for (const [at, ms] of shown.slice(0, 8).entries())
    t.equal(await numberOf(await decoder.picture(wishOf(upTo(reordered, at + 1)), never)), order.indexOf(ms), `${at}`)
})

t.test('a decoder that is kept shows each group as itself: others of its size, and other parameter sets', async (t) => {
  const coloured = (matrix: string) => ['-colorspace', matrix, '-color_primaries', matrix, '-color_trc', matrix]
  const reordered = ['-bf', '2', '-tune', 'film', '-x264-params', 'b-adapt=0']
  const kinds = [coloured('bt709'), coloured('smpte170m'), reordered]
  const groups: CodedGroup[] = []
  for (const more of kinds) groups.push(firstGroupOf(await makeCountingFilm(work, 1, more), work))
  const { decoder } = opened(t)
  const { decoder: fresh } = opened(t, { keptPixels: 0 })
  for (const [count, which] of [3, 3, 14, 1].flatMap((count) => [0, 1, 2].map((which) => [count, which] as const))) {
    const of = upTo(groups[which] ?? group, count)
    const [kept, anew] = await Promise.all([decoder, fresh].map((one) => one.picture(wishOf(of), never)))
    t.same(kept, anew, `${count} pictures of film ${which}`)
  }
})

t.test('nothing of a picture shows in the next one, whose camera may be another', async (t) => {
  const { decoder } = opened(t)
  const { decoder: fresh } = opened(t, { keptPixels: 0 })
  const [key, ...rest] = group.pictures as [CodedPicture, ...CodedPicture[]]
  // What refers to pictures that are not its own, and what libav would fill up from the picture before.
  const broken = { ...key, units: key.units.map((unit) => unit.slice(0, 3)) }
  const halved = { ...key, units: key.units.slice(0, 1) }
  const cut = { ...key, units: key.units.map((unit) => unit.slice(0, unit.length >> 2)) }
  const groups = {
    broken: [broken, ...rest.slice(5, 8)],
    halved: [halved],
    cut: [cut],
    both: [cut, ...rest.slice(5, 8)],
  }
  const made = (of: typeof decoder, pictures: CodedPicture[]) =>
    of.picture(wishOf({ ...group, pictures }, { camera: 'other' }), never).catch((error: Error) => error.message)
  for (const [what, pictures] of Object.entries(groups)) {
    await decoder.picture(wishOf(group), never)
    t.same(await made(decoder, pictures), await made(fresh, pictures), what)
  }
})

/** The process alone, without the plugins of libav and x264. */
function openWithoutLibav(test: Test) {
  const file = fileURLToPath(new URL('../../io/picture-process.ts', import.meta.url))
  const env = {
    ...process.env,
    GST_PLUGIN_LOADING_WHITELIST: 'gstreamer:gst-plugins-base:gst-plugins-good:gst-plugins-bad',
  }
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
  test.teardown(() => child.kill('SIGKILL'))
  const pipe = child.stdio[3] as Duplex
  const read = createWorkerReader(10_000_000)
  const heard: WorkerMessage[] = []
  pipe.on('data', (chunk) => heard.push(...read(chunk)))
  return {
    next: async () => {
      await until('it answers', () => heard.length > 0)
      return heard.shift() as WorkerMessage
    },
    ask({ pictures, sets }: CodedGroup): void {
      const units = pictures.map((picture, at) => writeUnits([...(at === 0 ? sets.units : []), ...picture.units]))
      const { height, width } = FILM
      const about = { lengths: units.map(({ length }) => length), ptsNs: pictures.map(({ shownMs }) => shownMs * 1e6) }
      const head = {
        id: 1,
        kind: 'picture',
        codec: 'h264',
        width,
        height,
        outWidth: width,
        outHeight: height,
        masks: [],
      }
      for (const part of writeWorkerMessage({ ...head, ...about, sets: 'one', isKept: true }, units)) pipe.write(part)
    },
  }
}

const noOpenH264 =
  globSync('/usr/lib/*/gstreamer-1.0/libgstopenh264.so').length === 0 && 'gstreamer1.0-plugins-bad is not installed'

t.test('OpenH264 decodes where libav is not installed, each group from its start', { skip: noOpenH264 }, async (t) => {
  const { ask, next } = openWithoutLibav(t)
  t.match((await next()).head, { decoders: { h264: 'openh264dec' } })
  for (const count of [3, 9, 15]) {
    ask(upTo(group, count))
    t.equal(await numberOf((await next()).body), count - 1)
  }
  const [key, ...rest] = group.pictures as [CodedPicture, ...CodedPicture[]]
  ask({ ...group, pictures: [{ ...key, units: key.units.map((unit) => unit.slice(0, 3)) }, ...rest.slice(5, 8)] })
  t.match((await next()).head, { kind: 'fault' }, 'not filled up from the group before')
})

t.test('paints masks before anything leaves', async (t) => {
  const { decoder } = opened(t)
  const masks: PictureWish['masks'] = [
    [
      [0.5, 0],
      [1, 0],
      [1, 1],
      [0.5, 1],
    ],
  ]
  for (const width of [undefined, 100]) {
    const seen = await pixelsOf(await decoder.picture(wishOf(group, { masks, width }), never))
    const right = Array.from({ length: 400 }, (_, at) =>
      seen.at(seen.width * (0.54 + 0.44 * ((at % 20) / 20)), seen.height * (at / 400)),
    )
    t.ok(Math.max(...right) < 12, `behind the mask all is black, ${Math.max(...right)}`)
    t.ok(seen.at(seen.width * 0.25, seen.height * 0.75) > 40, 'the rest is there')
  }
})

t.test('codes a group anew with masks, from a moment on, each picture at its time', async (t) => {
  const { decoder } = opened(t)
  const masks: PictureWish['masks'] = [
    [
      [0, 0.5],
      [1, 0.5],
      [1, 1],
      [0, 1],
    ],
  ]
  const fromMs = group.pictures[4]?.shownMs ?? 0
  const film = await decoder.film({ camera: 'door', group, masks, fromMs }, never)
  const times = film.pictures.map(({ shownMs }) => Math.round(shownMs))
  t.same(
    times,
    group.pictures.slice(4).map(({ shownMs }) => Math.round(shownMs)),
  )
  t.equal((film.pictures[0]?.units.at(-1)?.[0] ?? 0) & 0x1f, 5, 'it begins with a key frame')
  for (const count of [1, 6, 11]) {
    const jpeg = await decoder.picture(wishOf(upTo(film, count)), never)
    t.equal(await numberOf(jpeg), count + 3)
    const { at, height, width } = await pixelsOf(jpeg)
    const lower = Array.from({ length: 300 }, (_, n) => at((width * n) / 300, height * (0.53 + 0.46 * (n / 300))))
    t.ok(Math.max(...lower) < 24, `${Math.max(...lower)}`)
  }
})

t.test('pictures that make no sense are refused, and the next ones made', async (t) => {
  const { decoder } = opened(t)
  const noise = (length: number) => Uint8Array.from({ length }, (_, at) => (at === 0 ? 0x65 : (at * 7919) % 251))
  const bad = { ...group, pictures: [{ units: [noise(2000)], shownMs: 0 }] }
  await t.rejects(decoder.picture(wishOf(bad), never), { code: 'picture_undecodable' })
  t.equal(await numberOf(await decoder.picture(wishOf(group), never)), 14)
  t.equal(decoder.health().crashes, 0)
})

t.test('a picture of too many pixels is not decoded', async (t) => {
  const { decoder } = opened(t, { pixels: FILM.width * FILM.height - 1 })
  await t.rejects(decoder.picture(wishOf(group), never), { code: 'picture_too_large' })
  t.equal(decoder.health().state, 'idle')
})

t.test('a process that begins slowly, as from a slow disk, is waited for longer than a picture', async (t) => {
  const clock = fakeClock()
  const { decoder, faults } = opened(t, { startMs: 30_000, answerMs: 5000 }, clock)
  const asked = decoder.picture(wishOf(group), never)
  clock.advance(29_999)
  t.equal(await numberOf(await asked), 14)
  t.same([decoder.health().crashes, faults], [0, []])
})

t.test('a decoder that hangs is killed, its camera left alone, and others are served by the next', async (t) => {
  const clock = fakeClock()
  const { decoder, faults } = opened(t, { answerMs: 5000 }, clock)
  await decoder.picture(wishOf(group), never)
  process.kill(decoder.pid() ?? 0, 'SIGSTOP')
  const hung = decoder.picture(wishOf(group), never)
  const behind = decoder.picture(wishOf(group, { camera: 'yard' }), never)
  clock.advance(5000)
  for (const answer of [hung, behind]) await t.rejects(answer, { code: 'decoder_failed' })
  t.match(decoder.health(), { state: 'failed', crashes: 1, fault: { code: 'decoder_failed' } })
  await t.rejects(decoder.picture(wishOf(group, { camera: 'yard' }), never), { code: 'decoder_failed' }, 'at once')
  clock.advance(1000)
  await t.rejects(decoder.picture(wishOf(group), never), { code: 'decoder_failed' }, 'the one it broke on')
  t.equal(await numberOf(await decoder.picture(wishOf(group, { camera: 'yard' }), never)), 14)
  clock.advance(30_000)
  t.equal(await numberOf(await decoder.picture(wishOf(group), never)), 14)
  t.same(faults, ['decoder_failed', undefined])
})

t.test('a crash is told, and more pictures than may wait are refused', async (t) => {
  const { decoder } = opened(t, { queue: 2 })
  const first = decoder.picture(wishOf(group), never)
  await until('it has begun', () => decoder.health().decoders.h264 !== undefined)
  await first
  process.kill(decoder.pid() ?? 0, 'SIGSTOP')
  const gone = new AbortController()
  const asked = [1, 2, 3].map((_, at) =>
    t.rejects(decoder.picture(wishOf(group), at === 2 ? gone.signal : never), {
      code: at === 2 ? 'decoder_busy' : 'decoder_failed',
    }),
  )
  await t.rejects(decoder.picture(wishOf(group), never), { code: 'decoder_busy', message: /pictures\.queue allows 2/ })
  gone.abort()
  await asked[2]
  process.kill(decoder.pid() ?? 0, 'SIGKILL')
  await Promise.all(asked)
  t.equal(decoder.health().crashes, 1)
})

t.test('pictures and films have their turns: none waits for all of the other kind', async (t) => {
  const { decoder } = opened(t)
  await decoder.picture(wishOf(group), never)
  process.kill(decoder.pid() ?? 0, 'SIGSTOP')
  const order: string[] = []
  const film = { camera: 'door', group: upTo(group, 2), masks: [], fromMs: 0 }
  const asked = ['film', 'film', 'picture', 'picture'].map(async (kind, at) => {
    await (kind === 'film' ? decoder.film(film, never) : decoder.picture(wishOf(group), never))
    order.push(`${kind} ${at}`)
  })
  process.kill(decoder.pid() ?? 0, 'SIGCONT')
  await Promise.all(asked)
  t.same(order, ['film 0', 'picture 2', 'film 1', 'picture 3'])
})

t.test('it is ended while nobody asks, and begun again', async (t) => {
  const clock = fakeClock()
  const { decoder } = opened(t, {}, clock)
  await decoder.picture(wishOf(group), never)
  const before = decoder.pid()
  clock.advance(limits.idleMs)
  t.equal(decoder.health().state, 'idle')
  t.equal(await numberOf(await decoder.picture(wishOf(group), never)), 14)
  t.not(decoder.pid(), before)
  t.equal(decoder.health().crashes, 0)
})

t.test('it is tried out before somebody asks, and ended; who asks meanwhile is served by it', async (t) => {
  const { decoder, faults } = opened(t)
  decoder.tryOut()
  t.equal(decoder.health().state, 'ready', 'it has begun')
  await until('it is ended', () => decoder.health().state === 'idle')
  t.match(decoder.health(), { crashes: 0, fault: null, decoders: { h264: String } })
  decoder.tryOut()
  const tried = decoder.pid()
  t.equal(await numberOf(await decoder.picture(wishOf(group), never)), 14)
  t.equal(decoder.pid(), tried)
  t.equal(decoder.health().state, 'ready')
  t.same(faults, [])
})

t.test('a decoder that cannot start is reported before anybody asks for a picture', async (t) => {
  const { decoder, faults } = opened(t, { startMs: 1 })
  decoder.tryOut()
  await until('the fault is reported', () => faults.length > 0)
  t.same(faults, ['decoder_failed'])
})

/** Asks for recorded frames at random moments, and compares the number in each with what another decoder finds in the files. */
import { execFile } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { LONG_MS } from './camera.ts'
import { type Client, clientOf, headersOf } from './client.ts'
import { FPS, makeNumberedFilm, numbersIn, startNumberedCamera } from './numbered-camera.ts'

const program = promisify(execFile)

/** Frames that one account may take within a minute. */
const FRAMES_OF_ACCOUNT = 30
/** Seconds between 1900, from where NTP counts, and 1970. */
const NTP_OFFSET_S = 2_208_988_800
const TICKS_PER_MS = 90
/** Milliseconds: the index counts in microseconds, so of what is so near to half of one it may round the other way. */
const NEAR_HALF = 0.002

/** A file as other programs see it. Epoch milliseconds. */
interface SeenFile {
  startAt: number
  endAt: number
  pictures: { number: number; shownAt: number; exactAt: number }[]
}

interface Course {
  seconds: number
  /** Moments that are asked for, beside those at the edges of holes. */
  times: number
}

/**
 * Two cameras that break off and change their parameter sets, one of them with pictures that refer to later ones: each frame
 * is the last picture at or before its moment.
 */
export async function givesRightFrames(t: Test, { seconds, times }: Course): Promise<void> {
  const work = stateFolderOf(t)
  const stateFolder = join(work, 'state')
  const sets = [
    'storage.file_s=5',
    'storage.free_bytes=0',
    'cameras.retry_first_ms=100',
    `pictures.start_ms=${LONG_MS}`,
    `pictures.answer_ms=${LONG_MS}`,
  ]
  const recorder = await startDaemon(t, 'recorder', { stateFolder, sets })
  const boss = clientOf(recorder.url)
  await boss.setUp()
  const changeAt = Math.floor(seconds / 2) * FPS
  const ids = await Promise.all(
    [false, true].map(async (isReordered) => {
      const films = [192, 160].map((height) => makeNumberedFilm(work, { seconds, height, isReordered }))
      const mishap = (place: number) =>
        place === Math.floor(changeAt / 2) + 4 ? ('the camera restarts' as const) : undefined
      const wish = { films: [films[0] ?? [], films[1] ?? []] as const, changeAt, mishap }
      const camera = await startNumberedCamera(t, wish)
      const added = await boss.call('POST', '/api/discovery/rtsp', { name: `${isReordered}`, url: camera.url })
      await camera.over
      return added.body.id as string
    }),
  )
  // What was under way is written by then, and is found again.
  t.equal(await recorder.stop(), 0)
  const again = await startDaemon(t, 'recorder', { stateFolder, sets })
  const files = await Promise.all(
    ids.map((id) => Promise.all(globSync(`${stateFolder}-footage/${id}/*/*.mp4`).toSorted().map(seen))),
  )
  const moments = files.flatMap((some, at) => momentsOf(some, times / 2).map((moment) => ({ camera: at, at: moment })))
  const takers = await takersOf(again.url, Math.ceil(moments.length / FRAMES_OF_ACCOUNT))
  const taken = createTaken(work)
  for (const [place, { at, camera }] of moments.entries()) {
    const taker = takers[Math.floor(place / FRAMES_OF_ACCOUNT)]
    const wanted = frameAt(files[camera] ?? [], at)
    const path = `${again.url}/api/cameras/${ids[camera]}/frame.jpg?at=${at}`
    const answer = await fetch(path, { headers: headersOf(taker?.credentials ?? {}) })
    const bytes = Buffer.from(await answer.arrayBuffer())
    const about = `camera ${camera}, ${at - Math.round(files[camera]?.[0]?.startAt ?? 0)} ms after its first picture`
    if (answer.status !== 200) t.match([answer.status, `${bytes}`], [wanted ? 200 : 404, /no_footage/], about)
    else if (t.equal(Number(answer.headers.get('x-svc-frame-at')), wanted?.shownAt, about) && wanted)
      taken.add(bytes, wanted.number, wanted.number < changeAt ? 'before' : 'behind')
  }
  for (const { file, numbers } of taken.films()) t.same(await numbersIn(file), numbers, 'each shows what it should')
}

/** JPEGs of one size after the other are a film to another decoder, which is quicker than one by one. */
function createTaken(folder: string) {
  const films = new Map<string, number[]>()
  return {
    add(jpeg: Buffer, number: number, film: string): void {
      const numbers = films.get(film) ?? []
      writeFileSync(join(folder, `${film}-${numbers.length}.jpg`), jpeg)
      films.set(film, [...numbers, number])
    },
    films: () => [...films].map(([film, numbers]) => ({ file: join(folder, `${film}-%d.jpg`), numbers })),
  }
}

/** Random ones, from before the first picture to behind the last; and both sides of where each file begins and ends. */
function momentsOf(files: readonly SeenFile[], count: number): number[] {
  const [first, last] = [files[0]?.startAt ?? 0, files.at(-1)?.endAt ?? 0]
  const random = Array.from({ length: count }, () => Math.floor(first - 300 + Math.random() * (last - first + 600)))
  const edges = files.flatMap(({ endAt, startAt }) => [startAt, endAt].map(Math.round).flatMap((at) => [at - 1, at]))
  const unclear = files
    .flatMap(({ endAt, pictures }) => [endAt, ...pictures.map(({ exactAt }) => exactAt)])
    .filter((ms) => Math.abs((ms % 1) - 0.5) < NEAR_HALF)
  const isClear = (at: number) =>
    ![at, frameAt(files, at)?.exactAt].some((one) => unclear.some((ms) => Math.abs(ms - (one ?? 0)) < 1))
  return [...random, ...edges].filter(isClear)
}

function frameAt(files: readonly SeenFile[], at: number) {
  const file = files.find(({ endAt, startAt }) => Math.round(startAt) <= at && at < Math.round(endAt))
  return file?.pictures.findLast(({ shownAt }) => shownAt <= at)
}

/** @source ISO/IEC 14496-12, 8.16.5: the first `prft` says at which wall time the first picture was taken */
async function seen(file: string): Promise<SeenFile> {
  const bytes = readFileSync(file)
  const prft = bytes.indexOf('prft') + 4
  const firstAt = (bytes.readUInt32BE(prft + 8) - NTP_OFFSET_S + bytes.readUInt32BE(prft + 12) / 2 ** 32) * 1000
  const wants = ['-select_streams', 'v', '-show_entries', 'packet=pts', '-of', 'csv=p=0', file]
  const { stdout: packets } = await program('ffprobe', ['-v', 'error', ...wants])
  const ticks = packets
    .trim()
    .split('\n')
    .map(Number.parseFloat)
    .toSorted((a, b) => a - b)
  const numbers = await numbersIn(file)
  if (numbers.length !== ticks.length) throw new Error(`${file}: ${ticks.length} pictures, ${numbers.length} decoded`)
  // ffmpeg shows pictures that change places later by as much as they are sent ahead, all of them.
  const atOf = (place: number) => firstAt + ((ticks.at(place) ?? Number.NaN) - (ticks[0] ?? 0)) / TICKS_PER_MS
  return {
    startAt: atOf(0),
    // The last picture is shown as long as the one before it: ffprobe tells what most of them are shown for.
    endAt: 2 * atOf(-1) - atOf(-2),
    pictures: numbers.map((number, place) => ({ number, shownAt: Math.round(atOf(place)), exactAt: atOf(place) })),
  }
}

/** Accounts that may take out what is older than 120 seconds, signed in by their tokens. */
async function takersOf(url: string, count: number): Promise<Client[]> {
  const boss = clientOf(url)
  await boss.signIn()
  return await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const wish = { username: `taker ${at}`, password: 'seven long words', role: 'operator', permissions: ['export'] }
      const { body } = await boss.call('POST', '/api/accounts', wish)
      const { token } = (await boss.call('POST', '/tokens', { name: `${at}`, accountId: body.id })).body
      return clientOf(url, { token })
    }),
  )
}

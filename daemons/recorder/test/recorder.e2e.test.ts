import { globSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type RunningDaemon, startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { H265, LONG_MS, makeFootage, startCamera } from './camera.ts'
import { type Client, clientOf, headersOf } from './client.ts'
import { judged } from './judge.ts'

const user = { username: 'camera', password: 'se:cret' }
const storage = ['storage.file_s=5', 'storage.free_bytes=0', 'cameras.silent_ms=2000']

const work = stateFolderOf(t)
const footage = await makeFootage(work, 20)

async function started(t: Test | typeof import('tap').t, stateFolder: string) {
  const daemon = await startDaemon(t, 'recorder', { stateFolder, sets: storage })
  return { ...daemon, ...clientOf(daemon.url) }
}

type Recorder = Awaited<ReturnType<typeof started>>

async function rangesOf(recorder: Recorder, id: string) {
  const { body } = await recorder.call('GET', `/api/cameras/${id}/availability?from=0&to=1`)
  if (!body.bounds) return []
  const { start, end } = body.bounds
  const window = `from=${start - 1000}&to=${end + 1000}`
  return (await recorder.call('GET', `/api/cameras/${id}/availability?${window}`)).body.ranges as {
    start: number
    end: number
  }[]
}

function lengthOf(ranges: { start: number; end: number }[]): number {
  return ranges.reduce((sum, { end, start }) => sum + end - start, 0)
}

async function play(recorder: RunningDaemon & Client, id: string, start: number, seconds: number) {
  const path = `/api/cameras/${id}/playback.mp4?start=${start}&duration=${seconds}`
  const answer = await fetch(recorder.url + path, { headers: headersOf(recorder.credentials) })
  const bytes = new Uint8Array(await answer.arrayBuffer())
  const file = join(work, `played-${start}.mp4`)
  writeFileSync(file, bytes)
  return { status: answer.status, type: answer.headers.get('content-type'), file }
}

t.test('a camera behind a password is recorded, and given back as it was', async (t) => {
  const camera = await startCamera(t, footage, user)
  const recorder = await started(t, join(work, 'one'))
  t.equal((await recorder.setUp()).status, 201)
  const added = await recorder.call('POST', '/api/discovery/rtsp', { name: 'Door', url: camera.url, ...user })
  t.equal(added.status, 201)
  const { id } = added.body
  await until('five seconds are kept', async () => lengthOf(await rangesOf(recorder, id)) >= 5000, LONG_MS)

  const [one] = (await recorder.call('GET', '/api/cameras')).body
  t.match(one, { id, name: 'Door', enabled: true, recordProfile: { width: 320, height: 240, fps: 15 } })
  t.match(one.recordProfile.codec, /^avc1\.[0-9a-f]{6}$/)
  t.notMatch(JSON.stringify((await recorder.call('GET', '/api/cameras')).body), /cret/, 'its password is never told')
  t.notMatch(readFileSync(join(work, 'one/cameras.json'), 'utf8'), /cret/, 'and is sealed on the disk')

  const [range = { start: 0, end: 0 }] = await rangesOf(recorder, id)
  const whole = await play(recorder, id, range.start, (range.end - range.start) / 1000)
  t.match(whole, { status: 200, type: 'video/mp4' })
  const seen = await judged(whole.file)
  t.match(seen, { codec_name: 'h264', width: 320, height: 240, errors: '' })
  const frames = ((range.end - range.start) * 15) / 1000
  t.ok(Math.abs(seen.frames - frames) <= 1, `${seen.frames} frames of ${frames}`)

  const middle = await play(recorder, id, range.start + 1500, 1)
  t.ok((await judged(middle.file)).frames >= 15, 'from the key frame before the moment')
  t.equal((await play(recorder, id, range.start - 60_000, 1)).status, 404, 'nothing is kept of before')
  t.equal((await recorder.call('GET', `/api/cameras/ffffffff/availability?from=0&to=1`)).status, 404)
})

t.test('after a kill the index says what the files have, and each file is whole', async (t) => {
  const camera = await startCamera(t, footage)
  const folder = join(work, 'two')
  const first = await started(t, folder)
  await first.setUp()
  const { id } = (await first.call('POST', '/api/discovery/rtsp', { name: 'Yard', url: camera.url })).body
  // A whole file and a part of the next.
  await until('seven seconds are kept', async () => lengthOf(await rangesOf(first, id)) >= 7000, LONG_MS)
  const before = lengthOf(await rangesOf(first, id))
  await first.stop('SIGKILL')
  await camera.end()

  const second = await started(t, folder)
  await second.signIn()
  const after = await rangesOf(second, id)
  t.ok(lengthOf(after) >= before, `${lengthOf(after)} ms are kept of ${before}`)
  const paths = globSync(`${folder}-footage/*/*/*.mp4`)
  t.ok(paths.length >= 2)
  const frames = (await Promise.all(paths.map(judged))).map(({ errors, frames }) => (errors === '' ? frames : 0))
  const sum = frames.reduce((all, some) => all + some, 0)
  t.ok(Math.abs(sum - (lengthOf(after) * 15) / 1000) <= 1, `${frames} frames in ${lengthOf(after)} ms`)
  t.equal(
    (await second.call('GET', '/api/health')).body.footageBytes,
    paths.reduce((all, path) => all + statSync(path).size, 0),
  )
})

t.test('a camera that sends H.265 is recorded, given back, and found again without the index', async (t) => {
  const camera = await startCamera(t, await makeFootage(work, 20, 'h265'), undefined, [H265])
  const folder = join(work, 'three')
  const first = await started(t, folder)
  await first.setUp()
  const { id } = (await first.call('POST', '/api/discovery/rtsp', { name: 'Gate', url: camera.url })).body
  await until('seven seconds are kept', async () => lengthOf(await rangesOf(first, id)) >= 7000, LONG_MS)
  const [one] = (await first.call('GET', '/api/cameras')).body
  t.match(one, { recordProfile: { width: 320, height: 240, fps: 15, codec: /^hvc1\.1\.6\.L\d+\.[0-9A-F.]+$/ } })
  await first.stop('SIGKILL')
  await camera.end()

  for (const path of globSync(`${folder}-footage/footage.db*`)) rmSync(path)
  const second = await started(t, folder)
  await second.signIn()
  await until('the files are read', async () => lengthOf(await rangesOf(second, id)) >= 7000, LONG_MS)
  const [range = { start: 0, end: 0 }, ...others] = await rangesOf(second, id)
  t.same(others, [], 'files follow each other without a hole')
  const seconds = (range.end - range.start) / 1000
  const whole = await judged((await play(second, id, range.start, seconds)).file)
  t.match(whole, { codec_name: 'hevc', width: 320, height: 240, errors: '' })
  // Pictures before the key frame of a file that refer to the file before.
  t.ok(Math.abs(whole.frames - seconds * 15) <= 5, `${whole.frames} frames in ${seconds} s`)
  const middle = await judged((await play(second, id, range.start + 1500, 1)).file)
  t.match(middle, { codec_name: 'hevc', errors: '' })
  t.ok(middle.frames >= 15, 'from the key frame before the moment')
})

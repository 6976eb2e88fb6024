/** Sound beside the pictures of its moment, as it is recorded and given back; ffmpeg is the judge. */
import { globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { H264, LONG_MS, makeFlashes, SOUNDS, startCamera } from './camera.ts'
import { clientOf, headersOf } from './client.ts'
import { program } from './judge.ts'

const work = stateFolderOf(t)
const stateFolder = join(work, 'state')
const daemon = await startDaemon(t, 'recorder', { stateFolder, sets: ['storage.file_s=5', 'storage.free_bytes=0'] })
const recorder = { ...daemon, ...clientOf(daemon.url) }
await recorder.setUp()

const ffmpeg = (args: string[]) => program('ffmpeg', ['-hide_banner', '-nostats', ...args])

type SoundKind = keyof typeof SOUNDS

async function added(t: Test, kind: SoundKind, more: object = {}) {
  const camera = await startCamera(t, await makeFlashes(work, 60, kind), undefined, [H264, SOUNDS[kind].pay])
  const { body, status } = await recorder.call('POST', '/api/discovery/rtsp', { name: kind, url: camera.url, ...more })
  t.equal(status, 201, JSON.stringify(body))
  const path = `/api/cameras/${body.id}/availability`
  let range = { start: 0, end: 0 }
  await until(
    'twelve seconds are kept',
    async () => {
      const { bounds } = (await recorder.call('GET', `${path}?from=0&to=1`)).body
      const { ranges } = (await recorder.call('GET', `${path}?from=${bounds?.start ?? 0}&to=${bounds?.end ?? 1}`)).body
      range = ranges[0] ?? range
      return range.end - range.start > 12_000
    },
    LONG_MS,
  )
  return { id: body.id as string, range, camera }
}

async function played(id: string, start: number, seconds: number): Promise<string> {
  const path = `/api/cameras/${id}/playback.mp4?start=${Math.round(start)}&duration=${seconds}`
  const answer = await fetch(recorder.url + path, { headers: headersOf(recorder.credentials) })
  const file = join(work, `${id}-${Math.round(start)}.mp4`)
  writeFileSync(file, new Uint8Array(await answer.arrayBuffer()))
  return file
}

/** Watches live until some pictures have come. */
async function watched(
  t: Test,
  query: string,
  pictures: number,
): Promise<{ mime: string; file: string; sounds: number }> {
  const headers = headersOf(recorder.credentials)
  const socket = new WebSocket(`${recorder.url.replace('http', 'ws')}/ws/video?camera=${query}`, { headers })
  t.teardown(() => socket.terminate())
  let mime = ''
  const parts: Buffer[] = []
  const isPicture = (bytes: Buffer) => bytes.toString('latin1', 4, 8) === 'prft'
  socket.on('message', (data, isBinary) => {
    if (isBinary) parts.push(data as Buffer)
    else mime = JSON.parse(String(data)).mime
  })
  await until(`${pictures} pictures`, () => parts.filter(isPicture).length >= pictures, LONG_MS)
  socket.terminate()
  const file = join(work, `live-${query}.mp4`)
  writeFileSync(file, Buffer.concat(parts))
  return { mime, file, sounds: parts.filter((bytes) => bytes.toString('latin1', 4, 8) === 'moof').length }
}

/** Pictures at their own times, not at those of a rate: where sound begins half a picture before, two would be at one. */
const EXACT = ['-fps_mode', 'passthrough', '-enc_time_base:v', '1/90000']

async function tracksOf(file: string) {
  const wants = 'stream=codec_name,sample_rate,channels,duration'
  const { stderr, stdout } = await program('ffprobe', ['-v', 'error', '-of', 'json', '-show_entries', wants, file])
  const { stderr: errors } = await ffmpeg(['-v', 'error', '-i', file, ...EXACT, '-f', 'null', '-'])
  return { streams: JSON.parse(stdout).streams, errors: stderr + errors }
}

/** Seconds at which it gets white, and at which it gets loud. */
async function onsetsOf(file: string) {
  const looks = 'signalstats,metadata=print:key=lavfi.signalstats.YAVG:file=-'
  const { stdout } = await ffmpeg(['-copyts', '-i', file, '-an', '-vf', looks, '-f', 'null', '-'])
  const frames = [...stdout.matchAll(/pts_time:([-\d.]+)\s+lavfi\.signalstats\.YAVG=([\d.]+)/g)].map(
    ([, at, light]) => ({
      at: Number(at),
      isWhite: Number(light) > 100,
    }),
  )
  const flashes = frames.flatMap(({ at, isWhite }, index) => (isWhite && !frames[index - 1]?.isWhite ? [at] : []))
  const { stderr } = await ffmpeg([
    '-copyts',
    '-i',
    file,
    '-vn',
    '-af',
    'silencedetect=noise=-20dB:d=0.5',
    '-f',
    'null',
    '-',
  ])
  const tones = [...stderr.matchAll(/silence_end: ([-\d.]+)/g)].map(([, at]) => Number(at))
  const last = frames.at(-1)?.at ?? 0
  // At the end of the file the silence ends too.
  return { flashes, tones: tones.filter((at) => at < last - 0.2), last }
}

/** Most milliseconds between a flash and its tone. AAC comes a frame, 64 ms, later from the encoder of Debian 13. */
const MOST_APART_MS = { aac: 80, alaw: 60, ulaw: 60 }

/** How far each tone is from the nearest flash, in ms. */
function apart({ flashes, tones }: { flashes: number[]; tones: number[] }): number[] {
  return tones.map((tone) => Math.min(...flashes.map((flash) => Math.abs(tone - flash) * 1000)))
}

for (const [kind, codec, transport] of [
  ['aac', 'aac', 'tcp'],
  ['alaw', 'pcm_alaw', 'tcp'],
  ['ulaw', 'pcm_mulaw', 'udp'],
] as const)
  t.test(`${kind} over ${transport} is heard beside the pictures of its moment, over the ends of files`, async (t) => {
    const { id, range } = await added(t, kind, { transport })
    const [one] = (await recorder.call('GET', '/api/cameras')).body.slice(-1)
    t.match(one, { id, audio: true, transport, recordProfile: { audioCodec: kind === 'aac' ? 'mp4a.40.2' : kind } })
    const whole = await played(id, range.start, 11)
    const { errors, streams } = await tracksOf(whole)
    t.match(streams, [{ codec_name: 'h264' }, { codec_name: codec, channels: 1 }])
    t.equal(errors, '')
    const onsets = await onsetsOf(whole)
    t.ok(onsets.flashes.length >= 10, `${onsets.flashes.length} flashes`)
    t.ok(onsets.tones.length >= onsets.flashes.length - 4, `${onsets.tones.length} tones`)
    // Until the camera's first reports sound is placed as it comes.
    t.ok(Math.max(...apart(onsets).slice(4)) < MOST_APART_MS[kind], `${apart(onsets)} ms`)

    const middle = await onsetsOf(await played(id, range.start + 4300, 3.5))
    t.ok(Math.max(...apart(middle)) < MOST_APART_MS[kind], `${apart(middle)} ms`)
    t.ok(middle.tones.length >= 2)
    t.ok(middle.last > 3.3 && middle.last < 3.5, `its last picture is at ${middle.last} s, and 3.5 were asked for`)
    const paths = globSync(`${stateFolder}-footage/${id}/*/*.mp4`)
    const [, second = ''] = paths
    const own = await onsetsOf(second)
    t.ok(Math.max(...apart(own)) < MOST_APART_MS[kind], `a file of its own: ${apart(own)} ms`)
    t.equal((await tracksOf(second)).errors, '')
    const live = await watched(t, id, 100)
    const seen = await tracksOf(live.file)
    t.match([seen.streams[0], seen.errors], [{ codec_name: 'h264' }, ''])
    t.same(
      [seen.streams.length, live.mime.includes('mp4a.40.2'), live.sounds > 0],
      kind === 'aac' ? [2, true, true] : [1, false, false],
    )
    if (kind === 'aac') {
      const now = await onsetsOf(live.file)
      t.ok(now.tones.length >= 3, `${now.tones.length} tones`)
      t.ok(Math.max(...apart(now)) < MOST_APART_MS[kind], `live: ${apart(now)} ms`)
      const sub = await watched(t, `${id}&profile=sub`, 5)
      t.ok(sub.mime.includes('mp4a'), 'the main one is shown where there is no other')
      const silent = await watched(t, `${id}&sound=off`, 5)
      t.same([silent.mime.includes('mp4a'), silent.sounds, (await tracksOf(silent.file)).streams.length], [false, 0, 1])
    }
    await recorder.call('DELETE', `/api/cameras/${id}`)
  })

t.test('a camera whose sound is switched off is recorded without, from then on', async (t) => {
  const { id } = await added(t, 'aac')
  const changed = await recorder.call('PATCH', `/api/cameras/${id}`, { audio: false })
  t.match(changed.body, { audio: false })
  await until(
    'a file without sound',
    async () => {
      const [newest = ''] = globSync(`${stateFolder}-footage/${id}/*/*.mp4`).toSorted().reverse()
      const { stdout } = await program('ffprobe', ['-v', 'quiet', '-show_entries', 'stream=codec_type', newest]).catch(
        () => ({ stdout: 'audio' }),
      )
      return stdout.includes('video') && !stdout.includes('audio')
    },
    LONG_MS,
  )
  const live = await watched(t, id, 5)
  t.same([live.mime.includes('mp4a'), live.sounds], [false, 0])
})

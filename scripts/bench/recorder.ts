/**
 * Measures the recorder with cameras of 1080p15 and 2 Mbit/s over RTSP: its processor time against ffmpeg -c copy and one
 * GStreamer process that do the same, taking turns in one run; then 32 cameras at once with viewers of which three read
 * nothing. Prints a table and adds it to docs/bench/recorder.md.
 *
 *     node scripts/bench/recorder.ts [--rounds N] [--minutes N] [--note TEXT] [--print]
 *
 * --minutes: of the 32 cameras; --note: the conditions of the run; --print: leave docs/bench unchanged
 */
import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { residentMb } from '#kit/test/process-memory.ts'
import { end } from './bridges.ts'
import { chapterOf, optionOf, recordChapter, tableRow } from './chapter.ts'
import { cpuSecondsOf, median, sampleQuantile } from './figures.ts'
import { listeningUrl } from './listening-url.ts'

const PICTURES_PER_S = 15
/** Cameras of each contender. */
const MANY = 32
/** Of one turn of the comparison. */
const TURN_S = 30
/**
 * What it takes is looked at in these steps until it falls no more: a recorder runs for weeks, and V8 compiles what is
 * called often for the first minutes. What falls by less than this part counts as steady.
 */
const STEP_S = 20
const LEAST_STEPS = 4
const MOST_STEPS = 18
const STEADY = 0.97
const STUCK = 3
const READING = 7
/** An account may take 30 frames a minute; the first one begins the decoder. */
const FRAME_EACH = 3

/**
 * The stream of all cameras: a test picture with noise, as costly to carry as a real one. A key frame each two seconds and
 * no others, as cameras send it: of noise the coder would make one in four.
 */
function makeStream(folder: string): string {
  const file = join(folder, 'camera.h264')
  const picture = `testsrc2=size=1920x1080:rate=${PICTURES_PER_S}:duration=20,noise=alls=12:allf=t`
  const rate = ['-b:v', '2M', '-maxrate', '2M', '-bufsize', '1M']
  const coding = [
    '-c:v',
    'libx264',
    '-preset',
    'veryfast',
    '-tune',
    'zerolatency',
    '-g',
    '30',
    '-sc_threshold',
    '0',
    '-bf',
    '0',
    ...rate,
  ]
  const form = ['-pix_fmt', 'yuv420p', '-bsf:v', 'h264_metadata=aud=insert', '-f', 'h264']
  execFileSync('ffmpeg', ['-loglevel', 'error', '-f', 'lavfi', '-i', picture, ...coding, ...form, file])
  return file
}

interface Cameras {
  urls(count: number): string[]
  /** Sends no more. @returns the pictures sent to all */
  sent(): Promise<number>
  stop(): void
}

async function startCameras(file: string): Promise<Cameras> {
  const child = fork(join(import.meta.dirname, 'cameras.ts'), [file, String(PICTURES_PER_S)])
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    urls: (count) => Array.from({ length: count }, (_, index) => `rtsp://127.0.0.1:${port}/${index}`),
    async sent() {
      child.send('halt')
      const [answer] = (await once(child, 'message')) as [{ sent: number }]
      return answer.sent
    },
    stop: () => child.disconnect(),
  }
}

/** Something that records: its processes, and where it writes. */
interface Contender {
  pids: number[]
  folder: string
  stop(): Promise<void>
}

function startFfmpeg(urls: readonly string[], folder: string): Contender {
  const children = urls.map((url, index) => {
    const input = ['-loglevel', 'error', '-rtsp_transport', 'tcp', '-i', url, '-c', 'copy']
    const files = ['-f', 'segment', '-segment_time', '60', '-segment_format', 'mp4']
    const form = ['-segment_format_options', 'movflags=frag_keyframe+empty_moov']
    return spawn('ffmpeg', [...input, ...files, ...form, join(folder, `${index}-%03d.mp4`)], { stdio: 'ignore' })
  })
  return contenderOf(children, folder)
}

function startGstreamer(urls: readonly string[], folder: string): Contender {
  const branches = urls.flatMap((url, index) => {
    const source = [
      'rtspsrc',
      `location=${url}`,
      'protocols=tcp',
      'latency=0',
      '!',
      'rtph264depay',
      '!',
      'h264parse',
      '!',
    ]
    const muxer = ['muxer-factory=mp4mux', 'muxer-properties=properties,fragment-duration=2000']
    const sink = ['splitmuxsink', 'max-size-time=60000000000', ...muxer]
    return [...source, ...sink, `location=${join(folder, `${index}-%03d.mp4`)}`]
  })
  return contenderOf([spawn('gst-launch-1.0', ['-q', '-e', ...branches], { stdio: 'ignore' })], folder)
}

function contenderOf(children: readonly ChildProcess[], folder: string): Contender {
  return {
    pids: children.map(({ pid }) => pid ?? 0),
    folder,
    stop: async () => void (await Promise.all(children.map(end))),
  }
}

interface BenchRecorder extends Contender {
  url: string
  token: string
  idleMb: number
  ids: string[]
}

async function startRecorder(root: string, urls: readonly string[], folder: string): Promise<BenchRecorder> {
  const footage = join(folder, 'footage')
  const settings = [
    `storage.folder=${footage}`,
    'storage.free_bytes=0',
    'playback.streams=40',
    'playback.total_streams=40',
  ]
  const state = join(folder, 'state')
  const args = ['recorder', '--config', '/dev/null', '--state', state, '--listen', '127.0.0.1:0']
  const sets = settings.flatMap((setting) => ['--set', setting])
  const child = spawn(join(root, 'build/plantroom'), [...args, ...sets], { stdio: ['ignore', 'pipe', 'pipe'] })
  const url = await listeningUrl('recorder', child)
  const account = { username: 'bench', password: 'only for this measurement' }
  const first = await call(`${url}/api/setup`, account, {})
  const { csrf } = (await first.json()) as { csrf: string }
  const cookie = first.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const made = await call(`${url}/tokens`, { name: 'bench' }, { cookie, 'x-csrf-token': csrf })
  const { token } = (await made.json()) as { token: string }
  const idleMb = residentMb(child.pid ?? 0)
  const ids: string[] = []
  for (const [index, camera] of urls.entries()) {
    const wish = { name: `camera ${index}`, url: camera }
    const added = await call(`${url}/api/discovery/rtsp`, wish, { authorization: `Bearer ${token}` })
    ids.push(((await added.json()) as { id: string }).id)
  }
  return { ...contenderOf([child], folder), url, token, idleMb, ids }
}

async function call(url: string, body: object, headers: Record<string, string>): Promise<Response> {
  const head = { 'content-type': 'application/json', ...headers }
  const response = await fetch(url, { method: 'POST', headers: head, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`POST ${url} answers ${response.status}: ${await response.text()}`)
  return response
}

/** Percent of a core for one camera over the next seconds. */
async function percentOf({ pids }: Contender, seconds: number): Promise<number> {
  const used = () => pids.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0)
  const [before, startMs] = [used(), performance.now()]
  await wait(seconds * 1000)
  return (100 * (used() - before) * 1000) / (performance.now() - startMs) / MANY
}

/** Percent of a core for one camera in a turn of one contender. */
async function turnOf(start: (folder: string) => Contender | Promise<Contender>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-recorder-'))
  const contender = await start(folder)
  try {
    const steps: number[] = []
    const isSteady = () => median(steps.slice(-2)) >= STEADY * median(steps.slice(-4, -2))
    while (steps.length < LEAST_STEPS || (steps.length < MOST_STEPS && !isSteady()))
      steps.push(await percentOf(contender, STEP_S))
    const percent = await percentOf(contender, TURN_S)
    if (globSync('**/*.mp4', { cwd: folder }).length < MANY) throw new Error('a contender records nothing')
    return percent
  } finally {
    await contender.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function comparedRows(root: string, cameras: Cameras, rounds: number): Promise<string[]> {
  const starts = {
    ffmpeg: (folder: string) => startFfmpeg(cameras.urls(MANY), folder),
    gstreamer: (folder: string) => startGstreamer(cameras.urls(MANY), folder),
    recorder: (folder: string) => startRecorder(root, cameras.urls(MANY), folder),
  }
  const seen = { ffmpeg: [] as number[], gstreamer: [] as number[], recorder: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    for (const name of ['ffmpeg', 'gstreamer', 'recorder'] as const) seen[name].push(await turnOf(starts[name]))
  }
  const [own, ...others] = [seen.recorder, seen.ffmpeg, seen.gstreamer]
  const ratios = others.map((other) => median(own.map((one, round) => one / (other[round] ?? Number.NaN))))
  const peers = [`${MANY} ffmpeg -c copy`, 'one GStreamer process']
  return ratios.map((ratio, index) => {
    const percents = `${median(own).toFixed(2)} % / ${median(others[index] ?? []).toFixed(2)} % of a core each, ${ratio.toFixed(2)}`
    return tableRow([`${MANY} cameras / ${peers[index]}`, percents, '<= 0.5', ratio <= 0.5 ? 'yes' : 'no'])
  })
}

/** A camera, and a moment of it from which on a minute was recorded. */
function anyMoment(recorder: BenchRecorder, recordedFrom: number): { camera: string; at: number } {
  const latest = Math.max(recordedFrom, Date.now() - 65_000)
  const camera = `${recorder.url}/api/cameras/${recorder.ids[Math.floor(Math.random() * MANY)]}`
  return { camera, at: Math.round(recordedFrom + Math.random() * (latest - recordedFrom)) }
}

/** Milliseconds to a whole frame of what was recorded a while ago. */
async function frameMs(recorder: BenchRecorder, recordedFrom: number): Promise<number> {
  const { at, camera } = anyMoment(recorder, recordedFrom)
  const beganMs = performance.now()
  const answer = await fetch(`${camera}/frame.jpg?at=${at}`, { headers: { authorization: `Bearer ${recorder.token}` } })
  const bytes = await answer.arrayBuffer()
  if (!answer.ok) throw new Error(`frame.jpg answers ${answer.status}: ${Buffer.from(bytes)}`)
  return performance.now() - beganMs
}

/** Milliseconds to the first byte of a minute that was recorded a while ago. */
async function firstByteMs(recorder: BenchRecorder, recordedFrom: number): Promise<number> {
  const { at, camera } = anyMoment(recorder, recordedFrom)
  const beganMs = performance.now()
  const reader = await playback(recorder, `${camera}/playback.mp4?start=${at}&duration=60`)
  await reader.read()
  const tookMs = performance.now() - beganMs
  await reader.cancel()
  return tookMs
}

async function playback({ token }: BenchRecorder, url: string) {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  if (!answer.ok || !answer.body) throw new Error(`${url} answers ${answer.status}: ${await answer.text()}`)
  return answer.body.getReader()
}

/** Viewers who play the same minute again and again, and some who ask for it and read nothing. */
async function watch(recorder: BenchRecorder, start: number, signal: AbortSignal): Promise<void> {
  const url = (index: number) =>
    `${recorder.url}/api/cameras/${recorder.ids[index]}/playback.mp4?start=${start}&duration=60`
  const stuck = await Promise.all(Array.from({ length: STUCK }, (_, index) => playback(recorder, url(index))))
  const readers = Array.from({ length: READING }, async (_, index) => {
    while (!signal.aborted) {
      const reader = await playback(recorder, url(STUCK + index))
      for (let isDone = false; !isDone && !signal.aborted; ) {
        isDone = (await reader.read()).done
        // At the pace of somebody who looks.
        await wait(250)
      }
      await reader.cancel()
    }
  })
  await Promise.all(readers)
  for (const one of stuck) await one.cancel().catch(() => {})
}

/** Pictures in all files of a folder, as ffprobe counts them. */
function picturesIn(folder: string): number {
  const files = globSync('footage/**/*.mp4', { cwd: folder })
  const asked = ['-v', 'error', '-select_streams', 'v', '-count_packets', '-show_entries', 'stream=nb_read_packets']
  return files.reduce((sum, file) => {
    const said = execFileSync('ffprobe', [...asked, '-of', 'csv=p=0', join(folder, file)], { encoding: 'utf8' })
    return sum + Number(/\d+/.exec(said)?.[0] ?? 0)
  }, 0)
}

async function manyRows(root: string, file: string, minutes: number): Promise<string[]> {
  const cameras = await startCameras(file)
  const folder = mkdtempSync(join(tmpdir(), 'bench-recorder-'))
  const recorder = await startRecorder(root, cameras.urls(MANY), folder)
  const [pid = 0] = recorder.pids
  await wait(65_000)
  const recordedFrom = Date.now() - 60_000
  const viewing = new AbortController()
  const alone = await shareOf(pid, minutes * 30_000)
  const eachMb = () => (residentMb(pid) - recorder.idleMb) / MANY
  const aloneMb = eachMb()
  const watching = watch(recorder, recordedFrom, viewing.signal)
  const waits: number[] = []
  const frames: number[] = []
  const viewed = await shareOf(pid, minutes * 30_000, async () => {
    waits.push(await firstByteMs(recorder, recordedFrom))
    if (waits.length % FRAME_EACH === 0) frames.push(await frameMs(recorder, recordedFrom))
  })
  viewing.abort()
  await watching
  const viewedMb = eachMb()
  const sent = await cameras.sent()
  // What was sent is taken meanwhile.
  await wait(1000)
  await recorder.stop()
  const kept = picturesIn(folder)
  cameras.stop()
  rmSync(folder, { recursive: true, force: true })
  const p99 = sampleQuantile(waits, 0.99)
  const share = alone / MANY
  return [
    tableRow([
      `${MANY} cameras, ${minutes} minutes`,
      `${share.toFixed(3)} % of a core each`,
      '<= 0.2 %',
      share <= 0.2 ? 'yes' : 'no',
    ]),
    tableRow(['memory', `${aloneMb.toFixed(2)} MB for each`, '<= 2.1 MB', aloneMb <= 2.1 ? 'yes' : 'no']),
    tableRow([
      'the same, with 7 who play and 3 who read nothing',
      `${(viewed / MANY).toFixed(3)} % of a core and ${viewedMb.toFixed(2)} MB for each`,
      '-',
      '-',
    ]),
    tableRow(['pictures sent / in the files', `${sent} / ${kept}`, 'none lost', sent === kept ? 'yes' : 'no']),
    tableRow([
      `first byte of a minute of playback, ${waits.length} times`,
      `p50 ${median(waits).toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
      'p99 < 50 ms',
      p99 < 50 ? 'yes' : 'no',
    ]),
    tableRow([
      `frame.jpg of 1920 x 1080, ${frames.length} times`,
      `p50 ${median(frames).toFixed(1)} ms, p99 ${sampleQuantile(frames, 0.99).toFixed(1)} ms`,
      'p50 <= 60 ms',
      median(frames) <= 60 ? 'yes' : 'no',
    ]),
  ]
}

/** Percent of a core over a while, in which `work` is done once a second. */
async function shareOf(pid: number, lengthMs: number, work?: () => Promise<void>): Promise<number> {
  const [before, startMs] = [cpuSecondsOf(pid), performance.now()]
  while (performance.now() - startMs < lengthMs) {
    await work?.()
    await wait(1000)
  }
  return (100_000 * (cpuSecondsOf(pid) - before)) / (performance.now() - startMs)
}

const HEAD = `# The recorder against its peers

Made by \`make bench-recorder\`: cameras of 1080p15 and 2 Mbit/s over RTSP on TCP, sent by a process of its own that is not
counted. ffmpeg writes fragmented MP4 with \`-c copy\`, one process for each camera; GStreamer (rtspsrc, rtph264depay, h264parse,
splitmuxsink with mp4mux) does it in one process; both in files of a minute, taking turns with the recorder in one run. Each is
measured once what it takes falls no more, as V8 compiles for the first minutes what runs for weeks. A ratio is the median of the
ratios of each round.
`

const root = join(import.meta.dirname, '../..')
const rounds = Number(optionOf('--rounds') ?? 3)
const minutes = Number(optionOf('--minutes') ?? 10)
const [load = Number.NaN] = loadavg()
const scratch = mkdtempSync(join(tmpdir(), 'bench-recorder-'))
const file = makeStream(scratch)
const cameras = await startCameras(file)
const rows = await comparedRows(root, cameras, rounds)
cameras.stop()
rows.unshift(...(await manyRows(root, file, minutes)))
rmSync(scratch, { recursive: true })
const text = chapterOf({ heads: ['what', 'measured', 'wanted', 'met'], rows, rounds, load, note: optionOf('--note') })
console.log(text)
if (!process.argv.includes('--print')) recordChapter(join(root, 'docs/bench/recorder.md'), HEAD, text)

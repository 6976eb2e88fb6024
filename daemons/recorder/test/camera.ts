/** A camera for end-to-end tests: GStreamer's RTSP server with a test picture that ffmpeg made. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Owner } from '#kit/test/running-daemon.ts'

/** Not at once: a connection that the other side closes meanwhile would be taken for a good one. */
const program = promisify(execFile)

/** What is waited for passes in real time, and a busy machine takes more of it. */
export const LONG_MS = 60_000

type PictureKind = 'plain' | 'noise' | 'small' | 'h265'

/** As cameras do it: no picture waits for a later one, and each is in two slices. */
export const CODING = '-c:v libx264 -preset superfast -tune zerolatency -threads 1 -slices 2'

/** How each kind is encoded. Of H.265 with pictures that change places, and key frames before which some are shown. */
const CODINGS: Record<PictureKind, string> = {
  plain: CODING,
  small: CODING,
  // A better preset takes three times as long and makes fewer bytes.
  noise: '-c:v libx264 -crf 2 -preset ultrafast -tune zerolatency -threads 1 -slices 2',
  h265: '-c:v libx265 -preset ultrafast -x265-params log-level=none:open-gop=1:bframes=3:min-keyint=15:scenecut=0',
}

/**
 * A moving test picture of 320 x 240, 15 a second, with a key frame each second; `noise` takes many times the bytes,
 * `small` has 160 x 120.
 */
export async function makeFootage(folder: string, seconds: number, picture: PictureKind = 'plain'): Promise<string> {
  const file = join(folder, `camera-${picture}.mkv`)
  const noise = picture === 'noise' ? ',noise=alls=80:allf=t' : ''
  const source = `testsrc=size=${picture === 'small' ? '160x120' : '320x240'}:rate=15:duration=${seconds}${noise}`
  const coding = [...CODINGS[picture].split(' '), '-g', '15', '-pix_fmt', 'yuv420p']
  await program('ffmpeg', ['-loglevel', 'error', '-y', '-f', 'lavfi', '-i', source, ...coding, file])
  return file
}

interface User {
  username: string
  password: string
}

/**
 * Serves a file to whoever connects, from its beginning each time.
 * @param pay GStreamer's payloader of each track of the file
 * @returns the address of its stream
 */
export function startCamera(t: Owner, file: string, user?: User, pay: readonly string[] = [H264]) {
  const who = user ? ['--user', user.username, user.password] : []
  return serve(t, [file, ...pay.flatMap((element) => ['--pay', element]), ...who])
}

/** One that has a loudspeaker. @param heard file for the samples that it is sent, 16 bits each */
export function startSpeakingCamera(t: Owner, file: string, user: User, heard: string) {
  return serve(t, [file, '--pay', H264, '--user', user.username, user.password, '--loudspeaker', heard])
}

async function serve(t: Owner, words: readonly string[]) {
  // Debian's own, which has the bindings of GStreamer.
  const server = join(import.meta.dirname, 'peer/rtsp-server.py')
  const child = spawn('/usr/bin/python3', [server, ...words], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => end(child))
  const [port] = await once(child.stdout, 'data')
  return { url: `rtsp://127.0.0.1:${Number(String(port))}/cam`, end: () => end(child) }
}

export const H264 = 'rtph264pay config-interval=-1'
export const H265 = 'rtph265pay config-interval=-1'

/** Kinds of sound: how they are encoded, and GStreamer's payloader. */
export const SOUNDS = {
  aac: { coding: '-c:a aac -ar 16000 -b:a 32k', pay: 'aacparse ! rtpmp4gpay' },
  alaw: { coding: '-c:a pcm_alaw -ar 8000', pay: 'rtppcmapay' },
  ulaw: { coding: '-c:a pcm_mulaw -ar 8000', pay: 'rtppcmupay' },
} as const

/** Black pictures with a tenth of a second of white at each full second, and a tone beside it. */
export async function makeFlashes(folder: string, seconds: number, sound: keyof typeof SOUNDS): Promise<string> {
  const file = join(folder, `flashes-${sound}.mkv`)
  const flash = `color=black:size=320x240:rate=20:duration=${seconds},drawbox=t=fill:color=white:enable='lt(mod(t,1),0.0999)'`
  const tone = `aevalsrc='if(lt(mod(t,1),0.1),sin(2000*PI*t),0)':s=16000:d=${seconds}`
  const inputs = ['-f', 'lavfi', '-i', flash, '-f', 'lavfi', '-i', tone]
  const coding = `${CODING} -g 20 -pix_fmt yuv420p -ac 1 ${SOUNDS[sound].coding}`
  await program('ffmpeg', ['-loglevel', 'error', '-y', ...inputs, ...coding.split(' '), file])
  return file
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.stdin?.end()
  await once(child, 'exit')
}

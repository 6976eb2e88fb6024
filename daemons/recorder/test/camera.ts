/** A camera for end-to-end tests: GStreamer's RTSP server with a test picture that ffmpeg made. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Owner } from '#kit/test/running-daemon.ts'

/** A moving test picture of 320 x 240, 15 a second, with a key frame each second; `noise` takes many times the bytes. */
export function makeFootage(folder: string, seconds: number, picture: 'plain' | 'noise' = 'plain'): string {
  const file = join(folder, 'camera.mkv')
  const noise = picture === 'noise' ? ',noise=alls=80:allf=t' : ''
  const source = `testsrc=size=320x240:rate=15:duration=${seconds}${noise}`
  const quality = picture === 'noise' ? ['-crf', '2'] : []
  const coding = [
    '-c:v',
    'libx264',
    ...quality,
    '-preset',
    'veryfast',
    '-tune',
    'zerolatency',
    '-g',
    '15',
    '-pix_fmt',
    'yuv420p',
  ]
  execFileSync('ffmpeg', ['-loglevel', 'error', '-y', '-f', 'lavfi', '-i', source, ...coding, file])
  return file
}

/** Serves a file to whoever connects, from its beginning each time. @returns the address of its stream */
export async function startCamera(t: Owner, file: string, user?: { username: string; password: string }) {
  const who = user ? [user.username, user.password] : []
  // Debian's own, which has the bindings of GStreamer.
  const server = join(import.meta.dirname, 'peer/rtsp-server.py')
  const child = spawn('/usr/bin/python3', [server, file, ...who], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => end(child))
  const [port] = await once(child.stdout, 'data')
  return { url: `rtsp://127.0.0.1:${Number(String(port))}/cam`, end: () => end(child) }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.stdin?.end()
  await once(child, 'exit')
}

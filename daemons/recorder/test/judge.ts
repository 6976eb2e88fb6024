/** Other people's programs as judges of a film: ffprobe counts, and a decoder says what it stumbles over. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** What a library of the judges says to whoever may not lock memory, of any film. */
const NO_LOCKED_MEMORY = /^Warning: using insecure memory!\n/gm

/** Runs a program to its end. @returns what it said, without what the judges say of any film */
export async function program(name: string, args: readonly string[]) {
  const { stderr, stdout } = await promisify(execFile)(name, args, { maxBuffer: 1e8 })
  return { stdout, stderr: stderr.replace(NO_LOCKED_MEMORY, '') }
}

/** @returns the first stream as ffprobe has it, its decoded `frames`, and `errors`, empty for a film that is whole */
export async function judged(path: string) {
  const wants = ['-count_frames', '-show_entries', 'stream=codec_name,width,height,nb_read_frames']
  const { stdout } = await program('ffprobe', ['-v', 'error', '-of', 'json', ...wants, path])
  const { stderr } = await program('ffmpeg', ['-v', 'error', '-i', path, '-f', 'null', '-'])
  const [stream] = JSON.parse(stdout).streams
  return { ...stream, frames: Number(stream.nb_read_frames), errors: stderr }
}

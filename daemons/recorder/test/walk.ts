/** A film in which somebody walks past. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CODING } from './camera.ts'

const program = promisify(execFile)

/** Somebody in white walks from left to right for eight seconds, again after eight without anybody. */
export async function makeWalk(folder: string, seconds: number): Promise<string> {
  const file = join(folder, 'walk.mkv')
  const scene = `color=0x606060:size=320x240:rate=15:duration=${seconds}`
  const walker = `color=white:size=40x80:rate=15:duration=${seconds}`
  const inputs = ['-f', 'lavfi', '-i', scene, '-f', 'lavfi', '-i', walker]
  const move = "[0][1]overlay=x='if(lt(mod(t,16),8),mod(t,16)*45-40,-100)':y=100"
  const coding = [...CODING.split(' '), '-g', '15', '-pix_fmt', 'yuv420p']
  await program('ffmpeg', ['-loglevel', 'error', '-y', ...inputs, '-filter_complex', move, ...coding, file])
  return file
}

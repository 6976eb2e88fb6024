/** A film whose pictures count themselves, and reading the number from a picture by another decoder than the recorder's. */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { CodedGroup } from '../core/ports.ts'
import { readUnits } from '../wire/annex-b.ts'
import { h264 } from '../wire/h264.ts'
import { CODING } from './camera.ts'

/** Not at once: a connection that the other side closes meanwhile would be taken for a good one. */
const program = promisify(execFile)

/** Pictures a second. */
export const FPS = 15
/** Of the number, and how wide each is in the picture. */
export const BITS = 12
export const BLOCK = 24
export const FILM = { width: BITS * BLOCK, height: 192 }

/** Each picture carries its number as a row of black and white blocks; a key frame each second. */
export async function makeCountingFilm(folder: string, seconds: number, more: readonly string[] = []): Promise<string> {
  const file = join(folder, 'counting.mkv')
  // Reckoned for each block, not for each of its pixels, which takes a minute.
  const lit = '255*mod(floor(N/pow(2,X)),2)'
  const source = `color=gray:size=${BITS}x${FILM.height / BLOCK}:rate=${FPS}:duration=${seconds}`
  const blocks = `geq=lum='if(lt(Y,2),${lit},128+60*sin((X+Y+N/6)/2))':cb=128:cr=128`
  const count = `format=yuv444p,${blocks},scale=${FILM.width}:${FILM.height}:flags=neighbor`
  const coding = [...CODING.split(' '), '-g', String(FPS)]
  const end = ['-pix_fmt', 'yuv420p', ...more, file]
  await program('ffmpeg', ['-loglevel', 'error', '-y', '-f', 'lavfi', '-i', source, '-vf', count, ...coding, ...end])
  return file
}

/** The first group of the film, in the order of decoding. */
export function firstGroupOf(film: string, folder: string): CodedGroup {
  const raw = join(folder, 'counting.h264')
  execFileSync('ffmpeg', ['-loglevel', 'error', '-y', '-i', film, '-c', 'copy', '-bsf:v', 'h264_mp4toannexb', raw])
  const shown = execFileSync('ffprobe', ['-v', 'error', '-show_entries', 'packet=pts_time', '-of', 'csv=p=0', film])
  const times = String(shown).trim().split('\n').map(Number)
  const units = readUnits(readFileSync(raw))
  const kind = (unit: Uint8Array) => (unit[0] ?? 0) & 0x1f
  const [sps, pps] = [7, 8].map((wanted) => units.find((unit) => kind(unit) === wanted))
  const pictures: { units: Uint8Array[]; shownMs: number }[] = []
  for (const unit of units.filter((one) => kind(one) === 1 || kind(one) === 5)) {
    // A picture of several slices: only the first one says so by its first bit.
    if ((unit[1] ?? 0) & 0x80) pictures.push({ units: [unit], shownMs: 1000 * (times[pictures.length] ?? 0) })
    else pictures.at(-1)?.units.push(unit)
  }
  const second = pictures.findIndex(({ units: [first] }, at) => at > 0 && first && kind(first) === 5)
  if (!sps || !pps) throw new Error('the film has no parameter sets')
  return { sets: { codec: h264, units: [sps, pps] }, pictures: pictures.slice(0, second < 0 ? undefined : second) }
}

/** Brightness of a picture. */
export interface Pixels {
  width: number
  height: number
  at(x: number, y: number): number
}

const scan = ['-f', 'rawvideo', '-pix_fmt', 'gray', '-']

/** What a JPEG shows. */
export async function pixelsOf(jpeg: Uint8Array): Promise<Pixels> {
  const [only] = await decoded(['-f', 'mjpeg', '-i', '-', ...scan], sizeOf(jpeg), jpeg)
  if (!only) throw new Error('the JPEG has no picture')
  return only
}

/** The pictures of a film of this camera. */
export function picturesIn(film: string): Promise<Pixels[]> {
  return decoded(['-i', film, '-fps_mode', 'passthrough', ...scan], FILM)
}

async function decoded(
  words: readonly string[],
  { height, width }: { width: number; height: number },
  input?: Uint8Array,
): Promise<Pixels[]> {
  const child = spawn('ffmpeg', ['-loglevel', 'error', ...words], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const bytes = await buffer(child.stdout)
  const size = width * height
  return Array.from({ length: Math.floor(bytes.length / size) }, (_, picture) => ({
    ...{ width, height },
    at: (x, y) => bytes[picture * size + Math.floor(y) * width + Math.floor(x)] ?? -1,
  }))
}

/** Of its frame header, ITU-T T.81, B.2.2. */
function sizeOf(jpeg: Uint8Array): { width: number; height: number } {
  for (let at = 2; at + 9 < jpeg.length; ) {
    const [marker = 0, length] = [jpeg[at + 1], ((jpeg[at + 2] ?? 0) << 8) | (jpeg[at + 3] ?? 0)]
    if (marker >= 0xc0 && marker <= 0xc2)
      return {
        height: ((jpeg[at + 5] ?? 0) << 8) | (jpeg[at + 6] ?? 0),
        width: ((jpeg[at + 7] ?? 0) << 8) | (jpeg[at + 8] ?? 0),
      }
    at += 2 + length
  }
  throw new Error('no JPEG')
}

/** The number that a picture carries. */
export function numberIn({ at, width }: Pixels): number {
  const scale = width / FILM.width
  let number = 0
  for (let bit = 0; bit < BITS; bit++) if (at((bit * BLOCK + BLOCK / 2) * scale, 24 * scale) > 128) number += 2 ** bit
  return number
}

/** The number that a JPEG carries. */
export async function numberOf(jpeg: Uint8Array): Promise<number> {
  return numberIn(await pixelsOf(jpeg))
}

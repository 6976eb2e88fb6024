/** Pictures of plates, drawn by ffmpeg: a dark thing like the back of a car, and on it a plate with a text that nobody chose. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { RgbPicture } from '../wire/model-input.ts'

const FONT = '/usr/share/fonts/truetype/dejavu/DejaVuSansCondensed-Bold.ttf'
const SIZE = { width: 640, height: 480 }
const LETTERS = 'ABCDEFGHJKLMNPRSTUVWXYZ'
/** As plates of some countries are put together; spaces are drawn. */
const FORMS = ['LL DD LLL', 'L LL DDDD', 'DDDD LLL', 'LLDDDLL', 'LL DDD LL', 'LLL DDD']
const PAINTS = ['0x203040', '0x806040', '0xa0a0a8', '0x802020']

/** Why none can be drawn, or false. */
export const noPlates = !existsSync(FONT) && 'fonts-dejavu is not installed'

/** @returns the plate of one picture in a row; the same number gives the same */
export function plateOf(number: number): string {
  let seed = number * 7919 + 13
  const below = (most: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor(seed / 65_536) % most
  }
  const sign = (form: string) => (form === 'L' ? (LETTERS[below(LETTERS.length)] ?? 'A') : `${below(10)}`)
  return [...(FORMS[number % FORMS.length] ?? '')].map((form) => (form === ' ' ? ' ' : sign(form))).join('')
}

/**
 * @param plate its text
 * @param width of the plate in pixels
 * @param number chooses its place and its colours
 */
export function platePicture(plate: string, width: number, number: number): RgbPicture {
  const height = Math.round(width / 4.4)
  const [left, top] = [40 + ((number * 97) % (520 - width)), 180 + ((number * 53) % (200 - height))]
  const filled = (x: number, y: number, [w, h]: readonly [number, number], colour: string | undefined) =>
    `drawbox=x=${x}:y=${y}:w=${w}:h=${h}:color=${colour}:t=fill`
  const text = `fontfile=${FONT}:text='${plate}':fontsize=${Math.round((width / plate.length) * 1.35)}`
  const filters = [
    filled(30, 60, [580, 370], PAINTS[number % PAINTS.length]),
    filled(left - 3, top - 2, [width + 6, height + 4], 'black'),
    filled(left, top, [width, height], number % 3 === 0 ? 'yellow' : 'white'),
    `drawtext=${text}:x=${left + width / 2}-text_w/2:y=${top + height / 2}-text_h/2`,
    'noise=alls=8',
    'gblur=sigma=0.6',
  ]
  const ground = `color=gray:s=${SIZE.width}x${SIZE.height}:d=0.04`
  const args = ['-loglevel', 'error', '-f', 'lavfi', '-i', ground, '-vf', filters.join(','), '-frames:v', '1']
  const rgb = execFileSync('ffmpeg', [...args, '-f', 'rawvideo', '-pix_fmt', 'rgb24', '-'], { maxBuffer: 2 ** 24 })
  return { ...SIZE, rgb }
}

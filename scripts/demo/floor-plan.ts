/** The ground floor of the demo's building: its picture, drawn here, and the rows that place zones on it. */
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'

const [WIDTH, HEIGHT] = [1200, 720]
const WALL = 8
const [PAPER, INK] = [0xf7, 0x5a]

/** In pixels. */
type Box = readonly [left: number, top: number, right: number, bottom: number]

/** Rooms up to the middle of their walls. */
const ROOMS: readonly Box[] = [
  [40, 40, 400, 340],
  [400, 40, 760, 340],
  [760, 40, 1160, 440],
  [40, 340, 320, 680],
  [320, 340, 760, 680],
  [760, 440, 1160, 680],
]

/** Gaps in walls. */
const DOORS: readonly Box[] = [
  [340, 330, 390, 350],
  [420, 330, 470, 350],
  [750, 360, 770, 420],
  [310, 560, 330, 620],
  [750, 540, 770, 610],
  [500, 670, 600, 690],
]

/** Zones by name, in thousandths of the picture. */
const PLACES: Readonly<Record<string, readonly [x: number, y: number]>> = {
  'Classroom 1 ceiling': [190, 120],
  'Classroom 1 blinds': [130, 350],
  'Classroom 1 heating': [240, 240],
  'Classroom 2 ceiling': [490, 120],
  'Classroom 2 blinds': [430, 350],
  'Classroom 2 heating': [550, 240],
  'Gym lights': [800, 140],
  'Gym sound': [720, 460],
  'Gym heating': [870, 300],
  'Kitchen lights': [130, 620],
  'Hall ceiling': [350, 560],
  'Hall sound': [520, 560],
  'Lobby ceiling': [730, 700],
  'Lobby lights': [890, 700],
  'Lobby climate': [810, 860],
}

/**
 * Writes the picture where the controller keeps those of its plans.
 * @returns rows of a site file
 */
export async function drawFloorPlan(controllerFolder: string): Promise<Record<string, object[]>> {
  const bytes = pngOf(drawing())
  const picture = `${createHash('sha256').update(bytes).digest('hex')}.png`
  const folder = join(controllerFolder, 'plans')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, picture), bytes, { mode: 0o600 })
  const [page, widget] = ['Ground floor plan', 'Zone on a plan']
  return {
    ui_page_ui: [
      { ui_id: 'Whole building', name: page, position: 2, layout: { plan: { picture, width: WIDTH, height: HEIGHT } } },
    ],
    ui_widget: [{ name: widget, type: 'plan_zone' }],
    ui_page_widget: Object.entries(PLACES).map(([zone, [x, y]]) => ({
      ...{ page_id: page, widget_id: widget, zone_id: zone, x, y },
    })),
  }
}

/** One byte of grey for each pixel, rows from the top, each after the byte that says that it is not filtered. */
function drawing(): Uint8Array {
  const rows = new Uint8Array((WIDTH + 1) * HEIGHT).fill(PAPER)
  const paint = (grey: number, [left, top, right, bottom]: Box) => {
    for (let y = top; y < bottom; y++) rows.fill(grey, y * (WIDTH + 1) + 1 + left, y * (WIDTH + 1) + 1 + right)
  }
  for (const room of ROOMS) {
    paint(INK, grown(room, WALL / 2))
    paint(PAPER, grown(room, -WALL / 2))
  }
  for (const door of DOORS) paint(PAPER, door)
  for (let y = 0; y < HEIGHT; y++) rows[y * (WIDTH + 1)] = 0
  return rows
}

function grown([left, top, right, bottom]: Box, by: number): Box {
  return [left - by, top - by, right + by, bottom + by]
}

/** @source RFC 2083, 3 and 4.1: the signature, and the chunks IHDR, IDAT and IEND */
function pngOf(rows: Uint8Array): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(WIDTH, 0)
  head.writeUInt32BE(HEIGHT, 4)
  head.writeUInt8(8, 8)
  const chunks = [chunkOf('IHDR', head), chunkOf('IDAT', deflateSync(rows)), chunkOf('IEND', Buffer.alloc(0))]
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...chunks])
}

function chunkOf(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

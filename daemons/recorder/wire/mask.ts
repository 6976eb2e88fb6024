/** Privacy masks: polygons that are painted black before a picture leaves. */

/** A polygon, its points as fractions of the frame: 0 is left or top, 1 right or bottom. */
export type Mask = readonly (readonly [x: number, y: number])[]

/** A decoded picture, I420: brightness, then two planes of colours of half the width and height. */
export interface PlanarPicture {
  width: number
  height: number
  bytes: Uint8Array
}

/** Brightness and colours of black. ITU-R BT.601, 2.5.1: 16 where it is limited, and dark grey where it is not. */
const BLACK = 16
const NO_COLOUR = 128

/** Where planes and their rows begin. */
interface Layout {
  lumaStride: number
  chromaStride: number
  chromaRows: number
  bytes: number
}

/**
 * How GStreamer lays an I420 picture out where nothing else is agreed.
 * @source GStreamer, video-info: rows are rounded up to 4 bytes, and so is the number of rows to 2
 */
export function layoutOf(width: number, height: number): Layout {
  const even = (value: number) => value + (value % 2)
  const four = (value: number) => Math.ceil(value / 4) * 4
  const lumaStride = four(width)
  const chromaStride = four(even(width) / 2)
  const chromaRows = even(height) / 2
  return {
    ...{ lumaStride, chromaStride, chromaRows },
    bytes: lumaStride * even(height) + 2 * chromaStride * chromaRows,
  }
}

/**
 * Paints masks into a picture: every pixel that a polygon touches.
 * @param picture is changed in place; its bytes are as long as `layoutOf` says
 * @source ISO/IEC 14496-10 has no masks: drawn by the nonzero rule, which covers most where lines cross
 */
export function paintMasks({ bytes, height, width }: PlanarPicture, masks: readonly Mask[]): void {
  const { chromaRows, chromaStride, lumaStride } = layoutOf(width, height)
  const blue = lumaStride * (height + (height % 2))
  const red = blue + chromaStride * chromaRows
  for (const mask of masks) {
    const points = mask.map(([x, y]): [number, number] => [x * width, y * height])
    const ys = points.map(([, y]) => y)
    const last = Math.min(height - 1, Math.floor(Math.max(...ys)))
    for (let row = Math.max(0, Math.floor(Math.min(...ys))); row <= last; row++)
      for (const [from, to] of spansOf(points, row)) {
        const [left, right] = [Math.max(0, Math.floor(from)), Math.min(width, Math.floor(to) + 1)]
        if (right <= left) continue
        bytes.fill(BLACK, row * lumaStride + left, row * lumaStride + right)
        const colour = (row >> 1) * chromaStride
        for (const plane of [blue, red])
          bytes.fill(NO_COLOUR, plane + colour + (left >> 1), plane + colour + ((right + 1) >> 1))
      }
  }
}

/** What of a row is touched: what its middle has inside, and where an edge passes through the row. */
function spansOf(points: readonly [number, number][], row: number): [number, number][] {
  const spans: [number, number][] = []
  const crossings: { x: number; turn: number }[] = []
  const middle = row + 0.5
  for (const [at, [x1, y1]] of points.entries()) {
    const [x2, y2] = points[(at + 1) % points.length] ?? [x1, y1]
    const [top, bottom] = [Math.max(row, Math.min(y1, y2)), Math.min(row + 1, Math.max(y1, y2))]
    if (top > bottom) continue
    const xAt = (y: number) => (y1 === y2 ? x1 : x1 + ((y - y1) * (x2 - x1)) / (y2 - y1))
    const ends = y1 === y2 ? [x1, x2] : [xAt(top), xAt(bottom)]
    spans.push([Math.min(...ends), Math.max(...ends)])
    if (y1 <= middle !== y2 <= middle) crossings.push({ x: xAt(middle), turn: y2 > y1 ? 1 : -1 })
  }
  let turns = 0
  let begin = 0
  for (const { turn, x } of crossings.sort((one, other) => one.x - other.x)) {
    if (turns === 0) begin = x
    turns += turn
    if (turns === 0) spans.push([begin, x])
  }
  return spans
}

import { spawnSync } from 'node:child_process'
import t from 'tap'
import { type Scene, testFilm } from '../test-picture.ts'

const SCENE: Scene = {
  sky: [150, 150, 110],
  ground: [90, 110, 130],
  mover: [110, 90, 200],
  size: [64, 32],
  dotsPerS: 40,
}
const [WIDTH, HEIGHT] = [320, 240]
const BYTES = (WIDTH * HEIGHT * 3) / 2

/** Brightness of each picture, as ffmpeg decodes it. */
function decoded(units: readonly Uint8Array[]): Uint8Array[] {
  const input = Buffer.concat(units.flatMap((unit) => [Buffer.from([0, 0, 0, 1]), unit]))
  const args = ['-v', 'error', '-f', 'h264', '-i', '-', '-f', 'rawvideo', '-pix_fmt', 'yuv420p', '-']
  const { stderr, stdout } = spawnSync('ffmpeg', args, { input, maxBuffer: 100 * BYTES })
  t.notMatch(String(stderr), /error|invalid/i)
  return Array.from({ length: stdout.length / BYTES }, (_, at) => stdout.subarray(at * BYTES, (at + 1) * BYTES))
}

const skip = spawnSync('ffmpeg', ['-version']).error ? 'ffmpeg is not installed' : false

t.test('each dot of a test film is decoded as it was drawn, from a key frame and after changes', { skip }, (t) => {
  const noon = new Date(2026, 0, 5, 12, 34, 56).getTime()
  let nowMs = noon
  const film = testFilm(SCENE, () => nowMs)
  const units: Uint8Array[] = []
  for (let count = 0; count < 25; count++) {
    nowMs = noon + count * 100
    units.push(...film())
  }
  const pictures = decoded(units)
  t.equal(pictures.length, 25)
  for (const [count, picture] of pictures.entries()) {
    const left = (Math.floor(((noon + count * 100) * SCENE.dotsPerS) / 1000) % (WIDTH - SCENE.size[0])) & ~1
    const row = picture.subarray(200 * WIDTH, 201 * WIDTH)
    const wanted = Uint8Array.from({ length: WIDTH }, (_, x) => (x >= left && x < left + 64 ? 110 : 90))
    t.equal(Buffer.compare(row, wanted), 0, `picture ${count}`)
  }
  // The last digit: 6, 7 and 8 differ in the dot at the middle of their top row's left end.
  const dotAt = (picture: Uint8Array | undefined, column: number, line: number) =>
    picture?.[(10 + line * 6) * WIDTH + 10 + 7 * 36 + column * 6]
  t.equal(dotAt(pictures[0], 0, 3), 220, 'a 6 has a left side')
  t.equal(dotAt(pictures[10], 0, 3), 30, 'a 7 has none')
  t.equal(dotAt(pictures[10], 0, 0), 220, 'and its bar goes to the corner')
  t.equal(dotAt(pictures[20], 0, 0), 30, 'an 8 has round corners')
  t.end()
})

t.test('what does not change costs next to nothing', (t) => {
  const film = testFilm({ ...SCENE, dotsPerS: 0 }, () => 0)
  const bytes = () => film().reduce((sum, unit) => sum + unit.length, 0)
  t.ok(bytes() > 100_000)
  t.ok(bytes() < 16)
  t.end()
})

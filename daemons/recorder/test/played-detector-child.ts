/**
 * A detector for tests: calls the brightest thing of each picture a person, or misbehaves as its argument says.
 * Speaks the protocol of docs/recorder.md.
 */
const [how = 'well'] = process.argv.slice(2)

interface Size {
  width: number
  height: number
}

function send(head: object): void {
  const text = Buffer.from(JSON.stringify(head))
  const lengths = Buffer.alloc(8)
  lengths.writeUInt32LE(text.length, 0)
  process.stdout.write(Buffer.concat([lengths, text]))
}

/** The box around all pixels that are nearly white. */
function brightest(rgb: Uint8Array, { height, width }: Size): number[] | undefined {
  let [left, top, right, bottom] = [width, height, -1, -1]
  for (let at = 0; at < width * height; at++) {
    if ((rgb[at * 3] ?? 0) < 215) continue
    const [x, y] = [at % width, Math.floor(at / width)]
    left = Math.min(left, x)
    right = Math.max(right, x)
    top = Math.min(top, y)
    bottom = Math.max(bottom, y)
  }
  return right < 0 ? undefined : [left / width, top / height, (right + 1) / width, (bottom + 1) / height]
}

function boxesOf(rgb: Uint8Array, size: Size): unknown[] {
  const box = brightest(rgb, size)
  const own = box ? [{ label: how === 'reads' ? 'car' : 'person', score: 0.9, box }] : []
  if (how !== 'lies') return own
  const lies = [
    { label: 'unheard-of', score: 0.9, box: [0, 0, 1, 1] },
    { label: 'person', score: Number.NaN, box: [0, 0, 1, 1] },
    { label: 'person', score: 0.9, box: [0.5, 0.5, 9, 9] },
    { label: 'x'.repeat(10_000), score: 0.9, box: [0, 0, 1, 1] },
    'what',
  ]
  return [...lies, ...own]
}

/** Plates, and what a hostile program may say instead of them. */
function platesOf(): unknown {
  const box = [0.4, 0.4, 0.6, 0.5]
  const lies = [
    { text: 'x'.repeat(100_000), confidence: 0.9, box },
    { text: 'AB\u0007 12', confidence: 0.9, box },
    { text: 'AB 123', confidence: Number.NaN, box },
  ]
  return [
    ...lies,
    { text: 'B-XY 1234', confidence: 0.93, box },
    ...new Array(5).fill({ text: 'ZZ 999', confidence: 1, box }),
  ]
}

function answer(head: Size & { kind: string; id: number }, body: Uint8Array): void {
  if (head.kind === 'recognise') send({ kind: 'recognised', id: head.id, plates: platesOf(), took_ms: 2 })
  if (head.kind !== 'picture' || how === 'hangs') return
  if (how === 'crashes') process.exit(3)
  if (how === 'babbles') process.stdout.write('Loading model, please wait...\n')
  else if (how === 'floods') send({ kind: 'boxes', id: head.id, boxes: new Array(1_000_000).fill(null), took_ms: 1 })
  else if (how === 'fails' && head.id <= 3) send({ kind: 'failed', id: head.id, why: 'out of memory' })
  else send({ kind: 'boxes', id: head.id, boxes: boxesOf(body, head), took_ms: 1.5 })
}

let waiting: Uint8Array = new Uint8Array()
process.stdin.on('data', (chunk: Buffer) => {
  waiting = Buffer.concat([waiting, chunk])
  for (;;) {
    if (waiting.length < 8) return
    const view = new DataView(waiting.buffer, waiting.byteOffset)
    const [head, body] = [view.getUint32(0, true), view.getUint32(4, true)]
    if (waiting.length < 8 + head + body) return
    const text = Buffer.from(waiting.subarray(8, 8 + head)).toString()
    answer(JSON.parse(text), waiting.subarray(8 + head, 8 + head + body))
    waiting = waiting.subarray(8 + head + body)
  }
})
process.stdin.on('end', () => process.exit(0))

if (how === 'lacks') {
  send({ kind: 'fault', why: 'The model file is missing. Install plantroom-eyes-models' })
  process.stdin.destroy()
} else if (how !== 'sleeps') {
  const recognises = how === 'reads' ? ['plate', 'thought', 7] : undefined
  send({ kind: 'ready', protocol: 1, name: 'played', labels: ['person', 'car'], width: 208, height: 160, recognises })
}

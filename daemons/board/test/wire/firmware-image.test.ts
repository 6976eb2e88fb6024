import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import {
  headLength,
  type Manifest,
  MOST_MANIFEST_BYTES,
  openManifest,
  START_BYTES,
  signedPart,
  splitHead,
} from '../../wire/firmware-image.ts'

const manifest: Manifest = {
  compatible: 'plantroom-board',
  version: '2.0.13',
  floor: '1.9.0',
  sizeBytes: 1_500_000_000,
  sha256: 'a'.repeat(64),
}

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))
const raw = { compatible: 'b', version: '1.0.0', size: 1, sha256: 'a'.repeat(64) }

/** Whether it gives a value, or a Fault for an invalid image. */
function isTame(run: () => unknown): boolean {
  try {
    run()
    return true
  } catch (error) {
    return error instanceof Fault && error.code === 'image_unknown'
  }
}

t.test('B.ota a head is laid out as firmware-images/README.md says', async (t) => {
  const signed = signedPart(manifest)
  const text = `{"compatible":"plantroom-board","version":"2.0.13","floor":"1.9.0","size":1500000000,"sha256":"${manifest.sha256}"}`
  t.equal(Buffer.from(signed).toString('latin1'), `PLANTFW1\0\0\0${String.fromCharCode(text.length)}${text}`)
  t.equal(headLength(signed), signed.length + 64)
})

t.test('an image is opened as it was made', async () => {
  const version = fc.tuple(fc.nat(999_999), fc.nat(999_999), fc.nat(999_999)).map((numbers) => numbers.join('.'))
  const made = fc.record({
    compatible: fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/),
    version,
    sizeBytes: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    sha256: fc.stringMatching(/^[0-9a-f]{64}$/),
  })
  fc.assert(
    fc.property(made, fc.boolean(), (fields, hasFloor) => {
      const wanted = { ...fields, floor: hasFloor ? fields.version : null }
      const head = new Uint8Array([...signedPart(wanted), ...new Uint8Array(64).fill(7)])
      if (headLength(head) !== head.length) return false
      const { signed, signature, manifest: text } = splitHead(head)
      const opened = openManifest(text)
      return (
        signature.every((byte) => byte === 7) &&
        signed.length + 64 === head.length &&
        Object.entries(wanted).every(([name, value]) => opened[name as keyof Manifest] === value)
      )
    }),
  )
})

t.test('B.ota whatever bytes come, a head is decoded or refused', async (t) => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => isTame(() => headLength(bytes))))
  const start = signedPart(manifest).slice(0, START_BYTES)
  for (let length = 0; length < START_BYTES; length++)
    t.throws(() => headLength(start.slice(0, length)), { code: 'image_unknown' }, `${length} bytes`)
  for (let at = 0; at < 8; at++) {
    const other = start.slice()
    other[at] = (other[at] ?? 0) ^ 1
    t.throws(() => headLength(other), { code: 'image_unknown' })
  }
})

t.test('B.ota a manifest that is too long is not waited for', async (t) => {
  const start = signedPart(manifest).slice(0, START_BYTES)
  const view = new DataView(start.buffer)
  for (const length of [0, 1, MOST_MANIFEST_BYTES + 1, 0xffffffff]) {
    view.setUint32(8, length)
    t.throws(() => headLength(start), { code: 'image_unknown', message: /expected 2 to 4096/ }, String(length))
  }
  view.setUint32(8, MOST_MANIFEST_BYTES)
  t.equal(headLength(start), START_BYTES + MOST_MANIFEST_BYTES + 64)
})

t.test('B.ota whatever a manifest holds, it is decoded or refused', async () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.record({ compatible: fc.jsonValue(), version: fc.jsonValue(), size: fc.jsonValue(), sha256: fc.jsonValue() }),
  )
  fc.assert(fc.property(value, (given) => isTame(() => openManifest(bytesOf(given)))))
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => isTame(() => openManifest(bytes))))
  const good = bytesOf(raw)
  fc.assert(
    fc.property(fc.nat(good.length - 1), fc.nat(255), (at, byte) => {
      const changed = good.slice()
      changed[at] = byte
      return isTame(() => openManifest(changed))
    }),
  )
})

t.test('B.ota each field is checked', async (t) => {
  t.same(openManifest(bytesOf(raw)), {
    compatible: 'b',
    version: '1.0.0',
    floor: null,
    sizeBytes: 1,
    sha256: raw.sha256,
  })
  t.same(openManifest(bytesOf({ ...raw, notes: 'of a later version' })).version, '1.0.0', 'more fields are allowed')
  const wrong = [
    { compatible: '' },
    { compatible: 'a b' },
    { compatible: 'x'.repeat(65) },
    { compatible: 7 },
    { version: '1.0' },
    { version: 1 },
    { floor: 'x' },
    { floor: '1.0.1' },
    { floor: 1 },
    { size: 0 },
    { size: -1 },
    { size: 1.5 },
    { size: '1' },
    { size: 2 ** 53 },
    { sha256: 'A'.repeat(64) },
    { sha256: 'a'.repeat(63) },
    { sha256: null },
  ]
  for (const fields of wrong)
    t.throws(() => openManifest(bytesOf({ ...raw, ...fields })), { code: 'image_unknown' }, JSON.stringify(fields))
  for (const text of ['', '{', '[]', 'null', '7'])
    t.throws(() => openManifest(Buffer.from(text)), { code: 'image_unknown' }, text)
  t.throws(() => openManifest(new Uint8Array([0x7b, 0xff, 0x7d])), { code: 'image_unknown' }, 'not UTF-8')
})

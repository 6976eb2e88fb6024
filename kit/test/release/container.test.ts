/** Tests of kit/release/container.ts: what was encrypted comes back, and anything else is refused with its reason. */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { type Test, t } from 'tap'
import { Fault } from '../../pure/fault.ts'
import { containerBytes, createContainerReader, type Sealed, writeContainer } from '../../release/container.ts'
import { holds } from '../holds.ts'
import { sealed } from './sealed.ts'

const KIB64 = 65_536
const HEADER = 112
const STORED = KIB64 + 16
const key = Buffer.from(Array.from({ length: 32 }, (_, at) => at))

/** Bytes without a period that a chunk has. */
function plainOf(length: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, at) => (at * 7) % 251))
}

function opened(container: Uint8Array, { cut = container.length, by = key } = {}): Buffer {
  const reader = createContainerReader(by)
  const pieces: Uint8Array[] = []
  for (let at = 0; at < container.length; at += cut) pieces.push(...reader.take(container.subarray(at, at + cut)))
  return Buffer.concat([...pieces, ...reader.end()])
}

async function written(t: Test, plain: Uint8Array): Promise<{ container: Buffer; facts: Sealed; progress: number }> {
  const folder = t.testdir({})
  const [from, to] = [join(folder, 'plain'), join(folder, 'container')]
  await writeFile(from, plain)
  const [reading, writing] = [await open(from, 'r'), await open(to, 'w')]
  let progress = 0
  const facts = await writeContainer(reading, writing, key, (bytes) => {
    progress += bytes
  })
  await Promise.all([reading.close(), writing.close()])
  return { container: await readFile(to), facts, progress }
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

const sizes = [
  0,
  1,
  2,
  15,
  16,
  17,
  111,
  112,
  113,
  4096,
  KIB64 - 17,
  KIB64 - 16,
  KIB64 - 1,
  KIB64,
  KIB64 + 1,
  KIB64 + 16,
]
sizes.push(2 * KIB64 - 1, 2 * KIB64, 2 * KIB64 + 1, 3 * KIB64 + 5, 16 * KIB64)

t.test('a file of any size comes back, and its container has the size that the sheet gives', async (t) => {
  t.equal(sizes.length, 21)
  for (const size of sizes) {
    const plain = plainOf(size)
    const { container, facts, progress } = await written(t, plain)
    t.equal(container.length, HEADER + size + 16 * Math.max(1, Math.ceil(size / KIB64)), `${size} bytes`)
    t.equal(containerBytes(size), container.length)
    t.strictSame(facts, { sizeBytes: container.length, sha256: sha256(container), plainSha256: sha256(plain) })
    t.equal(progress, size)
    t.ok(opened(container).equals(plain))
    t.ok(container.equals(sealed(plain, key, { salt: container.subarray(16, 48) })), 'byte for byte as by hand')
  }
})

// Made by Python's cryptography from the sheet: key 00 to 1f, salt 20 to 3f.
const golden = [
  [
    'Plantroom\n',
    '7c0e431484f85662665fc779baff564fc63dfd8a9bdf8cff3d3b3a7fcf040b972b367e25f1dc307b5bb754e679f42d2fe8e2bcc8816adc33504e13683f296fff1340db9b7440066d620f14c246d25f9b87d602a65ca7ff391fde',
  ],
  [
    '',
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855385fb898a0847c732b78473a83ec903d8078e38493190ab51d763b13138bf643a020ceff65c1b7f0e07973f8c17968ac',
  ],
] as const
const goldenStart = '5356435f454e435f56310a0110000070202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f'

t.test('a container made by another program is read, byte for byte', async (t) => {
  for (const [text, rest] of golden) {
    const container = Buffer.from(goldenStart + rest, 'hex')
    t.equal(opened(container).toString(), text)
    t.ok(sealed(Buffer.from(text), key, { salt: container.subarray(16, 48) }).equals(container))
  }
  const large = sealed(plainOf(131_073), key, { salt: Buffer.from(goldenStart.slice(32), 'hex') })
  t.equal(sha256(large), 'de04085e260f2d329464949ca7d67f62bb1e257561c02816c96a02cdc159a1b9')
  t.ok(opened(large).equals(plainOf(131_073)))
})

t.test('two containers of one file have nothing in common but the start and the checksum', async (t) => {
  const [one, other] = [(await written(t, plainOf(100))).container, (await written(t, plainOf(100))).container]
  t.notOk(one.subarray(16, 48).equals(other.subarray(16, 48)))
  t.notOk(one.subarray(HEADER).equals(other.subarray(HEADER)))
})

t.test('a container may arrive in any cut', async (t) => {
  for (const size of [0, 1, 300]) {
    const plain = plainOf(size)
    for (const cut of [1, 2, 3, 111, 112, 113]) t.ok(opened(sealed(plain, key), { cut }).equals(plain))
  }
  const plain = plainOf(3 * KIB64 + 5)
  const container = sealed(plain, key)
  for (const cut of [KIB64 - 1, KIB64, STORED - 1, STORED, STORED + 1, HEADER + STORED, 3 * STORED])
    t.ok(opened(container, { cut }).equals(plain))
  const cuts = fc.array(fc.nat(container.length), { maxLength: 12 }).map((list) => list.sort((a, b) => a - b))
  const law = fc.property(cuts, (list) => {
    const reader = createContainerReader(key)
    const parts = [...list, container.length].map((end, at) => container.subarray(list[at - 1] ?? 0, end))
    const pieces = parts.flatMap((part) => reader.take(part))
    return Buffer.concat([...pieces, ...reader.end()]).equals(plain)
  })
  holds(t, law, { numRuns: 60 })
})

t.test('a reader holds one chunk back and gives out the others at once', async (t) => {
  const container = sealed(plainOf(2 * KIB64 + 1), key)
  const reader = createContainerReader(key)
  t.strictSame(reader.take(container.subarray(0, HEADER + STORED)), [])
  t.equal(reader.take(container.subarray(HEADER + STORED, HEADER + STORED + 1))[0]?.length, KIB64)
  t.strictSame(reader.take(container.subarray(HEADER + STORED + 1, HEADER + 2 * STORED)), [])
  t.equal(reader.take(container.subarray(HEADER + 2 * STORED)).length, 1)
  t.equal(reader.end()[0]?.length, 1)
})

t.test('a piece given out does not change when more is read', async (t) => {
  const plain = plainOf(3 * KIB64)
  const container = sealed(plain, key)
  const reader = createContainerReader(key)
  const input = Buffer.from(container)
  const [first] = reader.take(input.subarray(0, HEADER + STORED + 1))
  input.fill(0, 0, HEADER + STORED + 1)
  reader.take(input.subarray(HEADER + STORED + 1))
  t.ok(plain.subarray(0, KIB64).equals(first ?? Buffer.alloc(0)))
})

const three = plainOf(2 * KIB64 + 9)
const whole = sealed(three, key)
const chunk = (at: number) => whole.subarray(HEADER + at * STORED, Math.min(HEADER + (at + 1) * STORED, whole.length))
const flipped = (at: number) => {
  const copy = Buffer.from(whole)
  copy.writeUInt8(copy.readUInt8(at) ^ 1, at)
  return copy
}
const other = sealed(three, key, { salt: Buffer.alloc(32, 8) })
const pieces = [three.subarray(0, KIB64), three.subarray(KIB64, 2 * KIB64), three.subarray(2 * KIB64)]

const tampered: readonly (readonly [how: string, code: string, container: Uint8Array])[] = [
  ['it begins with another mark', 'container_unknown', flipped(0)],
  ['its version is another', 'container_unknown', Buffer.from(whole.toString('latin1').replace('V1', 'V2'), 'latin1')],
  ['it is something else', 'container_unknown', Buffer.from('PK\x03\x04')],
  ['its suite is another', 'container_unsupported', sealed(three, key, { header: [11, Buffer.from([2])] })],
  ['its chunks have another size', 'container_unsupported', sealed(three, key, { header: [12, Buffer.from([17])] })],
  ['it has a flag', 'container_unsupported', sealed(three, key, { header: [13, Buffer.from([1])] })],
  ['its header is longer', 'container_unsupported', sealed(three, key, { header: [14, Buffer.from([1, 0])] })],
  ['its salt is changed', 'container_wrong_key', flipped(16)],
  ['its checksum is changed', 'container_wrong_key', flipped(79)],
  ['its proof is changed', 'container_wrong_key', flipped(80)],
  ['its key is another', 'container_wrong_key', sealed(three, Buffer.alloc(32, 1))],
  [
    'its header is of another container of the key',
    'container_damaged',
    Buffer.concat([other.subarray(0, HEADER), whole.subarray(HEADER)]),
  ],
  ['a byte of the first chunk is changed', 'container_damaged', flipped(HEADER)],
  ['a tag is changed', 'container_damaged', flipped(HEADER + STORED - 1)],
  ['a byte of the last chunk is changed', 'container_damaged', flipped(HEADER + 2 * STORED + 3)],
  ['the last tag is changed', 'container_damaged', flipped(whole.length - 1)],
  ['chunks are swapped', 'container_damaged', Buffer.concat([whole.subarray(0, HEADER), chunk(1), chunk(0), chunk(2)])],
  [
    'a chunk is there twice',
    'container_damaged',
    Buffer.concat([whole.subarray(0, HEADER), chunk(0), chunk(0), chunk(1), chunk(2)]),
  ],
  ['the first chunk is missing', 'container_damaged', Buffer.concat([whole.subarray(0, HEADER), chunk(1), chunk(2)])],
  [
    'a chunk in the middle is missing',
    'container_damaged',
    Buffer.concat([whole.subarray(0, HEADER), chunk(0), chunk(2)]),
  ],
  [
    'a chunk is of another container',
    'container_damaged',
    Buffer.concat([whole.subarray(0, HEADER + STORED), other.subarray(HEADER + STORED)]),
  ],
  [
    'an empty chunk is its last',
    'container_damaged',
    sealed(three, key, { chunks: [...pieces.slice(0, 2), Buffer.alloc(0)] }),
  ],
  [
    'its chunks are shorter',
    'container_damaged',
    sealed(three, key, { chunks: [three.subarray(0, 9), three.subarray(9)] }),
  ],
  ['the last chunk is missing', 'container_cut', whole.subarray(0, HEADER + 2 * STORED)],
  ['it has a header alone', 'container_cut', whole.subarray(0, HEADER)],
  ['it ends within the header', 'container_cut', whole.subarray(0, HEADER - 1)],
  ['it is empty', 'container_cut', Buffer.alloc(0)],
  ['it ends within a tag', 'container_cut', whole.subarray(0, HEADER + 2 * STORED + 15)],
  ['it ends within a chunk', 'container_damaged', whole.subarray(0, whole.length - 1)],
  ['no chunk says that it is the last', 'container_cut', sealed(three, key, { isLast: () => false })],
  ['bytes follow the last chunk', 'container_damaged', Buffer.concat([whole, Buffer.from([0])])],
  ['a chunk follows the last', 'container_too_long', sealed(three, key, { isLast: (at) => at === 1 })],
  [
    'its content is not that of its checksum',
    'container_wrong_content',
    sealed(three, key, { header: [48, Buffer.alloc(32)] }),
  ],
  [
    'its content is cut by who has the key',
    'container_wrong_content',
    sealed(three, key, { chunks: pieces.slice(0, 2) }),
  ],
]

t.test('a container is refused when', async (t) => {
  for (const [how, code, container] of tampered) {
    t.throws(() => opened(container), { code }, how)
    t.throws(() => opened(container, { cut: 1000 }), { code }, `${how}, in pieces`)
  }
})

t.test('a key of another length is refused', async (t) => {
  t.throws(() => opened(whole, { by: key.subarray(1) }), {
    code: 'container_wrong_key',
    message: /31 bytes, expected 32/,
  })
})

t.test(
  'real containers with any byte changed, added or removed are refused, and nothing wrong is given out',
  async (t) => {
    const places = fc.oneof(fc.nat(HEADER + 20), fc.nat(whole.length - 1))
    const change = fc.tuple(places, fc.integer({ min: 1, max: 255 }), fc.constantFrom('change', 'add', 'remove', 'end'))
    const law = fc.property(
      fc.array(change, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1000, max: 200_000 }),
      (changes, cut) => {
        let container = Buffer.from(whole)
        for (const [at, value, how] of changes) {
          if (how === 'change') container[at] = (container[at] ?? 0) ^ value
          else if (how === 'add')
            container = Buffer.concat([container.subarray(0, at), Buffer.from([value]), container.subarray(at)])
          else if (how === 'remove')
            container = Buffer.concat([container.subarray(0, at), container.subarray(at + value)])
          else container = container.subarray(0, at)
        }
        const reader = createContainerReader(key)
        let givenBytes = 0
        const isFalse = (given: Uint8Array[]) =>
          given.some((piece) => {
            givenBytes += piece.length
            return !three.subarray(givenBytes - piece.length, givenBytes).equals(piece)
          })
        try {
          for (let at = 0; at < container.length; at += cut)
            if (isFalse(reader.take(container.subarray(at, at + cut)))) return false
          reader.end()
        } catch (error) {
          return error instanceof Fault && error.code.startsWith('container_')
        }
        return container.equals(whole)
      },
    )
    holds(t, law, { numRuns: 300 })
  },
)

t.test('any bytes are refused with a fault', async (t) => {
  const law = fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), (bytes, isMarked) => {
    try {
      opened(isMarked ? Buffer.concat([whole.subarray(0, 16), bytes]) : bytes)
    } catch (error) {
      return error instanceof Fault && error.code.startsWith('container_')
    }
    return false
  })
  holds(t, law)
})

t.test('a file that changes while it is encrypted makes no container', async (t) => {
  const folder = t.testdir({ plain: plainOf(3 * KIB64) })
  const [from, to] = [await open(join(folder, 'plain'), 'r'), await open(join(folder, 'container'), 'w')]
  const changed = () => writeFileSync(join(folder, 'plain'), plainOf(KIB64 + 1))
  await t.rejects(writeContainer(from, to, key, changed), { code: 'container_changed' })
  await Promise.all([from.close(), to.close()])
})

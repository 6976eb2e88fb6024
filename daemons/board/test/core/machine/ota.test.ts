/** Updates over an installer in memory: what is refused, when, and that nothing is left or installed afterwards. */
import { createPublicKey, verify } from 'node:crypto'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createOta, IDLE_OTA, type Ota, type OtaStatus } from '../../../core/machine/firmware.ts'
import type { Installer } from '../../../core/machine/ports.ts'
import { createSha256 } from '../../../io/firmware.ts'
import { headOf, imageOf, keysForTest, manifestOf } from '../../made-image.ts'

/** A board's updates, and what happened to the images. */
interface Bench {
  ota: Ota
  make: typeof imageOf extends (key: never, ...rest: infer Rest) => Buffer ? (...rest: Rest) => Buffer : never
  /** Images that were handed over completely. */
  installed: Buffer[]
  /** Bytes of slots that are not discarded. */
  left(): number
  /** Each state that was passed, in order. */
  states: OtaStatus[]
  raised: string[]
  set: { floor: string; room: number; fault?: Fault | undefined; isReady: boolean }
}

function bench(t: Test, privateKey = keysForTest(t).privateKey): Bench {
  const installed: Buffer[] = []
  const states: OtaStatus[] = []
  const raised: string[] = []
  const slots = new Set<Buffer[]>()
  const set: Bench['set'] = { floor: '1.0.0', room: 10_000_000, isReady: true }
  const installer: Installer = {
    async refuseUnready() {
      if (!set.isReady) throw new Fault('ota_not_set_up', 'no command')
    },
    async begin(bytes) {
      if (bytes > set.room) throw new Fault('image_no_room', 'full')
      const slot: Buffer[] = []
      slots.add(slot)
      return {
        async write(piece) {
          if (set.fault?.code === 'image_not_kept') throw set.fault
          slot.push(Buffer.from(piece))
        },
        async finish() {},
        async install() {
          if (set.fault) throw set.fault
          installed.push(Buffer.concat(slot))
        },
        discard: async () => void slots.delete(slot),
      }
    },
  }
  const ota = createOta({
    clock: fakeClock(),
    log: silentLog,
    installer,
    keys: { load: async () => (signed, signature) => verify(null, signed, createPublicKey(privateKey), signature) },
    floors: {
      floor: () => raised.at(-1) ?? '0.0.0',
      raise: async (version) => void raised.push(version),
    },
    rules: {
      compatible: 'plantroom-board',
      get floor() {
        return set.floor
      },
    },
    createDigest: createSha256,
    onChange: () => void states.push(ota.status()),
  })
  return {
    ota,
    make: (...rest) => imageOf(privateKey, ...rest),
    installed,
    left: () => [...slots].reduce((sum, slot) => sum + Buffer.concat(slot).length, 0),
    states,
    raised,
    set,
  }
}

/** An upload in pieces. `read()` says how many bytes were asked for so far. */
function upload(
  image: Uint8Array,
  { pieceBytes = 1000, lengthBytes = image.length, saysLength = true, cutAt = Infinity } = {},
) {
  let read = 0
  async function* stream() {
    for (let at = 0; at < image.length; at += pieceBytes) {
      const piece = image.subarray(at, Math.min(at + pieceBytes, cutAt))
      if (piece.length > 0) {
        read += piece.length
        yield piece
      }
      if (at + pieceBytes >= cutAt) throw new Fault('body_cut', `the connection ended after ${cutAt} bytes`)
    }
  }
  return { lengthBytes: saysLength ? lengthBytes : undefined, stream: stream(), read: () => read }
}

const payload = Buffer.alloc(50_000, 'plantroom')

t.test('B.ota a valid image is handed over whole, and the states show it', async (t) => {
  const { ota, make, installed, left, states } = bench(t)
  t.same(ota.status(), IDLE_OTA)
  const image = make(payload)
  t.match(await ota.take(upload(image)), { version: '2.0.0', sizeBytes: 50_000 })
  t.ok(installed[0]?.equals(image), 'with its head, so that it can be verified again')
  t.equal(left(), 0)
  t.same(
    states.map(({ state }) => state),
    ['receiving', 'verifying', 'installing', 'installed'],
  )
  const { at, ...last } = ota.status()
  t.same(last, {
    state: 'installed',
    received_bytes: image.length,
    total_bytes: image.length,
    version: '2.0.0',
    fault: null,
  })
  t.type(at, 'number')
})

t.test('B.ota an upload that is cut leaves nothing, wherever it is cut', async (t) => {
  const { ota, make, installed, left } = bench(t)
  const image = make(payload)
  const tenths = Array.from({ length: 10 }, (_, tenth) => Math.floor((image.length * tenth) / 10))
  for (const cutAt of [1, 11, 12, 13, 100, 200, ...tenths.slice(1), image.length - 1]) {
    await t.rejects(ota.take(upload(image, { cutAt })), { code: 'body_cut' }, `after ${cutAt} bytes`)
    t.match(ota.status(), { state: 'failed', fault: { code: 'body_cut' } })
    t.equal(left(), 0)
  }
  t.same(installed, [])
  await ota.take(upload(image))
  t.equal(installed.length, 1, 'and the next complete one is accepted')
})

t.test('B.ota an image that ends too early is short, even without an interrupted upload', async (t) => {
  const { ota, make, installed, left } = bench(t)
  const image = make(payload)
  for (const length of [0, 5, 12, 100, 300, image.length - 1]) {
    const short = upload(image.subarray(0, length), { saysLength: false })
    await t.rejects(ota.take(short), { code: /^image_(length|unknown)$/ }, `${length} bytes`)
  }
  const long = upload(Buffer.concat([image, Buffer.alloc(1)]), { saysLength: false })
  await t.rejects(ota.take(long), { code: 'image_length', message: /more is sent/ })
  t.same(installed, [])
  t.equal(left(), 0)
})

t.test('B.ota a body whose length differs from the manifest is refused before its payload', async (t) => {
  const { ota, make } = bench(t)
  const image = make(payload)
  for (const lengthBytes of [image.length - 1, image.length + 1]) {
    const wrong = upload(image, { lengthBytes, pieceBytes: 100 })
    await t.rejects(ota.take(wrong), { code: 'image_length' })
    t.ok(wrong.read() < 500, `${wrong.read()} bytes were read`)
  }
})

t.test('B.ota a stranger, another board and an old version are refused before the payload is read', async (t) => {
  const mine = keysForTest(t).privateKey
  const { ota, make, installed, left } = bench(t, mine)
  const stranger = keysForTest(t).privateKey
  const cases: [string, Buffer][] = [
    ['image_untrusted', imageOf(stranger, payload)],
    ['image_wrong_board', make(payload, { compatible: 'another-board' })],
    ['image_too_old', make(payload, { version: '0.9.9' })],
    ['image_unknown', Buffer.alloc(50_000)],
    ['image_unknown', Buffer.concat([Buffer.from('PLANTFW1\xff\xff\xff\xff', 'latin1'), Buffer.alloc(50_000)])],
  ]
  for (const [code, image] of cases) {
    const sent = upload(image, { pieceBytes: 100 })
    await t.rejects(ota.take(sent), { code }, code)
    t.ok(sent.read() < 500, `${sent.read()} bytes were read`)
    t.match(ota.status(), { state: 'failed', fault: { code }, received_bytes: 0 })
  }
  t.same(installed, [])
  t.equal(left(), 0)
})

t.test('B.ota a payload with one flipped bit is refused at its end', async (t) => {
  const { ota, make, installed, left } = bench(t)
  const image = make(payload)
  await fc.assert(
    fc.asyncProperty(fc.nat(payload.length - 1), fc.nat(7), async (at, bit) => {
      const changed = Buffer.from(image)
      const place = image.length - payload.length + at
      changed[place] = (changed[place] ?? 0) ^ (1 << bit)
      const code = await ota.take(upload(changed)).then(
        () => 'taken',
        (fault: Fault) => fault.code,
      )
      return code === 'image_damaged' && left() === 0
    }),
    { numRuns: 50 },
  )
  t.same(installed, [])
})

t.test('B.ota a head with one changed byte is refused', async (t) => {
  const { ota, make, installed } = bench(t)
  const image = make(payload)
  const headBytes = image.length - payload.length
  await fc.assert(
    fc.asyncProperty(fc.nat(headBytes - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
      const changed = Buffer.from(image)
      changed[at] = (changed[at] ?? 0) ^ change
      const code = await ota.take(upload(changed)).then(
        () => 'taken',
        (fault: Fault) => fault.code,
      )
      return code === 'image_unknown' || code === 'image_untrusted' || code === 'image_length'
    }),
    { numRuns: 300 },
  )
  t.same(installed, [])
})

t.test('B.ota of two at once the second is refused, and the first continues', async (t) => {
  const { ota, make, installed } = bench(t)
  const image = make(payload)
  const first = ota.take(upload(image))
  const second = upload(image)
  await t.rejects(ota.take(second), { code: 'ota_busy' })
  t.equal(second.read(), 0)
  await first
  await t.rejects(
    ota.take(upload(image)),
    { code: 'ota_busy', message: /the board restarts/ },
    'nor one before the restart',
  )
  t.equal(installed.length, 1)
})

t.test('B.ota a board that is not set up says so before it reads a byte', async (t) => {
  const { ota, make, set } = bench(t)
  set.isReady = false
  const sent = upload(make(payload))
  await t.rejects(ota.take(sent), { code: 'ota_not_set_up' })
  t.equal(sent.read(), 0)
})

t.test('B.ota if there is no room, or the disk or the installer fails, nothing is left', async (t) => {
  const { ota, make, set, left, installed } = bench(t)
  set.room = 50_000
  const sent = upload(make(payload), { pieceBytes: 100 })
  await t.rejects(ota.take(sent), { code: 'image_no_room' })
  t.ok(sent.read() < 500)
  set.room = 1e9
  for (const code of ['image_not_kept', 'image_not_installed']) {
    set.fault = new Fault(code, 'no')
    await t.rejects(ota.take(upload(make(payload))), { code })
    t.match(ota.status(), { state: 'failed', fault: { code, message: 'no' } })
    t.equal(left(), 0)
  }
  set.fault = undefined
  await ota.take(upload(make(payload)))
  t.equal(installed.length, 1)
})

t.test('B.ota an installed image can forbid older ones', async (t) => {
  const { privateKey } = keysForTest(t)
  const one = bench(t, privateKey)
  await one.ota.take(upload(one.make(payload, { version: '3.0.0', floor: '2.5.0' })))
  t.same(one.raised, ['2.5.0'])
  const next = bench(t, privateKey)
  next.raised.push('2.5.0')
  await t.rejects(next.ota.take(upload(next.make(payload, { version: '2.4.9' }))), {
    code: 'image_too_old',
    message: 'the image has version 2.4.9, this board takes 2.5.0 and later',
  })
  await next.ota.take(upload(next.make(payload, { version: '2.5.0' })))
  t.equal(next.installed.length, 1, 'older images are accepted down to the floor')
})

t.test('B.ota an image without a payload cannot be made', async (t) => {
  const { privateKey } = keysForTest(t)
  const { ota } = bench(t, privateKey)
  const image = headOf(privateKey, { ...manifestOf(payload), sizeBytes: 0 })
  await t.rejects(ota.take(upload(image)), { code: 'image_unknown' })
})

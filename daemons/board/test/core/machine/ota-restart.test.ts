/** Updates and a restart that somebody else asks for: an installer is never cut off. */
import { createPublicKey, verify } from 'node:crypto'
import t, { type Test } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { until } from '#kit/test/until.ts'
import { createOta } from '../../../core/machine/firmware.ts'
import { createSha256 } from '../../../io/firmware.ts'
import { imageOf, keysForTest } from '../../made-image.ts'

/** Updates whose installer finishes when the test says so. */
function bench(t: Test) {
  const { privateKey } = keysForTest(t)
  const { promise: installing, resolve: finish } = Promise.withResolvers<void>()
  const done: string[] = []
  const slot = {
    async write() {},
    async finish() {},
    async install() {
      done.push('begun')
      await installing
      done.push('installed')
    },
    discard: async () => void done.push('discarded'),
  }
  const ota = createOta({
    clock: fakeClock(),
    log: silentLog,
    installer: { async refuseUnready() {}, begin: async () => slot },
    keys: { load: async () => (signed, signature) => verify(null, signed, createPublicKey(privateKey), signature) },
    floors: { floor: () => '0.0.0', raise: async (floor) => void done.push(`floor ${floor}`) },
    rules: { compatible: 'plantroom-board', floor: '0.0.0' },
    createDigest: createSha256,
    onChange() {},
  })
  async function* stream() {
    yield imageOf(privateKey, Buffer.alloc(5000, 'plantroom'), { floor: '1.5.0' })
  }
  return { ota, done, finish, upload: () => ({ lengthBytes: undefined, stream: stream() }) }
}

t.test('B.ota a restart waits for the image that is being installed', async (t) => {
  const { ota, done, finish, upload } = bench(t)
  const taking = ota.take(upload())
  await until('it is installed', () => done.includes('begun'))
  const resting = ota.rest().then(() => void done.push('restart'))
  await new Promise((next) => setImmediate(next))
  t.same(done, ['begun'])
  finish()
  await Promise.all([taking, resting])
  t.same(done.slice(0, 3), ['begun', 'installed', 'floor 1.5.0'])
  t.ok(done.includes('restart'))
  t.equal(ota.status().state, 'installed')
})

t.test('B.ota an image that comes while the board restarts is not installed', async (t) => {
  const { ota, done, upload } = bench(t)
  const taking = ota.take(upload())
  await ota.rest()
  await t.rejects(taking, { code: 'ota_busy', message: /restarts/ })
  t.same(done, ['discarded'])
  t.match(ota.status(), { state: 'failed', fault: { code: 'ota_busy' } })
  await t.rejects(ota.take(upload()), { code: 'ota_busy', message: /restarts/ })
})

/** Tests of core/updating/uploads.ts: what becomes of a release file, and what the licence has to say. */
import { createHash } from 'node:crypto'
import { t } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { ReleaseRecord } from '#kit/release/record.ts'
import { readReleaseHead, writeReleaseHead } from '#kit/release/release-file.ts'
import { publish, publisher } from '#kit/test/release/update-stage.ts'
import type { LicenceState } from '../../../core/licence/states.ts'
import { type UpdateDesk, type UpdateRight, Uploads } from '../../../core/updating/uploads.ts'

const people = publisher()
const DAY_MS = 86_400_000

function fileOf(change: Partial<ReleaseRecord> = {}, version = '1.1.0'): Buffer {
  const { container, offer } = publish(people, version, { change })
  const release = Buffer.from(String(offer.release), 'base64').toString()
  return Buffer.concat([writeReleaseHead({ encryptionKey: String(offer.encryption_key), release }), container])
}

async function* piecesOf(bytes: Uint8Array, pieceBytes = 5000) {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

function licenceIn(state: LicenceState, updatesUntil?: number): UpdateRight {
  const lease = updatesUntil === undefined ? undefined : { updatesUntil }
  return {
    view: () => ({ state, features: [], cameras: null }),
    details: () => ({ lease }) as ReturnType<UpdateRight['details']>,
  }
}

/** Root's updater, played. @param answers to what it is asked, in turn; then the last one */
function staged({
  answers = ['begun 77'],
  licence,
  ...odd
}: Partial<UpdateDesk> & { answers?: string[]; licence?: UpdateRight } = {}) {
  const clock = fakeClock()
  const seen = { asked: 0, kept: [] as Buffer[], file: undefined as Buffer | undefined, cleared: 0 }
  const desk: UpdateDesk = {
    foreign: async () => undefined,
    canAsk: () => true,
    told: async () => undefined,
    isRunning: async () => false,
    readHead: readReleaseHead,
    async ask() {
      seen.asked++
      seen.kept.push(seen.file ?? Buffer.alloc(0))
      return answers[Math.min(seen.asked, answers.length) - 1] ?? ''
    },
    async begin() {
      const written: Uint8Array[] = []
      const hash = createHash('sha256')
      return {
        write: async (piece) => void written.push(Buffer.from(piece)),
        count: (piece) => void hash.update(piece),
        sha256: () => hash.digest('hex'),
        async finish() {
          seen.file = Buffer.concat(written)
        },
        close: async () => {},
      }
    },
    async clear() {
      seen.cleared++
      seen.file = undefined
    },
    ...odd,
  }
  const limits = { uploadBytes: 1_000_000, answerMs: 2000 }
  const uploads = new Uploads({ clock, desk, licence, limits })
  return { clock, seen, uploads, take: (bytes: Uint8Array, size = bytes.length) => uploads.take(piecesOf(bytes), size) }
}

const REJECTED = { code: 'update_rejected', message: /^Rejected: [a-z]/ }

t.test(
  '3A.update.upload a release file lies whole where root looks while it is asked, and is gone afterwards',
  async (t) => {
    const { seen, take, uploads } = staged()
    const file = fileOf()
    t.same(await take(file), { version: '1.1.0', at: 77 })
    t.ok(seen.kept[0]?.equals(file))
    t.equal(seen.file, undefined)
    for (const pieceBytes of [1, 19, 700_000])
      t.match(
        await uploads.take(piecesOf(file, pieceBytes), undefined),
        { version: '1.1.0' },
        `in pieces of ${pieceBytes}`,
      )
  },
)

t.test('3A.update.upload a file that cannot be removed does not keep the next one out', async (t) => {
  let isStuck = true
  const { take } = staged({
    async clear() {
      if (isStuck) throw new Error('EIO')
    },
  })
  await t.rejects(take(fileOf()), { message: 'EIO' })
  isStuck = false
  t.match(await take(fileOf()), { version: '1.1.0' })
})

t.test(
  '3A.update.upload what is no release file, cut, changed or too large is rejected, and root is not asked',
  async (t) => {
    const { seen, take } = staged()
    const file = fileOf()
    const changed = Buffer.from(file)
    changed[changed.length - 5] = (changed.at(-5) ?? 0) ^ 1
    const bad = [
      Buffer.from('PK\x03\x04 a zip'),
      Buffer.alloc(0),
      file.subarray(0, 200),
      file.subarray(0, -1),
      Buffer.concat([file, Buffer.from('more')]),
      changed,
      Buffer.concat([file.subarray(0, 50), Buffer.alloc(900_000, 98)]),
    ]
    for (const bytes of bad) await t.rejects(take(bytes), REJECTED)
    await t.rejects(take(file, file.length + 1), REJECTED, 'another length than was said')
    await t.rejects(take(fileOf({ size: 2_000_000 })), { message: /updating\.upload_bytes allows 1000000/ })
    t.same([seen.asked, seen.file], [0, undefined])
  },
)

t.test(
  '3A.update.upload what root refuses is rejected with its reason, and what it is busy with is waited for',
  async (t) => {
    const refused = staged({ answers: ['refused the update 1.1.0 is signed by no release key of root 1'] })
    await t.rejects(refused.take(fileOf()), {
      ...REJECTED,
      message: 'Rejected: the update 1.1.0 is signed by no release key of root 1',
    })
    t.equal(refused.seen.file, undefined)

    const soon = staged({ answers: ['soon', 'running', 'begun 9'] })
    const taking = soon.take(fileOf())
    const done = taking.then((at) => at)
    for (let waited = 0; soon.seen.asked < 3 && waited < 1000; waited++) {
      await new Promise((resolve) => setImmediate(resolve))
      soon.clock.advance(500)
    }
    t.match(await done, { at: 9 })

    const old = staged({ answers: ['unknown'] })
    await t.rejects(old.take(fileOf()), { code: 'update_unreachable' })
  },
)

t.test('3A.update.upload of two at once the second is told so, and the first goes on', async (t) => {
  const { take, uploads } = staged()
  const held = Promise.withResolvers<void>()
  const file = fileOf()
  async function* slow() {
    yield file.subarray(0, 6000)
    await held.promise
    yield file.subarray(6000)
  }
  const first = uploads.take(slow(), file.length)
  await t.rejects(take(file), { code: 'update_busy' })
  t.match(await uploads.view(), { isUploading: true })
  held.resolve()
  t.match(await first, { version: '1.1.0' })
  t.match(await take(file), { version: '1.1.0' }, 'then the next is taken')
})

t.test('3A.update.upload an upload that is cut leaves nothing, nor does what a power cut left', async (t) => {
  const { seen, uploads } = staged()
  const file = fileOf()
  async function* cut() {
    yield file.subarray(0, 20_000)
    throw new Fault('body_cut', 'the client left')
  }
  await t.rejects(uploads.take(cut(), file.length), { code: 'body_cut' })
  t.same([seen.asked, seen.file], [0, undefined])
  const before = seen.cleared
  await uploads.start()
  t.equal(seen.cleared, before + 1)
})

t.test('3A.update.upload where something else updates Plantroom, or one runs, no file is taken', async (t) => {
  const apt = staged({ foreign: async () => ({ kind: 'debian' as const, sentence: 'apt updates it' }) })
  await t.rejects(apt.take(fileOf()), { code: 'update_foreign', message: 'apt updates it' })
  t.match(await apt.uploads.view(), { why: 'apt updates it' })
  const absent = staged({ canAsk: () => false })
  await t.rejects(absent.take(fileOf()), { code: 'update_unreachable' })
  t.match(await absent.uploads.view(), { why: /plantroom-update\.socket/ })
  await t.rejects(staged({ isRunning: async () => true }).take(fileOf()), { code: 'update_busy' })
})

t.test(
  '3A.update.upload the licence decides by the day of the signature, and a security fix is always taken',
  async (t) => {
    const signedAt = Date.now() - 10 * DAY_MS
    const plain = fileOf({ issued_at: signedAt })
    const fix = fileOf({ issued_at: signedAt, security_fix: true })
    type Row = [name: string, licence: UpdateRight | undefined, isTaken: boolean, why?: RegExp]
    const rows: Row[] = [
      ['not licensed at all', undefined, true],
      ['on its last day', licenceIn('licensed', signedAt), true],
      [
        'a moment before',
        licenceIn('licensed', signedAt - 1),
        false,
        /the licence includes updates until \d{4}-\d\d-\d\d/,
      ],
      ['a trial', licenceIn('trial', signedAt + 1), true],
      ['in grace', licenceIn('grace', signedAt + 1), true],
      ['in grace, too late', licenceIn('grace', signedAt - 1), false],
      ['pending', licenceIn('pending'), true],
      ['expired', licenceIn('expired', signedAt + DAY_MS), false, /only security fixes are taken/],
      ['unlicensed', licenceIn('unlicensed'), false, /only security fixes are taken/],
      ['suspended', licenceIn('suspended', signedAt + DAY_MS), false],
      ['revoked', licenceIn('revoked', signedAt + DAY_MS), false],
    ]
    for (const [name, licence, isTaken, why = /./] of rows) {
      const { seen, take } = staged(licence ? { licence } : {})
      if (isTaken) t.match(await take(plain), { version: '1.1.0' }, name)
      else {
        await t.rejects(take(plain), { ...REJECTED, message: why }, name)
        t.equal(seen.asked, 0, name)
      }
      t.match(await take(fix), { version: '1.1.0' }, `${name}: a fix`)
    }
  },
)
